"""Who calls over HTTP, and whether the route lets them: Host, Origin, credentials, audience, CSRF, headers.

Each view declares its audience (access/routes.py). A route that declares nobody stops the app from starting.
"""

import contextlib
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, g, redirect, request, session
from flask_wtf.csrf import CSRFProtect
from werkzeug.exceptions import BadRequest
from werkzeug.wrappers import Response as AnyResponse

from agentsroom.access import service as access
from agentsroom.access.routes import EVERYBODY, LOGIN, audience_of
from agentsroom.core.database import Database
from agentsroom.core.errors import Forbidden, NotFound, Unauthenticated
from agentsroom.core.ids import same_secret, secret_hash
from agentsroom.core.principals import Kind, Principal
from agentsroom.core.settings import Settings
from agentsroom.gateways.errors import wants_page

HTTP_PORT = 80
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWNER = Principal("admin", access.DEFAULT_TEAM, access.DEFAULT_AGENT)
_POLICY = "; ".join(
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
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class UndeclaredRoute(Exception):
    """A route whose view says nothing about who may call it."""


class Credentials(NamedTuple):
    """What a request brings to say who it is."""

    by: Literal["bearer", "cookie", "nothing"]
    secret: str


class Gate:
    """Stands before every route of an app."""

    def __init__(self, settings: Settings, port: int, token: str, database: Database) -> None:
        self._settings = settings
        self._token_hash = secret_hash(token)
        self._database = database
        self.hosts = own_hosts(settings, port)
        self._csrf = CSRFProtect()

    def guard(self, app: Flask) -> None:
        """Checks every request of the app from now on."""
        app.config["WTF_CSRF_CHECK_DEFAULT"] = False  # let_in asks for it where a cookie speaks
        app.config["WTF_CSRF_TIME_LIMIT"] = None  # as long as the login: pages stay open for days
        app.config["WTF_CSRF_SSL_STRICT"] = False  # we send no Referer; Origin is checked instead
        self._csrf.init_app(app)
        app.before_request(self.let_in)
        app.after_request(_add_headers)

    def let_in(self) -> AnyResponse | None:
        """Raises, or sends to the login, unless the caller may do what the request asks."""
        self._check_host()
        if request.url_rule is None:
            return None  # there is no such route: 404 for everybody
        audience = audience_of(_view_of(request.endpoint))
        credentials = credentials_of_request()
        self._check_origin(credentials)
        if credentials.by == "cookie" or audience == EVERYBODY:
            self._csrf.protect()
        if audience == EVERYBODY:
            return None
        g.credentials = credentials
        try:
            g.principal = self.principal_of(credentials)
        except Unauthenticated:
            if not wants_page() or request.method != "GET":
                raise
            return redirect("/login")
        if audience is None or g.principal.kind not in audience:
            raise Forbidden("You may not do this.", hint="Sign in as the admin, in the browser.")
        return None

    def principal_of(self, credentials: Credentials) -> Principal:
        """Raises Unauthenticated."""
        found: Principal | None = None
        if credentials.by == "bearer":
            if same_secret(self._token_hash, credentials.secret):
                return _OWNER
            return self._database.read(lambda work: access.agent_of_key(work, credentials.secret))
        if credentials.by == "cookie":
            found = self._database.read(lambda work: access.admin_of_login(work, credentials.secret))
        if found is None and self._settings.auth == "off":
            return _OWNER
        if found is None:
            raise Unauthenticated(
                "Nobody gets in without a token.", hint="agents-room login-link prints a link that logs in."
            )
        return found

    def is_still_allowed(self, credentials: Credentials, audience: frozenset[Kind]) -> bool:
        """Whether who brought these credentials may still look at what is for this audience."""
        try:
            return self.principal_of(credentials).kind in audience
        except (Unauthenticated, NotFound):
            return False

    def _check_host(self) -> None:
        if request.environ.get("HTTP_HOST", "").lower() not in self.hosts:
            raise BadRequest(
                "This host name is none of ours. AGENTS_ROOM_URL tells the server its public name."
            )

    def _check_origin(self, credentials: Credentials) -> None:
        """A browser names where a write or a stream comes from; clients that are no browsers send nothing."""
        origin = request.headers.get("Origin")
        if origin is None or (request.method in _SAFE_METHODS and request.path != "/live"):
            return
        if origin == "null" and credentials.by != "bearer":
            # A form of a page without Referer has this origin. The CSRF token tells ours from others',
            # and browsers that know better say so in Sec-Fetch-Site.
            if request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin":
                return
        elif _host_of(origin) in self.hosts:
            return
        raise Forbidden("The request comes from a page that is none of ours.")


def _host_of(origin: str) -> str | None:
    """The host (and port) of a web origin; None for whatever is none."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None


def own_hosts(settings: Settings, port: int) -> frozenset[str]:
    """What a Host header may say, in lower case: exactly these."""
    names = {settings.host.lower(), "localhost"}
    with contextlib.suppress(ValueError):  # a name is no address
        if ip_address(settings.host).is_unspecified:
            names |= {"127.0.0.1", "::1"}
    hosts = {f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names}
    if port == HTTP_PORT:
        hosts |= {host.removesuffix(f":{port}") for host in hosts}
    if settings.url:
        hosts.add(urlsplit(settings.url).netloc.lower())
    return frozenset(hosts)


def credentials_of_request() -> Credentials:
    """A Bearer header wins over a cookie."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return Credentials("bearer", secret.strip())
    login = session.get(LOGIN)
    return Credentials("cookie", login) if isinstance(login, str) else Credentials("nothing", "")


def check_declared(app: Flask) -> None:
    """Raises UndeclaredRoute, naming every route whose view declares nobody."""
    undeclared = sorted(
        rule.rule
        for rule in app.url_map.iter_rules()
        if audience_of(app.view_functions[rule.endpoint]) is None
    )
    if undeclared:
        raise UndeclaredRoute(f"nobody is declared for {', '.join(undeclared)}: use @allow(…) or @public")


def _view_of(endpoint: str | None) -> Callable[..., Any]:
    assert endpoint is not None
    return current_app.view_functions[endpoint]


def _add_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if response.mimetype == "text/html":
        response.vary.add("HX-Request")
        response.headers.setdefault("Cache-Control", "no-cache, private")
    return response
