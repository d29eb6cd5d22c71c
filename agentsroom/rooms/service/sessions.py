"""Sessions: joining, leaving, and who is there."""

import posixpath
import re
from dataclasses import dataclass

from msgspec import UNSET

from agentsroom.access import service as access
from agentsroom.access.store import AgentRow
from agentsroom.core.clock import iso
from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.text import nfc
from agentsroom.rooms.autonomy import Level, effective
from agentsroom.rooms.errors import NotInRoom
from agentsroom.rooms.liveness import Judgement
from agentsroom.rooms.overseer import OVERSEER, looks_like_overseer
from agentsroom.rooms.repository import Repository, repository_name
from agentsroom.rooms.results import Joined, SessionInfo
from agentsroom.rooms.service import leases, presence, rooms
from agentsroom.rooms.store import sessions as store
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

_REPO_URL_ALONE = "A repo_url alone, without cwd, leads to no room and places no claim."


@dataclass(frozen=True, kw_only=True, slots=True)
class Joining:
    """Who joins, from the arguments and from the process; None is not known."""

    harness: str | None
    harness_key: str | None
    cwd: str | None
    host: str | None
    repo_url: str | None
    origin: str | None
    """The repo_url of who gives none and never did, as its checkout tells it."""
    repository: Repository | None
    """What surrounds the cwd, where its files are ours."""
    repo_root: str | None
    pid: int | None
    pid_started_at: int | None
    label: str | None
    tags: list[str] | None
    autonomy: Level | None
    room: str | None
    extra_rooms: list[str]


def join(work: Writing, caller: Principal, joining: Joining) -> Joined:
    """A new session, or the one that joined before with the same harness key, brought up to date.

    Raises InvalidArgument, or NotFound where the agent was deleted.
    """
    _check_label(joining.label)
    access.get_agent(work, caller.agent_id)  # a process that runs on may speak for one that was deleted
    presence.end_what_expired(work)
    known = None
    if joining.harness_key is not None:
        known = store.find_session_by_key(work, caller.agent_id, joining.harness_key)
    entered = _rooms_to_enter(work, caller.team_id, joining)
    session = _session_of(work, caller, joining, known, entered)
    if known is None:
        store.insert_session(work, session)
    else:
        store.update_session(work, session)
    if joining.tags is not None:
        store.replace_tags(work, session.id, sorted({nfc(tag) for tag in joining.tags}))
    for room in entered:
        store.enter_room(work, session.id, room.id)
    present = store.rooms_of(work, session.id)
    if len(present) > work.settings.max_rooms:
        raise InvalidArgument(
            {"extra_rooms": f"{len(present)} rooms came; at most {work.settings.max_rooms}"}
        )
    names = [room.name for room in present]
    work.emit("session_joined", session.team_id, session=session.id, rooms=names, label=session.label)
    level = effective(Level(session.autonomy), _caps(present))
    warnings = (
        _level_warning(joining.autonomy, Level(session.autonomy), level, present),
        _place_warning(session, present),
        *map(_pause_warning, present),
    )
    warning = " ".join(one for one in warnings if one) or UNSET
    return Joined(session_id=session.id, rooms=names, autonomy=level.label, warning=warning)


def _check_label(label: str | None) -> None:
    if label is not None and looks_like_overseer(label):
        taken = f"{label!r} came, which reads as {OVERSEER}: that is the person at the browser, and no session's label"
        raise InvalidArgument({"label": taken})


def _rooms_to_enter(work: Writing, team_id: str, joining: Joining) -> list[RoomRow]:
    """The named room first (it becomes the default), then the automatic one, then the others; each once.

    What a later join does not give, the default room too, stays as it was.
    """
    own = automatic_room(joining)
    named = [] if joining.room is None else [rooms.shared_name("room", joining.room, own)]
    others = [rooms.shared_name("extra_rooms", one, own) for one in joining.extra_rooms]
    names = dict.fromkeys([*named, *([own] if own else []), *others])
    return [store.find_room(work, team_id, name) or store.insert_room(work, team_id, name) for name in names]


def automatic_room(joining: Joining) -> str | None:
    """`repo:<name>` of the repository around the cwd, else `dir:<folder>`; None without a cwd."""
    if joining.cwd is None:
        return None
    if joining.repository is not None:
        return _printable(f"repo:{joining.repository.name}")
    if joining.repo_url is not None:
        return _printable(f"repo:{repository_name(joining.repo_url)}")
    return _printable(f"dir:{posixpath.basename(joining.cwd.rstrip('/')) or '/'}")


def _printable(name: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", "?", nfc(name))


def _session_of(
    work: Writing, caller: Principal, joining: Joining, known: SessionRow | None, entered: list[RoomRow]
) -> SessionRow:
    given = joining.autonomy if joining.autonomy is not None else Level.NOTIFY
    first = entered[0].id if entered else None
    if known is None:
        return SessionRow(
            id=work.new_session_id(),
            team_id=caller.team_id,
            agent_id=caller.agent_id,
            harness=joining.harness,
            harness_key=joining.harness_key,
            cwd=joining.cwd,
            host=joining.host,
            repo_url=joining.repo_url or joining.origin,
            repo_root=joining.repo_root,
            pid=joining.pid,
            pid_started_at=joining.pid_started_at,
            label=joining.label,
            autonomy=given,
            default_room_id=first,
            joined_at=work.now,
            last_seen_at=work.now,
            left_at=None,
        )
    return _at_its_place(_of_its_process(known, joining), joining)._replace(
        harness=joining.harness or known.harness,
        label=joining.label if joining.label is not None else known.label,
        autonomy=max(known.autonomy, given),
        default_room_id=first if joining.room is not None else known.default_room_id or first,
        last_seen_at=work.now,
        left_at=None,
    )


def _at_its_place(known: SessionRow, joining: Joining) -> SessionRow:
    """Facts of one place, never some of the old one."""
    if joining.cwd is None:
        return known._replace(repo_url=joining.repo_url or known.repo_url)
    stayed = joining.cwd == known.cwd
    return known._replace(
        cwd=joining.cwd,
        repo_root=joining.repo_root or (known.repo_root if stayed else None),
        repo_url=joining.repo_url or (known.repo_url if stayed else None) or joining.origin,
    )


def _of_its_process(known: SessionRow, joining: Joining) -> SessionRow:
    """A pid means nothing on another host."""
    if joining.pid is None and joining.host in (None, known.host):
        return known
    return known._replace(
        host=joining.host or known.host, pid=joining.pid, pid_started_at=joining.pid_started_at
    )


def _caps(present: list[RoomRow]) -> list[int]:
    return [room.cap for room in present if room.cap is not None]


def _level_warning(given: Level | None, stored: Level, level: Level, present: list[RoomRow]) -> str | None:
    if given is not None and given < stored:
        text = f"autonomy stays {stored.label}: joining again raises it, and only the operator lowers it, by a room's cap"
        return f"{text}." if level == stored else f"{text}; now {level.label}, the lowest cap of its rooms."
    if level < stored and given is not None:
        capped = next(room.name for room in present if room.cap == level)
        return f"autonomy is {level.label}, not {given.label}: the cap of {capped} is {level.label}."
    return None


def _place_warning(session: SessionRow, present: list[RoomRow]) -> str | None:
    """What keeps the session from the others, since it did not say where it is."""
    if not present:
        alone = f"{_REPO_URL_ALONE} " if session.repo_url is not None else ""
        return (
            f"You are in no room: you reach nobody, and nobody reaches you. {alone}"
            "Join again with cwd and host (what `hostname` prints), or with room."
        )
    if session.cwd is None and session.repo_url is not None:
        return f"{_REPO_URL_ALONE} Join again with cwd and host too (what `hostname` prints)."
    if session.cwd is not None and session.host is None and session.repo_url is None:
        return (
            "You joined without host: your room is named after the last folder of cwd alone, and your claims meet only "
            "those of others without host. Join again with host too (what `hostname` prints)."
        )
    return None


def _pause_warning(room: RoomRow) -> str | None:
    """What the rest of the rooms would not tell: messages are stored, and who is sent one is not signalled."""
    if room.paused_at is None:
        return None
    return f"{room.name} is paused by the overseer: messages are stored; nobody is signalled until it is resumed."


def level_of(work: Reading, session_id: str, stored: int) -> Level:
    """The session's effective level."""
    return effective(Level(stored), _caps(store.rooms_of(work, session_id)))


def leave(work: Writing, session: SessionRow) -> None:
    """Out of all rooms; its leases end."""
    names = [room.name for room in store.rooms_of(work, session.id)]
    leases.end_all(work, session)
    store.mark_left(work, session.id)
    work.emit("session_left", session.team_id, session=session.id, rooms=names)


def leave_all_of(work: Writing, agent: AgentRow) -> None:
    """Every session of an agent that is about to be deleted leaves."""
    for session in store.sessions_of_team(work, agent.team_id):
        if session.agent_id == agent.id:
            leave(work, session)


def leave_room(work: Writing, session: SessionRow, given: str) -> None:
    """Out of one room. Raises InvalidArgument, UnknownRoom, or NotInRoom when it never was in it."""
    room = rooms.get_named(work, session.team_id, given)
    if not store.was_in_room(work, session.id, room.id):
        raise NotInRoom(f"room: the session {session.id} never was in {room.name}.", room=room.name)
    if not store.leave_room(work, session.id, room.id):
        return
    if session.default_room_id == room.id:
        remaining = store.rooms_of(work, session.id)
        store.update_session(work, session._replace(default_room_id=remaining[0].id if remaining else None))
    work.emit("room_left", session.team_id, session=session.id, rooms=[room.name])


def who(work: Reading, caller: Principal, session: SessionRow | None, given: str | None) -> list[SessionRow]:
    """The sessions of a room; without one, all in a room of the session; without either, all that the caller may see.

    Raises what room_meant raises.
    """
    if given is not None:
        return store.sessions_in_room(work, rooms.room_meant(work, caller, session, given).id)
    if session is not None:
        return store.sessions_sharing(work, session.id) or [session]
    if caller.is_operator:
        return store.sessions_of_team(work, caller.team_id)
    seen = {
        one.id: one
        for room in rooms.rooms_seen_by(work, caller)
        for one in store.sessions_in_room(work, room.id)
    }
    return list(seen.values())


def describe(work: Reading, session: SessionRow, judgement: Judgement) -> SessionInfo:
    """What others are told of a session."""
    present = store.rooms_of(work, session.id)
    return SessionInfo(
        session_id=session.id,
        agent=session.agent_id,
        label=session.label,
        harness=session.harness,
        host=session.host,
        cwd=session.cwd,
        rooms=[room.name for room in present],
        tags=store.tags_of(work, session.id),
        autonomy=effective(Level(session.autonomy), _caps(present)).label,
        liveness=judgement.liveness,
        matched_pid=judgement.pid,
        last_seen_at=iso(session.last_seen_at),
    )


def own_sessions(
    work: Reading, caller: Principal, harness_key: str | None, cwd: str | None
) -> list[SessionRow]:
    """The sessions that a process may mean by itself: that of its harness key, else those of its folder without one."""
    if harness_key is not None:
        known = store.find_session_by_key(work, caller.agent_id, harness_key)
        return [known] if known is not None and known.left_at is None else []
    present = store.sessions_of_team(work, caller.team_id)
    return [
        one
        for one in present
        if one.cwd == cwd and one.agent_id == caller.agent_id and one.harness_key is None
    ]
