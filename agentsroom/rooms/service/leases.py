"""Leases: claims on paths. A claim is one transaction: end the expired, look at the holders, insert."""

from typing import NamedTuple

from msgspec import UNSET

from agentsroom.core.clock import SECOND, iso
from agentsroom.core.database import Reading, Writing
from agentsroom.rooms.errors import LeaseEnded, NotHolder
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.paths import Place, resolve
from agentsroom.rooms.repository import repository_key
from agentsroom.rooms.results import Checked, Claimed, LeaseInfo, LeaseMode, RefusalReason, Renewed
from agentsroom.rooms.store import leases as store
from agentsroom.rooms.store import sessions
from agentsroom.rooms.store.leases import Claim, HeldRow, LeaseRow
from agentsroom.rooms.store.sessions import SessionRow

DEFAULT_TTL_S = 3_600


class Wanted(NamedTuple):
    """A path as a session means it, and what its claim is compared by."""

    place: Place
    claim: Claim


def wanted(session: SessionRow, path: str, machine: Machine) -> Wanted:
    """The one resolver of every tool. Raises InvalidArgument."""
    root = session.repo_root if session.repo_url is not None else None
    place = resolve(path, session.cwd, root, machine.files_of(session))
    repo = repository_key(session.repo_url) if session.repo_url is not None else None
    return Wanted(place, Claim(session.team_id, session.host, place.key, repo, place.repo_key))


def claim(
    work: Writing, session: SessionRow, want: Wanted, mode: LeaseMode | None, ttl_s: int | None
) -> Claimed:
    """The lease, or who stands in the way; a refused claim writes nothing.

    A mode that is not given is exclusive, or for a path held already the mode of its lease.
    """
    held = store.live_leases_on(work, want.claim)
    own = next(
        (one.lease for one in held if _is_own(one, session) and one.lease.path_key == want.place.key), None
    )
    wished = mode or (_mode(own) if own else "exclusive")
    in_the_way = [
        one for one in held if not _is_own(one, session) and "exclusive" in (wished, one.lease.mode)
    ]
    if in_the_way:
        return _refused(in_the_way, want)
    ttl_ms = ttl_s * SECOND if ttl_s is not None else own.ttl_ms if own else DEFAULT_TTL_S * SECOND
    if own is not None:
        store.renew_lease(work, own.id, wished, ttl_ms)
        lease = own._replace(mode=wished, ttl_ms=ttl_ms, expires_at=work.now + ttl_ms)
    else:
        lease = _insert(work, session, want, wished, ttl_ms)
    work.emit(
        "lease_claimed",
        session.team_id,
        session=session.id,
        path=lease.path,
        mode=wished,
        rooms=_rooms(work, session),
    )
    return Claimed(
        ok=True,
        lease=lease_info(lease, session.label),
        holder=session.id,
        holders=_each_once([session.id, *(one.lease.session_id for one in held)]),
        reason=None,
        warning=_warning(want) or UNSET,
    )


def _insert(work: Writing, session: SessionRow, want: Wanted, mode: LeaseMode, ttl_ms: int) -> LeaseRow:
    lease = LeaseRow(
        id=0,
        session_id=session.id,
        team_id=session.team_id,
        host=session.host,
        path=want.place.path,
        path_key=want.place.key,
        repo_url=want.claim.repo_url,
        repo_key=want.claim.repo_key,
        is_folder=int(want.place.is_folder),
        mode=mode,
        ttl_ms=ttl_ms,
        acquired_at=work.now,
        expires_at=work.now + ttl_ms,
        released_at=None,
        ended_event=None,
    )
    return lease._replace(id=store.insert_lease(work, lease))


def _refused(in_the_way: list[HeldRow], want: Wanted) -> Claimed:
    last = in_the_way[0]
    return Claimed(
        ok=False,
        lease=lease_info(last.lease, last.holder_label),
        holder=last.lease.session_id,
        holders=_each_once([one.lease.session_id for one in in_the_way]),
        reason=_reason(in_the_way, want),
    )


def _reason(in_the_way: list[HeldRow], want: Wanted) -> RefusalReason:
    same = [one.lease for one in in_the_way if _is_same(one.lease, want)]
    if not same:
        return "overlap"
    return "held_exclusive" if any(lease.mode == "exclusive" for lease in same) else "held_shared"


def _is_same(lease: LeaseRow, want: Wanted) -> bool:
    by_path = lease.host == want.claim.host and lease.path_key == want.place.key
    by_repository = (
        want.claim.repo_key is not None
        and lease.repo_url == want.claim.repo_url
        and lease.repo_key == want.claim.repo_key
    )
    return by_path or by_repository


def renew(work: Writing, session: SessionRow, want: Wanted, ttl_s: int | None) -> Renewed:
    """Raises LeaseEnded, telling when, or NotHolder."""
    lease = _own_live(work, session, want)
    ttl_ms = ttl_s * SECOND if ttl_s is not None else lease.ttl_ms
    store.renew_lease(work, lease.id, lease.mode, ttl_ms)
    work.emit(
        "lease_renewed", session.team_id, session=session.id, path=lease.path, rooms=_rooms(work, session)
    )
    renewed = lease._replace(ttl_ms=ttl_ms, expires_at=work.now + ttl_ms)
    return Renewed(lease=lease_info(renewed, session.label))


def release(work: Writing, session: SessionRow, want: Wanted) -> None:
    """Raises LeaseEnded, telling when, or NotHolder."""
    _end(work, session, _own_live(work, session, want))


def end_all(work: Writing, session: SessionRow) -> None:
    """Every live lease of a session that leaves."""
    for lease in store.live_leases_of(work, session.id):
        _end(work, session, lease)


def _end(work: Writing, session: SessionRow, lease: LeaseRow) -> None:
    names = _rooms(work, session)
    event = work.emit("lease_released", session.team_id, session=session.id, path=lease.path, rooms=names)
    store.end_lease(work, lease.id, work.now, event)


def _own_live(work: Reading, session: SessionRow, want: Wanted) -> LeaseRow:
    lease = store.find_latest_lease(work, session.id, want.place.key)
    if lease is not None and lease.released_at is None and lease.expires_at > work.now:
        return lease
    others = [one for one in store.live_leases_on(work, want.claim) if not _is_own(one, session)]
    holder = others[0].lease.session_id if others else None
    now_held = f" Now {holder} holds it." if holder else ""
    if lease is not None:
        ended_at = iso(lease.released_at or lease.expires_at)
        raise LeaseEnded(
            f"Your lease on {want.place.path} ended at {ended_at}.{now_held}",
            hint="Call lease_claim to hold it again.",
            ended_at=ended_at,
            holder=holder,
        )
    raise NotHolder(
        f"You hold no lease on {want.place.path}.{now_held}", hint="Call lease_claim first.", holder=holder
    )


def check(work: Reading, session: SessionRow, want: Wanted) -> Checked:
    """Whether the session could claim the path exclusively now, and the lease that stands there."""
    held = store.live_leases_on(work, want.claim)
    others = [one for one in held if not _is_own(one, session)]
    shown = next(iter(others or held), None)
    return Checked(free=not others, lease=lease_info(shown.lease, shown.holder_label) if shown else None)


def list_leases(work: Reading, session: SessionRow) -> list[LeaseInfo]:
    """The session's own live leases, then those of the others in its rooms."""
    own = [lease_info(lease, session.label) for lease in store.live_leases_of(work, session.id)]
    others: dict[int, LeaseInfo] = {}
    for room in sessions.rooms_of(work, session.id):
        for held in store.live_leases_in_room(work, room.id):
            if not _is_own(held, session):
                others[held.lease.id] = lease_info(held.lease, held.holder_label)
    return own + list(others.values())


def lease_info(lease: LeaseRow, label: str | None) -> LeaseInfo:
    """What others are told of a lease."""
    return LeaseInfo(
        path=lease.path,
        mode=_mode(lease),
        session_id=lease.session_id,
        label=label,
        acquired_at=iso(lease.acquired_at),
        expires_at=iso(lease.expires_at),
    )


def _mode(lease: LeaseRow) -> LeaseMode:
    return "exclusive" if lease.mode == "exclusive" else "shared"


def _is_own(held: HeldRow, session: SessionRow) -> bool:
    return held.lease.session_id == session.id


def _rooms(work: Reading, session: SessionRow) -> list[str]:
    return [room.name for room in sessions.rooms_of(work, session.id)]


def _each_once(ids: list[str]) -> list[str]:
    return list(dict.fromkeys(ids))


def _warning(want: Wanted) -> str:
    parts = []
    if "*" in want.place.path:
        parts.append("The path of a claim is literal: * in it stands for itself, not for other files.")
    if want.claim.host is None and want.claim.repo_key is None:
        parts.append(
            "You joined without host: this claim meets only those of others without host. "
            "Join again with host (what `hostname` prints)."
        )
    return " ".join(parts)
