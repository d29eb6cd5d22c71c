"""The server that runs on this home, if one does: serve.json, as its processes and ours read and write it."""

import fcntl
import shlex
import shutil
import sys
from pathlib import Path

import msgspec

from agentsroom.core.files import whole_file
from agentsroom.core.settings import Settings


class Running(msgspec.Struct, frozen=True):
    """What serve.json says of a running server."""

    url: str
    port: int
    pid: int
    instance_id: str
    token: str


def running_server(settings: Settings) -> Running | None:
    """The server of this home, from its serve.json; None when nobody holds its serve.lock."""
    try:
        if not _is_held(settings.home_path / "serve.lock"):
            return None
        return msgspec.json.decode((settings.home_path / "serve.json").read_bytes(), type=Running)
    except (OSError, msgspec.DecodeError):
        return None


def _is_held(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def base_url(settings: Settings) -> str:
    """How a browser reaches the server: AGENTS_ROOM_URL, else the running server's address, else the settings'."""
    if settings.url:
        return settings.url.rstrip("/")
    running = running_server(settings)
    return running.url if running else f"http://{settings.host}:{settings.port}"


def own_command() -> str:
    """How a shell on this machine calls this program: its name where the PATH finds it, else its full path."""
    beside = Path(sys.executable).with_name("agents-room")
    if shutil.which("agents-room"):
        return "agents-room"
    return shlex.quote(str(beside)) if beside.exists() else f"{shlex.quote(sys.executable)} -m agentsroom"


def write_serve_json(settings: Settings, running: Running) -> None:
    """Written whole or not at all, for its owner alone."""
    with whole_file(settings.home_path / "serve.json") as partial:
        partial.write_bytes(msgspec.json.encode(running))
