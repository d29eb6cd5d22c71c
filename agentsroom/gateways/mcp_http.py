"""MCP over Streamable HTTP: /mcp, both eras on one endpoint. What the messages mean is rpc.py's.

A modern request (2026-07-28) stands alone; a legacy client has a session and may hold a GET stream. A reply is plain
JSON, but for a call that says something before its result or takes long: that one becomes a stream.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial

from flask import Blueprint, Response, g, request
from werkzeug.exceptions import BadRequest, MethodNotAllowed, NotAcceptable

from agentsroom.access.routes import allow, caller
from agentsroom.core.errors import Unauthenticated
from agentsroom.core.feed import CallFeed, last_event_id
from agentsroom.core.ids import secret_hash
from agentsroom.core.principals import Kind
from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.features import RuntimeFeatures
from agentsroom.gateways.live import WHEN_GONE
from agentsroom.gateways.mcp_changes import ALIVE, Changes, missed_since, sse
from agentsroom.gateways.mcp_conversation import QUIET_S, Conversation
from agentsroom.gateways.mcp_headers import SESSION_ID, VERSION, check_headers, is_of_modern_era
from agentsroom.gateways.mcp_sessions import Cursor, HttpSession, HttpSessions
from agentsroom.gateways.permits import Permit, PermittedFeed
from agentsroom.gateways.subscriptions import Subscriptions
from agentsroom.runtime import Runtime

Opened = ExitStack[None]
"""What is opened for a request, closed in the end whatever happens."""

_JSON = "application/json"
_STREAM = "text/event-stream"
_STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"}
_AUDIENCE: frozenset[Kind] = frozenset({"admin", "agent"})
_STATUS = {jsonrpc.METHOD_NOT_FOUND: 404, jsonrpc.INTERNAL_ERROR: 200}
"""The status of a modern error; that of the others is 400."""
_LEGACY_STATUS = {jsonrpc.PARSE_ERROR: 400, jsonrpc.INVALID_REQUEST: 400}
"""The status of a legacy error; that of the others is 200."""

Message = jsonrpc.Request | jsonrpc.Notification | jsonrpc.Response
OpenStream = Callable[[frozenset[Kind]], Permit]


class McpHttp:
    """What /mcp does with each message."""

    def __init__(
        self, runtime: Runtime, open_stream: OpenStream, features: type[RuntimeFeatures] = RuntimeFeatures
    ) -> None:
        self._database = runtime.database
        self._feed = runtime.feed
        self._features = partial(features, runtime)
        self._open_stream = open_stream
        self._capabilities = features.capabilities
        self._sessions = HttpSessions()

    def take(self) -> Response:
        """POST: one message of the client."""
        match jsonrpc.decode(request.get_data()):
            case jsonrpc.Reply() as refusal:
                return _json(refusal, 400)
            case message if is_of_modern_era(message, request.headers.get):
                return self._take_modern(message)
            case message:
                return self._take_legacy(message)

    def _take_modern(self, message: Message) -> Response:
        if not isinstance(message, jsonrpc.Request):
            return Response(status=202)
        try:
            check_headers(message, request.headers.get)
        except jsonrpc.Refused as refused:
            return _json(refused.reply(message.id), 400)
        outcome = rpc.answer_modern(message, self._capabilities)
        if isinstance(outcome, rpc.Listening):
            return self._listen(outcome)
        return self._answer(outcome, None)

    def _take_legacy(self, message: Message) -> Response:
        if isinstance(message, jsonrpc.Request) and message.method == "initialize":
            return self._initialize(message)
        session = self._sessions.get(request.headers.get(SESSION_ID), _owner())
        if request.headers.get(VERSION, rpc.LEGACY_VERSIONS[0]) not in rpc.LEGACY_VERSIONS:
            raise BadRequest(f"{VERSION}: one of {', '.join(rpc.LEGACY_VERSIONS)} is spoken in a session.")
        match message:
            case jsonrpc.Request():
                return self._answer(rpc.answer_legacy(message, session.agreed, self._capabilities), session)
            case jsonrpc.Notification(cancelled=cancelled):
                if cancelled is not None:
                    session.cancel(cancelled)
            case jsonrpc.Response():
                session.take(message)
        return Response(status=202)

    def _initialize(self, message: jsonrpc.Request) -> Response:
        """In a session that is open already it is refused; whatever else the headers say, it opens one."""
        session = self._sessions.find(request.headers.get(SESSION_ID), _owner()) or HttpSession(_owner())
        response = self._answer(rpc.answer_legacy(message, session.agreed, self._capabilities), session)
        if session.agreed.version is not None and session.cursor.event_id == 0:
            session.cursor.event_id = self._database.read(last_event_id)
        if session.agreed.version is not None:
            self._sessions.keep(session)
            response.headers[SESSION_ID] = session.id
        return response

    def _answer(self, outcome: jsonrpc.Reply | rpc.Work, session: HttpSession | None) -> Response:
        _check_accept(_JSON, _STREAM)
        if isinstance(outcome, jsonrpc.Reply):
            return _reply(outcome, session)
        features = self._features(caller, CallFeed(self._feed))
        if outcome.tool is not None and features.waits(outcome.tool):
            return self._run_long(outcome, session)
        return _reply(outcome.run(lambda: features, offers.Exchange(outcome.request, {})), session)

    def _run_long(self, work: rpc.Work, session: HttpSession | None) -> Response:
        """Runs the call beside this request, which tells the client what comes of it."""
        principal = caller()
        with Opened() as opened:
            permit = opened.enter_context(closing(self._open_stream(_AUDIENCE)))
            feed = PermittedFeed(self._feed, permit)
            conversation = Conversation(work, session, feed)
            opened.callback(conversation.end)
            _when_gone(opened, conversation.end)
            conversation.start(lambda: self._features(lambda: principal, feed))
            first = conversation.next(QUIET_S if _accepts(_STREAM) else None)
            if not permit.holds():
                raise Unauthenticated("The key was revoked while the call ran.")
            if isinstance(first, jsonrpc.Reply):
                return _reply(first, session)
            return _stream(_of_call(conversation.rest(first), permit), opened)

    def _listen(self, listening: rpc.Listening) -> Response:
        """The stream of a modern client."""
        _check_accept(_STREAM)
        principal = caller()
        match listening.open(lambda: self._features(lambda: principal, CallFeed(self._feed))):
            case jsonrpc.Reply() as refusal:
                return _reply(refusal, None)
            case rpc.Opened(subscriptions, features):
                first, last = subscriptions.acknowledgement(), listening.ended(subscriptions).body
                with Opened() as opened:
                    changes = self._changes(opened, subscriptions, features, Cursor())
                    return _stream(changes.run([], first=first, last=last), opened)

    def follow(self) -> Response:
        """GET: the stream of a legacy client, on which it is told of changes; a second one ends the first."""
        if request.headers.get(VERSION) == rpc.MODERN_VERSION and SESSION_ID not in request.headers:
            raise MethodNotAllowed(["POST"], "A client of this version listens with subscriptions/listen.")
        session = self._sessions.get(request.headers.get(SESSION_ID), _owner())
        _check_accept(_STREAM)
        principal = caller()
        features = self._features(lambda: principal, CallFeed(self._feed))
        with Opened() as opened:
            changes = self._changes(opened, session.agreed.subscriptions, features, session.cursor)
            session.replace_stream(changes.stop)
            missed = missed_since(self._database, _last_event_id(session.cursor.event_id))
            return _stream(changes.run(missed), opened)

    def _changes(
        self, opened: Opened, subscriptions: Subscriptions, features: offers.Features, cursor: Cursor
    ) -> Changes:
        permit = opened.enter_context(closing(self._open_stream(_AUDIENCE)))
        changes = opened.enter_context(closing(Changes(self._feed, subscriptions, features, permit, cursor)))
        _when_gone(opened, changes.stop)
        return changes

    def end(self) -> Response:
        """DELETE: the client needs its session no more."""
        self._sessions.end(self._sessions.get(request.headers.get(SESSION_ID), _owner()))
        return Response(status=204)


def mcp_routes(endpoint: McpHttp) -> Blueprint:
    """/mcp."""
    routes = Blueprint("mcp", __name__)

    @routes.post("/mcp")
    @allow(*_AUDIENCE)
    def take() -> Response:
        return endpoint.take()

    @routes.get("/mcp")
    @allow(*_AUDIENCE)
    def follow() -> Response:
        return endpoint.follow()

    @routes.delete("/mcp")
    @allow(*_AUDIENCE)
    def end() -> Response:
        return endpoint.end()

    return routes


def _last_event_id(known: int) -> int:
    """The newest event that the client was told of: as it says itself, else as we know."""
    text = request.headers.get("Last-Event-ID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else known


def _owner() -> str:
    """Whose session it is: with another key it is unknown."""
    return secret_hash(f"{g.credentials.by} {g.credentials.secret}")


def _accepts(*types: str) -> bool:
    accepted = request.environ.get("HTTP_ACCEPT", "")
    if not accepted or any(one in accepted and ";" not in accepted for one in types):
        return True  # as every client of the protocol sends it; parsing costs as much as a query
    return any(request.accept_mimetypes[one] > 0 for one in types)


def _check_accept(*types: str) -> None:
    """Raises NotAcceptable unless the client takes one of these."""
    if not _accepts(*types):
        raise NotAcceptable(f"Accept: {' or '.join(types)} is needed here.")


def _reply(reply: jsonrpc.Reply, session: HttpSession | None) -> Response:
    if not _accepts(_JSON):
        return Response(sse(reply.body), mimetype=_STREAM)
    if reply.error is None:
        return _json(reply, 200)
    return _json(
        reply, _STATUS.get(reply.error, 400) if session is None else _LEGACY_STATUS.get(reply.error, 200)
    )


def _json(reply: jsonrpc.Reply, status: int) -> Response:
    return Response(reply.body, status, mimetype=_JSON)


def _stream(body: Iterator[bytes], opened: Opened) -> Response:
    """The response that closes, at its end, what was opened for it."""
    response = Response(body, mimetype=_STREAM, headers=_STREAM_HEADERS)
    response.call_on_close(opened.pop_all().close)
    return response


def _of_call(messages: Iterator[bytes | None], permit: Permit) -> Iterator[bytes]:
    """The messages of a call; the last, its reply, for a key only that is let in still."""
    for message in messages:
        if not permit.holds():
            return
        yield ALIVE if message is None else sse(message)


def _when_gone(opened: Opened, act: Callable[[], None]) -> None:
    """Calls `act` when the client hangs up before the response ends."""
    if when_gone := request.environ.get(WHEN_GONE):
        opened.callback(when_gone(act))
