"""How a function becomes a tool: by a decorator, from its name, its docstring and its annotations."""

from collections.abc import Callable
from functools import partial
from typing import get_type_hints

from agentsroom.core.tools import Result, Tool
from agentsroom.rooms.machine import Machine

MakeTool = Callable[[Machine], Tool]
"""The tool for the process of that machine."""


def tool(
    title: str, *, waits: bool = False, read_only: bool = False, idempotent: bool = False
) -> Callable[[Callable[..., Result]], MakeTool]:
    """Declares `name(call, arguments)`, or `name(call, arguments, machine)`; the docstring is what agents are told."""

    def declared(function: Callable[..., Result]) -> MakeTool:
        hints = get_type_hints(function)

        def made(machine: Machine) -> Tool:
            return Tool(
                name=function.__name__,
                title=title,
                description=" ".join((function.__doc__ or "").split()),
                arguments=hints["arguments"],
                result=hints["return"],
                function=partial(function, machine=machine) if "machine" in hints else function,
                toolset="rooms",
                waits=waits,
                read_only=read_only,
                idempotent=idempotent,
            )

        return made

    return declared
