"""MCP over Streamable HTTP: /mcp, both eras on one endpoint. What the messages mean is rpc.py's.

A modern request (2026-07-28) stands alone; a legacy client has a session and may hold a GET stream. A reply is plain
JSON, but for a call that says something before its result or takes long: that one becomes a stream.
"""

import functools
from collections.abc import Iterator
from functools import partial

from flask import Blueprint, Response, g, request
from flask.sansio.app import App
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import BadRequest, MethodNotAllowed, NotAcceptable
from werkzeug.http import parse_accept_header

from agentsroom.access.routes import PROGRAMS, allow, caller
from agentsroom.core.feed import CallFeed, last_event_id, missed_since
from agentsroom.core.ids import secret_hash
from agentsroom.core.principals import Principal
from agentsroom.core.sse import encode_event
from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.features import RuntimeFeatures
from agentsroom.gateways.lasting import EVENT_STREAM, QUIET_S, Lasting, event_id_in
from agentsroom.gateways.mcp_changes import ALIVE, Changes
from agentsroom.gateways.mcp_conversation import Conversation
from agentsroom.gateways.mcp_headers import SESSION_ID, VERSION, check_headers, is_of_modern_era
from agentsroom.gateways.mcp_sessions import HttpSession, HttpSessions, Position
from agentsroom.gateways.permits import GivePermit
from agentsroom.gateways.subscriptions import Subscriptions
from agentsroom.runtime import Runtime

_JSON = "application/json"
_MODERN_STATUS = {jsonrpc.METHOD_NOT_FOUND: 404, jsonrpc.INTERNAL_ERROR: 200}
"""The status of a modern error; that of the others is 400."""
_LEGACY_STATUS = {jsonrpc.PARSE_ERROR: 400, jsonrpc.INVALID_REQUEST: 400}
"""The status of a legacy error; that of the others is 200."""

Message = jsonrpc.Request | jsonrpc.Notification | jsonrpc.Answer


class McpHttp:
    """What /mcp does with each message."""

    def __init__(
        self, runtime: Runtime, give_permit: GivePermit, features: type[RuntimeFeatures] = RuntimeFeatures
    ) -> None:
        self._database = runtime.database
        self._feed = runtime.feed
        self._features = partial(features, runtime)
        self._give_permit = give_permit
        self._capabilities = features.capabilities
        self._sessions = HttpSessions()

    def take(self) -> Response:
        """POST: one message of the client."""
        _check_accept(_JSON, EVENT_STREAM)
        match jsonrpc.decode(request.get_data()):
            case jsonrpc.Reply() as refusal:
                return _reply(refusal, is_legacy=_names_legacy_version())
            case message if is_of_modern_era(message, request.headers.get):
                return self._take_modern(message)
            case message:
                return self._take_legacy(message)

    def _take_modern(self, message: Message) -> Response:
        if not isinstance(message, jsonrpc.Request):
            return _nothing(202)
        try:
            check_headers(message, request.headers.get)
        except jsonrpc.Refused as refused:
            return _reply(refused.reply(message.id), is_legacy=False)
        outcome = rpc.answer_modern(message, self._capabilities)
        if isinstance(outcome, rpc.Listening):
            return self._listen(outcome)
        return self._answer(outcome, None)

    def _take_legacy(self, message: Message) -> Response:
        if isinstance(message, jsonrpc.Request) and message.method == "initialize":
            return self._initialize(message)
        if isinstance(message, jsonrpc.Request) and message.method == "ping" and not _names_session():
            return self._answer(rpc.answer_legacy(message, rpc.Agreement(), self._capabilities), None)
        session = self._sessions.get(request.headers.get(SESSION_ID), _owner())
        if not _names_legacy_version():
            raise BadRequest(f"{VERSION}: one of {', '.join(rpc.LEGACY_VERSIONS)} is spoken in a session.")
        match message:
            case jsonrpc.Request():
                return self._take_request(message, session)
            case jsonrpc.Notification(cancelled=cancelled):
                if cancelled is not None:
                    session.cancel(cancelled)
            case jsonrpc.Answer():
                session.settle(message.id, message.result)
        return _nothing(202)

    def _take_request(self, message: jsonrpc.Request, session: HttpSession) -> Response:
        """Its id must be none of a call that waits, so that one can be cancelled without the other."""
        try:
            session.check_unused(message.id)
            return self._answer(rpc.answer_legacy(message, session.agreed, self._capabilities), session)
        except jsonrpc.Refused as refused:
            return _reply(refused.reply(message.id), is_legacy=True)

    def _initialize(self, message: jsonrpc.Request) -> Response:
        """In a session that is open already it is refused; whatever else the headers say, it opens one."""
        session = self._sessions.find(request.headers.get(SESSION_ID), _owner()) or HttpSession(_owner())
        response = self._answer(rpc.answer_legacy(message, session.agreed, self._capabilities), session)
        if session.agreed.version is not None and session.position.event_id == 0:
            session.position.event_id = self._database.read(last_event_id)
        if session.agreed.version is not None:
            self._sessions.keep(session)
            response.headers[SESSION_ID] = session.id
        return response

    def _answer(self, outcome: jsonrpc.Reply | rpc.Work, session: HttpSession | None) -> Response:
        if isinstance(outcome, jsonrpc.Reply):
            return _reply(outcome, is_legacy=session is not None)
        features = self._features(caller, CallFeed(self._feed))
        if outcome.tool is not None and features.waits(outcome.tool):
            return self._run_long(outcome, session)
        reply = outcome.run(lambda: features, offers.Exchange(outcome.request, {}))
        return _reply(reply, is_legacy=session is not None)

    def _run_long(self, work: rpc.Work, session: HttpSession | None) -> Response:
        """Runs the call beside this request, which tells the client what comes of it."""
        takes_stream = _accepts(EVENT_STREAM)
        with Lasting(self._feed, self._give_permit(PROGRAMS)) as lasting:
            conversation = Conversation(work, session, lasting, takes_stream=takes_stream)
            features = self._features_of(caller(), lasting)
            conversation.start(lambda: features)
            first = conversation.next(QUIET_S if takes_stream else None)
            lasting.check()
            if isinstance(first, jsonrpc.Reply):
                return _reply(first, is_legacy=session is not None)
            return lasting.stream(_of_call(conversation.rest(first), lasting))

    def _listen(self, listening: rpc.Listening) -> Response:
        """The stream of a modern client."""
        _check_accept(EVENT_STREAM)
        with Lasting(self._feed, self._give_permit(PROGRAMS)) as lasting:
            features = self._features_of(caller(), lasting)
            match listening.open(lambda: features):
                case jsonrpc.Reply() as refusal:
                    return _reply(refusal, is_legacy=False)
                case Subscriptions() as wishes:
                    changes = Changes(lasting, wishes, features, Position())
                    first, last = wishes.acknowledgement(), listening.ended(wishes).body
                    return lasting.stream(changes.run([], first=first, last=last))

    def follow(self) -> Response:
        """GET: the stream of a legacy client, on which it is told of changes; a second one ends the first."""
        if request.headers.get(VERSION) == rpc.MODERN_VERSION and not _names_session():
            raise MethodNotAllowed(["POST"], "A client of this version listens with subscriptions/listen.")
        session = self._sessions.get(request.headers.get(SESSION_ID), _owner())
        _check_accept(EVENT_STREAM)
        with Lasting(self._feed, self._give_permit(PROGRAMS)) as lasting:
            features = self._features_of(caller(), lasting)
            changes = Changes(lasting, session.agreed.subscriptions, features, session.position)
            end = lasting.feed.cancel
            session.begin_stream(end)
            lasting.at_end(lambda: session.finish_stream(end))
            known = event_id_in(request.headers.get("Last-Event-ID", ""))
            missed = missed_since(self._database, session.position.event_id if known is None else known)
            return lasting.stream(changes.run(missed))

    def _features_of(self, principal: Principal, lasting: Lasting) -> RuntimeFeatures:
        """For what goes on when the request's own thread has left it."""
        return self._features(lambda: principal, lasting.feed)

    def end(self) -> Response:
        """DELETE: the client needs its session no more."""
        self._sessions.end(self._sessions.get(request.headers.get(SESSION_ID), _owner()))
        return _nothing(204)


def mcp_routes(endpoint: McpHttp) -> Blueprint:
    """/mcp."""
    routes = Blueprint("mcp", __name__)

    @routes.post("/mcp", provide_automatic_options=False)
    @allow(*PROGRAMS)
    def take() -> Response:
        return endpoint.take()

    @routes.get("/mcp", provide_automatic_options=False)
    @allow(*PROGRAMS)
    def follow() -> Response:
        return endpoint.follow()

    @routes.delete("/mcp", provide_automatic_options=False)
    @allow(*PROGRAMS)
    def end() -> Response:
        return endpoint.end()

    routes.record_once(lambda state: _take_no_head(state.app))
    return routes


def _take_no_head(app: App) -> None:
    """HEAD, which Flask takes wherever GET is, would begin a stream and end the one before."""
    for rule in app.url_map.iter_rules("mcp.follow"):
        if rule.methods is not None:
            rule.methods.discard("HEAD")


def _names_session() -> bool:
    return SESSION_ID in request.headers


def _names_legacy_version() -> bool:
    """Whether the header says so, or is missing, as it is before `initialize`."""
    return request.headers.get(VERSION, rpc.LEGACY_VERSIONS[0]) in rpc.LEGACY_VERSIONS


def _owner() -> str:
    """Whose session it is: with another key it is unknown."""
    return secret_hash(f"{g.credentials.by} {g.credentials.secret}")


def _accepts(*types: str) -> bool:
    accepted = _parsed(request.environ.get("HTTP_ACCEPT", "*/*"))
    return not accepted or any(accepted[one] > 0 for one in types)


@functools.lru_cache
def _parsed(accept: str) -> MIMEAccept:
    """Clients send the same few; parsing one costs as much as a query."""
    return parse_accept_header(accept, MIMEAccept)


def _check_accept(*types: str) -> None:
    """Raises NotAcceptable unless the client takes one of these."""
    if not _accepts(*types):
        raise NotAcceptable(f"Accept: {' or '.join(types)} is needed here.")


def _reply(reply: jsonrpc.Reply, *, is_legacy: bool) -> Response:
    """JSON, but to a client that takes only a stream one of a single message."""
    status = 200
    if reply.error is not None:
        status = _LEGACY_STATUS.get(reply.error, 200) if is_legacy else _MODERN_STATUS.get(reply.error, 400)
    if _accepts(_JSON):
        return Response(reply.body, status, mimetype=_JSON)
    return Response(encode_event(reply.body), status, mimetype=EVENT_STREAM)


def _nothing(status: int) -> Response:
    """A response without a body, and so of no type."""
    response = Response(status=status)
    del response.headers["Content-Type"]
    return response


def _of_call(messages: Iterator[bytes | None], lasting: Lasting) -> Iterator[bytes]:
    """The messages of a call; the last, its reply, for a key only that is let in still."""
    for message in messages:
        if not lasting.is_let_in():
            return
        yield ALIVE if message is None else encode_event(message)
