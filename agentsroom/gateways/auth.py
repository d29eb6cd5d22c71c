"""Who calls over HTTP, and whether the route lets them: Host, Origin, credentials, audience, CSRF.

Each view declares its audience (access/routes.py). A route that declares nobody stops the app from starting.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from flask import Flask, current_app, g, redirect, request, session
from flask_wtf.csrf import CSRFError, CSRFProtect
from limits.strategies import RateLimiter
from werkzeug.exceptions import LengthRequired, RequestEntityTooLarge, UnsupportedMediaType
from werkzeug.wrappers import Response as AnyResponse

from agentsroom.access import service as access
from agentsroom.access.routes import EVERYBODY, LOGIN, audience_of
from agentsroom.core.database import Database
from agentsroom.core.errors import AgentsRoomError, Forbidden, NotFound, Unauthenticated
from agentsroom.core.ids import same_secret, secret_hash
from agentsroom.core.principals import Kind, Principal
from agentsroom.core.settings import Settings
from agentsroom.gateways.errors import is_for_programs, wants_page
from agentsroom.gateways.headers import add_headers
from agentsroom.gateways.hosts import Addresses, ForeignOrigin
from agentsroom.gateways.pace import Pace
from agentsroom.gateways.permits import Permit, Permits
from agentsroom.gateways.wire import MOST_BODY, MOST_BODY_OF_STRANGERS

LET_IN = "agentsroom.let_in"
"""In the WSGI environment, once the caller was let in."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CALLS = ("/api/", "/mcp")
"""Where requests count as calls: a page's stream is bounded as a stream."""
_JSON = ("application/json",)
_FORMS = ("application/x-www-form-urlencoded", "application/json", "")
_OWN_SITE = ("same-origin", "none")
_OWNER = Principal("admin", access.DEFAULT_TEAM, access.DEFAULT_AGENT)


class UndeclaredRoute(Exception):
    """A route whose view says nothing about who may call it."""


class CsrfFailed(AgentsRoomError):
    """A write with a browser's cookie came without the token of that login's own pages."""

    code, status = "csrf_failed", 400


class Credentials(NamedTuple):
    """What a request brings to say who it is."""

    by: Literal["bearer", "cookie", "nothing"]
    secret: str


class Gate:
    """Stands before every route of an app."""

    def __init__(
        self, settings: Settings, port: int, token: str, database: Database, limiter: RateLimiter
    ) -> None:
        self._settings = settings
        self._token_hash = secret_hash(token)
        self._database = database
        self._pace = Pace(limiter, settings.max_calls)
        self._permits = Permits(settings.max_streams)
        self.addresses = Addresses(settings, port)
        self._csrf = CSRFProtect()

    def guard(self, app: Flask) -> None:
        """Checks every request of the app from now on."""
        app.config["WTF_CSRF_CHECK_DEFAULT"] = False  # let_in asks for it where a cookie speaks
        app.config["WTF_CSRF_TIME_LIMIT"] = None  # as long as the login: pages stay open for days
        app.config["WTF_CSRF_SSL_STRICT"] = False  # we send no Referer; Origin is checked instead
        self._csrf.init_app(app)
        app.before_request(self.let_in)
        app.after_request(add_headers)

    def let_in(self) -> AnyResponse | None:
        """Raises, or sends to the login, unless the caller may do what the request asks."""
        self.addresses.check_host(request.environ.get("HTTP_HOST", ""))
        if (request.content_length or 0) > MOST_BODY:
            raise RequestEntityTooLarge
        if request.url_rule is None:
            return None  # there is no such route: 404 for everybody
        audience = audience_of(_view_of(request.endpoint))
        credentials = credentials_of_request()
        self._check_origin(credentials)
        if audience == EVERYBODY:
            _bound_body()
            self._check_body(is_from_a_page=True)
            return None
        try:
            principal = self.principal_of(credentials)
        except Unauthenticated:
            if credentials.by == "bearer":
                self._pace.count_wrong_key(request.remote_addr or "")
            if not wants_page() or request.method != "GET":
                raise
            return redirect("/login")
        g.credentials, g.principal = credentials, principal
        request.environ[LET_IN] = True
        if audience is None or principal.kind not in audience:
            raise Forbidden("You may not do this.", hint="Sign in as the admin, in the browser.")
        if request.path.startswith(_CALLS):
            self._pace.count_call(_holder())
        is_of_a_program = credentials.by == "bearer" or (credentials.by == "nothing" and is_for_programs())
        self._check_body(is_from_a_page=not is_of_a_program)
        return None

    def _check_body(self, *, is_from_a_page: bool) -> None:
        """A write of a page of ours has its CSRF token, and no write has a type that only others' forms send."""
        taken = _JSON if is_for_programs() else _FORMS
        if request.method in _WITH_BODY and request.mimetype not in taken and not request.is_json:
            raise UnsupportedMediaType(
                f"A body of this type is not taken here, but {', '.join(filter(None, taken))} is."
            )
        if is_from_a_page:
            self._check_csrf()

    def principal_of(self, credentials: Credentials) -> Principal:
        """Raises Unauthenticated."""
        found: Principal | None = None
        if credentials.by == "bearer":
            if same_secret(self._token_hash, credentials.secret):
                return _OWNER
            return self._database.glance(lambda work: access.agent_of_key(work, credentials.secret))
        if credentials.by == "cookie":
            found = self._database.read(lambda work: access.admin_of_login(work, credentials.secret))
        if found is None and self._settings.auth == "off":
            return _OWNER
        if found is None:
            raise Unauthenticated("Nobody gets in without a key or a login.")
        return found

    def give_permit(self, audience: frozenset[Kind]) -> Permit:
        """Leave for the caller of this request to wait for what is for this audience. Raises TooManyRequests."""
        credentials: Credentials = g.credentials
        return self._permits.open(_holder(), lambda: self._is_for(credentials, audience))

    def _is_for(self, credentials: Credentials, audience: frozenset[Kind]) -> bool:
        """Whether who brought these credentials may still look at what is for this audience."""
        try:
            return self.principal_of(credentials).kind in audience
        except (Unauthenticated, NotFound):
            return False

    def _check_origin(self, credentials: Credentials) -> None:
        """A browser says where a write or a stream comes from; clients that are no browsers say nothing."""
        is_read = request.method in _SAFE_METHODS
        if is_read and not is_for_programs():
            return
        origin = request.headers.get("Origin")
        if origin == "null" and credentials.by != "bearer" and not is_for_programs():
            origin = (
                None  # a form of a page without Referer, which ours are; its CSRF token tells whose it is
            )
        if origin is not None:
            self.addresses.check_origin(origin)
        is_visit = is_read and request.headers.get("Sec-Fetch-Mode") == "navigate"
        if not is_visit and request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITE:
            raise ForeignOrigin("The request comes from a page of another site.")

    def _check_csrf(self) -> None:
        """A write of a browser carries a token that only our own pages know. Raises CsrfFailed."""
        try:
            self._csrf.protect()
        except CSRFError as error:
            raise CsrfFailed(
                f"{error.description} The page may be older than this login.",
                hint="Load the page again, then repeat what you did.",
            ) from error


def _bound_body() -> None:
    """Whoever is not let in yet is read little of, and says beforehand how much."""
    if "Transfer-Encoding" in request.headers:
        raise LengthRequired
    request.max_content_length = MOST_BODY_OF_STRANGERS


def credentials_of_request() -> Credentials:
    """A Bearer header wins over a cookie."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return Credentials("bearer", secret.strip())
    login = session.get(LOGIN)
    return Credentials("cookie", login) if isinstance(login, str) else Credentials("nothing", "")


def _holder() -> str:
    """Whose calls and streams count together: those of a login, of an agent, or of the token of serve.json."""
    credentials: Credentials = g.credentials
    principal: Principal = g.principal
    return credentials.secret if credentials.by == "cookie" else f"{principal.kind} {principal.agent_id}"


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
