"""What may be wrong with an installation, each finding with its fix. It changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from agentsroom.core.database import SCHEMA_VERSION
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.settings import Settings
from agentsroom.gateways.running import running_server
from agentsroom.rooms.autonomy import Level
from agentsroom.rooms.store import leases, sessions
from agentsroom.rooms.store.sessions import SessionRow
from agentsroom.runtime import Runtime

OK: Literal["ok"] = "ok"
HINT: Literal["hint"] = "hint"
FAULT: Literal["fault"] = "fault"

_LARGE_WAL_BYTES = 64 * 2**20


class Finding(NamedTuple):
    """One thing that was looked at. A hint is worth knowing, a fault wants mending."""

    state: Literal["ok", "hint", "fault"]
    what: str
    finding: str
    fix: str = ""


def examine(settings: Settings) -> list[Finding]:
    """Every finding, in a fixed order; whatever can't be looked at because of a fault is left out."""
    runtime = Runtime(settings)
    try:
        findings = [*_server(settings), *_store(runtime)]
        if not any(one.state == FAULT for one in findings):
            findings += [*_files(settings), *_sessions(runtime)]
        return findings
    finally:
        runtime.close()


def _server(settings: Settings) -> Iterator[Finding]:
    running = running_server(settings)
    if running is not None:
        yield Finding(OK, "server", f"runs as process {running.pid} at {running.url}")
    else:
        yield Finding(HINT, "server", "none runs on this home; stdio clients need none", "agents-room serve")


def _store(runtime: Runtime) -> Iterator[Finding]:
    name = runtime.settings.store_name
    try:
        checked = runtime.database.check()
        runtime.database.write(lambda _: None)
    except AgentsRoomError as error:
        yield Finding(FAULT, "store", error.message, error.hint or "")
        return
    if checked == "ok":
        yield Finding(OK, "store", f"{name}, schema {SCHEMA_VERSION}, readable and writable")
    else:
        yield Finding(FAULT, "store", f"{name} is damaged: {checked}", "restore a backup of it")


def _files(settings: Settings) -> Iterator[Finding]:
    store = settings.database_path
    if store is None:
        return
    usual = settings.home_path / "room.db"
    if store != usual and usual.exists():
        fix = "Unset AGENTS_ROOM_DB, or set it for every agent"
        yield Finding(FAULT, "two stores", f"AGENTS_ROOM_DB names {store}, and {usual} is there too", fix)
    wal = store.with_name(store.name + "-wal")
    size = _size(wal)
    if size > _LARGE_WAL_BYTES:
        yield Finding(
            HINT, "write-ahead log", f"{wal} has {size:,} bytes", "end the process that reads without end"
        )
    if store.stat().st_mode & 0o077:
        yield Finding(FAULT, "store", f"{store} can be opened by other users", f"chmod 600 {store}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sessions(runtime: Runtime) -> Iterator[Finding]:
    present = runtime.database.read(lambda work: sessions.sessions_of_team(work, work.settings.team))
    judged = runtime.machine.liveness_of(present)
    gone = [one for one in present if judged[one.id].liveness == "gone"]
    yield from _listed("gone sessions", gone, "their processes no longer run", "agents-room prune")
    holders = runtime.database.read(lambda work: [one for one in gone if leases.live_leases_of(work, one.id)])
    yield from _listed(
        "stale leases", holders, "are gone and still hold leases", "they end by themselves in time"
    )
    quiet = [one for one in present if one not in gone and one.autonomy < Level.WAKE]
    fix = "agents-room join --autonomy wake"
    yield from _listed("levels below wake", quiet, "can't be reached while they idle", fix)


def _listed(what: str, found: list[SessionRow], finding: str, fix: str) -> Iterator[Finding]:
    if found:
        names = ", ".join(one.name for one in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        yield Finding(HINT, what, f"{names}{more}: {finding}", fix)
    else:
        yield Finding(OK, what, "none")
