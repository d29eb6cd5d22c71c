"""Which addresses are ours: what a request may say in Host and in Origin; asks no request itself."""

import contextlib
from ipaddress import ip_address
from urllib.parse import urlsplit

from agentsroom.core.errors import Forbidden
from agentsroom.core.settings import Settings

_DEFAULT_PORTS = {"http": 80, "https": 443}


class ForeignHost(Forbidden):
    """The request was sent to a host name that is none of ours."""

    code = "foreign_host"

    def __init__(self, port: int) -> None:
        hint = (
            "Use the address that the server prints, or start it with another name for it: "
            f"AGENTS_ROOM_URL=http://NAME:{port} agents-room serve"
        )
        super().__init__("This host name is none of ours.", hint=hint)


class ForeignOrigin(Forbidden):
    """The request comes from a page that is none of ours."""

    code = "foreign_origin"
    usual_hint = (
        "A client that is no browser sends no Origin and no Sec-Fetch-Site; pages of the server's other name are let in "
        "by AGENTS_ROOM_URL=http://NAME:PORT."
    )


class Addresses:
    """The addresses of one server, compared letter by letter: nothing is ours that only resembles them."""

    def __init__(self, settings: Settings, port: int) -> None:
        self._port = port
        here = _written("http", _local_names(settings.host), port)
        public = urlsplit(settings.url)
        there = _written(public.scheme, {public.hostname or ""}, public.port) if settings.url else set()
        self.hosts = frozenset(here | there)
        """What a Host header may say, in lower case."""
        self.origins = frozenset(
            {f"http://{host}" for host in here} | {f"{public.scheme}://{host}" for host in there}
        )
        """What an Origin header may say, in lower case."""

    def check_host(self, host: str) -> None:
        """Raises ForeignHost."""
        if host.lower() not in self.hosts:
            raise ForeignHost(self._port)

    def check_origin(self, origin: str) -> None:
        """Raises ForeignOrigin."""
        if origin.lower() not in self.origins:
            raise ForeignOrigin("The request comes from a page that is none of ours.")


def _local_names(host: str) -> set[str]:
    """How this machine's own clients call the server that listens on `host`."""
    names = {host.lower(), "localhost"}
    with contextlib.suppress(ValueError):  # a name is no address
        address = ip_address(host)
        names |= {address.compressed}
        if address.is_unspecified:
            names |= {"127.0.0.1", "::1"}
    return names


def _written(scheme: str, names: set[str], port: int | None) -> set[str]:
    """Each name with its port, and also without one where the port is the scheme's own."""
    default = _DEFAULT_PORTS[scheme]
    bare = {f"[{name}]" if ":" in name else _in_ascii(name) for name in names}
    with_port = {f"{name}:{port or default}" for name in bare}
    return with_port | bare if port in (None, default) else with_port


def _in_ascii(name: str) -> str:
    """As a browser sends it: `räume.example` → `xn--rume-loa.example`."""
    try:
        return name.encode("idna").decode()
    except UnicodeError:
        return name
