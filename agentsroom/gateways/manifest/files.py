"""The manifests of a release as files: printed, or written all of them or none."""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from agentsroom.core.errors import Conflict, NotWritable, ParseError
from agentsroom.core.files import whole_file
from agentsroom.core.jsontext import parse_strict
from agentsroom.core.product import NAME
from agentsroom.gateways.manifest.parts import Json, Manifest
from agentsroom.gateways.manifest.released import Release

_FOR_EVERYBODY = 0o644
_MARKS = ("$schema", "manifest_version")
"""A manifest has one of them, and no other file of that name has."""


def as_text(document: Json) -> str:
    """The document as people read it."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def write_release(
    folder: Path, manifests: Iterable[Manifest[Release]], release: Release, *, force: bool
) -> dict[Path, int]:
    """Writes each manifest into the folder, which is made where it is missing; the files with their bytes.

    Raises Conflict when a file there is another's, unless `force` replaces it, and NotWritable.
    """
    documents = {folder / one.place: one.make(release) for one in manifests}
    if not force:
        for target, document in documents.items():
            _check_ours(target, document)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write(documents)
    except OSError as error:
        raise NotWritable(f"{folder} can't be written to: {error.strerror}.") from error


def _check_ours(target: Path, document: Json) -> None:
    if target.is_file() and not _is_ours(target, document):
        raise Conflict(
            f"{target} is there, and is no manifest of {NAME}; nothing was written.",
            hint="--force replaces it.",
        )


def _is_ours(target: Path, document: Json) -> bool:
    """Whether the file is an older or newer form of the document."""
    try:
        found = parse_strict(target.read_bytes())
    except (OSError, ParseError):
        return False
    return isinstance(found, dict) and _identity(found) == _identity(document)


def _identity(document: Json) -> tuple[object, ...]:
    """The product, whoever publishes it, and the kind of manifest."""
    return str(document.get("name")).rpartition("/")[2], *(mark in document for mark in _MARKS)


def _write(documents: dict[Path, Json]) -> dict[Path, int]:
    """No file takes its name before all are written."""
    sizes = {}
    with ExitStack() as stack:
        for target, document in documents.items():
            partial = stack.enter_context(whole_file(target))
            sizes[target] = partial.write_bytes(f"{as_text(document)}\n".encode())
            partial.chmod(_FOR_EVERYBODY)
    return sizes
