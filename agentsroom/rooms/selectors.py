"""Selectors: whom a message is for. `*`, a session's id, `tag:<tag>` or `file:<glob>`."""

import functools
import posixpath
import re
from typing import NamedTuple

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.text import nfc


class Everyone(NamedTuple):
    """All in the sender's rooms but the sender."""


class OneSession(NamedTuple):
    session_id: str


class Tagged(NamedTuple):
    tag: str


class Holders(NamedTuple):
    """Who holds a live lease on a path that the glob matches."""

    glob: str


Selector = Everyone | OneSession | Tagged | Holders


def parse_selector(text: str) -> Selector:
    """Raises InvalidArgument when it selects nothing at all; any other text is taken for a session's id."""
    if text == "*":
        return Everyone()
    kind, colon, rest = text.partition(":")
    if not text or (colon and kind in ("tag", "file") and not rest):
        raise InvalidArgument({"to": f"{text!r} came; *, a session id, tag:<tag> or file:<glob> is taken"})
    if colon and kind == "tag":
        return Tagged(nfc(rest))
    if colon and kind == "file":
        return Holders(rest)
    return OneSession(text)


def matches_path(glob: str, path: str, *, is_folder: bool, holder_cwd: str | None) -> bool:
    """Whether `file:<glob>` means the lease on `path`, held by a session in `holder_cwd`.

    The glob is tried as a full path, relative to the holder's cwd, and as a bare name; a lease on a folder is
    meant by a glob of what is in it. `*` stays within a folder, `**` crosses. A glob that is the path, letter for
    letter, always matches.
    """
    relative = posixpath.normpath(glob)
    if "/" not in relative and _pattern(relative).fullmatch(posixpath.basename(path)):
        return True
    if not relative.startswith("/") and holder_cwd is None:
        return False
    absolute = "/" + posixpath.normpath(posixpath.join(holder_cwd or "/", relative)).lstrip("/")
    if _means(absolute, path):
        return True
    is_literal = not any(mark in absolute for mark in "*?[")
    return (is_folder or is_literal) and any(_means(folder, path) for folder in _folders_of(absolute))


def _means(glob: str, path: str) -> bool:
    return glob == path or _pattern(glob).fullmatch(path) is not None


def _folders_of(path: str) -> list[str]:
    folders = []
    while path != "/":
        path = posixpath.dirname(path)
        folders.append(path)
    return folders


@functools.lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    literal = re.escape(glob)
    return re.compile(f"(?:{literal}|{''.join(_translated(glob))})", re.DOTALL)


_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def _translated(glob: str) -> list[str]:
    parts = []
    for token in _TOKENS.findall(glob):
        if token == "**/":
            parts.append("(?:.*/)?")
        elif token == "**":
            parts.append(".*")
        elif token == "*":
            parts.append("[^/]*")
        elif token == "?":
            parts.append("[^/]")
        elif len(token) > 1:
            parts.append(_character_class(token))
        else:
            parts.append(re.escape(token))
    return parts


def _character_class(token: str) -> str:
    inner = token[1:-1].replace("\\", r"\\").replace("[", r"\[")
    inner = "^" + inner[1:] if inner.startswith("!") else inner.replace("^", r"\^")
    try:
        re.compile(f"[{inner}]")
    except re.error:  # such as [z-a]: plain letters
        return re.escape(token)
    return f"(?!/)[{inner}]"
