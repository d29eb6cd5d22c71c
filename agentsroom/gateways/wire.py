"""One HTTP/1 request's head, read strictly: what two readers could take for two things is refused; knows no socket.

RFC 9112. A proxy before us may read more leniently, so nothing here is mended: it is refused (request smuggling).
"""

import re
from typing import NamedTuple, Protocol

MOST_LINE = 8_190
"""Bytes of the request's line, and of one header; gevent's own limit is two more."""
MOST_HEAD = 32_768
"""Bytes of all headers."""
MOST_FIELDS = 100
MOST_BODY = 4 * 2**20
"""Bytes of a body."""
MOST_BODY_OF_STRANGERS = 16_384
"""Bytes that are read from whoever is not let in yet."""

_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20\x7f]+) (HTTP/1\.[01])\r?\n")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)\r?\n")
_WHOLE_ADDRESS = re.compile(r"(?i)https?://([^/?#]*)(.*)", re.DOTALL)
_LENGTH = re.compile(r"[0-9]{1,15}")


class Lines(Protocol):
    """What a head is read from."""

    def readline(self, size: int, /) -> bytes: ...


class HeadRefused(Exception):
    """The request can't be answered by anything but this."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Head(NamedTuple):
    """A request's line and headers."""

    method: str
    target: str
    """The path and the query, as they came."""
    version: str
    fields: list[tuple[str, str]]
    length: int | None
    """Bytes of the body, where they are told beforehand."""
    is_chunked: bool

    @property
    def is_last(self) -> bool:
        """Whether the client wants the connection closed after the answer."""
        wish = _values(self.fields, "connection")
        tokens = [token.strip().lower() for value in wish for token in value.split(",")]
        return "close" in tokens or (self.version == "HTTP/1.0" and "keep-alive" not in tokens)


def read_head(line: bytes, lines: Lines) -> Head:
    """The head whose first line is given, and whose other lines follow. Raises HeadRefused."""
    if len(line) > MOST_LINE:
        raise HeadRefused(414, f"The address is longer than the {MOST_LINE:,} bytes that are taken.")
    request = _REQUEST.fullmatch(line)
    if request is None:
        raise HeadRefused(400, "The first line is none of HTTP/1.1.")
    method, target, version = (part.decode("latin-1") for part in request.groups())
    if b"%00" in request[2] or not _is_utf8(request[2]):
        raise HeadRefused(400, "The address is no text: it is not UTF-8, or has a NUL in it.")
    fields = _read_fields(lines)
    target, fields = _own_target(method, target, fields)
    length, is_chunked = _framing(fields, version)
    return Head(method, target, version, fields, length, is_chunked)


def _read_fields(lines: Lines) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    left = MOST_HEAD
    while (line := lines.readline(MOST_LINE + 1)) not in (b"\r\n", b"\n"):
        left -= len(line)
        if len(line) > MOST_LINE or left < 0 or len(fields) == MOST_FIELDS:
            taken = f"{MOST_FIELDS} headers, {MOST_LINE:,} bytes in one, {MOST_HEAD:,} in all"
            raise HeadRefused(431, f"The headers are more than is taken: {taken}.")
        field = _FIELD.fullmatch(line)
        if field is None:
            raise HeadRefused(400, f"Header {len(fields) + 1} is none: NAME: VALUE is taken, on one line.")
        fields.append((field[1].decode("latin-1"), field[2].strip(b" \t").decode("latin-1")))
    return fields


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


def _own_target(method: str, target: str, fields: list[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """A whole address as target says itself which host is meant, whatever Host says (RFC 9112, 3.2.2)."""
    whole = _WHOLE_ADDRESS.fullmatch(target)
    if whole is not None:
        others = [(name, value) for name, value in fields if name.lower() != "host"]
        path = whole[2] if whole[2].startswith("/") else "/" + whole[2]
        return path, [("Host", whole[1]), *others]
    if not target.startswith("/") and (method, target) != ("OPTIONS", "*"):
        raise HeadRefused(400, "The address does not begin with a slash.")
    return target, fields


def _framing(fields: list[tuple[str, str]], version: str) -> tuple[int | None, bool]:
    """How the body's end is known."""
    codings, lengths = _values(fields, "transfer-encoding"), _values(fields, "content-length")
    if codings:
        if lengths or version == "HTTP/1.0" or [coding.lower() for coding in codings] != ["chunked"]:
            raise HeadRefused(400, "Transfer-Encoding is taken as chunked alone, and without Content-Length.")
        return None, True
    if not lengths:
        return None, False
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise HeadRefused(400, "Content-Length is taken once, as a number.")
    return int(lengths[0]), False


def _values(fields: list[tuple[str, str]], wanted: str) -> list[str]:
    return [value for name, value in fields if name.lower() == wanted]
