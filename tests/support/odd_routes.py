"""Routes that misbehave, for the tests alone: /test/flood, /test/take, /test/fault, /test/late."""

import sys
from collections.abc import Iterator

from flask import Flask, Response, request

from agentsroom.access.routes import allow, public
from agentsroom.core.settings import Settings
from agentsroom.factory import create_app
from agentsroom.gateways.running import Running
from agentsroom.runtime import Runtime


@public
def flood() -> Response:
    """More than any client takes."""

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield bytes(2**20)
        finally:
            sys.stdout.write("the flood ended\n")
            sys.stdout.flush()

    return Response(pieces())


@allow("admin")
def take() -> str:
    """How many bytes came."""
    return str(len(request.get_data()))


@public
def fault() -> Response:
    """A fault that tells whatever it was asked."""
    raise ValueError(f"{request.url} {dict(request.headers)} {request.get_data()!r}")


@public
def late() -> Response:
    """A fault after the answer began, or before its first byte where `?first` is asked for."""
    is_first = "first" in request.args

    def pieces() -> Iterator[bytes]:
        if not is_first:
            yield b"a piece"
        raise ValueError("late")

    return Response(pieces())


def make_app(settings: Settings, runtime: Runtime, running: Running) -> Flask:
    """The product's, and the routes of this module."""
    app = create_app(settings, runtime, running)
    for view in (flood, take, fault, late):
        app.add_url_rule(f"/test/{view.__name__}", view_func=view, methods=["GET", "POST"])
    return app
