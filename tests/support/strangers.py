"""A room full of what strangers may write: each payload in every field, by the real API, and where pages show it."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx2

from agentsroom.core.html import dom_id
from agentsroom.core.text import isolated, nfc
from tests.support.server import WebServer

ROOM = "shared:strangers"
FOLDER = "/strangers"
_ARGUMENTS = {
    "label": "session.label",
    "tags": "session.tag",
    "harness": "session.harness",
    "cwd": "session.cwd",
    "extra_rooms": "room.name",
    "subject": "msg.subject",
    "body": "msg.body",
    "path": "lease.path",
}
"""An argument of a tool → the field that a stranger fills by it."""


class Place(NamedTuple):
    """Where a page shows a field: any element that fits `within` has exactly this text, or this attribute."""

    field: str
    within: str
    text: str
    attribute: str | None = None


class Api:
    """An agent over HTTP, with its key."""

    def __init__(self, server: WebServer) -> None:
        headers = {"Authorization": f"Bearer {server.key}"}
        self._client = httpx2.Client(base_url=f"{server.url}/api/tools/", headers=headers)

    def ask(self, tool: str, **arguments: Any) -> tuple[Any, set[str]]:
        """The answer, or which of the arguments are not taken."""
        response = self._client.post(tool, json=arguments)
        answer = response.json()
        if response.status_code == 200:
            return answer, set()
        assert answer["error"]["code"] == "invalid_argument", answer
        return None, {one["argument"].partition("[")[0] for one in answer["error"]["problems"]}

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


@dataclass
class Stranger:
    """One payload in every field that takes it: a session with its message, its lease and its room."""

    payload: str
    taken: set[str] = field(default_factory=set)
    """The fields that took it."""
    session: str = ""
    message: int = 0
    to_tag: int = 0
    """A message to the tag, which this session received."""
    path: str = ""
    """What the page calls the path of its lease, and the whole of it."""
    whole_path: str = ""

    @property
    def _cwd(self) -> str:
        return f"{FOLDER}/{self.payload}"

    @property
    def own_room(self) -> str | None:
        return nfc(f"shared:{self.payload}") if "room.name" in self.taken else None

    @property
    def name(self) -> str:
        return self.payload if "session.label" in self.taken else self.session

    def put(self, api: Api, reader: str) -> None:
        """Writes the payload into every field that takes it."""
        joined = self._call(
            api,
            "room_join",
            room="strangers",
            extra_rooms=[self.payload],
            label=self.payload,
            tags=[self.payload],
            harness=self.payload,
            cwd=self._cwd,
        )
        self.session = joined["session_id"]
        written = {"subject": self.payload, "body": self.payload}
        sent = self._call(api, "msg_send", session_id=self.session, to=reader, **written)
        self.message = sent["message_id"] if sent else 0
        claimed = self._call(api, "lease_claim", session_id=self.session, path=self.payload, ttl_s=3600)
        if claimed:
            self.whole_path = claimed["lease"]["path"]
            inside = self.whole_path.removeprefix(f"{self._cwd.rstrip('/')}/")
            self.path = inside + ("/" if self.payload.endswith("/") else "")

    def _call(self, api: Api, tool: str, **arguments: Any) -> Any:
        """The answer to the arguments that are taken; None when nothing remains to be said."""
        ours = {
            name for name, given in arguments.items() if self.payload in str(given) or given == [self.payload]
        }
        ours &= _ARGUMENTS.keys()
        answer, refused = api.ask(tool, **arguments)
        if not refused:
            self.taken |= {_ARGUMENTS[name] for name in ours}
            return answer
        assert refused <= ours
        rest = {name: given for name, given in arguments.items() if name not in refused}
        return self._call(api, tool, **rest) if tool == "room_join" or ours - refused else None

    def in_a_room(self) -> list[Place]:
        """Where any page of a room that it is in shows it, but for its history."""
        row = f"#{dom_id('session', self.session)}"
        folder = re.sub(r"[\n\t]", "?", self._cwd.rstrip("/").rpartition("/")[2])
        return self._of_taken(
            Place("session.label", f"{row} bdi", self.payload),
            Place("session.label", "#leases .lease-meta bdi", self.payload),
            Place("session.label", "datalist option", self.payload, "value"),
            Place("session.harness", "datalist option", self.payload),
            Place("session.tag", "datalist option", f"tag:{nfc(self.payload)}", "value"),
            Place("session.cwd", "#room-list bdi", nfc(folder)),
            Place("lease.path", "#leases .lease-path", self.path),
            Place("lease.path", "#leases .lease-path", self.whole_path, "title"),
            Place("lease.path", "datalist option", f"file:{self.whole_path}", "value"),
            Place("room.name", "#room-list bdi", nfc(self.payload)),
        )

    def in_its_history(self) -> list[Place]:
        """Where the room shows its messages, or the page of one shows that one."""
        head, tagged = (
            f"#{dom_id('message', self.message)} .message-head",
            f"#{dom_id('message', self.to_tag)}",
        )
        received = (
            Place("session.label", f"{tagged} .delivery bdi", self.payload),
            Place("session.tag", f"{tagged} .selector", f"tag:{self.payload}"),
        )
        return [
            *self._of_taken(Place("session.label", f"{head} bdi", self.payload)),
            *(self._of_taken(*received) if self.to_tag else []),
            *self.in_its_message(),
        ]

    def in_its_message(self) -> list[Place]:
        """Where a page shows the message that it wrote."""
        row = f"#{dom_id('message', self.message)}"
        return self._of_taken(
            Place("session.label", row, f"Message {self.message} from {self.payload}", "aria-label"),
            Place("msg.subject", f"{row} .message-subject bdi", self.payload),
            Place("msg.subject", row, f"{self.name}: {self.payload}", "data-announcement"),
        )

    def in_its_own_room(self) -> list[Place]:
        """Where the page of the room that is called so shows it, searched for these words."""
        return self._of_taken(
            Place("room.name", "h1", str(self.own_room)),
            Place("room.name", "title", f"{isolated(str(self.own_room))} · agents-room"),
            Place("session.label", "#timeline-words", f"{self.path} is held by {self.payload}"),
            Place("lease.path", "#lease-timeline .path", self.path),
        )

    def among_the_rooms(self) -> list[Place]:
        """Where the list of all rooms shows it."""
        return self._of_taken(
            Place("room.name", f"#{dom_id('room', 'shared', nfc(self.payload))} bdi", nfc(self.payload))
        )

    def _of_taken(self, *places: Place) -> list[Place]:
        return [one for one in places if one.field in self.taken]
