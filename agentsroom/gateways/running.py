"""The server that runs on this home, if one does: serve.json, as its processes and ours read and write it."""

import fcntl
import shlex
import shutil
import sys
from ipaddress import ip_address
from pathlib import Path

import msgspec

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.files import whole_file
from agentsroom.core.product import NAME
from agentsroom.core.settings import PREFIX, Settings


class NoServer(AgentsRoomError):
    """A command needs a server that runs on this home, and there is none."""

    code, status = "no_server", 503


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


def get_running(settings: Settings) -> Running:
    """The same. Raises NoServer."""
    running = running_server(settings)
    if running is None:
        raise NoServer(
            f"No server runs on {settings.home_path}.", hint=f"Start one: {shell_line(settings, 'serve')}"
        )
    return running


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
    return running.url if running else address_here(settings, settings.port)


def address_here(settings: Settings, port: int) -> str:
    """How clients on this machine reach a server of these settings."""
    host = settings.host
    if is_every_address(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_every_address(host: str) -> bool:
    """Whether who listens there is reached by every address of the machine: `0.0.0.0`, `::`."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:  # a name
        return False


def own_command() -> str:
    """How any shell on this machine calls this program: its name where every PATH finds it, else its full path.

    A virtual environment is on the PATH of those shells alone where it was activated, and the name may be another
    installation's.
    """
    beside = Path(sys.executable).with_name(NAME)
    found = Path(shutil.which(NAME) or "")
    if not beside.exists():
        return f"{shlex.quote(sys.executable)} -m agentsroom"
    is_activated = sys.prefix != sys.base_prefix and found.parent == beside.parent
    is_ours = found.is_file() and found.samefile(beside)
    return NAME if is_ours and not is_activated else shlex.quote(str(beside))


def shell_line(settings: Settings, *words: str) -> str:
    """A line that any shell on this machine takes, and that means the store of these settings."""
    variables = [f"{name}={shlex.quote(text)}" for name, text in variables_of(settings).items()]
    return " ".join([*variables, own_command(), *map(shlex.quote, words)])


def variables_of(settings: Settings) -> dict[str, str]:
    """What another process on this machine needs to mean the same store; the password of a database is not told."""
    variables = {}
    if settings.home != Settings().home:
        variables[f"{PREFIX}HOME"] = str(settings.home_path)
    if settings.db and settings.database_path is not None:
        variables[f"{PREFIX}DB"] = str(settings.database_path.absolute())
    return variables


def write_serve_json(settings: Settings, running: Running) -> None:
    """Written whole or not at all, for its owner alone."""
    with whole_file(settings.home_path / "serve.json") as partial:
        partial.write_bytes(msgspec.json.encode(running))
