"""How a function becomes a tool: by a decorator, from its name, its docstring and its annotations."""

from collections.abc import Callable
from functools import partial
from typing import Any, get_type_hints

from agentsroom.core.tools import Result, Tool
from agentsroom.rooms.machine import Machine

MakeTool = Callable[[Machine], Tool]
"""The tool for the process of that machine."""


def tool(title: str, **traits: bool) -> Callable[[Callable[..., Result]], MakeTool]:
    """Declares `name(call, arguments)`, or `name(call, arguments, machine)`; the docstring is what agents are told.

    `traits`: waits, read_only, idempotent.
    """

    def declared(function: Callable[..., Result]) -> MakeTool:
        return partial(_made, function, title, traits)

    return declared


def _made(function: Callable[..., Any], title: str, traits: dict[str, bool], machine: Machine) -> Tool:
    hints = get_type_hints(function)
    return Tool(
        name=function.__name__,
        title=title,
        description=" ".join((function.__doc__ or "").split()),
        arguments=hints["arguments"],
        result=hints["return"],
        function=partial(function, machine=machine) if "machine" in hints else function,
        toolset="rooms",
        **traits,
    )
