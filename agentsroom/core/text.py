"""Which texts we take from strangers: no control characters but newline and tab, no lone surrogates; and counts in words."""

import re
import unicodedata

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_REFUSED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_MARKS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_WITHOUT_MARKS = dict.fromkeys(map(ord, _MARKS))
_TURNS_AROUND = {"R", "AL", "AN"} | {unicodedata.bidirectional(mark) for mark in _MARKS} - {"L"}


def refused_character(text: str) -> str | None:
    """What is wrong with the first character that we refuse, or None when the text is fine."""
    found = _REFUSED.search(text)
    if found is None:
        return None
    character = found.group()
    kind = "a lone surrogate" if 0xD800 <= ord(character) <= 0xDFFF else "a control character"
    return f"holds {kind} (U+{ord(character):04X}) at position {found.start() + 1}"


def is_utf8(text: str) -> bool:
    """Whether the text can be written as UTF-8: a file name that the system could not decode can't."""
    return not _SURROGATE.search(text)


def nfc(text: str) -> str:
    """Unicode Normalisation Form C, the form in which names and tags compare."""
    return unicodedata.normalize("NFC", text)


def isolated(text: str) -> str:
    """The text such that it turns nothing behind it around: for where no element can isolate it, a page's title."""
    if not any(unicodedata.bidirectional(character) in _TURNS_AROUND for character in text):
        return text
    return "\N{FIRST STRONG ISOLATE}" + text.translate(_WITHOUT_MARKS) + "\N{POP DIRECTIONAL ISOLATE}"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """`1 key`, `2,000 keys`; `things`: where the plural is not made with an s."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
