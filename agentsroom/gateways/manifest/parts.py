"""What manifests have in common: their lists and the key. The formats are served.py's and released.py's."""

import json
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from agentsroom.core.product import NAME
from agentsroom.core.tools import Registry
from agentsroom.gateways.methods import describe_tools

NEW_KEY = f"{NAME} agent create ID makes an agent and its key"

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
