"""Every status of an error over HTTP: its code, what it means, what is told with it, and what to do about it.

What an error of ours says itself, by its class or where it is raised, wins over what stands here.
"""

from typing import NamedTuple

from agentsroom.core.errors import (
    Conflict,
    Forbidden,
    InvalidArgument,
    NotFound,
    StoreUnavailable,
    TooManyRequests,
    Unauthenticated,
)
from agentsroom.gateways.wire import MOST_BODY, MOST_BODY_OF_STRANGERS


class Status(NamedTuple):
    """One of them."""

    code: str
    """Of an error that says none itself."""
    name: str
    """Of the component that describes it in OpenAPI."""
    meaning: str
    hint: str | None
    headers: tuple[str, ...] = ()
    message: str | None = None
    """What is told unless an error says more; None: the meaning."""
    is_of_the_api: bool = True
    """Whether a tool's address under /api may answer so."""


STATUSES = {
    400: Status(
        "bad_request",
        "BadRequest",
        "The request is none that is taken here: its body is not the JSON that is read, or something is missing.",
        "Send it again as wiki/API.md and wiki/MCP.md say.",
    ),
    401: Status(
        Unauthenticated.code,
        "Unauthenticated",
        "No key, or one that is not valid any more.",
        Unauthenticated.usual_hint,
        headers=("WWW-Authenticate",),
    ),
    403: Status(
        Forbidden.code,
        "Forbidden",
        "The caller may not do this, or the Host or Origin is none of ours.",
        Forbidden.usual_hint,
    ),
    404: Status(
        NotFound.code,
        "NotFound",
        "No such tool, session, message, room or recipient.",
        "MCP is spoken at /mcp; /api/openapi.json describes the tools at /api/tools/NAME.",
        message="Nothing is here.",
    ),
    405: Status(
        "method_not_allowed",
        "MethodNotAllowed",
        "The address takes another method; `Allow` names those that it takes.",
        "Use a method that the header Allow names.",
        headers=("Allow",),
        message="This address takes no such request.",
    ),
    406: Status(
        "not_acceptable",
        "NotAcceptable",
        "The client accepts nothing that could be answered.",
        "Send the header Accept: application/json, text/event-stream.",
        is_of_the_api=False,
    ),
    408: Status(
        "too_slow",
        "TooSlow",
        "The request did not come in time.",
        "Send it again, all of it at once.",
    ),
    409: Status(
        Conflict.code,
        "Conflict",
        "The call contradicts the state of things, which the code names.",
        Conflict.usual_hint,
    ),
    411: Status(
        "length_required",
        "LengthRequired",
        "A body of somebody who is not let in yet does not say how long it is.",
        "Send the header Content-Length.",
        message="The body does not say how long it is.",
        is_of_the_api=False,
    ),
    413: Status(
        "too_large",
        "TooLarge",
        "The request is bigger than what is taken.",
        f"Send less: a body has up to {MOST_BODY:,} bytes, at /login {MOST_BODY_OF_STRANGERS:,}.",
        message="That is more than is taken.",
    ),
    414: Status(
        "address_too_long",
        "AddressTooLong",
        "The address is longer than what is taken.",
        "Send what is long in the body.",
    ),
    415: Status(
        "unsupported_media_type",
        "NotJson",
        "The body is not JSON by its Content-Type.",
        "Send JSON, and the header Content-Type: application/json.",
    ),
    422: Status(
        InvalidArgument.code,
        "InvalidArgument",
        "Arguments are not what the tool takes; `problems` names each.",
        None,
    ),
    429: Status(
        TooManyRequests.code,
        "TooManyRequests",
        "Too many in a short time, or at once.",
        TooManyRequests.usual_hint,
        headers=("Retry-After",),
        message="Too many tries in a short time.",
    ),
    431: Status(
        "headers_too_large",
        "HeadersTooLarge",
        "The headers are more than what is taken.",
        "Send fewer or shorter headers.",
    ),
    500: Status(
        "internal",
        "Internal",
        "Something broke in the server; its output says more, and nothing was half-written.",
        "The server's output says more. Try again; nothing was half-written.",
        message="Something broke in the server.",
    ),
    503: Status(
        StoreUnavailable.code,
        "Unavailable",
        "The store can't be used now, or the server stops.",
        StoreUnavailable.usual_hint,
        headers=("Retry-After",),
    ),
}


def status_of(status: int) -> Status:
    """What stands there, or under 400 and 500 for a status that nobody sends on purpose."""
    return STATUSES.get(status) or STATUSES[400 if status < 500 else 500]
