"""Queries on leases and baselines; returns rows, decides nothing."""

from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from agentsroom.core.database import Reading, Writing
from agentsroom.core.query import Query
from agentsroom.rooms.models import Baseline, Lease, Membership, Session


class LeaseRow(NamedTuple):
    id: int
    session_id: str
    team_id: str
    host: str | None
    path: str
    path_key: str
    repo_url: str | None
    repo_key: str | None
    is_folder: int
    mode: str
    ttl_ms: int
    acquired_at: int
    expires_at: int
    released_at: int | None
    ended_event: int | None


class HeldRow(NamedTuple):
    """A lease with what people call its holder, and the holder's cwd."""

    lease: LeaseRow
    holder_label: str | None
    holder_cwd: str | None


class BaselineRow(NamedTuple):
    hash: str
    noted_at: int
    after_event: int


_lease: Select[Any] = select(*(getattr(Lease, name) for name in LeaseRow._fields))
_held = _lease.add_columns(Session.label, Session.cwd).outerjoin(Session, Session.id == Lease.session_id)


def _meet(column: SQLColumnExpression[Any], key: str) -> ColumnElement[bool]:
    """One key begins the other (rooms/paths.py)."""
    given: ColumnElement[str] = bindparam(key)
    return or_(
        func.substr(column, 1, func.length(given)) == given,
        func.substr(given, 1, func.length(column)) == column,
    )


# ended_event is null for whatever was not seen to end: it lets the index of the team's leases leave out the ended ones
_live = and_(Lease.ended_event.is_(None), Lease.released_at.is_(None), Lease.expires_at > bindparam("now"))
_overlapping = and_(
    Lease.team_id == bindparam("team"),
    or_(
        and_(Lease.host.is_not_distinct_from(bindparam("host")), _meet(Lease.path_key, "path_key")),
        and_(Lease.repo_url == bindparam("repo_url"), _meet(Lease.repo_key, "repo_key")),
    ),
)
_of_another = and_(_overlapping, Lease.session_id != bindparam("session"))

_LIVE_OVERLAPPING = Query(_held.where(_live, _overlapping).order_by(Lease.expires_at.desc(), Lease.id))
_UNENDED_OF_OTHERS = Query(
    _held.where(_of_another, Lease.ended_event.is_(None)).order_by(Lease.expires_at.desc(), Lease.id)
)
_ENDED_SINCE_OF_OTHERS = Query(
    _held.where(_of_another, Lease.ended_event > bindparam("after_event")).order_by(
        Lease.expires_at.desc(), Lease.id
    )
)
_LIVE_OF = Query(_lease.where(_live, Lease.session_id == bindparam("session")).order_by(Lease.id))
_LATEST_OF_ON = Query(
    _lease.where(Lease.session_id == bindparam("session"), Lease.path_key == bindparam("path_key"))
    .order_by(Lease.id.desc())
    .limit(1)
)
_LIVE_IN_ROOM = Query(
    _held.where(
        _live,
        Lease.session_id.in_(
            select(Membership.session_id).where(
                Membership.room_id == bindparam("room"), Membership.left_at.is_(None)
            )
        ),
    ).order_by(Lease.expires_at, Lease.id)
)
_held_here = exists().where(
    Membership.session_id == Lease.session_id,
    Membership.room_id == bindparam("room"),
    or_(Membership.left_at.is_(None), Membership.left_at >= Lease.acquired_at),
)
_NEWEST_UNENDED_IN_ROOM = Query(
    _held.where(
        Lease.team_id == bindparam("team"),
        Lease.ended_event.is_(None),
        Lease.released_at.is_(None),
        Lease.expires_at > bindparam("since"),
        _held_here,
    )
    .order_by(Lease.id.desc())
    .limit(bindparam("most"))
)
_LAST_ENDED_IN_ROOM = Query(
    _held.where(Lease.team_id == bindparam("team"), Lease.released_at > bindparam("since"), _held_here)
    .order_by(Lease.released_at.desc(), Lease.id.desc())
    .limit(bindparam("most"))
)
_NEXT_END = Query(select(func.min(Lease.expires_at)).where(Lease.released_at.is_(None)))
_ENDED_UNNOTICED = Query(
    _lease.where(Lease.released_at.is_(None), Lease.expires_at <= bindparam("now")).order_by(Lease.expires_at)
)
_INSERT_LEASE = Query(
    insert(Lease)
    .values({name: bindparam(name) for name in LeaseRow._fields if name != "id"})
    .returning(Lease.id)
)
_RENEW = Query(
    update(Lease)
    .where(Lease.id == bindparam("lease"))
    .values(expires_at=bindparam("until"), ttl_ms=bindparam("ttl"), mode=bindparam("new_mode"))
)
_RENEW_ALL_OF = Query(
    update(Lease)
    .where(Lease.session_id == bindparam("session"), Lease.released_at.is_(None))
    .values(expires_at=bindparam("now") + Lease.ttl_ms)
)
_END = Query(
    update(Lease)
    .where(Lease.id == bindparam("lease"))
    .values(released_at=bindparam("at"), ended_event=bindparam("event"))
)

_BASELINE = Query(
    select(Baseline.hash, Baseline.noted_at, Baseline.after_event).where(
        Baseline.session_id == bindparam("session"), Baseline.path_key == bindparam("path_key")
    )
)
_FORGET_BASELINE = Query(
    delete(Baseline).where(
        Baseline.session_id == bindparam("session"), Baseline.path_key == bindparam("path_key")
    )
)
_INSERT_BASELINE = Query(insert(Baseline), ("session_id", "path_key", "hash", "noted_at", "after_event"))


class Claim(NamedTuple):
    """What two claims are compared by."""

    team_id: str
    host: str | None
    path_key: str
    repo_url: str | None
    repo_key: str | None

    def parameters(self) -> dict[str, object]:
        return {
            "team": self.team_id,
            "host": self.host,
            "path_key": self.path_key,
            "repo_url": self.repo_url if self.repo_key is not None else None,
            "repo_key": self.repo_key,
        }


def live_leases_on(work: Reading, claim: Claim) -> list[HeldRow]:
    """Live leases that the claim meets: on the path, in it, or around it; who ends last comes first."""
    return [_held_row(row) for row in work.rows(_LIVE_OVERLAPPING, now=work.now, **claim.parameters())]


def leases_of_others_since(work: Reading, claim: Claim, session_id: str, after_event: int) -> list[HeldRow]:
    """Leases of others that the claim meets and that were not over at the event `after_event`."""
    given = {"session": session_id, **claim.parameters()}
    unended = work.rows(_UNENDED_OF_OTHERS, **given)
    ended = work.rows(_ENDED_SINCE_OF_OTHERS, after_event=after_event, **given)
    return [_held_row(row) for row in (*unended, *ended)]


def live_leases_of(work: Reading, session_id: str) -> list[LeaseRow]:
    return [LeaseRow(*row) for row in work.rows(_LIVE_OF, session=session_id, now=work.now)]


def find_latest_lease(work: Reading, session_id: str, path_key: str) -> LeaseRow | None:
    """The session's newest lease on exactly that path, live or ended."""
    row = work.row(_LATEST_OF_ON, session=session_id, path_key=path_key)
    return LeaseRow(*row) if row else None


def live_leases_in_room(work: Reading, room_id: int) -> list[HeldRow]:
    """Live leases of the sessions in the room; who ends first comes first."""
    return [_held_row(row) for row in work.rows(_LIVE_IN_ROOM, room=room_id, now=work.now)]


def leases_held_since(work: Reading, team_id: str, room_id: int, since: int, most: int) -> list[HeldRow]:
    """Leases that sessions held while they were in the room, live or ended after `since`; oldest claim first.

    Where there are more than `most`, those that still run and those that ended last. One whose time is over may not
    say so yet: it ended at `expires_at`. What a session held before it came counts too: when it came is not kept.
    """
    given = {"team": team_id, "room": room_id, "since": since, "most": most}
    rows = [*work.rows(_NEWEST_UNENDED_IN_ROOM, **given), *work.rows(_LAST_ENDED_IN_ROOM, **given)]
    return sorted(map(_held_row, rows[:most]), key=lambda held: (held.lease.acquired_at, held.lease.id))


def next_end(work: Reading) -> int | None:
    """When the first of the leases ends that nobody has ended yet; None when there is none."""
    end: int | None = work.value(_NEXT_END)
    return end


def leases_ended_unnoticed(work: Reading) -> list[LeaseRow]:
    """Leases whose time is over and whose row does not say so yet."""
    return [LeaseRow(*row) for row in work.rows(_ENDED_UNNOTICED, now=work.now)]


def insert_lease(work: Writing, lease: LeaseRow) -> int:
    """Its id; the `id` of `lease` is not looked at."""
    fields = lease._asdict()
    del fields["id"]
    row = work.row(_INSERT_LEASE, **fields)
    assert row is not None
    return int(row[0])


def renew_lease(work: Writing, lease_id: int, mode: str, ttl_ms: int) -> None:
    work.run(_RENEW, lease=lease_id, until=work.now + ttl_ms, ttl=ttl_ms, new_mode=mode)


def renew_leases_of(work: Writing, session_id: str) -> None:
    """Each live lease of the session runs its full time again."""
    work.run(_RENEW_ALL_OF, session=session_id, now=work.now)


def end_lease(work: Writing, lease_id: int, at: int, event: int) -> None:
    work.run(_END, lease=lease_id, at=at, event=event)


def find_baseline(work: Reading, session_id: str, path_key: str) -> BaselineRow | None:
    row = work.row(_BASELINE, session=session_id, path_key=path_key)
    return BaselineRow(*row) if row else None


def set_baseline(work: Writing, session_id: str, path_key: str, baseline: BaselineRow) -> None:
    work.run(_FORGET_BASELINE, session=session_id, path_key=path_key)
    work.run(_INSERT_BASELINE, session_id=session_id, path_key=path_key, **baseline._asdict())


def _held_row(row: tuple[Any, ...]) -> HeldRow:
    *lease, label, cwd = row
    return HeldRow(LeaseRow(*lease), label, cwd)
