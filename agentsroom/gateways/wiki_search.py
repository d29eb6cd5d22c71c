"""Which sections of the wiki hold the words that somebody looks for; where the pages are read from, it is not told."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentsroom.core.article import Section

_BEFORE = 60
_AFTER = 160


class Part(NamedTuple):
    """A piece of a text; whether it is one of the words."""

    text: str
    is_word: bool


class Hit(NamedTuple):
    """A section that has all the words, and the place in it where the first of them stands."""

    title: list[Part]
    anchor: str
    text: list[Part]


class Found(NamedTuple):
    """What one look through the wiki gave."""

    total: int
    pages: dict[str, list[Hit]]
    """By the page's name; those with the words in a heading first."""
    alone: dict[str, int]
    """Where no section has them all: in how many each word stands."""


def search(pages: Mapping[str, Sequence[Section]], query: str) -> Found:
    """Sections with every word of the query, in any letter case; a word is found inside a longer one, too."""
    words = list(dict.fromkeys(query.casefold().split()))
    if not words:
        return Found(0, {}, {})
    patterns = [re.compile(re.escape(word), re.IGNORECASE) for word in words]
    any_word = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)
    found: dict[str, list[tuple[int, Hit]]] = {}
    for name, sections in pages.items():
        for section in sections:
            if all(pattern.search(section.title) or pattern.search(section.text) for pattern in patterns):
                rank = sum(not pattern.search(section.title) for pattern in patterns)
                hit = Hit(_parts(any_word, section.title), section.anchor, _around(any_word, section.text))
                found.setdefault(name, []).append((rank, hit))
    for hits in found.values():
        hits.sort(key=lambda ranked: ranked[0])
    ordered = sorted(found.items(), key=lambda item: item[1][0][0])
    alone = {} if found else {word: _count(pages, one) for word, one in zip(words, patterns, strict=True)}
    return Found(
        sum(map(len, found.values())), {name: [hit for _, hit in hits] for name, hits in ordered}, alone
    )


def _count(pages: Mapping[str, Sequence[Section]], pattern: re.Pattern[str]) -> int:
    return sum(
        bool(pattern.search(section.title) or pattern.search(section.text))
        for sections in pages.values()
        for section in sections
    )


def _around(words: re.Pattern[str], text: str) -> list[Part]:
    """The text about the first word; its beginning, where only the heading has one."""
    found = words.search(text)
    middle = found.start() if found else 0
    start = text.rfind(" ", 0, middle - _BEFORE) + 1 if middle > _BEFORE else 0
    end = text.find(" ", middle + _AFTER)
    cut = text[start:] if end < 0 else text[start:end]
    return _parts(words, ("… " if start else "") + cut + ("" if end < 0 else " …"))


def _parts(words: re.Pattern[str], text: str) -> list[Part]:
    parts = []
    done = 0
    for found in words.finditer(text):
        parts += [Part(text[done : found.start()], False), Part(found[0], True)]
        done = found.end()
    return [part for part in (*parts, Part(text[done:], False)) if part.text]
