"""A request's body on the wire: bounded in size and time, and never read at the cost of other connections."""

import contextlib
import re
import time
from collections.abc import Callable
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING

import gevent
from gevent import Timeout
from werkzeug.exceptions import BadRequest, RequestEntityTooLarge, RequestTimeout

from agentsroom.gateways.wire import MOST_BODY

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BODY_S = 60.0
"""Seconds in which a request's body comes."""
UNREAD_S = 2.0
"""Seconds for which the rest of a refused request is still taken, so that no reset overtakes the answer."""
PIECE = 65_536

_LONGEST_LINE = 1_024
_MOST_FRAMING = 262_144
"""Bytes of what stands between the chunks of a body, and behind them."""
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_TURN = 100
"""After so many reads the other connections have theirs: what has come already is read without a wait."""


class Body(RawIOBase):
    """What follows a request's head, as a file that ends where the body does.

    `length`: its bytes where the head tells them, else None; `begin` is called before the first of it is read.
    Raises RequestTimeout when it does not come in time, RequestEntityTooLarge when there is too much of it or of what
    frames it, and BadRequest where it is no body.
    """

    __slots__ = (
        "_begin",
        "_deadline",
        "_framing",
        "_has_begun",
        "_has_ended",
        "_is_broken",
        "_is_chunked",
        "_left",
        "_reads",
        "_source",
        "_taken",
    )

    def __init__(
        self, source: BufferedReader, length: int | None, *, is_chunked: bool, begin: Callable[[], None]
    ) -> None:
        self._source = source
        self._is_chunked = is_chunked
        self._left = length or 0
        """Bytes of the body, or of its chunk, that are still to come."""
        self._begin = begin
        self._has_begun = self._has_ended = False
        self._is_broken = False
        self._taken = self._framing = self._reads = 0
        self._deadline = time.monotonic() + BODY_S

    @property
    def unread(self) -> float:
        """Bytes that are still to come; infinity where nobody knows how many."""
        if self._is_broken:
            return float("inf")
        if self._is_chunked:
            return 0 if self._has_ended else float("inf")
        return self._left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        if not self.unread or self._is_broken:
            return 0
        if not self._has_begun:
            self._has_begun = True
            self._begin()
        view = memoryview(buffer)
        self._is_broken = True  # unless all goes well
        with Timeout(max(0.001, self._deadline - time.monotonic()), RequestTimeout()):
            piece = self._of_chunk(len(view)) if self._is_chunked else self._piece(len(view))
        self._is_broken = False
        view[: len(piece)] = piece
        return len(piece)

    def _of_chunk(self, most: int) -> bytes:
        if not self._left and not self._next_chunk():
            return b""
        piece = self._piece(most)
        if not self._left and self._line() != b"\r\n":
            raise BadRequest("A chunk of the body is longer than it says.")
        # Who reads stops at the limit, and would take what it has for the whole.
        if self._taken == MOST_BODY and (self._left or self._next_chunk()):
            raise RequestEntityTooLarge
        return piece

    def _next_chunk(self) -> bool:
        """Whether another chunk follows; the last one ends with trailers, which nobody reads."""
        line = self._line()
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise BadRequest("The size of a chunk of the body can't be read.")
        self._left = int(size[1], 16)
        while not self._left and self._line() != b"\r\n":
            pass
        self._has_ended = not self._left
        return not self._has_ended

    def _line(self) -> bytes:
        line = self._source.readline(_LONGEST_LINE)
        self._framing += len(line)
        return self._checked(line)

    def _piece(self, most: int) -> bytes:
        piece = self._source.read1(min(most, self._left, PIECE))
        self._left -= len(piece)
        self._taken += len(piece)
        return self._checked(piece)

    def _checked(self, data: bytes) -> bytes:
        if not data:
            raise BadRequest("The body broke off.")
        if self._taken > MOST_BODY or self._framing > _MOST_FRAMING:
            raise RequestEntityTooLarge
        self._reads += 1
        if self._reads % _TURN == 0:
            gevent.sleep(0)
        return data

    def _discard(self) -> None:
        """Takes what the application left, for a moment and unlooked at; gevent calls it after the answer."""
        with contextlib.suppress(Timeout), Timeout(UNREAD_S):
            while self.unread and (piece := self._source.read1(int(min(self.unread, PIECE)))):
                self._left -= len(piece)
                gevent.sleep(0)
