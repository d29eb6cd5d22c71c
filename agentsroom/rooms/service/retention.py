"""What prune takes away: sessions that are silent and gone, and what the retention settings let go."""

from typing import NamedTuple

from agentsroom.core.clock import DAY
from agentsroom.core.database import Database, Reading, Writing
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.service import leases, presence
from agentsroom.rooms.service.idempotency import LIFE
from agentsroom.rooms.store import messages, sessions
from agentsroom.rooms.store.sessions import SessionRow


class Pruned(NamedTuple):
    """What was removed."""

    sessions: list[str]
    messages: int


def prune(database: Database, machine: Machine, silent_ms: int = DAY, *, dry_run: bool = False) -> Pruned:
    """Removes the sessions that were silent for longer than `silent_ms` and are gone, left or not.

    Messages stay, unless they are older than AGENTS_ROOM_RETENTION_MESSAGES days.
    """
    silent = database.read(lambda work: _silent(work, silent_ms))
    judged = machine.liveness_of(silent)
    removable = [one for one in silent if judged[one.id].liveness == "gone"]
    if dry_run:
        return Pruned([one.id for one in removable], 0)
    return database.write(lambda work: _remove(work, removable, silent_ms))


def _silent(work: Reading, silent_ms: int) -> list[SessionRow]:
    return sessions.sessions_silent_since(work, work.now - silent_ms)


def _remove(work: Writing, removable: list[SessionRow], silent_ms: int) -> Pruned:
    presence.end_what_expired(work)
    still_silent = {one.id for one in _silent(work, silent_ms)}  # it may have called since it was judged
    removed = [one for one in removable if one.id in still_silent]
    for session in removed:
        leases.end_all(work, session)
        sessions.delete_session(work, session.id)
        work.emit("session_pruned", session.team_id, session=session.id, label=session.label)
    messages.delete_idempotent_calls_before(work, work.now - LIFE)
    days = work.settings.retention_messages
    old = _remove_messages(work, work.now - days * DAY) if days else 0
    return Pruned([one.id for one in removed], old)


def _remove_messages(work: Writing, moment: int) -> int:
    for team_id in messages.teams_with_messages_before(work, moment):
        work.emit("messages_pruned", team_id)
    return messages.delete_messages_before(work, moment)
