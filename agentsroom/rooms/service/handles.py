"""Handles: which session an id means, and who may act for it. An unknown id is an error, never an empty answer."""

import uuid

from agentsroom.core.database import Reading
from agentsroom.core.ids import SESSION_ID
from agentsroom.core.principals import Principal
from agentsroom.rooms.errors import NotYourSession, SessionLeft, UnknownSession
from agentsroom.rooms.harnesses import has_key
from agentsroom.rooms.store import sessions as store
from agentsroom.rooms.store.sessions import SessionRow

_MOST_SHOWN = 100
_MOST_MEANT = 5
_COME_BACK = "Call room_join, and use the session_id that it returns: the same one where it gets the harness_key of before."
_SEE_WHO_IS_HERE = "It comes back only by joining again. room_who lists who is here."


def acting(work: Reading, caller: Principal, session_id: str) -> SessionRow:
    """The session that the caller acts for.

    Raises UnknownSession, NotYourSession or SessionLeft.
    """
    session = _known(work, caller, session_id)
    if not may_act(caller, session):
        raise NotYourSession(
            f"The session {session_id} belongs to another: you may not act for it.",
            hint="Call room_join, and use the session_id that it returns; msg_send reaches this one.",
            session_id=session_id,
        )
    return _present(session, _COME_BACK)


def visible(work: Reading, caller: Principal, session_id: str) -> SessionRow:
    """A session of the caller's team that has not left.

    Raises UnknownSession or SessionLeft.
    """
    return _present(_known(work, caller, session_id), _SEE_WHO_IS_HERE)


def _known(work: Reading, caller: Principal, session_id: str) -> SessionRow:
    session = store.find_session(work, session_id)
    if session is None or session.team_id != caller.team_id:
        raise _unknown(work, caller, session_id)
    return session


def _present(session: SessionRow, hint: str) -> SessionRow:
    if session.left_at is not None:
        raise SessionLeft(
            f"The session {session.id} has left.",
            hint=hint,
            session_id=session.id,
        )
    return session


def may_act(caller: Principal, session: SessionRow) -> bool:
    """Over HTTP: its own agent. Locally: the process that joined it, one with its harness key, or anyone without one."""
    if caller.process is None:
        return caller.kind == "agent" and caller.agent_id == session.agent_id
    if session.harness_key is None or session.id in caller.process.joined:
        return True
    return has_key(caller.process.environment, session.harness_key)


def _unknown(work: Reading, caller: Principal, given: str) -> UnknownSession:
    shown = given if len(given) <= _MOST_SHOWN else given[:_MOST_SHOWN] + "…"
    meant = _seen(work, caller, store.sessions_with_key(work, given))
    if meant:
        text = f"{shown} is a harness key; the session that joined with it is {meant[0].id}."
        return _error(text, "A session id is the 16 hex digits that room_join returned.", meant)
    meant = _seen(work, caller, store.sessions_like(work, caller.team_id, given)) if given.strip() else []
    if meant:
        listed = ", ".join(f"{one.id} ({one.label})" if one.label else one.id for one in meant)
        return _error(
            f"No session is called {shown!r}; probably meant: {listed}.", "Give the whole id.", meant
        )
    if SESSION_ID.fullmatch(given):
        may_know = caller.is_operator or not work.settings.is_reached_from_beyond
        than = f" than {work.settings.store_name}" if may_know else ""
        text = f"No session {given} is here: it has possibly left and was removed since, or is from another store{than}."
        return _error(text, "Call room_join, and use the session_id that it returns.", [])
    kind = "a harness key that no session joined with" if _is_uuid(given) else "no session id"
    return _error(f"{shown!r} is {kind}.", "A session id is the 16 hex digits that room_join returned.", [])


def _seen(work: Reading, caller: Principal, found: list[SessionRow]) -> list[SessionRow]:
    """Those that a hint may show the caller: an operator its team's, an agent who shares a room with it; a few."""
    seen = [one for one in found if one.team_id == caller.team_id]
    if not caller.is_operator:
        ours = {room.id for room in store.rooms_of_agent(work, caller.team_id, caller.agent_id)}
        seen = [
            one
            for one in seen
            if one.agent_id == caller.agent_id or ours & {room.id for room in store.rooms_of(work, one.id)}
        ]
    return seen[:_MOST_MEANT]


def _error(text: str, hint: str, meant: list[SessionRow]) -> UnknownSession:
    return UnknownSession(text, hint=hint, candidates=[one.id for one in meant])


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
