"""Paths of claims: made absolute once, compared as bytes, a folder covering what is in it.

Pure: what the file system says comes through a FileSystem, and nothing does for a session of another host.
"""

import posixpath
from typing import NamedTuple, Protocol

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.text import is_utf8, refused_character


class FileSystem(Protocol):
    """What the resolver asks of a file system."""

    def real_path(self, path: str, /) -> str:
        """The path with symlinks, `.` and `..` resolved as the system would."""
        ...

    def is_folder(self, path: str, /) -> bool: ...

    def folds_case(self, path: str, /) -> bool:
        """Whether names that differ in letter case alone are one file there."""
        ...


class Lexical:
    """The file system of another host: nothing is known, so the text decides."""

    def real_path(self, path: str) -> str:
        return posixpath.normpath(path)

    def is_folder(self, _path: str) -> bool:
        return False

    def folds_case(self, _path: str) -> bool:
        return False


class Place(NamedTuple):
    """A resolved path, with the two keys by which claims meet.

    A key ends in a slash, so that one place covers another exactly when its key begins the other's.
    """

    path: str
    key: str
    repo_key: str | None
    is_folder: bool


def resolve(path: str, cwd: str | None, repo_root: str | None, system: FileSystem) -> Place:
    """`path` as its session means it: relative to `cwd`; `repo_root` is the top of its repository's checkout.

    Raises InvalidArgument for an empty path, a relative one where no cwd is known, or a link to a name that is no UTF-8.
    """
    if not path:
        raise InvalidArgument({"path": "is empty; the path of a file or folder is taken"})
    if not path.startswith("/") and cwd is None:
        raise InvalidArgument(
            {"path": "is relative, and the session joined without a cwd; an absolute path is taken"},
            hint="Give the absolute path, or call room_join again with cwd and host, and the harness_key of before.",
        )
    joined = posixpath.join(cwd or "/", path)
    absolute = "/" + system.real_path(joined).lstrip("/")
    if not is_utf8(absolute):
        raise InvalidArgument({"path": "leads to a name that is no UTF-8, which no JSON could carry"})
    if problem := refused_character(absolute):
        raise InvalidArgument({"path": f"leads to a name that {problem}"})
    shown = absolute.casefold() if system.folds_case(absolute) else absolute
    return Place(
        path=absolute,
        key=as_key(shown),
        repo_key=None if repo_root is None else _repo_key(absolute, system.real_path(repo_root)),
        is_folder=path.endswith("/") or system.is_folder(absolute),
    )


def as_key(path: str) -> str:
    """`/r/app` → `/r/app/`; `/` stays."""
    return path.rstrip("/") + "/"


def covers(folder_key: str, key: str) -> bool:
    """Whether the first is the second, or a folder around it."""
    return key.startswith(folder_key)


def overlap(one: str | None, other: str | None) -> bool:
    """Whether two claims of these keys meet; no key meets nothing."""
    return one is not None and other is not None and (covers(one, other) or covers(other, one))


def _repo_key(absolute: str, root: str) -> str | None:
    """The path within the repository, `""` for all of it; None for a path outside."""
    top = as_key(root)
    return as_key(absolute)[len(top) :] if covers(top, as_key(absolute)) else None
