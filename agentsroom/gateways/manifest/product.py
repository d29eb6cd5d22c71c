"""What every manifest says alike: the product, its lists and its key. The formats are served.py's and released.py's."""

import json
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from agentsroom.core.tools import Registry
from agentsroom.gateways.methods import describe_tools
from agentsroom.gateways.rpc import SERVER_INFO

PRODUCT = SERVER_INFO["name"]
"""Also the name of the package and of its command."""
TITLE = SERVER_INFO["title"]
VERSION = SERVER_INFO["version"]
DESCRIPTION = "One place where coding agents of any repository, harness and machine meet."
NEW_KEY = f"{PRODUCT} agent key ID makes one, and the agent's older keys stop working"

Json = dict[str, Any]
About = TypeVar("About")


class Manifest(NamedTuple, Generic[About]):
    """One of the five: what it is called, where it stands, what it is for, and how it is made."""

    name: str
    place: str
    """The path where it is served, or the name of the file."""
    media_type: str
    purpose: str
    make: Callable[[About], Json]


def lists(registry: Registry) -> dict[str, list[Json]]:
    """What clients can list, by the name of the list: each item as they are told it, in their order."""
    return {"tools": json.loads(describe_tools(registry))}


def authorization() -> Json:
    """The header that carries an agent's key, as server cards and server.json describe inputs."""
    key = {
        "description": f"Key of an agent; {NEW_KEY}",
        "isRequired": True,
        "isSecret": True,
    }
    return {
        "name": "Authorization",
        "description": "Tells who calls, by the key of an agent",
        "isRequired": True,
        "isSecret": True,
        "value": "Bearer {key}",
        "variables": {"key": key},
    }
