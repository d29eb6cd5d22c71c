"""The manifests of a server that runs: our own, an MCP Server Card and an AI Catalog."""

import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from agentsroom.core.product import DESCRIPTION, NAME, TITLE, VERSION
from agentsroom.core.tools import Registry
from agentsroom.gateways.manifest.parts import NEW_KEY, Json, Manifest, authorization, lists
from agentsroom.gateways.rpc import CAPABILITIES, INSTRUCTIONS, LEGACY_VERSIONS, MODERN_VERSION, SERVER_INFO

LOCAL = "localhost"
CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
CATALOG_VERSION = "0.9"

_VERSIONS = [MODERN_VERSION, *LEGACY_VERSIONS]


class Server(NamedTuple):
    """A server that runs, as its clients reach it."""

    registry: Registry
    base: str
    """Its address, without a slash at the end."""
    needs_key: bool

    @property
    def endpoint(self) -> str:
        return f"{self.base}/mcp"


def tool_manifest(server: Server) -> Json:
    """Everything that a client would learn by connecting, in a form of our own."""
    return {
        **SERVER_INFO,
        "description": DESCRIPTION,
        "endpoint": server.endpoint,
        "transport": "streamable-http",
        "protocol_versions": _VERSIONS,
        "authentication": {
            "required": server.needs_key,
            "scheme": "bearer",
            "header": "Authorization",
            "hint": f"The key of an agent; {NEW_KEY}.",
        },
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        **lists(server.registry),
    }


def server_card(server: Server) -> Json:
    """Who and where (SEP-2127); what a client can list only by connecting, the format leaves out on purpose."""
    return {
        "$schema": CARD_SCHEMA,
        "name": name_at(server.base),
        "title": TITLE,
        "description": DESCRIPTION,
        "version": VERSION,
        "remotes": [
            {
                "type": "streamable-http",
                "url": server.endpoint,
                "supportedProtocolVersions": _VERSIONS,
                **({"headers": [authorization()]} if server.needs_key else {}),
            }
        ],
    }


def ai_catalog(server: Server) -> Json:
    """One entry; the card that it leads to tells name, description and version itself (AI Catalog 0.9)."""
    entry = {
        "identifier": f"urn:air:{_host_of(server.base)}:mcp:{NAME}",
        "type": SERVER_CARD.media_type,
        "url": f"{server.base}{SERVER_CARD.place}",
    }
    return {"specVersion": CATALOG_VERSION, "host": {"displayName": TITLE}, "entries": [entry]}


def name_at(base: str) -> str:
    """The server's name in reverse DNS; that of an address is the same wherever it is."""
    return ".".join(reversed(_host_of(base).split("."))) + f"/{NAME}"


def _host_of(base: str) -> str:
    host = urlsplit(base).hostname or LOCAL
    try:
        ip_address(host)
    except ValueError:
        return re.sub(r"[^a-z0-9.-]", "-", host).strip(".")
    return LOCAL


TOOLS = Manifest(
    "tools",
    "/mcp/manifest.json",
    "application/json",
    "every tool with its schemas, as tools/list gives it, and how to reach them",
    tool_manifest,
)
SERVER_CARD = Manifest(
    "server-card",
    "/mcp/server-card",
    "application/mcp-server-card+json",
    "an MCP Server Card: what a client reads before it connects",
    server_card,
)
AI_CATALOG = Manifest(
    "ai-catalog",
    "/.well-known/ai-catalog.json",
    "application/ai-catalog+json",
    "an AI Catalog: where a client that knows only the host finds the card",
    ai_catalog,
)
SERVED = {one.name: one for one in (TOOLS, SERVER_CARD, AI_CATALOG)}
