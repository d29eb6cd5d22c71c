"""Real git repositories for the tests, made by git itself."""

import subprocess
from pathlib import Path

_WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main")


def repository(folder: Path) -> Path:
    """A new repository whose top is `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet")
    return folder


def cloned_from(url: str, folder: Path) -> Path:
    """A repository whose `origin` is `url`; nothing is fetched."""
    _git(repository(folder), "remote", "add", "origin", url)
    return folder


def worktree(of: Path, folder: Path) -> Path:
    """A linked worktree of a repository."""
    _git(of, "commit", "--quiet", "--allow-empty", "--message=first")
    _git(of, "worktree", "add", "--quiet", "-b", folder.name, str(folder))
    return folder


def submodule(of: Path, source: Path, name: str) -> Path:
    """A repository that stands inside another as its submodule."""
    _git(source, "commit", "--quiet", "--allow-empty", "--message=first")
    _git(of, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), name)
    return of / name


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *_WHO, *arguments], cwd=folder, check=True, capture_output=True)
