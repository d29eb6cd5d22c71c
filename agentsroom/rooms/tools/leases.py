"""Tools on leases and drift: claim, renew, release, check, list; note what was read, check whether it drifted."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from agentsroom.core.database import Writing
from agentsroom.core.tools import Arguments, Call, in_own_words, limit
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.results import Checked, Claimed, Done, Drift, LeaseMode, Leases, Noted, Renewed
from agentsroom.rooms.service import drift, handles, idempotency, leases
from agentsroom.rooms.service.leases import Wanted
from agentsroom.rooms.store.sessions import SessionRow
from agentsroom.rooms.tools.declare import tool
from agentsroom.rooms.tools.units import FilePath, IdempotencyKey, SessionId, reading, writing

Ttl = Annotated[int, Meta(ge=1, extra=limit("max_lease_s", "seconds"), description="3600 if not given")]
Sha256 = Annotated[
    str,
    Meta(
        pattern=r"^([0-9a-fA-F]{64}|absent)(?!\n)$",  # Python's $ would let a last newline pass
        description="needed where the server can't read the file; absent: no such file",
        extra=in_own_words("what sha256sum prints, 64 hex digits, or absent"),
    ),
]


class LeaseClaim(Arguments):
    session_id: SessionId
    path: FilePath
    ttl_s: Ttl | None = None
    mode: Annotated[LeaseMode, Meta(description="exclusive if not given")] | None = None
    idempotency_key: IdempotencyKey | None = None


class LeaseRenew(Arguments):
    session_id: SessionId
    path: FilePath
    ttl_s: Ttl | None = None


class LeasePath(Arguments):
    session_id: SessionId
    path: FilePath


class LeaseList(Arguments):
    session_id: SessionId


class SeenFile(Arguments):
    session_id: SessionId
    path: FilePath
    sha256: Sha256 | None = None


@tool("Claim a path")
def lease_claim(call: Call, arguments: LeaseClaim, machine: Machine) -> Claimed:
    """Claim a file, or a folder with all in it, before you edit.

    ok false: somebody holds it, and holder says who. Claiming it again renews.
    """
    want = _wanted(call, arguments, machine)

    def unit(work: Writing, session: SessionRow) -> Claimed:
        act = partial(leases.claim, work, session, want, arguments.mode, arguments.ttl_s)
        return idempotency.once(
            work,
            session.id,
            "lease_claim",
            arguments.idempotency_key,
            arguments,
            Claimed,
            act,
            has_acted=lambda claimed: claimed.ok,
        )

    return writing(call, arguments.session_id, unit)


@tool("Renew a lease", idempotent=True)
def lease_renew(call: Call, arguments: LeaseRenew, machine: Machine) -> Renewed:
    """Let your lease run its full time again."""
    want = _wanted(call, arguments, machine)
    ttl_s = arguments.ttl_s
    return writing(call, arguments.session_id, lambda work, session: leases.renew(work, session, want, ttl_s))


@tool("Release a lease")
def lease_release(call: Call, arguments: LeasePath, machine: Machine) -> Done:
    """End your lease on a path."""
    want = _wanted(call, arguments, machine)
    writing(call, arguments.session_id, lambda work, session: leases.release(work, session, want))
    return Done()


@tool("Check a path", read_only=True, idempotent=True)
def lease_check(call: Call, arguments: LeasePath, machine: Machine) -> Checked:
    """Whether you could claim the path exclusively, and who holds it."""
    want = _wanted(call, arguments, machine)
    return reading(call, arguments.session_id, lambda work, session: leases.check(work, session, want))


@tool("Leases", read_only=True, idempotent=True)
def lease_list(call: Call, arguments: LeaseList) -> Leases:
    """Your live leases, and those of the others in your rooms."""
    return Leases(leases=reading(call, arguments.session_id, leases.list_leases))


@tool("Note what you read", idempotent=True)
def note_read(call: Call, arguments: SeenFile, machine: Machine) -> Noted:
    """Remember the file's content as you saw it, for drift_check."""
    want, content = _content(call, arguments, machine)
    return writing(call, arguments.session_id, lambda work, session: drift.note(work, session, want, content))


@tool("Check for drift", read_only=True, idempotent=True)
def drift_check(call: Call, arguments: SeenFile, machine: Machine) -> Drift:
    """Whether the file changed since you noted it: SAFE, MINOR, or CRITICAL when another held it."""
    want, content = _content(call, arguments, machine)
    return reading(
        call, arguments.session_id, lambda work, session: drift.check(work, session, want, content)
    )


def _content(call: Call, arguments: SeenFile, machine: Machine) -> tuple[Wanted, str]:
    """What is looked at, and the hash of its content."""
    session = _session(call, arguments.session_id)
    want = leases.wanted(session, arguments.path, machine)
    given = arguments.sha256.lower() if arguments.sha256 is not None else None
    is_here = call.caller.process is not None or not call.database.settings.is_reached_from_beyond
    return want, drift.content_hash(session, want, given, machine, is_here=is_here)


def _wanted(call: Call, arguments: LeaseClaim | LeaseRenew | LeasePath, machine: Machine) -> Wanted:
    return leases.wanted(_session(call, arguments.session_id), arguments.path, machine)


def _session(call: Call, session_id: str) -> SessionRow:
    """In a unit of work of its own: files are looked at between two units, never inside one."""
    return call.database.read(lambda work: handles.acting(work, call.caller, session_id))


TOOLS = (
    lease_claim,
    lease_renew,
    lease_release,
    lease_check,
    lease_list,
    note_read,
    drift_check,
)
