"""Strict JSON text, checked before anything is decoded from it.

Refuses what parsers disagree on: duplicate keys, NaN and infinities, a byte order mark, nesting deeper
than 64, and text that is not UTF-8 (RFC 8259, section 4 and 8.1).
"""

import json
import re
from typing import Any, NoReturn

from agentsroom.core.errors import ParseError

MAX_DEPTH = 64
_STRUCTURE = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)


def parse_strict(raw: bytes) -> Any:
    """The value that `raw` stands for.

    Raises ParseError, whose message tells the reason.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"The text is not UTF-8: {error.reason} at byte {error.start + 1}.") from None
    if text.startswith("\ufeff"):
        raise ParseError("The text begins with a byte order mark; JSON is sent without one.")
    if _deeper_than(raw, MAX_DEPTH):
        raise ParseError(f"The value is nested deeper than {MAX_DEPTH}.")
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"The text is not JSON: {error.msg} at {place}.") from None
    except ValueError as error:  # CPython refuses to read an integer of more than 4,300 digits
        raise ParseError(f"The text is not JSON that we read: {error}") from None


def _deeper_than(raw: bytes, limit: int) -> bool:
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    depth, in_text = 0, False
    for found in _STRUCTURE.finditer(raw):
        token = found.group()
        if token == b'"':
            in_text = not in_text
        elif in_text or token.startswith(b"\\"):
            continue
        elif token in b"[{":
            depth += 1
            if depth > limit:
                return True
        else:
            depth -= 1
    return False


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if _is_seen(key, seen))
        raise ParseError(f"The key {json.dumps(twice)[:100]} stands twice in one object.")
    return found


def _is_seen(key: str, seen: set[str]) -> bool:
    """Whether the key is among those seen, to which it belongs from now on."""
    before = len(seen)
    seen.add(key)
    return len(seen) == before


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(f"{name} is no JSON number.")
