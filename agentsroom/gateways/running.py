"""The server that runs on this home, if one does: serve.json, as its processes and ours read and write it."""

import json
import os
from typing import NamedTuple

import psutil

from agentsroom.core.settings import Settings


class Running(NamedTuple):
    """What serve.json says of a running server."""

    url: str
    port: int
    pid: int
    instance_id: str
    token: str


def running_server(settings: Settings) -> Running | None:
    """The server whose serve.json stands in the home and whose process runs; None when there is none."""
    try:
        found = json.loads((settings.home_path / "serve.json").read_text())
        running = Running(**{name: found[name] for name in Running._fields})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return running if psutil.pid_exists(running.pid) else None


def base_url(settings: Settings) -> str:
    """How a browser reaches the server: AGENTS_ROOM_URL, else the running server's address, else the settings'."""
    if settings.url:
        return settings.url.rstrip("/")
    running = running_server(settings)
    return running.url if running else f"http://{settings.host}:{settings.port}"


def write_serve_json(settings: Settings, running: Running) -> None:
    """Written whole or not at all, for its owner alone."""
    path = settings.home_path / "serve.json"
    partial = path.with_name(f".serve.json.tmp-{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        json.dump(running._asdict(), file)
    partial.replace(path)
