"""Tells a page's script, which swaps pieces, from a browser that loads a page."""

from typing import cast

from flask import request
from htmx_flask.requests import HtmxAwareRequest


def wants_pieces() -> bool:
    """Whether htmx asks: it is answered with what changed."""
    return bool(cast(HtmxAwareRequest, request).htmx)
