"""Which repository a folder belongs to: its checkout's top, the name that its room takes, and where it came from."""

import os
import posixpath
import re
from pathlib import Path
from typing import NamedTuple

from agentsroom.core import platform
from agentsroom.core.text import refused_character

_LONGEST_POINTER = 8_192
"""Bytes; a path has at most half as many."""
_LONGEST_CONFIG = 65_536
"""Bytes that are looked at; git writes the origin when it clones, before the branches."""
_UNREADABLE = (OSError, ValueError, platform.NotAFile)
"""ValueError: a path holds a NUL."""

_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+)"
_URL = re.compile(rf"(?i:[a-z][a-z0-9+.-]*)://(?:[^\s/@]*@)?{_HOST}(?::\d+)?/+[^\s/]\S*")
_LIKE_SCP = re.compile(rf"(?:[^\s/:@]+@)?{_HOST}:(?!//)/*[^\s/]\S*")
_FOLDER = re.compile(r"(?:file://)?/+[^/].*")
_ORIGIN = re.compile(r'\[remote\s+"origin"\]', re.IGNORECASE)
_ITS_URL = re.compile(r'url\s*=\s*"?([^\s"#;]+)"?\s*(?:[#;].*)?', re.IGNORECASE)


class Repository(NamedTuple):
    """A checkout and the repository that it is of."""

    root: str
    """Top folder of the checkout around the cwd (of the worktree, where it is one)."""
    name: str
    """Name of the top folder of the main worktree."""


def find_repository(cwd: str) -> Repository | None:
    """The repository around a folder of this machine, told by `.git` alone; None when there is none."""
    for folder in (Path(cwd), *Path(cwd).parents):
        marker = folder / ".git"
        if os.path.isdir(marker):  # Path.is_dir() raises where a folder is closed to us
            return Repository(str(folder), folder.name or "/")
        if os.path.isfile(marker):
            return Repository(str(folder), _main_worktree(folder, marker).name)
    return None


def _main_worktree(folder: Path, marker: Path) -> Path:
    """A linked worktree's `.git` is a file that points into the main one's .git/worktrees; a submodule's does not."""
    try:
        git_folder = _shared_folder(_pointed_to(folder, marker))
    except _UNREADABLE:
        return folder
    return git_folder.parent if git_folder.name == ".git" else folder


def find_origin(repository: Repository) -> str | None:
    """Where the checkout was cloned from, as its `.git/config` has it, without credentials.

    None where it has no `origin`, or one that is a folder, which means nothing on another machine.
    """
    top = Path(repository.root)
    try:
        own = top / ".git"
        if not os.path.isdir(own):
            own = _pointed_to(top, own)
        linked = os.path.lexists(own / "commondir")
        config = _text_of((_shared_folder(own) if linked else own) / "config", _LONGEST_CONFIG)
    except _UNREADABLE:
        return None
    url = _origin_in(config)
    if url is None or not _is_on_the_network(url) or refused_character(url):
        return None
    return without_credentials(url)


def _pointed_to(folder: Path, marker: Path) -> Path:
    return folder / _text_of(marker, _LONGEST_POINTER).removeprefix("gitdir:").strip()


def _shared_folder(git_folder: Path) -> Path:
    """What all worktrees have in common; only that of a linked one says where it is."""
    return (git_folder / _text_of(git_folder / "commondir", _LONGEST_POINTER).strip()).resolve()


def _text_of(path: Path, most: int) -> str:
    return platform.beginning_of(str(path), most)


def _origin_in(config: str) -> str | None:
    is_origin = False
    for line in map(str.strip, config.split("\n")):
        if line.startswith("["):
            is_origin = _ORIGIN.match(line) is not None
        elif is_origin and (match := _ITS_URL.fullmatch(line)):
            return match[1]
    return None


def is_address(url: str) -> bool:
    """Whether git could fetch from it: a URL, `host:path`, or an absolute folder."""
    return _is_on_the_network(url) or _FOLDER.fullmatch(url) is not None


def _is_on_the_network(url: str) -> bool:
    return any(form.fullmatch(url) for form in (_URL, _LIKE_SCP))


def without_credentials(url: str) -> str:
    """`https://user:secret@host/door` → `https://host/door`; who asks makes no other repository of it."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@", r"\1", url)


def repository_name(url: str) -> str:
    """`https://code.example.org/door.git` → `door`."""
    return posixpath.basename(re.split(r"[:/]", _trimmed(url))[-1])


def repository_key(url: str) -> str:
    """One text for the ways to write one address: `git@Host:a/b.git` and `https://host/a/b` → `host/a/b`."""
    match = re.fullmatch(
        r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:[^@/]*@)?([^/:]+)(?::\d+(?=/))?[:/]+(.*)", _trimmed(url)
    )
    return f"{match[1].lower()}/{match[2]}" if match else _trimmed(url)


def guess_root(cwd: str, url: str) -> str:
    """The checkout's top on another host: the folder around the cwd that is named like the repository, else the cwd."""
    name = repository_name(url)
    folder = posixpath.normpath(cwd)
    while folder not in ("/", ""):
        if posixpath.basename(folder) == name:
            return folder
        folder = posixpath.dirname(folder)
    return cwd


def _trimmed(url: str) -> str:
    return url.rstrip("/").removesuffix(".git")
