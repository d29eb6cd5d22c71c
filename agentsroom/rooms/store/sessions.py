"""Queries on rooms, sessions, their tags and memberships; returns rows, decides nothing."""

from typing import NamedTuple

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import aliased

from agentsroom.core.database import Reading, Writing
from agentsroom.core.query import Query
from agentsroom.rooms.models import Baseline, Delivery, Membership, Room, Session, SessionTag


class RoomRow(NamedTuple):
    id: int
    team_id: str
    name: str
    cap: int | None
    created_at: int
    paused_at: int | None


class SessionRow(NamedTuple):
    id: str
    team_id: str
    agent_id: str
    harness: str | None
    harness_key: str | None
    cwd: str | None
    host: str | None
    repo_url: str | None
    repo_root: str | None
    pid: int | None
    pid_started_at: int | None
    label: str | None
    autonomy: int
    default_room_id: int | None
    joined_at: int
    last_seen_at: int
    left_at: int | None

    @property
    def name(self) -> str:
        """What people call it: its label, else its id."""
        return self.label or self.id


_room = select(*(getattr(Room, name) for name in RoomRow._fields))
_session = select(*(getattr(Session, name) for name in SessionRow._fields))
_is_member = and_(Membership.session_id == Session.id, Membership.left_at.is_(None))
_mine, _theirs = aliased(Membership), aliased(Membership)
_shares_a_room = Session.id.in_(
    select(_theirs.session_id)
    .join(_mine, _mine.room_id == _theirs.room_id)
    .where(_mine.session_id == bindparam("session"), _mine.left_at.is_(None), _theirs.left_at.is_(None))
)


_ROOM_NAMED = Query(_room.where(Room.team_id == bindparam("team"), Room.name == bindparam("name")))
_ROOM = Query(_room.where(Room.id == bindparam("id")))
_ROOMS_OF_TEAM = Query(_room.where(Room.team_id == bindparam("team")).order_by(Room.name))
_ROOMS_OF = Query(
    _room.join(Membership, Membership.room_id == Room.id)
    .where(Membership.session_id == bindparam("session"), Membership.left_at.is_(None))
    .order_by(Room.id)
)
_ROOMS_OF_AGENT = Query(
    _room.where(
        Room.id.in_(
            select(Membership.room_id)
            .join(Session, _is_member)
            .where(
                Session.team_id == bindparam("team"),
                Session.agent_id == bindparam("agent"),
                Session.left_at.is_(None),
            )
        )
    ).order_by(Room.name)
)
_INSERT_ROOM = Query(
    insert(Room)
    .values(team_id=bindparam("team"), name=bindparam("name"), created_at=bindparam("now"))
    .returning(Room.id)
)
_SET_CAP = Query(update(Room).where(Room.id == bindparam("room")).values(cap=bindparam("level")))
_SET_PAUSED = Query(update(Room).where(Room.id == bindparam("room")).values(paused_at=bindparam("at")))

_SESSION = Query(_session.where(Session.id == bindparam("id")))
_SESSION_BY_KEY = Query(
    _session.where(Session.agent_id == bindparam("agent"), Session.harness_key == bindparam("key"))
)
_SESSIONS_WITH_KEY = Query(
    _session.where(Session.harness_key == bindparam("key")).order_by(Session.joined_at)
)
_SESSIONS_LIKE = Query(
    _session.where(
        Session.team_id == bindparam("team"),
        Session.left_at.is_(None),
        or_(
            func.substr(Session.id, 1, bindparam("length")) == bindparam("text"),
            func.substr(Session.label, 1, bindparam("length")) == bindparam("text"),
        ),
    ).order_by(Session.id)
)
_SESSIONS_IN_ROOM = Query(
    _session.join(Membership, _is_member)
    .where(Membership.room_id == bindparam("room"), Session.left_at.is_(None))
    .order_by(Session.joined_at, Session.id)
)
_SESSIONS_SHARING = Query(
    _session.where(_shares_a_room, Session.left_at.is_(None)).order_by(Session.joined_at, Session.id)
)
_SESSIONS_OF_TEAM = Query(
    _session.where(Session.team_id == bindparam("team"), Session.left_at.is_(None)).order_by(
        Session.joined_at, Session.id
    )
)
_SHARING_TAGGED = Query(
    _session.join(SessionTag, SessionTag.session_id == Session.id)
    .where(
        SessionTag.tag == bindparam("tag"),
        Session.id != bindparam("session"),
        Session.left_at.is_(None),
        _shares_a_room,
    )
    .order_by(Session.id)
)
_IN_ROOM_TAGGED = Query(
    _session.join(Membership, _is_member)
    .join(SessionTag, SessionTag.session_id == Session.id)
    .where(
        Membership.room_id == bindparam("room"),
        SessionTag.tag == bindparam("tag"),
        Session.left_at.is_(None),
    )
    .order_by(Session.id)
)
_RECIPIENTS_OF = Query(
    _session.join(Delivery, Delivery.recipient_id == Session.id)
    .where(Delivery.message_id == bindparam("message"))
    .order_by(Session.id)
)
_PRESENT = Query(_session.where(Session.left_at.is_(None)).order_by(Session.id))
_SILENT_SINCE = Query(_session.where(Session.last_seen_at < bindparam("moment")))
_INSERT_SESSION = Query(insert(Session), SessionRow._fields)
_UPDATE_SESSION = Query(
    update(Session)
    .where(Session.id == bindparam("session"))
    .values({name: bindparam(f"new_{name}") for name in SessionRow._fields if name != "id"})
)
_SEEN = Query(update(Session).where(Session.id == bindparam("session")).values(last_seen_at=bindparam("now")))
_LEFT = Query(
    update(Session)
    .where(Session.id == bindparam("session"))
    .values(left_at=bindparam("now"), default_room_id=None)
)
_DELETE_SESSION = Query(delete(Session).where(Session.id == bindparam("session")))
_DELETE_BASELINES = Query(delete(Baseline).where(Baseline.session_id == bindparam("session")))
_DELETE_TAGS = Query(delete(SessionTag).where(SessionTag.session_id == bindparam("session")))
_DELETE_MEMBERSHIPS = Query(delete(Membership).where(Membership.session_id == bindparam("session")))
_INSERT_TAG = Query(insert(SessionTag), ("session_id", "tag"))
_TAGS = Query(
    select(SessionTag.tag).where(SessionTag.session_id == bindparam("session")).order_by(SessionTag.tag)
)

_MEMBERSHIP = Query(
    select(Membership.left_at).where(
        Membership.session_id == bindparam("session"), Membership.room_id == bindparam("room")
    )
)
_INSERT_MEMBERSHIP = Query(insert(Membership), ("session_id", "room_id"))
_REENTER = Query(
    update(Membership)
    .where(Membership.session_id == bindparam("session"), Membership.room_id == bindparam("room"))
    .values(left_at=None)
)
_LEAVE_ROOM = Query(
    update(Membership)
    .where(
        Membership.session_id == bindparam("session"),
        Membership.room_id == bindparam("room"),
        Membership.left_at.is_(None),
    )
    .values(left_at=bindparam("now"))
)
_LEAVE_ALL = Query(
    update(Membership)
    .where(Membership.session_id == bindparam("session"), Membership.left_at.is_(None))
    .values(left_at=bindparam("now"))
)


def find_room(work: Reading, team_id: str, name: str) -> RoomRow | None:
    row = work.row(_ROOM_NAMED, team=team_id, name=name)
    return RoomRow(*row) if row else None


def room(work: Reading, room_id: int) -> RoomRow:
    """A room that is known to be there: rooms are never deleted."""
    row = work.row(_ROOM, id=room_id)
    assert row is not None
    return RoomRow(*row)


def rooms_of_team(work: Reading, team_id: str) -> list[RoomRow]:
    return [RoomRow(*row) for row in work.rows(_ROOMS_OF_TEAM, team=team_id)]


def rooms_of(work: Reading, session_id: str) -> list[RoomRow]:
    """The rooms that the session is in, in the order in which they were made."""
    return [RoomRow(*row) for row in work.rows(_ROOMS_OF, session=session_id)]


def rooms_of_agent(work: Reading, team_id: str, agent_id: str) -> list[RoomRow]:
    """The rooms that a session of the agent is in."""
    return [RoomRow(*row) for row in work.rows(_ROOMS_OF_AGENT, team=team_id, agent=agent_id)]


def insert_room(work: Writing, team_id: str, name: str) -> RoomRow:
    row = work.row(_INSERT_ROOM, team=team_id, name=name, now=work.now)
    assert row is not None
    return RoomRow(row[0], team_id, name, None, work.now, None)


def set_cap(work: Writing, room_id: int, level: int) -> None:
    work.run(_SET_CAP, room=room_id, level=level)


def set_paused(work: Writing, room_id: int, at: int | None) -> None:
    """Paused since `at`, or not."""
    work.run(_SET_PAUSED, room=room_id, at=at)


def find_session(work: Reading, session_id: str) -> SessionRow | None:
    row = work.row(_SESSION, id=session_id)
    return SessionRow(*row) if row else None


def find_session_by_key(work: Reading, agent_id: str, harness_key: str) -> SessionRow | None:
    row = work.row(_SESSION_BY_KEY, agent=agent_id, key=harness_key)
    return SessionRow(*row) if row else None


def sessions_with_key(work: Reading, harness_key: str) -> list[SessionRow]:
    return [SessionRow(*row) for row in work.rows(_SESSIONS_WITH_KEY, key=harness_key)]


def sessions_like(work: Reading, team_id: str, beginning: str) -> list[SessionRow]:
    """Sessions of the team, not left, whose id or label begins so."""
    rows = work.rows(_SESSIONS_LIKE, team=team_id, text=beginning, length=len(beginning))
    return [SessionRow(*row) for row in rows]


def sessions_in_room(work: Reading, room_id: int) -> list[SessionRow]:
    return [SessionRow(*row) for row in work.rows(_SESSIONS_IN_ROOM, room=room_id)]


def sessions_sharing(work: Reading, session_id: str) -> list[SessionRow]:
    """Everyone in a room of the session, itself too; each once."""
    return [SessionRow(*row) for row in work.rows(_SESSIONS_SHARING, session=session_id)]


def sessions_of_team(work: Reading, team_id: str) -> list[SessionRow]:
    return [SessionRow(*row) for row in work.rows(_SESSIONS_OF_TEAM, team=team_id)]


def sessions_sharing_tagged(work: Reading, session_id: str, tag: str) -> list[SessionRow]:
    """The others in a room of the session who joined with the tag (NFC)."""
    return [SessionRow(*row) for row in work.rows(_SHARING_TAGGED, session=session_id, tag=tag)]


def sessions_in_room_tagged(work: Reading, room_id: int, tag: str) -> list[SessionRow]:
    """Those in the room who joined with the tag (NFC)."""
    return [SessionRow(*row) for row in work.rows(_IN_ROOM_TAGGED, room=room_id, tag=tag)]


def present_sessions(work: Reading) -> list[SessionRow]:
    """Every session of every team that has not left."""
    return [SessionRow(*row) for row in work.rows(_PRESENT)]


def recipients_of(work: Reading, message_id: int) -> list[SessionRow]:
    """The message's recipients that are still known."""
    return [SessionRow(*row) for row in work.rows(_RECIPIENTS_OF, message=message_id)]


def sessions_silent_since(work: Reading, moment: int) -> list[SessionRow]:
    return [SessionRow(*row) for row in work.rows(_SILENT_SINCE, moment=moment)]


def insert_session(work: Writing, session: SessionRow) -> None:
    work.run(_INSERT_SESSION, **session._asdict())


def update_session(work: Writing, session: SessionRow) -> None:
    """Writes every column of the row."""
    new = {f"new_{name}": value for name, value in session._asdict().items() if name != "id"}
    work.run(_UPDATE_SESSION, session=session.id, **new)


def mark_seen(work: Writing, session_id: str) -> None:
    work.run(_SEEN, session=session_id, now=work.now)


def mark_left(work: Writing, session_id: str) -> None:
    """Out of every room, so that none is its default either."""
    work.run(_LEFT, session=session_id, now=work.now)
    work.run(_LEAVE_ALL, session=session_id, now=work.now)


def delete_session(work: Writing, session_id: str) -> None:
    """The session with its tags, memberships and baselines; its messages, deliveries and leases stay."""
    for query in (_DELETE_TAGS, _DELETE_MEMBERSHIPS, _DELETE_BASELINES, _DELETE_SESSION):
        work.run(query, session=session_id)


def tags_of(work: Reading, session_id: str) -> list[str]:
    return [row[0] for row in work.rows(_TAGS, session=session_id)]


def replace_tags(work: Writing, session_id: str, tags: list[str]) -> None:
    work.run(_DELETE_TAGS, session=session_id)
    work.run_each(_INSERT_TAG, [{"session_id": session_id, "tag": tag} for tag in tags])


def was_in_room(work: Reading, session_id: str, room_id: int) -> bool:
    """Whether the session is in the room, or was."""
    return work.row(_MEMBERSHIP, session=session_id, room=room_id) is not None


def is_in_room(work: Reading, session_id: str, room_id: int) -> bool:
    row = work.row(_MEMBERSHIP, session=session_id, room=room_id)
    return row is not None and row[0] is None


def enter_room(work: Writing, session_id: str, room_id: int) -> None:
    if was_in_room(work, session_id, room_id):
        work.run(_REENTER, session=session_id, room=room_id)
    else:
        work.run(_INSERT_MEMBERSHIP, session_id=session_id, room_id=room_id)


def leave_room(work: Writing, session_id: str, room_id: int) -> bool:
    """Whether the session was in it."""
    return work.run(_LEAVE_ROOM, session=session_id, room=room_id, now=work.now) == 1
