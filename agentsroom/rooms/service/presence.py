"""Presence: a call shows that its session lives. What time has ended is written down on that occasion.

Once written down, no clock that is set back revives it.
"""

from agentsroom.core.database import Writing
from agentsroom.rooms.store import leases, messages, sessions
from agentsroom.rooms.store.sessions import SessionRow


def refresh(work: Writing, session: SessionRow) -> None:
    """The session was seen now, and its live leases run their full time again."""
    end_what_expired(work)
    sessions.mark_seen(work, session.id)
    leases.renew_leases_of(work, session.id)


def note_gone(work: Writing, session_id: str) -> None:
    """Its process was seen to end; that changes nothing but what is known. One that left meanwhile is not gone."""
    session = sessions.find_session(work, session_id)
    if session is not None and session.left_at is None:
        names = [room.name for room in sessions.rooms_of(work, session_id)]
        work.emit("session_gone", session.team_id, session=session_id, rooms=names)


def end_what_expired(work: Writing) -> None:
    """Writes down the end of every lease and unread delivery whose time is over."""
    for lease in leases.leases_ended_unnoticed(work):
        event = work.emit("lease_expired", lease.team_id, session=lease.session_id, path=lease.path)
        leases.end_lease(work, lease.id, lease.expires_at, event)
    expired = messages.expired_deliveries(work)
    if not expired:
        return
    messages.expire_deliveries(work)
    for team_id in sorted({one.team_id for one in expired}):
        ids = sorted({one.message_id for one in expired if one.team_id == team_id})
        work.emit("messages_expired", team_id, messages=ids)
