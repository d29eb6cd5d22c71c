"""The wiki's tables, made from the code that they describe; `cog` writes them into wiki/*.md."""

import importlib
import json
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import click
from werkzeug.routing import Rule

import agentsroom
from agentsroom.access.routes import EVERYBODY, audience_of
from agentsroom.access.service import LOGIN_LINK_LIFE
from agentsroom.cli import EXIT_CODES, cli
from agentsroom.core import jsontext
from agentsroom.core.clock import HOUR
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.principals import Kind
from agentsroom.core.product import NAME
from agentsroom.core.schemas import kinds_of, schema_of
from agentsroom.core.settings import PREFIX, Settings
from agentsroom.core.tools import Registry, Result, Tool
from agentsroom.factory import LOGIN_DAYS, create_app
from agentsroom.gateways import body, mcp_sessions, mcp_stdio, pace, wire, wsgi
from agentsroom.gateways.commands import PLACES
from agentsroom.gateways.headers import ASKED_AGAIN, HEADERS, NOT_KEPT
from agentsroom.gateways.manifest import overview
from agentsroom.gateways.manifest.released import RELEASED, release_of
from agentsroom.gateways.manifest.served import SERVED, Server
from agentsroom.gateways.openapi import path_of
from agentsroom.gateways.statuses import STATUSES
from agentsroom.gateways.wiki import wiki_resources
from agentsroom.rooms.harnesses import HARNESSES
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.prompts import room_prompts
from agentsroom.rooms.resources import room_resources
from agentsroom.runtime import Runtime, make_event_kinds, make_registry

ROOT = Path(__file__).parents[2]
INSPECTORS_NODE = "22.19"
"""As its package.json says in `engines`; a test compares."""
CALLERS: tuple[Kind, ...] = ("agent", "admin")
"""Who comes over HTTP, a column each."""


def settings_table() -> str:
    """Every setting: variable, default, what it does."""
    return _table(("variable", "default", "what it is"), [_setting(one) for one in fields(Settings)])


def _setting(one: Any) -> tuple[str, ...]:
    choices = f" ({' or '.join(one.metadata['choices'])})" if one.metadata["choices"] else ""
    default = f"`{one.default}`" if one.default != "" else "empty"
    return f"`{PREFIX}{one.name.upper()}`", default, one.metadata["help"] + choices


def errors_table() -> str:
    """Every error: code, status of the JSON API, meaning."""
    found = sorted((status, code, meaning) for code, (status, meaning) in errors().items())
    return _table(
        ("code", "status", "what happened"),
        [(f"`{code}`", str(status), text) for status, code, text in found],
    )


def errors() -> dict[str, tuple[int, str]]:
    """Each code → its status and meaning."""
    for module in pkgutil.walk_packages(agentsroom.__path__, "agentsroom."):
        if "migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    own = {
        one.code: (one.status, (one.__doc__ or "").strip().split("\n\n")[0])
        for one in subclasses(AgentsRoomError)
    }
    http = {one.code: (status, one.meaning) for status, one in STATUSES.items()}
    return {**http, **own}


def subclasses(base: type[AgentsRoomError]) -> Iterable[type[AgentsRoomError]]:
    for one in base.__subclasses__():
        yield one
        yield from subclasses(one)


NOT_OF_THE_API = (
    *("wait_timeout", "already_served", "port_taken", "not_writable", "bad_setting"),
    *("no_server", "not_understood"),
    *("session_missing", "session_unknown"),
    *(one.code for one in STATUSES.values() if not one.is_of_the_api),
)
"""What only the command line says, and what only /mcp does."""


def statuses_table() -> str:
    """Every status of the JSON API: meaning, headers, the codes that come with it."""
    codes: dict[int, list[str]] = {}
    for code, (status, _) in sorted(errors().items()):
        if code not in NOT_OF_THE_API:
            codes.setdefault(status, []).append(f"`{code}`")
    rows = [
        (str(status), one.meaning, ", ".join(one.headers), ", ".join(codes[status]))
        for status, one in STATUSES.items()
        if one.is_of_the_api
    ]
    return _table(("status", "meaning", "header", "codes"), rows)


def api_tools_table() -> str:
    """Every tool: its address, what it does."""
    rows = [(f"[`POST {path_of(one)}`](Tools.md#{one.name})", one.description) for one in _tools()]
    return _table(("address", "what it does"), rows)


def tools_table() -> str:
    """Every tool: name, the CLI's command, what it does."""
    rows = [
        (f"[`{one.name}`](Tools.md#{one.name})", f"`{' '.join(PLACES[one.name].words)}`", one.description)
        for one in _tools()
    ]
    return _table(("tool", "command", "what it does"), rows)


def tools_reference() -> str:
    """A section a tool: its arguments and what it gives."""
    return "\n".join(_section(registry, one) for registry in [_registry()] for one in registry)


def _section(registry: Registry, tool: Tool) -> str:
    schema = registry.schema(tool)
    rows = [
        (
            f"`{name}`" + ("" if name in schema.get("required", ()) else "?"),
            _shape(one),
            one.get("description", ""),
        )
        for name, one in schema["properties"].items()
    ]
    table = _table(("argument", "takes", "what it is"), rows)
    gives = _fields(tool.result) if tool.result.__struct_fields__ else "It gives an empty object.\n"
    return f"### {tool.name}\n\n{tool.description}\n\n{table}\n{gives}"


def values_reference() -> str:
    """A section for each kind of value that stands inside what tools give: its fields."""
    found = dict.fromkeys(one for tool in _tools() for one in _values_in(tool.result))
    return "\n".join(f"### {one.__name__}\n\n{one.__doc__}\n\n{_fields(one)}" for one in found)


def _fields(result: type[Result]) -> str:
    """A table of the fields of a result, or of a value in it."""
    schema = schema_of(result)
    hints = get_type_hints(result)
    rows = [
        (
            f"`{name}`" + ("" if name in schema["required"] else "?"),
            _given(one, hints[name]),
            one.get("description", ""),
        )
        for name, one in schema["properties"].items()
    ]
    return _table(("gives", "type", "what it is"), rows)


def _given(schema: dict[str, Any], hint: Any) -> str:
    """What a field of a result is, with a link to the section of the value in it."""
    kinds = kinds_of(schema)
    value = next(_values_of(hint), None)
    if value is not None:
        link = f"[{value.__name__}](#{value.__name__.lower()})"
        text = f"list of {link}" if "array" in kinds else link
    else:
        text = "object" if "object" in kinds else _shape(schema)
    return text + (" or null" if "null" in kinds else "")


def _values_in(result: type[Result]) -> Iterator[type[Result]]:
    for hint in get_type_hints(result).values():
        yield from _values_of(hint)


def _values_of(hint: Any) -> Iterator[type[Result]]:
    if isinstance(hint, type) and issubclass(hint, Result):
        yield hint
    for one in get_args(hint):
        yield from _values_of(one)


def _shape(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_shape(one) for one in schema["anyOf"] if one["type"] != "null")
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    kind = next(one for one in kinds if one != "null")
    if kind == "array":
        return f"list of {_shape(schema['items'])}" + _bound(schema, "maxItems", "up to {} of them")
    if kind == "boolean":
        return "true or false"
    if kind == "string":
        return "text" + _bound(schema, "maxLength", "up to {} characters")
    least, most = schema.get("minimum"), schema.get("maximum")
    word = "whole number" if kind == "integer" else "number"
    return word if least is None else f"{word}, {least:,} to {most:,}" if most else f"{word} from {least:,}"


def _bound(schema: dict[str, Any], keyword: str, text: str) -> str:
    return ", " + text.format(f"{schema[keyword]:,}") if keyword in schema else ""


def commands_table() -> str:
    """The operator's own commands of the CLI; those of the tools come from PLACES."""
    own = click.Group.list_commands(cli, click.Context(cli))
    rows = [(f"`{name}`", " ".join((cli.commands[name].help or "").split())) for name in own]
    return _table(("command", "what it does"), rows)


def exit_codes_table() -> str:
    """The CLI's exit codes."""
    return _table(("exit code", "meaning"), [(str(code), text) for code, text in EXIT_CODES.items()])


def resources_table() -> str:
    rows = [
        (f"`{one.template}`", f"{one.description} ({one.mime_type})")
        for one in (*room_resources(), wiki_resources())
    ]
    return _table(("URI", "what it is"), rows)


def prompts_table() -> str:
    rows = [
        (
            f"`{prompt.name}`",
            prompt.description,
            ", ".join(f"`{one.name}`{'' if one.required else '?'}" for one in prompt.arguments),
        )
        for prompt in room_prompts()
    ]
    return _table(("prompt", "what it makes an agent do", "arguments"), rows)


def harnesses_table() -> str:
    """How each harness is known by its environment."""
    rows = [(one.name, f"`{one.marker}`", f"`{one.key}`" if one.key else "none") for one in HARNESSES]
    return _table(("harness", "known by", "session key"), rows)


def inspector() -> str:
    """How to get the Inspector that the tests run."""
    package = "@modelcontextprotocol/inspector"
    version = json.loads((ROOT / ".ci" / "node" / "package.json").read_text())["dependencies"][package]
    return (
        f"The tests run version {version}, which needs Node {INSPECTORS_NODE} or newer:"
        f" `npm install --global {package}@{version}`. Without `--stored-auth-only` it answers a wrong key by looking"
        " for a login page.\n"
    )


def sdk() -> str:
    """How to get the SDK that the tests run."""
    pins = [line.split() for line in (ROOT / "requirements-dev.txt").read_text().splitlines()]
    [pin] = [words[0] for words in pins if words and words[0].startswith("mcp==")]
    return f"```text\npip install {pin}\n```\n"


def manifests_table() -> str:
    """The five manifests: name, where it stands, what it is."""
    rows = [(f"`{name}`", "{} `{}`".format(*where.split()), what) for name, where, what in overview()]
    return _table(("name", "where", "what it is"), rows)


def manifest_example(kind: str) -> str:
    """A manifest, its lists and long texts cut short."""
    if kind in SERVED:
        document = SERVED[kind].make(Server(_registry(), "https://rooms.example.org", needs_key=True))
    else:
        repository = "https://github.com/OWNER/agents-room"
        document = RELEASED[kind].make(release_of(_registry(), repository, None))
    return f"```json\n{json.dumps(_cut(document), indent=2, ensure_ascii=False)}\n```\n"


def _cut(value: Any, key: str = "") -> Any:
    if key.endswith("Schema"):
        return "…"
    if key == "instructions":
        return value.partition(". ")[0] + ". …"
    if isinstance(value, dict):
        return {name: _cut(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [*(_cut(one) for one in value[:1]), "…"] if len(value) > 5 else [_cut(one) for one in value]
    return value


def routes_table() -> str:
    """Every route, and who may call it."""
    with TemporaryDirectory() as home, closing(Runtime(Settings(home=home))) as runtime:
        app = create_app(runtime.settings, runtime)
        audiences = [
            (rule, audience_of(app.view_functions[rule.endpoint])) for rule in app.url_map.iter_rules()
        ]
    columns = ("address", "methods", "nobody", *CALLERS)
    return _table(columns, sorted(_route(rule, audience or frozenset()) for rule, audience in audiences))


def _route(rule: Rule, audience: frozenset[Kind]) -> tuple[str, ...]:
    may = [kind in audience or audience == EVERYBODY for kind in CALLERS]
    methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    cells = ("yes" if one else "" for one in (audience == EVERYBODY, *may))
    return f"`{rule.rule}`", ", ".join(methods), *cells


def events_table() -> str:
    """Every kind of event: its group, who did it, what it means."""
    marks = {"warn": " !", "fail": " ×", None: ""}
    rows = [
        (
            f"`{one.kind}`{marks[one.tone]}",
            one.group,
            f"the {one.actor}" if one.actor != NAME else NAME,
            one.meaning,
        )
        for one in make_event_kinds()
    ]
    return _table(("kind", "group", "who", "what happened"), rows)


def headers_table() -> str:
    """The headers of every answer."""
    kept = (
        f"`{NOT_KEPT}`; of pages, `/api/openapi.json` and the manifests `{ASKED_AGAIN}`, with an `ETag` of the latter"
        " two and of `/wiki`; of `/static` `no-cache`"
    )
    rows = [*((f"`{name}`", f"`{value}`") for name, value in HEADERS.items()), ("`Cache-Control`", kept)]
    return _table(("header", "value"), rows)


def limits_table() -> str:
    """What is taken, and what is answered beyond it."""
    rows = [
        ("the request's line", f"{wire.MOST_LINE:,} bytes", "414"),
        ("headers", f"{wire.MOST_FIELDS}, and {wire.MOST_HEAD:,} bytes in all", "431"),
        ("a body", f"{wire.MOST_BODY:,} bytes", "413, before it is read"),
        ("a JSON text", f"{jsontext.MOST_VALUES:,} values, {jsontext.MAX_DEPTH} deep", "400"),
        ("a body of somebody who is not let in yet", "none is read", "401"),
        ("such a body at /login, with its length told", f"{wire.MOST_BODY_OF_STRANGERS:,} bytes", "413, 411"),
        ("a line and headers, from their first byte on", f"{wsgi.HEAD_S:g} s", "408"),
        ("a body", f"{body.BODY_S:g} s", "408"),
        ("a new connection that says nothing", f"{wsgi.HEAD_S:g} s", "closed"),
        ("a connection between two requests", f"{wsgi.IDLE_S:g} s", "closed"),
        ("a client that takes nothing of its answer", f"{wsgi.SEND_S:g} s", "closed"),
        ("wrong keys of one address", f"{pace.WRONG_KEYS} a minute", "429 instead of 401"),
        ("wrong tokens at /login of one address", f"{pace.FAILED_LOGINS} a minute", "429"),
        (
            "requests under /api and to /mcp (calls) of one agent or login",
            f"{Settings().max_calls:,} a minute",
            "429",
        ),
        ("a login link", f"{LOGIN_LINK_LIFE // HOUR} hours, one login", "401"),
        ("a browser's login", f"{LOGIN_DAYS} days", "401"),
        ("open streams and waiting calls of one agent or login", f"{Settings().max_streams:,}", "429"),
        ("the same of one client over stdio", f"{mcp_stdio.MOST_LASTING}", "`too_many_requests`"),
        ("MCP sessions of one key", f"{mcp_sessions.MOST_OF_ONE:,}", "the one silent for longest makes room"),
    ]
    return _table(("what", "limit", "beyond it"), rows)


def _registry() -> Registry:
    return make_registry(Settings(), Machine())


def _tools() -> list[Tool]:
    return list(_registry())


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n"
        for line in lines
    )
