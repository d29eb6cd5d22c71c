"""What the product says of itself before anybody connects: five manifests, all made from the one registry.

`served` has the three that stand beside /mcp, `released` the two that are files of a release.
"""

from typing import NamedTuple

from agentsroom.gateways.manifest.released import RELEASED
from agentsroom.gateways.manifest.served import SERVED


class Line(NamedTuple):
    """A manifest in a list for people."""

    name: str
    where: str
    what: str


def overview() -> list[Line]:
    """All five."""
    return [
        *(Line(one.name, f"GET {one.place}", one.purpose) for one in SERVED.values()),
        *(Line(one.name, f"file {one.place}", one.purpose) for one in RELEASED.values()),
    ]
