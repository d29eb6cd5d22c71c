"""Where the manifests of a running server are read: by whoever may call its tools."""

import json

from flask import Blueprint, Response

from agentsroom.access.routes import PROGRAMS, allow
from agentsroom.core.settings import Settings
from agentsroom.core.tools import Registry
from agentsroom.gateways.described import base_of, described
from agentsroom.gateways.manifest.parts import Manifest
from agentsroom.gateways.manifest.served import AI_CATALOG, SERVER_CARD, TOOLS, Server


def manifest_routes(registry: Registry, settings: Settings) -> Blueprint:
    """What they say depends on the release, the settings and the address that was asked, never on the caller."""
    routes = Blueprint("manifest", __name__)

    def answer(manifest: Manifest[Server]) -> Response:
        server = Server(registry, base_of(settings), needs_key=settings.auth == "on")
        return described(json.dumps(manifest.make(server)).encode(), manifest.media_type)

    @routes.get(TOOLS.place)
    @allow(*PROGRAMS)
    def tools() -> Response:
        return answer(TOOLS)

    @routes.get(SERVER_CARD.place)
    @allow(*PROGRAMS)
    def server_card() -> Response:
        return answer(SERVER_CARD)

    @routes.get(AI_CATALOG.place)
    @allow(*PROGRAMS)
    def ai_catalog() -> Response:
        return answer(AI_CATALOG)

    return routes
