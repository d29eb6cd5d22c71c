"""What `agents-room manifest` prints and writes."""

from pathlib import Path

import click

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.settings import Settings, load_settings
from agentsroom.core.tools import Registry
from agentsroom.gateways.manifest.files import as_text, write_release
from agentsroom.gateways.manifest.parts import Json
from agentsroom.gateways.manifest.released import RELEASED, SERVER_JSON, Release, release_of
from agentsroom.gateways.manifest.served import SERVED, Server
from agentsroom.gateways.running import base_url
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry


def show_manifest(kind: str, repository: str | None, name: str | None) -> None:
    """Prints one of the five. Raises InvalidArgument."""
    if kind in RELEASED:
        document = RELEASED[kind].make(_release(repository, name))
    else:
        _refuse(kind, **{"--repository": repository, "--name": name})
        document = _as_served(kind)
    click.echo(as_text(document))


def write_manifests(
    kind: str | None, folder: Path, repository: str | None, name: str | None, *, force: bool
) -> None:
    """Writes the two of a release, or the one of that kind, and says so.

    Raises InvalidArgument, Conflict and NotWritable.
    """
    if kind in SERVED:
        _refuse(kind, **{"--write": str(folder)})
    release = _release(repository, name)
    chosen = [RELEASED[kind]] if kind else list(RELEASED.values())
    for path, size in write_release(folder, chosen, release, force=force).items():
        click.echo(f"{path} is written ({size:,} bytes).")
    if release.is_nobodys and SERVER_JSON in chosen:
        text = f"No registry takes the name {release.name}: give yours with --repository or --name."
        click.echo(text, err=True)


def _refuse(kind: str, **options: str | None) -> None:
    """Raises InvalidArgument for each option that was given."""
    text = f"is for {' and '.join(RELEASED)}; {kind} is of a running server"
    if problems := {option: text for option, given in options.items() if given is not None}:
        raise InvalidArgument(problems)


def _release(repository: str | None, name: str | None) -> Release:
    """As others will run it: the settings of this process do not count."""
    return release_of(_registry(load_settings({})), repository, name)


def _as_served(kind: str) -> Json:
    """As the server of this home gives it, whether it runs now or not."""
    settings = load_settings()
    server = Server(_registry(settings), base_url(settings), needs_key=settings.auth == "on")
    return SERVED[kind].make(server)


def _registry(settings: Settings) -> Registry:
    return make_registry(settings, Machine())
