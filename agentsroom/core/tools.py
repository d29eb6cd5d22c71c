"""The one registry of tools: MCP, the JSON API, the CLI's help and the wiki's tables are made from it.

A tool is a value. Its arguments are decoded strictly from the raw JSON bytes; what is wrong with them is told all at
once, each with the argument's name, what came and what it takes.
"""

import functools
import json
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentsroom.core.errors import InvalidArgument, UnknownTool
from agentsroom.core.principals import Principal
from agentsroom.core.schemas import in_words, schema_of, shallow
from agentsroom.core.settings import Settings
from agentsroom.core.text import counted, refused_character

if TYPE_CHECKING:
    from agentsroom.core.database import Database
    from agentsroom.core.feed import CallFeed, Feed


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Base of every tool's arguments: unknown names are refused, None means absent."""


class Result(msgspec.Struct, kw_only=True):
    """Base of every tool's result; a field marked `?` in the docs is left out when it is UNSET."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Bounds an argument by a setting: `Annotated[str, Meta(extra=limit("max_subject"))]`."""

    setting: str
    unit: typing.Literal["characters", "bytes", "items", "seconds"]

    KEYWORDS: typing.ClassVar = {"characters": "maxLength", "items": "maxItems", "seconds": "maximum"}

    def problem(self, value: Any, settings: Settings) -> str | None:
        """What is wrong with the value, or None."""
        most = getattr(settings, self.setting)
        size = value if self.unit == "seconds" else len(value.encode() if self.unit == "bytes" else value)
        if size <= most:
            return None
        came = f"{size:,}" if self.unit == "seconds" else counted(size, self._one)
        return f"{came} came; at most {counted(most, self._one)} {'is' if most == 1 else 'are'} taken"

    @property
    def _one(self) -> str:
        return self.unit.removesuffix("s")


def limit(setting: str, unit: typing.Literal["characters", "bytes", "items", "seconds"]) -> dict[str, Any]:
    """The `extra` of a msgspec Meta that bounds an argument by a setting."""
    return {"limit": Limit(setting, unit)}


def in_own_words(words: str) -> dict[str, str]:
    """What an argument takes, for errors: where the schema says it by a pattern, which nobody reads."""
    return {"words": words}


class Call(NamedTuple):
    """What a tool's function is given besides its arguments."""

    database: "Database"
    feed: "Feed | CallFeed"
    caller: Principal


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool: what it is called, takes, gives and does."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    function: Callable[[Call, Any], Result]
    toolset: str
    waits: bool = False
    """Whether it may take long before it answers."""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def annotations(self) -> dict[str, bool]:
        """MCP's hints; nothing here reaches beyond the store, so openWorldHint is always false.

        The others say nothing of a tool that only reads.
        """
        hints = {"openWorldHint": False}
        if self.read_only:
            return {**hints, "readOnlyHint": True}
        return {**hints, "destructiveHint": self.destructive, "idempotentHint": self.idempotent}


class Registry:
    """Every tool of the product, in the order in which they are listed."""

    def __init__(self, tools: tuple[Tool, ...], settings: Settings) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._settings = settings

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def shown(self) -> list[Tool]:
        """The tools of the sets that AGENTS_ROOM_TOOLS names."""
        return [tool for tool in self if tool.toolset in self._settings.tool_sets]

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises UnknownTool.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(
                f"No tool is called {json.dumps(name)[:100]}.",
                hint="tools/list of MCP and /api/openapi.json name them all.",
            )
        return tool

    def call(self, name: str, raw: bytes, call: Call) -> Result:
        """Runs the tool on its arguments, given as JSON text that core/jsontext.py found well formed.

        Raises UnknownTool, InvalidArgument, and what the tool itself raises.
        """
        tool = self.get(name)
        return tool.function(call, self.decode(tool, raw))

    def decode(self, tool: Tool, raw: bytes) -> Arguments:
        """The tool's arguments.

        Raises InvalidArgument with every problem that they have.
        """
        try:
            arguments: Arguments = _decoder(tool.arguments).decode(raw)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeError):
            arguments = self._decode_slowly(tool, raw)
        problems = self._text_problems(tool, arguments)
        if problems:
            raise InvalidArgument(problems)
        return arguments

    def _decode_slowly(self, tool: Tool, raw: bytes) -> Arguments:
        """Field by field: finds every problem, and takes 10.0 for 10 as JSON Schema does."""
        given = json.loads(raw)
        if not isinstance(given, dict):
            raise InvalidArgument({"arguments": f"{_shown(given)} came; an object is taken"})
        types = _field_types(tool.arguments)
        values: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name, value in given.items():
            if name not in types:
                problems[name] = f"is no argument of {tool.name}, which takes {', '.join(types)}"
                continue
            try:
                values[name] = _decode_field(types[name], value)
            except (msgspec.DecodeError, UnicodeError) as error:
                problems[name] = _explain(error, value, self._taken(tool, name))
        for name in tool.arguments.__struct_fields__:
            if name not in given and name in _required(tool.arguments):
                problems[name] = f"is missing; {self._taken(tool, name)} is needed"
        if problems:
            raise InvalidArgument(problems)
        return tool.arguments(**values)

    def _taken(self, tool: Tool, name: str) -> str:
        """What an argument takes, in words."""
        return _own_words(_field_types(tool.arguments)[name]) or in_words(
            self.schema(tool)["properties"][name]
        )

    def _text_problems(self, tool: Tool, arguments: Arguments) -> dict[str, str]:
        problems: dict[str, str] = {}
        for name, own, of_items in _checks(tool.arguments):
            value = getattr(arguments, name)
            if value is None:
                continue
            problem = self._problem(value, own, of_items)
            if problem is not None:
                problems[name] = problem
        return problems

    def _problem(self, value: Any, own: Limit | None, of_items: Limit | None) -> str | None:
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if isinstance(text, str) and (problem := refused_character(text)):
                return problem
            if of_items is not None and (problem := of_items.problem(text, self._settings)):
                return problem
        return own.problem(value, self._settings) if own is not None else None

    def schema(self, tool: Tool) -> dict[str, Any]:
        """The inputSchema (JSON Schema 2020-12), bounds of the settings included."""
        schema = schema_of(tool.arguments)
        properties = {name: dict(one) for name, one in schema["properties"].items()}
        for name, own, of_items in _checks(tool.arguments):
            if own is not None and own.unit in Limit.KEYWORDS:
                properties[name][Limit.KEYWORDS[own.unit]] = getattr(self._settings, own.setting)
            if of_items is not None and of_items.unit in Limit.KEYWORDS:
                bound = {Limit.KEYWORDS[of_items.unit]: getattr(self._settings, of_items.setting)}
                properties[name]["items"] = {**properties[name]["items"], **bound}
        return {**schema, "properties": properties}

    def output_schema(self, tool: Tool) -> dict[str, Any]:
        """The outputSchema (JSON Schema 2020-12): the fields of the result; what is inside them is not told twice.

        The list of tools is part of every agent's context, so it is kept short.
        """
        schema = schema_of(tool.result)
        return {**schema, "properties": {name: shallow(one) for name, one in schema["properties"].items()}}


@functools.cache
def _decoder(arguments: type[Arguments]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(arguments, strict=True)


@functools.cache
def _field_types(arguments: type[Arguments]) -> dict[str, Any]:
    hints = typing.get_type_hints(arguments, include_extras=True)
    return {name: hints[name] for name in arguments.__struct_fields__}


@functools.cache
def _required(arguments: type[Arguments]) -> frozenset[str]:
    return frozenset(one.name for one in msgspec.structs.fields(arguments) if one.required)


@functools.cache
def _checks(arguments: type[Arguments]) -> tuple[tuple[str, Limit | None, Limit | None], ...]:
    """(field, its own limit, the limit of its items) for every field that holds text or is bounded by a setting."""
    return tuple(
        (name, own, of_items)
        for name, hint in _field_types(arguments).items()
        for own, of_items, textual in [_limits_of(hint)]
        if own or of_items or textual
    )


def _limits_of(hint: Any) -> tuple[Limit | None, Limit | None, bool]:
    if typing.get_origin(hint) is typing.Annotated:
        base, *metas = typing.get_args(hint)
        own, of_items, textual = _limits_of(base)
        for meta in metas:
            own = (getattr(meta, "extra", None) or {}).get("limit", own)
        return own, of_items, textual
    if typing.get_origin(hint) is list:
        of_items, _, textual = _limits_of(typing.get_args(hint)[0])
        return None, of_items, textual
    if typing.get_args(hint) and typing.get_origin(hint) is not typing.Literal:
        found = [_limits_of(one) for one in typing.get_args(hint)]
        own = next((one[0] for one in found if one[0]), None)
        of_items = next((one[1] for one in found if one[1]), None)
        return own, of_items, any(one[2] for one in found)
    return None, None, hint is str


def _decode_field(hint: Any, value: Any) -> Any:
    raw = json.dumps(value, ensure_ascii=False).encode()  # UnicodeError: a lone surrogate
    try:
        return msgspec.json.decode(raw, type=hint, strict=True)
    except msgspec.ValidationError:
        if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
            return msgspec.json.decode(str(int(value)).encode(), type=hint, strict=True)
        raise


def _own_words(hint: Any) -> str | None:
    """Those of a `Meta(extra=in_own_words(…))` inside the annotation."""
    for part in typing.get_args(hint):
        found: str | None = (getattr(part, "extra", None) or {}).get("words") or _own_words(part)
        if found:
            return found
    return None


def _explain(error: Exception, value: Any, taken: str) -> str:
    if isinstance(error, UnicodeError):
        return "holds a lone surrogate; text that is whole Unicode is taken"
    return f"{_shown(value)} came; {taken} is taken"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."
