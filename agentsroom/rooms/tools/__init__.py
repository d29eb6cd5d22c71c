"""The rooms' tools: arguments, results and functions of each, in the order in which they are listed."""

from agentsroom.core.tools import Tool
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.tools import leases, messages, sessions


def room_tools(machine: Machine) -> tuple[Tool, ...]:
    """Every tool of the set `rooms`."""
    return tuple(make(machine) for make in (*sessions.TOOLS, *messages.TOOLS, *leases.TOOLS))
