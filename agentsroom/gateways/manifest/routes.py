"""Where the manifests of a running server are read: by whoever may call its tools."""

import json

from flask import Blueprint, Response, request

from agentsroom.access.routes import allow
from agentsroom.core.settings import Settings
from agentsroom.core.tools import Registry
from agentsroom.gateways.manifest.parts import Manifest
from agentsroom.gateways.manifest.served import AI_CATALOG, SERVER_CARD, TOOLS, Server


def manifest_routes(registry: Registry, settings: Settings) -> Blueprint:
    """What they say depends on the release, the settings and the address that was asked, never on the caller."""
    routes = Blueprint("manifest", __name__)

    def answer(manifest: Manifest[Server]) -> Response:
        base = (settings.url or request.host_url).rstrip("/")
        document = manifest.make(Server(registry, base, needs_key=settings.auth == "on"))
        response = Response(json.dumps(document), mimetype=manifest.media_type)
        response.headers["Cache-Control"] = "private, no-cache"
        response.add_etag()
        response.make_conditional(request)
        return response

    @routes.get(TOOLS.place)
    @allow("admin", "agent")
    def tools() -> Response:
        return answer(TOOLS)

    @routes.get(SERVER_CARD.place)
    @allow("admin", "agent")
    def server_card() -> Response:
        return answer(SERVER_CARD)

    @routes.get(AI_CATALOG.place)
    @allow("admin", "agent")
    def ai_catalog() -> Response:
        return answer(AI_CATALOG)

    return routes
