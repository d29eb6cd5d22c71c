"""Who may call a route, declared on its view, and who calls it; who that is, gateways/auth.py finds out."""

from collections.abc import Callable
from typing import Any, TypeVar

from flask import g

from agentsroom.core.principals import Kind, Principal

View = TypeVar("View", bound=Callable[..., Any])

LOGIN = "login"
"""Where the signed cookie keeps the id of the browser's login."""

_AUDIENCE = "agentsroom_audience"
EVERYBODY: frozenset[Kind] = frozenset()
"""The audience of a public route."""
PROGRAMS: frozenset[Kind] = frozenset({"admin", "agent"})
"""The audience of what programs call: whoever may run a tool."""


def allow(*kinds: Kind) -> Callable[[View], View]:
    """Only these principals may call the view."""

    def declare(view: View) -> View:
        setattr(view, _AUDIENCE, frozenset(kinds))
        return view

    return declare


def public(view: View) -> View:
    """Everybody may call the view."""
    setattr(view, _AUDIENCE, EVERYBODY)
    return view


def audience_of(view: Callable[..., Any]) -> frozenset[Kind] | None:
    """Who may call the view; EVERYBODY for a public one, None when nobody was declared."""
    return getattr(view, _AUDIENCE, None)


def caller() -> Principal:
    """Who calls the route that runs now; only for routes that are not public."""
    principal: Principal = g.principal
    return principal
