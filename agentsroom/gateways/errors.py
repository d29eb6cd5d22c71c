"""The one renderer of errors over HTTP: a page that says what happened and what to do, or the JSON error object."""

import logging
from typing import Any, cast

from flask import Flask, Response, jsonify, make_response, render_template, request
from htmx_flask.requests import HtmxAwareRequest
from werkzeug.exceptions import HTTPException

from agentsroom.core.errors import AgentsRoomError, Forbidden, NotFound, TooManyRequests, Unauthenticated
from agentsroom.core.scrub import scrub_tokens

_logger = logging.getLogger(__name__)

_FOR_PROGRAMS = ("/api/", "/mcp", "/.well-known/", "/live", "/healthz")
_ONLY_HTTP = {
    400: (
        "bad_request",
        "The request is none that is taken here; the status may be another 4xx that says more.",
    ),
    405: ("method_not_allowed", "The address takes no such method; `Allow` names those that it takes."),
    408: ("too_slow", "The request did not come in time."),
    413: ("too_large", "The request is bigger than what is taken."),
    414: ("address_too_long", "The address is longer than what is taken."),
    415: ("unsupported_media_type", "The body is of a type that is not taken."),
    431: ("headers_too_large", "The headers are more than what is taken."),
    500: ("internal", "Something broke in the server; its output says more, and nothing was half-written."),
}
"""The codes that no error of ours has, and what each means."""
_CODES = {one.status: one.code for one in (Unauthenticated, Forbidden, NotFound, TooManyRequests)} | {
    status: code for status, (code, _) in _ONLY_HTTP.items()
}
_RETRY_S = 10
"""After how many seconds another try is worth it, where an error does not say."""
FAULT = "Something broke in the server."
_MESSAGES = {
    404: ("Nothing is here.", "Look at the address, or start from the rooms."),
    405: ("This address takes no such request.", None),
    408: ("The request did not come in time.", "Send it again, all of it at once."),
    413: ("That is more than is taken.", None),
    429: ("Too many tries in a short time.", "Wait a minute, then try again."),
}


def render_errors(app: Flask) -> None:
    """From now on every error of the app is answered by this module."""
    app.register_error_handler(AgentsRoomError, _of_ours)
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(Exception, _of_a_fault)


def http_errors() -> list[tuple[str, int, str]]:
    """Code, status and meaning of each error that only HTTP has."""
    return [(code, status, meaning) for status, (code, meaning) in _ONLY_HTTP.items()]


def code_of(status: int) -> str:
    """The code of an error that HTTP alone has."""
    return _CODES.get(status) or _CODES[400 if status < 500 else 500]


def is_for_programs() -> bool:
    """Whether the address is one that no browser navigates to: a tool's, a stream's, a description's."""
    return request.path.startswith(_FOR_PROGRAMS)


def wants_page() -> bool:
    """Whether a person looks at the answer: a browser that navigates, not a script, a stream or a tool."""
    if is_for_programs() or cast(HtmxAwareRequest, request).htmx:
        return False
    return request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"


def _of_ours(error: AgentsRoomError) -> Response:
    return _render(error.status, error.as_json())


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    message, hint = _MESSAGES.get(status, (error.description or error.name, None))
    answer = {"code": code_of(status), "message": message}
    rendered = _render(status, answer if hint is None else {**answer, "hint": hint})
    for name in ("Allow", "Retry-After"):
        if value := error.get_response().headers.get(name):
            rendered.headers[name] = value
    return rendered


def _of_a_fault(error: Exception) -> Response:
    _logger.error("%s %s failed", request.method, request.path, exc_info=error)
    hint = "The server's output says more. Try again; nothing was half-written."
    return _render(500, {"code": code_of(500), "message": FAULT, "hint": hint})


def _render(status: int, answer: dict[str, Any]) -> Response:
    """An error tells what came; a token that came as an argument is not repeated."""
    if wants_page():
        text = render_template("error.html", error=answer, status=status)
        response = make_response(scrub_tokens(text))
    else:
        response = jsonify(error=answer)
        response.set_data(scrub_tokens(response.get_data(as_text=True)))
    response.status_code = status
    if "retry_after" in answer or status == 503:
        response.headers["Retry-After"] = str(answer.get("retry_after", _RETRY_S))
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="agents-room"'
    return response
