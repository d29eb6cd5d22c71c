"""Tools on leases and drift: claim, renew, release, check, list; note what was read, check whether it drifted."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from agentsroom.core.database import Writing
from agentsroom.core.tools import Arguments, Call, Tool, limit
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.results import Checked, Claimed, Done, Drift, LeaseMode, Leases, Noted, Renewed
from agentsroom.rooms.service import drift, handles, idempotency, leases
from agentsroom.rooms.service.leases import Wanted
from agentsroom.rooms.store.sessions import SessionRow
from agentsroom.rooms.tools.units import FilePath, IdempotencyKey, SessionId, reading, writing

Ttl = Annotated[int, Meta(ge=1, extra=limit("max_lease_s", "seconds"), description="3600 if not given")]
Sha256 = Annotated[
    str,
    Meta(
        pattern=r"^([0-9a-fA-F]{64}|absent)(?!\n)$",  # Python's $ would let a last newline pass
        description="needed over HTTP and for files of another host; absent: no such file",
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


def _claim(machine: Machine, call: Call, arguments: LeaseClaim) -> Claimed:
    want = _wanted(machine, call, arguments)

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


def _renew(machine: Machine, call: Call, arguments: LeaseRenew) -> Renewed:
    want = _wanted(machine, call, arguments)
    ttl_s = arguments.ttl_s
    return writing(call, arguments.session_id, lambda work, session: leases.renew(work, session, want, ttl_s))


def _release(machine: Machine, call: Call, arguments: LeasePath) -> Done:
    want = _wanted(machine, call, arguments)
    writing(call, arguments.session_id, lambda work, session: leases.release(work, session, want))
    return Done()


def _check(machine: Machine, call: Call, arguments: LeasePath) -> Checked:
    want = _wanted(machine, call, arguments)
    return reading(call, arguments.session_id, lambda work, session: leases.check(work, session, want))


def _list(call: Call, arguments: LeaseList) -> Leases:
    return Leases(leases=reading(call, arguments.session_id, leases.list_leases))


def _note(machine: Machine, call: Call, arguments: SeenFile) -> Noted:
    want, content = _content(machine, call, arguments)
    return writing(call, arguments.session_id, lambda work, session: drift.note(work, session, want, content))


def _drift(machine: Machine, call: Call, arguments: SeenFile) -> Drift:
    want, content = _content(machine, call, arguments)
    return reading(
        call, arguments.session_id, lambda work, session: drift.check(work, session, want, content)
    )


def _content(machine: Machine, call: Call, arguments: SeenFile) -> tuple[Wanted, str]:
    """What is looked at, and the hash of its content."""
    session = _session(call, arguments.session_id)
    want = leases.wanted(session, arguments.path, machine)
    given = arguments.sha256.lower() if arguments.sha256 is not None else None
    return want, drift.content_hash(call.caller, session, want, given, machine)


def _wanted(machine: Machine, call: Call, arguments: LeaseClaim | LeaseRenew | LeasePath) -> Wanted:
    return leases.wanted(_session(call, arguments.session_id), arguments.path, machine)


def _session(call: Call, session_id: str) -> SessionRow:
    """In a unit of work of its own: files are looked at between two units, never inside one."""
    return call.database.read(lambda work: handles.acting(work, call.caller, session_id))


def tools(machine: Machine) -> tuple[Tool, ...]:
    return (
        Tool(
            name="lease_claim",
            title="Claim a path",
            description=(
                "Claim a file, or a folder with all in it, before you edit. ok false: somebody holds it, "
                "and holder says who. Claiming it again renews."
            ),
            arguments=LeaseClaim,
            result=Claimed,
            function=partial(_claim, machine),
            toolset="rooms",
        ),
        Tool(
            name="lease_renew",
            title="Renew a lease",
            description="Let your lease run its full time again.",
            arguments=LeaseRenew,
            result=Renewed,
            function=partial(_renew, machine),
            toolset="rooms",
            idempotent=True,
        ),
        Tool(
            name="lease_release",
            title="Release a lease",
            description="End your lease on a path.",
            arguments=LeasePath,
            result=Done,
            function=partial(_release, machine),
            toolset="rooms",
        ),
        Tool(
            name="lease_check",
            title="Check a path",
            description="Whether you could claim the path exclusively, and who holds it.",
            arguments=LeasePath,
            result=Checked,
            function=partial(_check, machine),
            toolset="rooms",
            read_only=True,
            idempotent=True,
        ),
        Tool(
            name="lease_list",
            title="Leases",
            description="Your live leases, and those of the others in your rooms.",
            arguments=LeaseList,
            result=Leases,
            function=_list,
            toolset="rooms",
            read_only=True,
            idempotent=True,
        ),
        Tool(
            name="note_read",
            title="Note what you read",
            description="Remember the file's content as you saw it, for drift_check.",
            arguments=SeenFile,
            result=Noted,
            function=partial(_note, machine),
            toolset="rooms",
            idempotent=True,
        ),
        Tool(
            name="drift_check",
            title="Check for drift",
            description="Whether the file changed since you noted it: SAFE, MINOR, or CRITICAL when another held it.",
            arguments=SeenFile,
            result=Drift,
            function=partial(_drift, machine),
            toolset="rooms",
            read_only=True,
            idempotent=True,
        ),
    )
