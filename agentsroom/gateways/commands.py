"""CLI commands made from the registry: each tool is one command, its options are the tool's arguments.

A table says where a tool stands in the CLI and which of its arguments are typed without an option's name.
"""

import contextlib
import json
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from agentsroom.core.errors import WaitTimeout
from agentsroom.core.jsontext import parse_strict
from agentsroom.core.principals import Principal
from agentsroom.core.tools import Result, Tool
from agentsroom.gateways.terminal import show
from agentsroom.rooms.harnesses import harness_of
from agentsroom.rooms.results import Claimed, Waited
from agentsroom.rooms.service import sessions
from agentsroom.runtime import Runtime

SESSION_VARIABLE = "AGENTS_ROOM_SESSION"

_SLICE_S = 25.0

EXIT_REFUSED = 5
"""The call was understood and refused (README and wiki list the exit codes)."""


class Place(NamedTuple):
    """Where a tool stands in the CLI."""

    words: tuple[str, ...]
    typed: tuple[str, ...] = ()
    """Arguments that are typed without an option's name, in this order."""


PLACES = {
    "room_join": Place(("join",)),
    "room_leave": Place(("leave",)),
    "room_leave_room": Place(("room", "leave"), ("room",)),
    "room_who": Place(("who",)),
    "room_set_autonomy_cap": Place(("room", "cap"), ("autonomy",)),
    "msg_send": Place(("send",), ("to", "body")),
    "msg_recv": Place(("recv",)),
    "msg_wait": Place(("wait", "message")),
    "msg_ack": Place(("ack",), ("message_id",)),
    "msg_unread": Place(("unread",)),
    "msg_sent": Place(("sent",)),
    "room_history": Place(("history",)),
    "msg_search": Place(("search",), ("query",)),
    "why": Place(("why",), ("message_id",)),
    "lease_claim": Place(("lease", "claim"), ("path",)),
    "lease_renew": Place(("lease", "renew"), ("path",)),
    "lease_release": Place(("lease", "release"), ("path",)),
    "lease_check": Place(("lease", "check"), ("path",)),
    "lease_list": Place(("lease", "list")),
    "note_read": Place(("drift", "note"), ("path",)),
    "drift_check": Place(("drift", "check"), ("path",)),
}

Open = Callable[[], tuple[Runtime, Principal]]
"""Opens the store for a command, and tells who its process is."""


def command_of(tool: Tool, schema: dict[str, Any], open_store: Open) -> click.Command:
    """The tool as a click command."""
    place = PLACES[tool.name]
    parameters = [
        _parameter(name, one, name in schema.get("required", ()), place)
        for name, one in schema["properties"].items()
    ]
    order = {name: number for number, name in enumerate(place.typed)}
    parameters.sort(key=lambda one: order.get(one.name or "", len(order)))
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON.")
    field = click.Option(["--get", "field"], metavar="FIELD", help="Print one field of the result alone.")

    def run(as_json: bool, field: str | None, **given: Any) -> None:
        if field is not None and field not in tool.result.__struct_fields__:
            taken = ", ".join(tool.result.__struct_fields__)
            raise click.UsageError(
                f"The result of {' '.join(place.words)} has no field {field}; it has {taken}."
            )
        runtime, caller = open_store()
        with contextlib.closing(runtime):
            if "session_id" in schema["properties"] and given.get("session_id") is None:
                given["session_id"] = _own_session(
                    runtime, caller, "session_id" in schema.get("required", ())
                )
            result = (_wait if tool.name == "msg_wait" else _call)(runtime, caller, tool, given)
        show(result, as_json=as_json, field=field)
        if isinstance(result, Claimed) and not result.ok:
            raise SystemExit(EXIT_REFUSED)

    return click.Command(
        place.words[-1],
        callback=run,
        params=[*parameters, as_json, field],
        help="\n\n".join([tool.description, *_typed_help(schema, place)]),
        short_help=tool.description.partition(". ")[0],
    )


def _typed_help(schema: dict[str, Any], place: Place) -> list[str]:
    described = {name: schema["properties"][name] for name in place.typed}
    told = {name: " or ".join(_names(one)) or one.get("description", "") for name, one in described.items()}
    return [f"{name.upper()}: {text}.{_quoted(text)}" for name, text in told.items() if text]


def _quoted(text: str) -> str:
    """What a shell would read itself."""
    return " Quote it for the shell." if "*" in text else ""


def _names(schema: dict[str, Any]) -> list[str]:
    """The texts that are taken, where not every one is."""
    options = schema.get("anyOf", [schema])
    return [one for option in options for one in option.get("enum", []) if isinstance(one, str)]


def _call(runtime: Runtime, caller: Principal, tool: Tool, given: dict[str, Any]) -> Result:
    arguments = {name: value for name, value in given.items() if value is not None and value != ()}
    raw = json.dumps(arguments, ensure_ascii=True, default=list).encode()
    parse_strict(raw)
    return runtime.call(tool.name, raw, caller)


def _wait(runtime: Runtime, caller: Principal, tool: Tool, given: dict[str, Any]) -> Result:
    """Waits in slices that the tool takes, for as long as is asked, or for ever; raises WaitTimeout."""
    timeout_s = given.pop("timeout_s")
    if timeout_s is not None and not 0 <= timeout_s < math.inf:
        raise click.UsageError("--timeout takes a number of seconds, 0 or more.")
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        remaining = deadline - time.monotonic()
        result = _call(runtime, caller, tool, {**given, "timeout_s": max(0.0, min(_SLICE_S, remaining))})
        assert isinstance(result, Waited)
        if result.messages:
            return result
        if remaining <= 0:
            raise WaitTimeout(f"No message came within {timeout_s:g} s.")


def _parameter(name: str, schema: dict[str, Any], required: bool, place: Place) -> click.Parameter:
    kind, several = _type_of(schema)
    if name in place.typed:
        return click.Argument([name], type=kind, required=required, metavar=name.upper())
    if name == "session_id":
        text = f"Who you are; without it {SESSION_VARIABLE}, or the session of your harness's key or of this folder."
        return click.Option(["--session", "session_id"], envvar=SESSION_VARIABLE, help=text)
    flag = "--" + name.removesuffix("s" if several else "_s").replace("_", "-")
    return click.Option(
        [flag, name], type=kind, multiple=several, required=required, help=_help_of(name, schema, several)
    )


def _type_of(schema: dict[str, Any]) -> tuple[click.ParamType[Any], bool]:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "array" in kinds:
        return click.STRING, True
    if "integer" in kinds:
        return click.INT, False
    if "number" in kinds:
        return click.FLOAT, False
    names = _names(schema)
    return (click.Choice(names), False) if names else (click.STRING, False)


def _help_of(name: str, schema: dict[str, Any], several: bool) -> str:
    parts = [schema.get("description", "")]
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None and most < 2**31 - 1:
        parts.append(f"{least} to {most:,}")
    if name == "timeout_s":
        parts = ["for ever, if not given"]
    if name.endswith("_s"):
        parts.append("seconds")
    if several:
        parts.append("may be given several times")
    return "; ".join(part for part in parts if part)


def _own_session(runtime: Runtime, caller: Principal, required: bool) -> str | None:
    """The session of the harness that this process runs in, else the only one of its folder; never a guess."""
    assert caller.process is not None
    key = harness_of(caller.process.environment).key
    cwd = caller.process.cwd
    found = runtime.database.read(lambda work: sessions.own_sessions(work, caller, key, cwd))
    if len(found) > 1:
        judged = runtime.machine.liveness_of(found)
        found = [one for one in found if judged[one.id].liveness != "gone"] or found
    if len(found) == 1:
        return found[0].id
    if not required:
        return None  # then it is about all that the caller may see
    if not found:
        text = "Who are you? No session of this folder is here."
        raise click.UsageError(
            f"{text} Join first (agents-room join), or give --session ID or {SESSION_VARIABLE}=ID."
        )
    listed = ", ".join(f"{one.id} ({one.name})" for one in found)
    raise click.UsageError(f"Which session? Several are of this folder: {listed}. Give --session ID.")
