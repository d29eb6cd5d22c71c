"""The headers that every answer carries, whatever it is an answer to."""

from flask import Response, request

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_KEPT = "no-store"
"""Cache-Control of whatever says nothing itself: an answer to a credential, an error, a redirect."""
ASKED_AGAIN = "private, no-cache"
"""Of a page, or of a document about the server: its reader may keep it, and asks each time."""


def add_headers(response: Response) -> Response:
    """Adds to a response what it does not say itself."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    is_page = response.mimetype == "text/html"
    if is_page:
        response.vary.add("HX-Request")
    may_be_kept = is_page and response.status_code in (200, 304) and request.method in ("GET", "HEAD")
    response.headers.setdefault("Cache-Control", ASKED_AGAIN if may_be_kept else NOT_KEPT)
    return response
