"""Selectors: whom a message is for. `*`, a session's id, `tag:<tag>`, `file:<glob>` or `overseer`."""

import fnmatch
import posixpath
from typing import NamedTuple

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.text import nfc
from agentsroom.rooms.overseer import OVERSEER


class Everyone(NamedTuple):
    """All in the sender's rooms but the sender."""


class OneSession(NamedTuple):
    session_id: str


class Tagged(NamedTuple):
    tag: str


class Holders(NamedTuple):
    """Who holds a live lease on a path that the glob matches."""

    glob: str


class Overseer(NamedTuple):
    """The person at the browser, who reads the rooms' histories and is no session."""


MOST_WILDCARDS = 32
TAKEN = "*, a session id, tag:<tag>, file:<glob> or overseer"

Selector = Everyone | OneSession | Tagged | Holders | Overseer


def parse_selector(text: str) -> Selector:
    """Raises InvalidArgument when it selects nothing at all; any other text is taken for a session's id."""
    if text == "*":
        return Everyone()
    if text == OVERSEER:
        return Overseer()
    kind, colon, rest = text.partition(":")
    if not text or (colon and kind in ("tag", "file") and not rest):
        raise InvalidArgument({"to": f"{text!r} came; {TAKEN} is taken"})
    if colon and kind == "tag":
        return Tagged(nfc(rest))
    if colon and kind == "file":
        if sum(map(rest.count, "*?[")) > MOST_WILDCARDS:
            raise InvalidArgument({"to": f"a glob with up to {MOST_WILDCARDS} of *, ? and [ is taken"})
        return Holders(rest)
    return OneSession(text)


def matches_path(glob: str, path: str, *, is_folder: bool, holder_cwd: str | None) -> bool:
    """Whether `file:<glob>` means the lease on `path`, held by a session in `holder_cwd`.

    The glob is tried as a full path, relative to the holder's cwd, and as a bare name; a lease on a folder is
    meant by a glob of what is in it. `*` stays within a folder, `**` crosses. A glob that is the path, letter for
    letter, always matches.
    """
    relative = posixpath.normpath(glob)
    if "/" not in relative and _names(relative, posixpath.basename(path)):
        return True
    if not relative.startswith("/") and holder_cwd is None:
        return False
    pattern = _parts(posixpath.normpath(posixpath.join(holder_cwd or "/", relative)))
    reached = _reached(pattern, _parts(path))
    if len(pattern) in reached:
        return True
    is_literal = not any(mark in part for part in pattern for mark in "*?[")
    return (is_folder or is_literal) and bool(reached)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _names(pattern: str, name: str) -> bool:
    """Whether the pattern means the name, both without a slash: letter for letter, or as a glob."""
    return pattern == name or fnmatch.fnmatchcase(name, pattern)


def _reached(pattern: list[str], path: list[str]) -> set[int]:
    """How much of the pattern may stand for the whole path: each number of its parts that can.

    Walks along the path once with every place of the pattern that is possible so far, so it takes no longer than
    their product, whatever the pattern.
    """
    places = _with_skipped(pattern, {0})
    for name in path:
        following = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == "**":
                following |= {place, place + 1} if place == len(pattern) - 1 else {place}
            elif _names(pattern[place], name):
                following.add(place + 1)
        places = _with_skipped(pattern, following)
    return places


def _with_skipped(pattern: list[str], places: set[int]) -> set[int]:
    """`**` may stand for no folder at all, but for the last of a pattern, which stands for something."""
    found = set(places)
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place < len(pattern) - 1 and pattern[place] == "**" and place + 1 not in found:
            found.add(place + 1)
            waiting.append(place + 1)
    return found
