"""Which repository a folder belongs to: its checkout's top, and the name that its room takes."""

import os
import posixpath
import re
from pathlib import Path
from typing import NamedTuple

from agentsroom.core import platform

_LONGEST_POINTER = 8_192
"""Bytes; a path has at most half as many."""


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
        pointer = _text_of(marker).removeprefix("gitdir:").strip()
        common = _text_of(folder / pointer / "commondir").strip()
    except (OSError, ValueError, platform.NotAFile):  # ValueError: it holds a NUL
        return folder
    git_folder = (folder / pointer / common).resolve()
    return git_folder.parent if git_folder.name == ".git" else folder


def _text_of(path: Path) -> str:
    return platform.beginning_of(str(path), _LONGEST_POINTER)


def repository_name(url: str) -> str:
    """`https://code.example.org/door.git` → `door`."""
    return posixpath.basename(re.split(r"[:/]", _trimmed(url))[-1])


def repository_key(url: str) -> str:
    """One text for the ways to write one address: `git@Host:a/b.git` and `https://host/a/b` → `host/a/b`."""
    match = re.fullmatch(r"(?:[a-z+]+://)?(?:[^@/]*@)?([^/:]+)(?::\d+(?=/))?[:/]+(.*)", _trimmed(url))
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
