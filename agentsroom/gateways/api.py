"""The JSON API: POST /api/tools/NAME runs a tool, GET /api/openapi.json describes them; what they do is the registry's.

Every tool answers here, also those of the sets that AGENTS_ROOM_TOOLS hides from MCP clients.
"""

import functools
from collections.abc import Callable
from contextlib import ExitStack, closing

import msgspec
from flask import Blueprint, Response, current_app, request

from agentsroom.access.routes import allow, caller
from agentsroom.core.errors import ParseError, Unauthenticated
from agentsroom.core.jsontext import parse_strict
from agentsroom.core.principals import Kind
from agentsroom.core.tools import Call, Result
from agentsroom.gateways.described import base_of, described
from agentsroom.gateways.live import WHEN_GONE
from agentsroom.gateways.openapi import openapi
from agentsroom.gateways.permits import Permit, PermittedFeed
from agentsroom.runtime import Runtime

_JSON = "application/json"
_AUDIENCE: frozenset[Kind] = frozenset({"admin", "agent"})
_ADDRESSES = 8
"""Under so many addresses the description is kept ready."""

OpenStream = Callable[[frozenset[Kind]], Permit]


def api_routes(runtime: Runtime, open_stream: OpenStream) -> Blueprint:
    """`open_stream`: gives the caller leave to wait, or raises TooManyRequests."""
    routes = Blueprint("api", __name__)
    description = functools.lru_cache(maxsize=_ADDRESSES)(functools.partial(_description, runtime))

    # A name may be anything: one with a slash is no tool either, and no other address.
    @routes.post("/api/tools/<path:name>", provide_automatic_options=False)
    @allow(*_AUDIENCE)
    def run(name: str) -> Response:
        tool = runtime.registry.get(name)
        raw = _body()
        found = _wait(runtime, open_stream, name, raw) if tool.waits else runtime.call(name, raw, caller())
        return Response(msgspec.json.encode(found) + b"\n", mimetype=_JSON)

    @routes.get("/api/openapi.json", provide_automatic_options=False)
    @allow(*_AUDIENCE)
    def describe() -> Response:
        cookie = current_app.config["SESSION_COOKIE_NAME"]
        return described(description(base_of(runtime.settings), cookie), _JSON)

    return routes


def _body() -> bytes:
    """The request's body, which is JSON. Raises ParseError."""
    raw = request.get_data(cache=False)
    if not raw:
        raise ParseError("The body is empty; the tool's arguments belong in it, {} for none.")
    parse_strict(raw)
    return raw


def _wait(runtime: Runtime, open_stream: OpenStream, name: str, raw: bytes) -> Result:
    """Runs a tool that may take long: it ends at once when the client hangs up or may no longer call."""
    with ExitStack() as opened:
        permit = opened.enter_context(closing(open_stream(_AUDIENCE)))
        feed = PermittedFeed(runtime.feed, permit)
        if when_gone := request.environ.get(WHEN_GONE):
            opened.callback(when_gone(feed.cancel))
        result = runtime.registry.call(name, raw, Call(runtime.database, feed, caller()))
        if not permit.holds():
            raise Unauthenticated("The key was revoked while the call ran.")
        return result


def _description(runtime: Runtime, url: str, cookie: str) -> bytes:
    return msgspec.json.encode(openapi(runtime.registry, url, cookie))
