"""Files that are written whole or not at all, for their owner alone; and where the shipped ones stand."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from agentsroom.core.errors import NotWritable


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """An empty file for its owner alone, which takes the name of the target when all is written to it."""
    if target.exists() and not target.is_file():
        raise NotWritable(f"{target} is there, and is no file that could be replaced.")
    partial = target.with_name(f".{target.name}.tmp-{os.getpid()}")
    try:
        partial.touch(mode=0o600)
    except OSError as error:
        raise NotWritable(f"{target} can't be written: {error.strerror}.") from error
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def shipped_folder(name: str) -> Path:
    """templates, static or wiki: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
