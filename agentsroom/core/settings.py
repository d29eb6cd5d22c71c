"""Every setting: one frozen struct, read once from the environment; the wiki's page is made from it."""

import os
import stat
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentsroom.core.errors import SettingsError, StoreUnavailable

PREFIX = "AGENTS_ROOM_"

TOOL_SETS = ("rooms",)
"""What AGENTS_ROOM_TOOLS may name."""


def _setting(
    default: Any, help: str, *, choices: tuple[str, ...] = (), least: int = 0, most: int = 2**53
) -> Any:
    return field(default=default, metadata={"help": help, "choices": choices, "least": least, "most": most})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a process runs with.

    Each field is the environment variable `AGENTS_ROOM_<FIELD>` in capitals.
    """

    home: str = _setting("~/.agents-room", "folder of the store, of serve.json, of secret and of run/")
    db: str = _setting("", "the store: a path or an SQLAlchemy URL; empty: room.db in the home")
    host: str = _setting("127.0.0.1", "address that serve listens on")
    port: int = _setting(8765, "port that serve listens on; 0 takes any free one", most=65_535)
    url: str = _setting("", "public base address, as a browser types it; its host is then an allowed one")
    auth: str = _setting("on", "off lets everybody in as the admin; loopback only", choices=("on", "off"))
    team: str = _setting("home", "team of a stdio or CLI process")
    agent: str = _setting("default", "agent of a stdio or CLI process")
    sync: str = _setting(
        "normal", "full also survives a power failure, at a price", choices=("normal", "full")
    )
    watch: str = _setting("native", "poll only for network file systems", choices=("native", "poll"))
    proxies: int = _setting(0, "trusted proxies in front of serve", most=10)
    tools: str = _setting("rooms", "which sets of tools an MCP client is shown, separated by commas")
    busy_s: int = _setting(10, "seconds to wait for the store's write lock", least=1, most=600)
    retention_messages: int = _setting(0, "days that prune keeps messages; 0: for ever")
    retention_events: int = _setting(
        0, "days that prune keeps events, then moves them to a file in the home; 0: for ever"
    )
    max_body_bytes: int = _setting(65_536, "bytes of a message's body (UTF-8)", least=1)
    max_subject: int = _setting(200, "characters of a subject", least=1)
    max_label: int = _setting(80, "characters of a session's label", least=1)
    max_tag: int = _setting(64, "characters of a tag", least=1)
    max_tags: int = _setting(32, "tags of a session", least=1)
    max_rooms: int = _setting(64, "rooms of a session", least=1)
    max_room_name: int = _setting(128, "characters of a room's name", least=1)
    max_path_bytes: int = _setting(4_096, "bytes of a path (UTF-8)", least=1)
    max_query: int = _setting(500, "characters of a search", least=1)
    max_ttl_s: int = _setting(2_592_000, "seconds that a message may live", least=1)
    max_lease_s: int = _setting(604_800, "seconds that a lease may run", least=1)

    max_calls: int = _setting(60_000, "calls a minute to /api and /mcp of one agent or login; 0: no limit")
    max_streams: int = _setting(
        10_000, "streams and waiting calls that one agent or login has open at a time", least=1
    )

    @property
    def home_path(self) -> Path:
        return Path(self.home).expanduser().absolute()

    @property
    def database_url(self) -> str:
        """The store as an SQLAlchemy URL."""
        if "://" in self.db:
            return self.db
        path = Path(self.db).expanduser().absolute() if self.db else self.home_path / "room.db"
        return f"sqlite:///{path}"

    @property
    def database_path(self) -> Path | None:
        """The store's file; None where the store is no SQLite file."""
        prefix = "sqlite:///"
        return Path(self.database_url.removeprefix(prefix)) if self.database_url.startswith(prefix) else None

    @property
    def store_name(self) -> str:
        """How errors name the store: its path, or its URL without a password."""
        if self.database_path is not None:
            return str(self.database_path)
        scheme, _, rest = self.database_url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    @property
    def is_reached_from_beyond(self) -> bool:
        """Whether others than this machine's users may reach the server."""
        return bool(_ways_from_beyond(self))

    @property
    def tool_sets(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.tools.split(",") if name.strip())


def load_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from the variables of `environment`; a variable that is not set or empty keeps the default.

    Raises SettingsError, naming the variable, its value and what it takes.
    """
    given: dict[str, Any] = {}
    for setting in fields(Settings):
        variable = PREFIX + setting.name.upper()
        if text := environment.get(variable, ""):
            given[setting.name] = _parse(variable, text, setting)
    settings = Settings(**given)
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    """What one field alone does not tell. Raises SettingsError."""
    if settings.url and not _is_base_address(settings.url):
        raise SettingsError(
            f"AGENTS_ROOM_URL={settings.url}: an address such as https://rooms.example.org is needed."
        )
    if "://" in settings.db and not settings.db.startswith(("sqlite:////", "postgresql+psycopg://")):
        scheme = settings.db.partition("://")[0]
        raise SettingsError(
            f"AGENTS_ROOM_DB begins with {scheme}://: a path, sqlite:////… or postgresql+psycopg://… is accepted."
        )
    unknown = [name for name in settings.tool_sets if name not in TOOL_SETS]
    if unknown or not settings.tool_sets:
        raise SettingsError(f"AGENTS_ROOM_TOOLS={settings.tools}: sets of tools are {', '.join(TOOL_SETS)}.")
    if settings.auth == "off" and (beyond := _ways_from_beyond(settings)):
        raise SettingsError(
            f"AGENTS_ROOM_AUTH=off lets everybody in, so it is accepted on loopback only, not with {beyond}.",
            hint=f"Leave AGENTS_ROOM_AUTH or {beyond.partition('=')[0]} unset.",
        )


def _is_base_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        return False


def _ways_from_beyond(settings: Settings) -> str:
    """The setting by which others than this machine's users reach the server; empty when there is none."""
    public = urlsplit(settings.url).hostname
    if not _is_loopback(settings.host):
        return f"AGENTS_ROOM_HOST={settings.host}"
    if public is not None and not _is_loopback(public):
        return f"AGENTS_ROOM_URL={settings.url}"
    return f"AGENTS_ROOM_PROXIES={settings.proxies}" if settings.proxies else ""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # another name
        return False


def _parse(variable: str, text: str, setting: "Field[Any]") -> Any:
    meta = setting.metadata
    if setting.type is int:
        try:
            number = int(text)
        except ValueError:
            raise SettingsError(f"{variable}={text}: a whole number is needed.") from None
        if not meta["least"] <= number <= meta["most"]:
            raise SettingsError(f"{variable}={text}: {meta['least']} to {meta['most']} is accepted.")
        return number
    if meta["choices"] and text not in meta["choices"]:
        raise SettingsError(f"{variable}={text}: {' or '.join(meta['choices'])} is accepted.")
    return text


def make_home(settings: Settings) -> Path:
    """The home folder, made for its owner alone (0700) where it is missing. Raises StoreUnavailable."""
    home = settings.home_path
    try:
        home.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"The home {home} can't be made: {error.strerror} ({error.filename}).",
            hint="AGENTS_ROOM_HOME names it; give it a folder that this user may write to.",
            retry_after=10,
        ) from error
    return home
