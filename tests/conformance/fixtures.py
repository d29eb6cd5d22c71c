"""What the conformance suite asks a server to offer, beside what the product offers: through the same dispatcher.

The texts, names and shapes are the suite's own; each scenario says which it needs.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, ClassVar

from agentsroom.core.errors import AgentsRoomError, InvalidArgument, NotFound
from agentsroom.core.feed import FeedEvent
from agentsroom.gateways.features import RuntimeFeatures
from agentsroom.gateways.jsonrpc import INVALID_PARAMS, Refused
from agentsroom.gateways.offers import Exchange, MissingCapability
from agentsroom.gateways.rpc import CAPABILITIES
from agentsroom.gateways.subscriptions import Change, ListChanged

Json = dict[str, Any]
Act = Callable[["FixtureFeatures", Json, Exchange], Json]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"
).decode()
TEXT = "test://static-text"
BINARY = "test://static-binary"
WATCHED = "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
_SECRET = b"of one test run"


class ToolFailed(AgentsRoomError):
    """A tool that fails on purpose."""

    code, status = "tool_failed", 409


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def _image() -> Json:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def _resource(uri: str, mime_type: str, words: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def _fails(_features: "FixtureFeatures", _given: Json, _exchange: Exchange) -> Json:
    raise ToolFailed("This tool intentionally returns an error for testing")


def _with_progress(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
    for progress in (0, 50, 100):
        exchange.progress(progress, 100)
    return text("Done, in three steps.")


def _sampling(_features: "FixtureFeatures", given: Json, exchange: Exchange) -> Json:
    message = {"role": "user", "content": {"type": "text", "text": given["prompt"]}}
    answer = exchange.ask("sampling/createMessage", {"messages": [message], "maxTokens": 100})
    return text(f"LLM response: {answer['content']['text']}")


def _form(message: str, properties: Json, required: list[str] | None = None) -> Json:
    schema = {"type": "object", "properties": properties}
    return {"message": message, "requestedSchema": schema | ({"required": required} if required else {})}


def _elicitation(_features: "FixtureFeatures", given: Json, exchange: Exchange) -> Json:
    fields = {"username": {"type": "string"}, "email": {"type": "string"}}
    answer = exchange.ask("elicitation/create", _form(given["message"], fields, list(fields)))
    return text(f"User response: {json.dumps(answer)}")


def _elicits(properties: Json) -> Act:
    def act(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
        answer = exchange.ask("elicitation/create", _form("Please choose.", properties))
        content = json.dumps(answer.get("content"))
        return text(f"Elicitation completed: action={answer['action']}, content={content}")

    return act


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_TITLED = [{"const": f"value{one}", "title": f"Option {one}"} for one in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


def _elicit(message: str, name: str, kind: str = "string") -> Json:
    return {"method": "elicitation/create", "params": _form(message, {name: {"type": kind}}, [name])}


def _sample(words: str, most: int) -> Json:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": most}}


NAME = {"user_name": _elicit("What is your name?", "name")}
CAPITAL = {"capital_question": _sample("What is the capital of France?", 100)}
ROOTS = {"client_roots": {"method": "roots/list", "params": {}}}
CONFIRM = {"confirm": _elicit("Please confirm", "ok", "boolean")}


def _needed(requests: Json, state: str | None = None) -> Json:
    """The result of a call that needs the client's input first (SEP-2322)."""
    found: Json = {"resultType": "input_required", "inputRequests": requests}
    return found if state is None else {**found, "requestState": _sealed(state)}


def _answers(exchange: Exchange, requests: Json) -> Json | None:
    """What the client answered to every one of the requests; None where something is missing or no answer."""
    given = exchange.request.params.get("inputResponses")
    if not isinstance(given, dict):
        return None
    answers = {name: given.get(name) for name in requests}
    for name, asked in requests.items():
        if not _fits(asked["method"], answers[name]):
            return None
    return answers


def _fits(method: str, answer: Any) -> bool:
    wanted = {"elicitation/create": "action", "sampling/createMessage": "content", "roots/list": "roots"}
    return isinstance(answer, dict) and wanted[method] in answer


def _sealed(state: str) -> str:
    return f"{state}.{hmac.new(_SECRET, state.encode(), hashlib.sha256).hexdigest()}"


def _state(exchange: Exchange) -> str | None:
    """What we gave before, if it came back as it was. Raises Refused."""
    given = exchange.request.params.get("requestState")
    if given is None:
        return None
    state = str(given).rpartition(".")[0]
    if not hmac.compare_digest(_sealed(state).encode(), str(given).encode()):
        raise Refused(INVALID_PARAMS, "requestState is none that we gave.")
    return state


def _asks(requests: Json, say: Callable[[Json], str], state: str | None = None) -> Act:
    """A tool that needs input once."""

    def act(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
        came = _state(exchange)
        answers = _answers(exchange, requests)
        if answers is None or came != state:
            return _needed(requests, state)
        return text(say(answers))

    return act


def _multi_round(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
    steps = {"step1": _elicit("Step 1: What is your name?", "name")}
    more = {"step2": _elicit("Step 2: What is your favorite color?", "color")}
    came = _state(exchange)
    if came == "2" and _answers(exchange, more) is not None:
        return text("Both steps are done.")
    if came in ("1", "2") and (came == "2" or _answers(exchange, steps) is not None):
        return _needed(more, "2")
    return _needed(steps, "1")


def _by_capability(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
    requests = {"elicitation": NAME, "sampling": CAPITAL, "roots": ROOTS}
    fitting = {
        name: one
        for key, part in requests.items()
        if key in exchange.capabilities
        for name, one in part.items()
    }
    if not fitting or _answers(exchange, fitting) is not None:
        return text("Nothing is needed any more.")
    return _needed(fitting)


def _needs_sampling(_features: "FixtureFeatures", _given: Json, exchange: Exchange) -> Json:
    if "sampling" not in exchange.capabilities:
        raise MissingCapability("sampling")
    return text("The client can sample.")


def _changes(name: str) -> Act:
    def act(features: "FixtureFeatures", _given: Json, _exchange: Exchange) -> Json:
        features.emit(f"fixture_{name}_changed")
        return text("Changed.")

    return act


def _says(*content: Json) -> Act:
    return lambda _features, _given, _exchange: {"content": list(content)}


TOOLS: dict[str, tuple[Json, Act]] = {
    "test_simple_text": ({}, _says({"type": "text", "text": "This is a simple text response for testing."})),
    "test_image_content": ({}, _says(_image())),
    "test_audio_content": ({}, _says({"type": "audio", "data": WAV, "mimeType": "audio/wav"})),
    "test_embedded_resource": (
        {},
        _says(_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    "test_multiple_content_types": (
        {},
        _says(
            {"type": "text", "text": "Multiple content types test:"},
            _image(),
            _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
    ),
    "test_error_handling": ({}, _fails),
    "test_tool_with_progress": ({}, _with_progress),
    "test_sampling": ({"prompt": {"type": "string"}}, _sampling),
    "test_elicitation": ({"message": {"type": "string"}}, _elicitation),
    "test_elicitation_sep1034_defaults": ({}, _elicits(DEFAULTS)),
    "test_elicitation_sep1330_enums": ({}, _elicits(ENUMS)),
    "test_streaming_elicitation": ({}, _with_progress),
    "test_logging_tool": ({}, _says({"type": "text", "text": "Nothing was logged."})),
    "test_missing_capability": ({}, _needs_sampling),
    "test_trigger_tool_change": ({}, _changes("tools")),
    "test_trigger_prompt_change": ({}, _changes("prompts")),
    "test_input_required_result_elicitation": (
        {},
        _asks(NAME, lambda answers: f"Hello, {answers['user_name'].get('content', {}).get('name')}!"),
    ),
    "test_input_required_result_sampling": (
        {},
        _asks(CAPITAL, lambda answers: str(answers["capital_question"]["content"].get("text"))),
    ),
    "test_input_required_result_list_roots": (
        {},
        _asks(ROOTS, lambda answers: json.dumps(answers["client_roots"]["roots"])),
    ),
    "test_input_required_result_request_state": ({}, _asks(CONFIRM, lambda _: "state-ok", "confirm")),
    "test_input_required_result_multiple_inputs": (
        {},
        _asks(
            {**NAME, "greeting": _sample("Generate a greeting", 50), **ROOTS}, lambda _: "All came.", "all"
        ),
    ),
    "test_input_required_result_multi_round": ({}, _multi_round),
    "test_input_required_result_tampered_state": ({}, _asks(CONFIRM, lambda _: "state-ok", "sealed")),
    "test_input_required_result_capabilities": ({}, _by_capability),
}
"""Name → the properties of its arguments, and what it does."""

PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


class FixtureFeatures(RuntimeFeatures):
    """The product's features and the suite's fixtures."""

    capabilities: ClassVar[Json] = {
        **CAPABILITIES,
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
    }

    def emit(self, kind: str) -> None:
        call = self._call
        call.database.write(lambda work: work.emit(kind, call.caller.team_id))

    def tools(self) -> bytes:
        known: list[Json] = json.loads(super().tools())
        schema = {"type": "object", "additionalProperties": False}
        ours = [
            {
                "name": name,
                "description": f"Fixture {name}.",
                "inputSchema": {**schema, "properties": properties, "required": list(properties)},
            }
            for name, (properties, _) in TOOLS.items()
        ]
        return json.dumps([*known, *ours]).encode()

    def waits(self, tool: str) -> bool:
        return tool in TOOLS or super().waits(tool)

    def call_tool(self, name: str, arguments: bytes, exchange: Exchange, /) -> Json:
        if name not in TOOLS:
            return super().call_tool(name, arguments, exchange)
        return TOOLS[name][1](self, json.loads(arguments), exchange)

    def resources(self) -> list[Json]:
        return [
            {"uri": TEXT, "name": "text", "description": "A text.", "mimeType": "text/plain"},
            {"uri": BINARY, "name": "binary", "description": "An image.", "mimeType": "image/png"},
            {"uri": WATCHED, "name": "watched", "description": "It changes.", "mimeType": "text/plain"},
            *super().resources(),
        ]

    def resource_templates(self) -> list[Json]:
        template = {"uriTemplate": TEMPLATE, "name": "template", "description": "Data of an id."}
        return [template, *super().resource_templates()]

    def read_resource(self, uri: str) -> list[Json]:
        before, after = TEMPLATE.split("{id}")
        if uri == BINARY:
            return [{"uri": uri, "mimeType": "image/png", "blob": PNG}]
        if uri in (TEXT, WATCHED):
            words = "This is the content of the static text resource."
            return [{"uri": uri, "mimeType": "text/plain", "text": words}]
        if uri.startswith(before) and uri.endswith(after):
            number = uri.removeprefix(before).removesuffix(after)
            words = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
            return [{"uri": uri, "mimeType": "application/json", "text": words}]
        return super().read_resource(uri)

    def canonical(self, uri: str) -> str:
        return uri if uri.startswith("test://") else super().canonical(uri)

    def prompts(self) -> list[Json]:
        ours = [
            {
                "name": name,
                "description": f"Fixture {name}.",
                "arguments": [{"name": one, "description": one, "required": True} for one in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
        return [*ours, *super().prompts()]

    def get_prompt(self, name: str, arguments: dict[str, str], exchange: Exchange, /) -> Json:
        if name not in PROMPTS:
            return super().get_prompt(name, arguments, exchange)
        if missing := [one for one in PROMPTS[name] if one not in arguments]:
            raise InvalidArgument(dict.fromkeys(missing, "is missing; text is needed"))
        if name == "test_input_required_result_prompt":
            asked = {"user_context": _elicit("What context should the prompt use?", "context")}
            if _answers(exchange, asked) is None:
                return _needed(asked)
        return {"messages": [{"role": "user", "content": one} for one in _prompt(name, arguments)]}

    def complete(self, ref: Json, argument: str, value: str) -> list[str]:
        name = ref.get("name")
        if name in PROMPTS:
            if argument not in PROMPTS[name]:
                raise NotFound("No argument of that name can be completed there.")
            return [f"{value}ing", f"{value}ed"]
        return super().complete(ref, argument, value)

    def changes(self, event: FeedEvent) -> list[Change]:
        match event.kind:
            case "fixture_tools_changed":
                return [ListChanged("tools")]
            case "fixture_prompts_changed":
                return [ListChanged("prompts")]
            case _:
                return super().changes(event)


def _prompt(name: str, arguments: dict[str, str]) -> list[Json]:
    match name:
        case "test_prompt_with_arguments":
            words = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
            return [{"type": "text", "text": words}]
        case "test_prompt_with_embedded_resource":
            embedded = _resource(
                arguments["resourceUri"], "text/plain", "Embedded resource content for testing."
            )
            return [embedded, {"type": "text", "text": "Please process the embedded resource above."}]
        case "test_prompt_with_image":
            return [_image(), {"type": "text", "text": "Please analyze the image above."}]
        case _:
            return [{"type": "text", "text": "This is a simple prompt for testing."}]
