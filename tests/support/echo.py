"""A server that offers little, to see what the dispatcher makes of it; and messages to send it."""

import json
from typing import Any

from agentsroom.core.errors import Conflict, NotFound, StoreUnavailable, UnknownTool
from agentsroom.core.feed import FeedEvent
from agentsroom.gateways import jsonrpc, methods, offers, rpc
from agentsroom.gateways.subscriptions import Change, ResourceUpdated

COMPLETE = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "a"}}


Json = dict[str, Any]


META = {rpc.VERSION_KEY: "2026-07-28", rpc.CAPABILITIES_KEY: {}}


class Echo:
    """Offers tools that answer what they were given, one resource and one prompt."""

    def tools(self) -> bytes:
        return b'[{"name":"echo","inputSchema":{"type":"object"}}]'

    def waits(self, tool: str) -> bool:
        return tool == "asking"

    def call_tool(self, name: str, arguments: bytes, exchange: offers.Exchange, /) -> dict[str, Any]:
        if name == "conflict":
            raise Conflict("It is there \ud800 already.", hint="Take another.", path="x.py")
        if name == "broken":
            raise RuntimeError("a secret of the inside")
        if name == "asking":
            exchange.ask("elicitation/create", {})
        if name != "echo":
            raise UnknownTool(f"No tool is called {json.dumps(name)}.")
        return methods.tool_result(b'{"given":' + arguments + b"}")

    def resources(self) -> list[dict[str, Any]]:
        return [{"uri": "test://one", "name": "one"}]

    def resource_templates(self) -> list[dict[str, Any]]:
        return [{"uriTemplate": "test://{name}", "name": "all"}]

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        return [{"uri": self.canonical(uri), "text": "1"}]

    def canonical(self, uri: str) -> str:
        if uri.lower() != "test://one":
            raise NotFound("No resource has this URI.")
        return uri.lower()

    def prompts(self) -> list[dict[str, Any]]:
        return [{"name": "greet"}]

    def get_prompt(
        self, name: str, arguments: dict[str, str], exchange: offers.Exchange, /
    ) -> dict[str, Any]:
        if name != "greet":
            raise NotFound("No prompt has this name.")
        text = f"Greet {arguments.get('who', 'all')} for {exchange.request.method}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def complete(self, ref: dict[str, Any], argument: str, value: str) -> list[str]:
        if ref.get("name") != "greet":
            raise NotFound("No prompt has this name.")
        return [f"{argument}-{value}-{number}" for number in range(150)]

    def changes(self, event: FeedEvent) -> list[Change]:
        return [ResourceUpdated(uri) for uri in event.data["uris"]]


class Shut(Echo):
    """Offers what a store keeps that can't be opened."""

    def tools(self) -> bytes:
        raise Conflict("Two teams have that name.")

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        raise StoreUnavailable(f"The store of {uri} can't be read.")


def ready() -> rpc.Agreement:
    return rpc.Agreement("2025-11-25")


def message(method: str, params: Any = None, id: Any = 1) -> bytes:
    given = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, **given}).encode()


def exchange(raw: bytes, agreed: rpc.Agreement | None = None, features: offers.Features | None = None) -> Any:
    """The reply to one message of an initialized client, or None where there is none."""
    match jsonrpc.decode(raw):
        case jsonrpc.Request() as request:
            reply = replied(rpc.answer(request, agreed or ready()), features or Echo())
        case jsonrpc.Reply() as reply:
            pass
        case _:
            return None
    answered = json.loads(reply.body)
    assert answered["jsonrpc"] == "2.0"
    assert reply.error == answered.get("error", {}).get("code")
    assert b"\n" not in reply.body
    return answered


def replied(outcome: rpc.Outcome, features: offers.Features) -> jsonrpc.Reply:
    match outcome:
        case rpc.Work() as work:
            return work.run(lambda: features, offers.Exchange(work.request, {}))
        case rpc.Listening() as listening:
            opened = listening.open(lambda: features)
            return opened if isinstance(opened, jsonrpc.Reply) else listening.ended(opened)
        case jsonrpc.Reply() as reply:
            return reply


def error_of(raw: bytes, agreed: rpc.Agreement | None = None) -> tuple[Any, int]:
    answered = exchange(raw, agreed)
    assert set(answered) == {"jsonrpc", "id", "error"}
    assert answered["error"]["message"]
    return answered["id"], answered["error"]["code"]


def call(arguments: Any, name: str = "echo") -> Any:
    return exchange(message("tools/call", {"name": name, "arguments": arguments}))["result"]


def modern(method: str, params: dict[str, Any] | None = None, meta: dict[str, Any] = META) -> Any:
    return exchange(message(method, {**(params or {}), "_meta": meta}), rpc.Agreement())
