"""Server-sent events by the rules of WHATWG (HTML, 9.2): the parser of a stream, and how one event is written; no IO."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_EVENT = 4 * 2**20
"""Bytes of one event's text, and of any line: no server fills its reader's memory."""
MOST_RETRY_MS = 10**15
"""Beyond it a longer time is no other one."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: its name (`message` where it has none), its text, and the last id that was told until then."""

    name: str
    data: str
    id: str


class EventTooLong(Exception):
    """One event, or one line, has more bytes than are taken. Nothing after it can be read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"An event of the stream is longer than the {most:,} bytes that are taken.")


class SseParser:
    """Reads one connection's stream; a new connection takes a new parser. However its bytes are cut, the same comes out."""

    def __init__(self, last_event_id: str = "", most: int = MOST_EVENT) -> None:
        """`last_event_id`: what the connection before this one ended with; it holds until another is told."""
        self.last_event_id = last_event_id
        """What the client says in Last-Event-ID when it comes back."""
        self.retry_ms: int | None = None
        """How long the server wants it to stay away before that; None: it did not say."""
        self._most = most
        self._line = bytearray()
        self._is_first_line = True
        self._ended_in_cr = False
        self._name = b""
        self._data = bytearray()
        self._id = last_event_id

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """The events that the bytes complete; take them all before the next bytes. Raises EventTooLong."""
        if not chunk:
            return
        # A CR ends its line at once; an LF that follows belongs to it, in whichever chunk it comes.
        start = 1 if self._ended_in_cr and chunk.startswith(b"\n") else 0
        self._ended_in_cr = chunk.endswith(b"\r")
        for end in _LINE_END.finditer(chunk, start):
            self._extend(chunk[start : end.start()])
            start = end.end()
            if (event := self._take_line()) is not None:
                yield event
        self._extend(chunk[start:])

    def _extend(self, piece: bytes) -> None:
        if len(self._data) + len(self._line) + len(piece) > self._most:
            raise EventTooLong(self._most)
        self._line += piece

    def _take_line(self) -> SseEvent | None:
        """Carries out the line that just ended; the event that it completes."""
        line = bytes(self._line)
        self._line.clear()
        if self._is_first_line:
            line = line.removeprefix(_BOM)
            self._is_first_line = False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        self._take_field(field, value.removeprefix(b" "))
        return None

    def _take_field(self, field: bytes, value: bytes) -> None:
        match field:
            case b"event":
                self._name = value
            case b"data":
                self._data += value
                self._data += b"\n"
            case b"id" if b"\0" not in value:
                self._id = _text(value)
            case b"retry" if value.isdigit():
                digits = value.lstrip(b"0")[:16] or b"0"
                self.retry_ms = min(int(digits), MOST_RETRY_MS)
            case _:
                pass  # a comment, whose field is empty, or a field that nobody knows

    def _dispatch(self) -> SseEvent | None:
        self.last_event_id = self._id
        name, self._name = self._name, b""
        if not self._data:
            return None
        data = _text(self._data[:-1])
        self._data.clear()
        return SseEvent(_text(name) or "message", data, self._id)


def encode_event(data: bytes, name: str | None = "message", event_id: int | None = None) -> bytes:
    """The event as a stream carries it. `data`: UTF-8; each of its line ends is read as a newline.

    Without a name it is a `message` all the same; htmx swaps those alone.
    """
    event = b"" if name is None else b"event: %b\n" % name.encode()
    place = b"" if event_id is None else b"id: %d\n" % event_id
    return b"%b%bdata: %b\n\n" % (event, place, _LINE_END.sub(b"\ndata: ", data))


def _text(raw: bytes | bytearray) -> str:
    return raw.decode(errors="replace")
