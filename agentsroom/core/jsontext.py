"""Strict JSON text, checked before anything is decoded from it.

Refuses what parsers disagree on: duplicate keys, NaN, infinities and numbers beyond a double or of too many digits, a
byte order mark, nesting deeper than 64, and text that is not UTF-8 (RFC 8259, sections 4, 6, 8.1 and 9); and more values
than can be looked at without a wait for the others.
"""

import json
import re
from math import isinf
from typing import Any, NoReturn

from agentsroom.core.errors import ParseError

MAX_DEPTH = 64
MOST_VALUES = 20_000
"""Values and containers of one text: what follows costs time for each of them."""

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|$)', re.DOTALL)
_AS_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


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
    _check_structure(raw)
    try:
        return json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"The text is not JSON: {error.msg} at {place}.") from None
    except ValueError:  # CPython reads no longer ones, since that takes long
        raise ParseError("A whole number has more than the 4,300 digits that are read.") from None


def _check_structure(raw: bytes) -> None:
    """Raises ParseError for more values or levels than are read; at the speed of a copy, whatever the text is."""
    if raw.count(b"[") + raw.count(b"{") + raw.count(b",") <= MAX_DEPTH:
        return
    bare, texts = _TEXTS.subn(b"", raw, 2 * MOST_VALUES + 1)
    brackets = bare.translate(_AS_BRACKETS, _NO_BRACKETS)
    if max(texts / 2, len(brackets) / 2, bare.count(b",")) > MOST_VALUES:
        raise ParseError(f"The text has more than the {MOST_VALUES:,} values that are read.")
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")  # takes away the innermost level
    if b"[]" in brackets or brackets.count(b"[") > MAX_DEPTH:
        raise ParseError(f"The value is nested deeper than {MAX_DEPTH}.")


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


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ParseError(f"{text[:100]} is larger than a number can be.")
    return number
