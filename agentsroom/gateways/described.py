"""What the server says of itself to programs: documents that their readers keep, and ask for again each time."""

from flask import Response, request

from agentsroom.core.settings import Settings
from agentsroom.gateways.headers import ASKED_AGAIN


def base_of(settings: Settings) -> str:
    """The server's address for whoever asks now, without a slash at the end: AGENTS_ROOM_URL, else the one asked."""
    return (settings.url or request.host_url).rstrip("/")


def described(document: bytes, media_type: str) -> Response:
    """The document, or 304 for whoever has it already."""
    response = Response(document, mimetype=media_type)
    response.headers["Cache-Control"] = ASKED_AGAIN
    response.add_etag()
    response.make_conditional(request)
    return response
