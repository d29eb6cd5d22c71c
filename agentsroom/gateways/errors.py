"""The one renderer of errors over HTTP: a page that says what happened and what to do, or the error object as JSON.

At /mcp the object is the data of a JSON-RPC error, so that MCP clients show their users its text.
"""

import json
import logging
from typing import Any, cast

from flask import Flask, Response, make_response, render_template, request
from htmx_flask.requests import HtmxAwareRequest
from werkzeug.exceptions import HTTPException

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.scrub import scrub_tokens
from agentsroom.gateways.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, refusal, whole_text
from agentsroom.gateways.statuses import status_of

_logger = logging.getLogger(__name__)

_FOR_PROGRAMS = ("/api/", "/mcp", "/.well-known/", "/live", "/healthz")
_RETRY_S = 10
"""After how many seconds another try is worth it, where an error does not say."""
_HINTS_FOR_PEOPLE = {
    401: "agents-room login-link prints a link that logs in.",
    404: "Look at the address, or start from the rooms.",
    429: "Wait a minute, then try again.",
}


def render_errors(app: Flask) -> None:
    """From now on every error of the app is answered by this module."""
    app.register_error_handler(AgentsRoomError, _of_ours)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(Exception, _of_a_fault)


def is_for_programs() -> bool:
    """Whether the address is one that no browser navigates to: a tool's, a stream's, a description's."""
    return request.path.startswith(_FOR_PROGRAMS)


def wants_page() -> bool:
    """Whether a person looks at the answer: a browser that navigates, not a script, a stream or a tool."""
    if is_for_programs() or cast(HtmxAwareRequest, request).htmx:
        return False
    return request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"


def error_object(status: int, message: str | None = None) -> dict[str, Any]:
    """`{"code", "message", "hint"}` of an error that HTTP itself has."""
    found = status_of(status)
    return {"code": found.code, "message": message or found.message or found.meaning, "hint": found.hint}


def _of_ours(error: AgentsRoomError) -> Response:
    return _render(error.status, error.as_json())


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    says_more = error.description != type(error).description
    told = error_object(status, error.description if says_more else None)
    headers = error.get_response().headers
    if allow := headers.get("Allow"):
        if not says_more:
            told["message"] = f"This address takes no {request.method[:20]}."
        told["hint"] = f"It takes {allow}."
    rendered = _render(status, told)
    for name in ("Allow", "Retry-After"):
        if value := headers.get(name):
            rendered.headers[name] = value
    return rendered


def _of_a_fault(error: Exception) -> Response:
    _logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return _render(500, error_object(500))


def _render(status: int, error: dict[str, Any]) -> Response:
    """An error tells what came; a token that came as an argument is not repeated."""
    if wants_page():
        shown = {**error, "hint": _hint_for_people(status, error.get("hint"))}
        response = make_response(scrub_tokens(render_template("error.html", error=shown, status=status)))
    else:
        response = Response(scrub_tokens(_as_json(status, error)), mimetype="application/json")
    response.status_code = status
    if "retry_after" in error or status == 503:
        response.headers["Retry-After"] = str(error.get("retry_after", _RETRY_S))
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="agents-room"'
    return response


def _hint_for_people(status: int, hint: str | None) -> str | None:
    """What stands in the table of statuses is for programs, and so is every way to what is not there."""
    is_programs = status == 404 or hint == status_of(status).hint
    return _HINTS_FOR_PEOPLE.get(status, hint) if is_programs else hint


def _as_json(status: int, error: dict[str, Any]) -> str:
    if request.path.rstrip("/") != "/mcp":
        return whole_text(json.dumps({"error": error}, separators=(",", ":"), ensure_ascii=False)) + "\n"
    text = " ".join(filter(None, (error["message"], error.get("hint"))))
    code = INVALID_REQUEST if status < 500 else INTERNAL_ERROR
    return refusal(code, text, data=error).body.decode()
