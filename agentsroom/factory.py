"""Puts the web app together; the only module that knows all parts."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Flask, Request, redirect, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy
from htmx_flask import Htmx
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wrappers import Response

from agentsroom.access.pages import HOME, login_pages
from agentsroom.access.routes import allow, public
from agentsroom.core.database import Database
from agentsroom.core.errors import AgentsRoomError, StoreUnavailable
from agentsroom.core.files import shipped_folder
from agentsroom.core.html import dom_id
from agentsroom.core.ids import random_base62, random_session_id
from agentsroom.core.markdown import render_message
from agentsroom.core.models import Base, Event
from agentsroom.core.product import VERSION
from agentsroom.core.settings import Settings, make_home
from agentsroom.core.text import isolated
from agentsroom.gateways.api import api_routes
from agentsroom.gateways.auth import Gate, check_declared
from agentsroom.gateways.errors import render_errors
from agentsroom.gateways.events_page import events_live, events_pages
from agentsroom.gateways.features import RuntimeFeatures
from agentsroom.gateways.live import MakePage, live_routes, live_url
from agentsroom.gateways.manifest.routes import manifest_routes
from agentsroom.gateways.mcp_http import McpHttp, mcp_routes
from agentsroom.gateways.pace import FAILED_LOGINS
from agentsroom.gateways.room_stream import room_stream_routes
from agentsroom.gateways.running import Running, own_command
from agentsroom.gateways.statuses import STATUSES
from agentsroom.gateways.wiki_pages import wiki_routes
from agentsroom.gateways.wire import MOST_BODY
from agentsroom.rooms.addresses import message_url, room_act_url, room_url
from agentsroom.rooms.export import export_routes
from agentsroom.rooms.forms import room_forms
from agentsroom.rooms.live import Parts, room_live, rooms_live
from agentsroom.rooms.pages import room_pages
from agentsroom.rooms.regions import Region
from agentsroom.runtime import Runtime, make_event_kinds

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

LOGIN_DAYS = 90


class Store(SQLAlchemy):
    """Flask-SQLAlchemy on core's engine, which has the PRAGMAs and hooks; `session` only reads."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(model_class=Base)
        self._ours = engine

    def _make_engine(self, _bind_key: str | None, _options: dict[str, Any], _app: Flask) -> Engine:
        return self._ours


class _App(Flask):
    """Flask behind so many trusted proxies."""

    def __init__(self, proxies: int) -> None:
        super().__init__(
            __name__, static_folder=shipped_folder("static"), template_folder=shipped_folder("templates")
        )
        plain = super().wsgi_app
        self._behind = ProxyFix(plain, x_for=proxies, x_proto=proxies, x_host=proxies) if proxies else plain

    def wsgi_app(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        return self._behind(environ, start_response)


class _Sessions(SecureCookieSessionInterface):
    """The signed cookie; Secure as soon as the request came by https."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Who brings no cookie costs no look at the signature."""
        if self.get_cookie_name(app) in request.cookies:
            return super().open_session(app, request)
        return self.session_class()

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure or bool(app.config["SESSION_COOKIE_SECURE"])


def create_app(
    settings: Settings,
    runtime: Runtime | None = None,
    running: Running | None = None,
    features: type[RuntimeFeatures] = RuntimeFeatures,
) -> Flask:
    """The app, of a server that runs (serve gives the first three) or by itself, as tests do.

    `features`: what /mcp offers. Tests of the protocol offer more than the product does.

    Raises UndeclaredRoute when a route does not say who may call it.
    """
    runtime = runtime or Runtime(settings)
    running = running or _not_listening(settings)
    app = _App(settings.proxies)
    _configure(app, settings)
    store = Store(runtime.database.engine)
    store.init_app(app)
    Htmx(app)
    limiter = Limiter(get_remote_address, app=app, storage_uri="memory://", headers_enabled=True)
    gate = Gate(settings, running.port, running.token, runtime.database, limiter.limiter)
    gate.guard(app)
    render_errors(app)
    _add_own_routes(app, store, runtime.database)
    app.register_blueprint(login_pages(runtime.database, running.token, _slowed(limiter)))
    _add_pages(app, runtime, gate, running)
    app.register_blueprint(wiki_routes())
    app.register_blueprint(manifest_routes(runtime.registry, settings))
    app.register_blueprint(mcp_routes(McpHttp(runtime, gate.give_permit, features)))
    app.register_blueprint(api_routes(runtime, gate.give_permit))
    check_declared(app)
    return app


def _configure(app: Flask, settings: Settings) -> None:
    app.secret_key = _secret(settings)
    app.session_interface = _Sessions()
    app.url_map.merge_slashes = False  # a room's name may hold two of them
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.config.update(
        MAX_CONTENT_LENGTH=MOST_BODY,
        PERMANENT_SESSION_LIFETIME=LOGIN_DAYS * 86_400,
        # A cookie belongs to a host, whatever the port: two homes on one machine need two names.
        SESSION_COOKIE_NAME=f"agents_room_{hashlib.sha256(bytes(settings.home_path)).hexdigest()[:8]}",
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=settings.url.startswith("https:"),
        SESSION_REFRESH_EACH_REQUEST=False,
        SQLALCHEMY_DATABASE_URI=settings.database_url,
    )


def _add_own_routes(app: Flask, store: Store, database: Database) -> None:
    public(app.view_functions["static"])

    @app.get("/")
    @allow("admin")
    def overview() -> Response:
        return redirect(HOME)

    @app.get("/healthz")
    @public
    def healthz() -> dict[str, str]:
        """Whether the store can be read; why not is for `agents-room doctor`, since strangers may ask."""
        try:
            _ = database.engine  # is it still there?
            store.session.scalar(select(Event.id).limit(1))
        except (AgentsRoomError, SQLAlchemyError) as error:
            raise StoreUnavailable(
                "The store can't be read.", hint="agents-room doctor tells why.", retry_after=10
            ) from error
        return {"status": "ok"}


def _slowed(limiter: Limiter) -> Callable[[Any], Any]:
    """Slows a view that takes guesses at the token; those that succeed count for nothing."""
    limiter.request_filter(lambda: request.blueprint != "access")  # the views of logins alone
    return limiter.limit(
        f"{FAILED_LOGINS} per minute",
        deduct_when=lambda response: response.status_code == 401,
        error_message=STATUSES[429].message,
    )


def _add_pages(app: Flask, runtime: Runtime, gate: Gate, running: Running) -> None:
    """The domains' pages, and the stream of each that has one, by its endpoint."""
    build = _build_id()
    app.jinja_env.filters.update(markdown=render_message, isolated=isolated)
    app.jinja_env.globals.update(
        dom_id=dom_id,
        region=Region,
        room_url=room_url,
        room_act_url=room_act_url,
        message_url=message_url,
        live_url=live_url,
        build_id=build,
        own_command=own_command(),
    )

    app.context_processor(lambda: {"with_token": True})

    def render(template: str, **variables: Any) -> str:
        return app.jinja_env.get_template(template).render(**variables)

    kinds = make_event_kinds()
    parts = Parts(runtime.database, runtime.machine, render)
    pages: dict[str, MakePage] = {
        "rooms.rooms": partial(rooms_live, parts),
        "rooms.room": partial(room_live, parts),
        "events.events": partial(events_live, runtime.database, kinds, render),
    }
    ready = {"instanceId": running.instance_id, "buildId": build}
    app.register_blueprint(room_pages(runtime.database, runtime.machine))
    app.register_blueprint(room_forms(runtime.database, runtime.machine))
    app.register_blueprint(export_routes(runtime.database))
    app.register_blueprint(events_pages(runtime.database, kinds))
    app.register_blueprint(live_routes(runtime.database, runtime.feed, pages, gate.give_permit, ready))
    app.register_blueprint(room_stream_routes(runtime.database, runtime.feed, gate.give_permit, ready))


def _not_listening(settings: Settings) -> Running:
    url = f"http://{settings.host}:{settings.port}"
    return Running(url, settings.port, os.getpid(), random_session_id(), random_base62(43))


def _secret(settings: Settings) -> str:
    """What signs the cookies: made once a home, for its owner alone."""
    path = make_home(settings) / "secret"
    if not path.exists():
        unfinished = path.with_name(f".secret.tmp-{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(random_base62(43))
        with contextlib.suppress(FileExistsError):
            os.link(unfinished, path)
        unfinished.unlink()
    return path.read_text()


def _build_id() -> str:
    """Changes with the release, its pages and its scripts: an open page of another build loads itself again."""
    digest = hashlib.sha256(VERSION.encode())
    for folder in (shipped_folder("static"), shipped_folder("templates")):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
