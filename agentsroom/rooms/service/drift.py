"""Drift: what a session noted of a file, and whether it changed since."""

from agentsroom.core.clock import iso
from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.feed import last_event_id
from agentsroom.rooms.drift import ABSENT, Severity, judge
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.results import Drift, Noted
from agentsroom.rooms.service.leases import Wanted
from agentsroom.rooms.store import leases as store
from agentsroom.rooms.store.leases import BaselineRow, HeldRow
from agentsroom.rooms.store.sessions import SessionRow


def content_hash(
    session: SessionRow, want: Wanted, given: str | None, machine: Machine, *, is_here: bool
) -> str:
    """The hash that the caller gives, else that of the file, which is read for callers of this machine alone.

    `is_here`: whether the caller is one. Raises InvalidArgument when no hash is given and the file is not to be read,
    or can't be. Who may not have it read is told nothing of it, not even whether it is there.
    """
    if given is not None:
        return given
    if not is_here:
        raise _missing("this server reads no file for callers over HTTP")
    if not machine.is_host_of(session):
        raise _missing(f"the session is on {session.host or 'a host that it did not name'}")
    return machine.hash_of(want.place.path)


def _missing(because: str) -> InvalidArgument:
    return InvalidArgument(
        {"sha256": f"is missing; {because}, so the hash of the file's content is needed"},
        hint="Give as sha256 what `sha256sum FILE` prints (`shasum -a 256 FILE` on macOS), or absent without a file.",
    )


def note(work: Writing, session: SessionRow, want: Wanted, content: str) -> Noted:
    """The session saw the file like this."""
    baseline = BaselineRow(hash=content, noted_at=work.now, after_event=last_event_id(work))
    store.set_baseline(work, session.id, want.place.key, baseline)
    return Noted(hash=content)


def check(work: Reading, session: SessionRow, want: Wanted, content: str) -> Drift:
    """The file now, against what the session saw."""
    baseline = store.find_baseline(work, session.id, want.place.key)
    others: list[HeldRow] = []
    if baseline is not None:
        others = store.leases_of_others_since(work, want.claim, session.id, baseline.after_event)
    verdict = judge(baseline.hash if baseline else None, content, held_by_another=bool(others))
    holder = others[0] if others else None
    return Drift(
        path=want.place.path,
        severity=verdict.severity,
        changed=verdict.changed,
        holder=holder.lease.session_id if holder else None,
        since=iso(holder.lease.acquired_at) if holder else None,
        message=_message(verdict.severity, want.place.path, baseline, content, holder),
    )


def _message(
    severity: Severity, path: str, baseline: BaselineRow | None, content: str, holder: HeldRow | None
) -> str:
    if baseline is None:
        return f"You noted no content of {path}, so SAFE only says that nothing speaks against it: call note_read when you read it."
    if severity == "SAFE":
        return f"{path} is as you saw it at {iso(baseline.noted_at)}."
    change = "appeared" if baseline.hash == ABSENT else "vanished" if content == ABSENT else "changed"
    if holder is None:
        return f"{path} {change} since {iso(baseline.noted_at)}; nobody else held it. Read it again before you write."
    name = holder.holder_label or holder.lease.session_id
    return f"{path} {change} since {iso(baseline.noted_at)}, while {name} held it. Talk to {name} before you write."
