"""The body of the request that is answered now: whole, or refused."""

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge


def whole_body() -> bytes:
    """Raises RequestEntityTooLarge over MAX_CONTENT_LENGTH; one in chunks also at that very length."""
    raw = request.get_data(cache=False)
    most = request.max_content_length
    if request.content_length is None and most is not None and len(raw) >= most:
        raise RequestEntityTooLarge  # Werkzeug reads chunks up to there, and leaves out the rest silently
    return raw
