"""Whether a session's process still runs, judged from one scan of the machine's processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Liveness = Literal["alive", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class Scan:
    """One look at the running processes of a host."""

    host: str
    keys: Mapping[str, int]
    """Each harness key that was looked for and found in an environment → the pid of a process that has it."""
    started_at: Mapping[int, int]
    """Each running pid → when it started (milliseconds)."""
    unreadable: frozenset[int]
    """Pids whose environment should be readable and could not be read."""
    is_blind: bool
    """No environment but our own could be read."""


class Identity(NamedTuple):
    """What a session's row says of its process."""

    harness_key: str | None
    host: str | None
    pid: int | None
    pid_started_at: int | None


class Judgement(NamedTuple):
    liveness: Liveness
    pid: int | None
    """The process that matched."""


START_TOLERANCE_MS = 2_000
"""What a system tells of one process's start moves by up to a second as its clock is corrected (Linux: btime)."""

UNKNOWN = Judgement("unknown", None)
GONE = Judgement("gone", None)


def judge(session: Identity, scan: Scan) -> Judgement:
    """A harness key outlives a restart of the MCP server; a pid does not, and may be given to a stranger."""
    if session.harness_key is not None and session.harness_key in scan.keys:
        return Judgement("alive", scan.keys[session.harness_key])
    if session.pid is None or session.host != scan.host:
        return UNKNOWN
    if session.harness_key is not None:
        return UNKNOWN if scan.is_blind or session.pid in scan.unreadable else GONE
    return Judgement("alive", session.pid) if _still_runs(session, scan) else GONE


def _still_runs(session: Identity, scan: Scan) -> bool:
    """Whether the pid is still that of the process that joined, not of a later one."""
    started_at = scan.started_at.get(session.pid) if session.pid is not None else None
    if started_at is None or session.pid_started_at is None:
        return False
    return abs(started_at - session.pid_started_at) <= START_TOLERANCE_MS
