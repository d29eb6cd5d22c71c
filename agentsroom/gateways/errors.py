"""The one renderer of errors over HTTP: a page that says what happened and what to do, or the JSON error object."""

import logging
from typing import Any, cast

from flask import Flask, Response, jsonify, make_response, render_template, request
from htmx_flask.requests import HtmxAwareRequest
from werkzeug.exceptions import HTTPException

from agentsroom.core.errors import AgentsRoomError

_log = logging.getLogger(__name__)

_NEVER_PAGES = ("/api/", "/mcp", "/live", "/healthz")
_CODES = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}
_MESSAGES = {
    404: ("Nothing is here.", "Look at the address, or start from the rooms."),
    405: ("This address takes no such request.", None),
    413: ("That is more than is taken.", None),
    429: ("Too many tries in a short time.", "Wait a minute, then try again."),
}


def render_errors(app: Flask) -> None:
    """From now on every error of the app is answered by this module."""
    app.register_error_handler(AgentsRoomError, _of_ours)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(Exception, _of_a_fault)


def wants_page() -> bool:
    """Whether a person looks at the answer: a browser that navigates, not a script, a stream or a tool."""
    if request.path.startswith(_NEVER_PAGES) or cast(HtmxAwareRequest, request).htmx:
        return False
    return request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"


def _of_ours(error: AgentsRoomError) -> Response:
    return _render(error.status, error.as_json())


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    message, hint = _MESSAGES.get(status, (error.description or error.name, None))
    answer = {"code": _CODES.get(status, "error"), "message": message}
    rendered = _render(status, answer if hint is None else {**answer, "hint": hint})
    for name in ("Allow", "Retry-After"):
        if value := error.get_response().headers.get(name):
            rendered.headers[name] = value
    return rendered


def _of_a_fault(error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    hint = "The server's output says more. Try again; nothing was half-written."
    return _render(500, {"code": "internal", "message": "Something broke in the server.", "hint": hint})


def _render(status: int, answer: dict[str, Any]) -> Response:
    if wants_page():
        response = make_response(render_template("error.html", error=answer, status=status))
    else:
        response = jsonify(error=answer)
    response.status_code = status
    if "retry_after" in answer:
        response.headers["Retry-After"] = str(answer["retry_after"])
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="agents-room"'
    return response
