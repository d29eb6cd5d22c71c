"""The JSON API: POST /api/tools/NAME runs a tool, GET /api/openapi.json describes them; what they do is the registry's.

Every tool answers here, also those of the sets that AGENTS_ROOM_TOOLS hides from MCP clients.
"""

import functools

import msgspec
from flask import Blueprint, Response, current_app, request

from agentsroom.access.routes import PROGRAMS, allow, caller
from agentsroom.core.errors import ParseError
from agentsroom.core.jsontext import parse_strict
from agentsroom.core.tools import Call, Result
from agentsroom.gateways.described import base_of, described
from agentsroom.gateways.lasting import Lasting
from agentsroom.gateways.openapi import openapi
from agentsroom.gateways.permits import GivePermit
from agentsroom.runtime import Runtime

_JSON = "application/json"
_ADDRESSES = 8
"""Under so many addresses the description is kept ready."""


def api_routes(runtime: Runtime, give_permit: GivePermit) -> Blueprint:
    """The routes under /api/."""
    routes = Blueprint("api", __name__)
    description = functools.lru_cache(maxsize=_ADDRESSES)(functools.partial(_description, runtime))

    # A name may be anything: one with a slash is no tool either, and no other address.
    @routes.post("/api/tools/<path:name>", provide_automatic_options=False)
    @allow(*PROGRAMS)
    def run(name: str) -> Response:
        tool = runtime.registry.get(name)
        raw = _body()
        found = _wait(runtime, give_permit, name, raw) if tool.waits else runtime.call(name, raw, caller())
        return Response(msgspec.json.encode(found) + b"\n", mimetype=_JSON)

    @routes.get("/api/openapi.json", provide_automatic_options=False)
    @allow(*PROGRAMS)
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


def _wait(runtime: Runtime, give_permit: GivePermit, name: str, raw: bytes) -> Result:
    """Runs a tool that may take long: it ends at once when the client hangs up or may no longer call."""
    with Lasting(runtime.feed, give_permit(PROGRAMS)) as lasting:
        result = runtime.registry.call(name, raw, Call(runtime.database, lasting.feed, caller()))
        lasting.check()
        return result


def _description(runtime: Runtime, url: str, cookie: str) -> bytes:
    return msgspec.json.encode(openapi(runtime.registry, url, cookie))
