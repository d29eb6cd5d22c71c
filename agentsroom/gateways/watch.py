"""`agents-room watch`: a room's messages as they come, from the server that runs on this home."""

import sys
from collections.abc import Iterator
from typing import TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from agentsroom.core.settings import Settings
from agentsroom.gateways.event_stream import Address, Client, NotUnderstood, Patience
from agentsroom.gateways.running import get_running, running_server
from agentsroom.gateways.terminal import show_message
from agentsroom.rooms.results import History, MessageInfo

T = TypeVar("T")

DEFAULT_LAST = 10
_PAGE = 200


class Watch:
    """The messages of a room: some of its history, then each as it comes; none twice, none left out."""

    def __init__(self, client: Client, room: str, since: int | None = None, last: int | None = None) -> None:
        """It begins after the message `since`, with the newest `last` of these; either may be left out."""
        self._client = client
        self._room = room
        self._since = since
        self._last = DEFAULT_LAST if last is None and since is None else last
        self._newest = since or 0
        """The id of the newest message that is known; ids grow."""

    def messages(self) -> Iterator[MessageInfo]:
        """For ever. Raises what Client raises."""
        yield from self._begin()
        has_begun = False
        for event in self._client.follow(f"/api/rooms/{quote(self._room, safe='')}/stream"):
            if event.name == "resync" or (event.name == "ready" and not has_begun):
                has_begun = True  # what came between the history and the stream is in the history by now
                yield from self._new(self._history(self._newest))
            elif event.name == "message":
                yield from self._new([_decoded(event.data, MessageInfo)])

    def _begin(self) -> list[MessageInfo]:
        most = self._last
        found = self._new(self._history(self._newest, None if most is None else max(most, 1)))
        return found if most is None else found[len(found) - min(most, len(found)) :]

    def _new(self, messages: list[MessageInfo]) -> list[MessageInfo]:
        """Those that were not known until now, oldest first."""
        new = [one for one in messages if one.message_id > self._newest]
        if new:
            self._newest = new[-1].message_id
        return new

    def _history(self, after: int, most: int | None = None) -> list[MessageInfo]:
        """The newest `most` messages, or all, of those with a greater id; oldest first."""
        found: list[MessageInfo] = []
        before: int | None = None
        while True:
            page = self._page(before)
            for one in page.messages:
                if one.message_id <= after or len(found) == most:
                    return found[::-1]
                found.append(one)
            if page.next is None:
                return found[::-1]
            before = page.next

    def _page(self, before: int | None) -> History:
        arguments = {"room": self._room, "limit": _PAGE, "before": before}
        return _decoded(self._client.ask("room_history", arguments), History)


def _decoded(raw: bytes | str, shape: type[T]) -> T:
    """Raises NotUnderstood."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except msgspec.DecodeError as error:
        raise NotUnderstood(f"The server answered what this release does not read: {error}.") from error


def watch_room(settings: Settings, room: str, since: int | None, last: int | None, *, as_json: bool) -> None:
    """Prints the messages until Ctrl+C. Raises NoServer, and what the server refuses with."""
    get_running(settings)
    client = Client(lambda: _address(settings), Patience(tell=_tell))
    try:
        for message in Watch(client, room, since, last).messages():
            show_message(message, as_json=as_json)
    except KeyboardInterrupt:
        return


def _address(settings: Settings) -> Address | None:
    """Of the server that runs now: each has a token of its own, and maybe another port."""
    running = running_server(settings)
    if running is None:
        return None
    return Address(urlsplit(running.url).hostname or "", running.port, running.token)


def _tell(reason: str | None) -> None:
    """Beside the messages, which may be read by a program."""
    text = "Watching again." if reason is None else f"Not watching now: {reason} It is tried again."
    sys.stderr.write(f"agents-room: {text}\n")
    sys.stderr.flush()
