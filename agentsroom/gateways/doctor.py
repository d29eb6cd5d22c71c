"""What may be wrong with an installation, each finding with its fix. It changes nothing."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from agentsroom.core.clock import iso
from agentsroom.core.database import SCHEMA_VERSION
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.principals import this_process
from agentsroom.core.settings import PREFIX, Settings
from agentsroom.core.sqlite import SqliteBackend
from agentsroom.gateways.commands import SESSION_VARIABLE
from agentsroom.gateways.running import running_server
from agentsroom.rooms.harnesses import OWN_KEY, OWN_NAME
from agentsroom.rooms.service.retention import prune
from agentsroom.rooms.store import leases, sessions
from agentsroom.rooms.store.sessions import SessionRow
from agentsroom.runtime import Runtime

OK: Literal["ok"] = "ok"
HINT: Literal["hint"] = "hint"
FAULT: Literal["fault"] = "fault"

_RESTORE = "if the disk is well, end whoever uses the store and put a backup of it in its place"
_LARGE_WAL_BYTES = 64 * 2**20
_OTHER_NAMES = {one.removeprefix(PREFIX) for one in (SESSION_VARIABLE, OWN_NAME, OWN_KEY)} | {"KEY"}


class Finding(NamedTuple):
    """One thing that was looked at. A hint is worth knowing, a fault wants mending."""

    state: Literal["ok", "hint", "fault"]
    what: str
    finding: str
    fix: str = ""


def examine(settings: Settings, environment: Mapping[str, str]) -> list[Finding]:
    """Every finding, in a fixed order; what can't be looked at because of a fault is left out."""
    findings = [*_variables(environment), *_server(settings)]
    if settings.database_path is not None and not os.path.exists(settings.database_path):
        folders = dict.fromkeys((settings.home_path, settings.database_path.parent))
        if trouble := next(filter(None, map(_trouble_with, folders)), None):
            fix = "give AGENTS_ROOM_HOME and AGENTS_ROOM_DB a folder that this user may write to"
            return [*findings, Finding(FAULT, "store", trouble, fix)]
        text = f"{settings.database_path} is not there yet; whoever joins first makes it"
        return [*findings, *_other_store(settings), Finding(HINT, "store", text, "agents-room join")]
    runtime = Runtime(settings)
    try:
        findings += _store(runtime)
        if all(one.what != "store" or one.state != FAULT for one in findings):
            findings += [*_agent(runtime), *_files(runtime), *_sessions(runtime)]
    finally:
        runtime.close()
    return findings


def unknown_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each variable that looks like a setting and is none, and the one that it is most like, or an empty text."""
    known = {one.name.upper() for one in fields(Settings)} | _OTHER_NAMES
    for name in sorted(environment):
        own = name.removeprefix(PREFIX)
        if name != own and own not in known:
            yield name, next((PREFIX + one for one in get_close_matches(own, known, 1)), "")


def _variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    for name, meant in unknown_variables(environment):
        fix = f"set {meant} instead" if meant else f"unset {name}"
        yield Finding(FAULT, "settings", f"{name} is set, and no setting is called so", fix)


def _trouble_with(folder: Path) -> str | None:
    """Why no file can be made in a folder that may not be there yet; a trial says it, and leaves nothing."""
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    try:
        with TemporaryDirectory(dir=there):
            return None
    except OSError as error:
        return f"{folder} can't be made or written to: {error.strerror} ({there})"


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
        fix = error.hint if error.hint and "doctor" not in error.hint else _RESTORE
        yield Finding(FAULT, "store", error.message, fix)
        return
    if checked == "ok":
        yield Finding(OK, "store", f"{name}, schema {SCHEMA_VERSION}, readable and writable")
    else:
        yield Finding(FAULT, "store", f"{name} is damaged: {checked}", _RESTORE)


def _agent(runtime: Runtime) -> Iterator[Finding]:
    try:
        runtime.local_principal(this_process())
    except AgentsRoomError as error:
        settings = runtime.settings
        who = f"AGENTS_ROOM_AGENT={settings.agent} and AGENTS_ROOM_TEAM={settings.team}"
        text = f"stdio clients and commands here can do nothing as {who}: {error.message}"
        yield Finding(FAULT, "agent", text, error.hint or "")


def _files(runtime: Runtime) -> Iterator[Finding]:
    yield from _other_store(runtime.settings)
    backend, store = runtime.database.backend, runtime.settings.database_path
    if store is None or not isinstance(backend, SqliteBackend):
        return
    if not backend.lock.works:
        text = f"the file system of {store} knows no flock; writers wait by SQLite's own lock, less fairly"
        yield Finding(HINT, "write lock", text, "keep the home on a local disk")
    wal = store.with_name(store.name + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    if size > _LARGE_WAL_BYTES:
        yield Finding(
            HINT, "write-ahead log", f"{wal} has {size:,} bytes", "end the process that reads without end"
        )
    if store.stat().st_mode & 0o077:
        yield Finding(FAULT, "rights", f"{store} can be opened by other users", f"chmod 600 {store}")


def _other_store(settings: Settings) -> Iterator[Finding]:
    usual: Path = settings.home_path / "room.db"
    if settings.database_path != usual and os.path.exists(usual):
        text = f"AGENTS_ROOM_DB names {settings.store_name}, and {usual} is there too: agents of the two never meet"
        yield Finding(FAULT, "two stores", text, "set AGENTS_ROOM_DB for every agent, or for none")


def _sessions(runtime: Runtime) -> Iterator[Finding]:
    removable = prune(runtime.database, runtime.machine, dry_run=True).sessions
    if removable:
        text = f"{len(removable)} are silent for a day, and gone"
        yield Finding(HINT, "gone sessions", text, "agents-room prune")
    present = runtime.database.read(lambda work: sessions.sessions_of_team(work, work.settings.team))
    judged = runtime.machine.liveness_of(present)
    for session in present:
        if judged[session.id].liveness == "gone":
            yield from _left_behind(runtime, session)


def _left_behind(runtime: Runtime, session: SessionRow) -> Iterator[Finding]:
    for lease in runtime.database.read(lambda work: leases.live_leases_of(work, session.id)):
        text = f"{session.name} is gone and still holds {lease.path} until {iso(lease.expires_at)}"
        fix = f"agents-room lease release --session {session.id} {lease.path}"
        yield Finding(HINT, "stale lease", text, fix)
