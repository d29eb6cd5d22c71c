"""A store to test on, whatever its database, and the sessions in it: each call goes through the registry as JSON."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from sqlalchemy import select

from agentsroom.access import service as access
from agentsroom.access import store as access_store
from agentsroom.core import platform
from agentsroom.core.database import Writing
from agentsroom.core.jsontext import parse_strict
from agentsroom.core.models import Base
from agentsroom.core.principals import LocalProcess, Principal
from agentsroom.core.settings import Settings
from agentsroom.rooms.harnesses import OWN_KEY
from agentsroom.runtime import Runtime
from tests.support.clock import FakeClock

Json = dict[str, Any]


@dataclass
class Store:
    """One process's runtime on a store of its own, with the clock that it reads."""

    settings: Settings
    clock: FakeClock
    runtime: Runtime
    folder: Path
    """A folder for the files of the test; sessions join here unless they say otherwise."""

    @property
    def is_sqlite(self) -> bool:
        return self.settings.database_path is not None

    def call(self, tool: str, caller: Principal, **arguments: Any) -> Json:
        """The tool's answer as a client reads it; it fits the published outputSchema."""
        return self.call_raw(tool, caller, json.dumps(arguments).encode())

    def call_raw(self, tool: str, caller: Principal, raw: bytes) -> Json:
        parse_strict(raw)
        result = self.runtime.call(tool, raw, caller)
        answer: Json = json.loads(msgspec.json.encode(result))
        self.check_answer(tool, answer)
        return answer

    def check_answer(self, tool: str, answer: Json) -> None:
        """Raises unless the answer fits what is published of the tool."""
        schema = self.runtime.registry.output_schema(self.runtime.registry.get(tool))
        _validator(json.dumps(schema)).validate(answer)

    def local(
        self,
        *,
        cwd: str | Path | None = None,
        key: str | None = None,
        pid: int | None = None,
        team: str = "home",
        agent: str = "default",
        environment: dict[str, str] | None = None,
    ) -> Principal:
        """A process of this machine, over stdio or the CLI; `key` stands in its environment."""
        variables = dict(environment or {}) | ({OWN_KEY: key} if key else {})
        process = LocalProcess(
            environment=variables,
            pid=pid or os.getpid(),
            cwd=str(cwd or self.folder),
            host=platform.host_name(),
        )
        return Principal("local", team, agent, process)

    def agent(self, agent: str = "default", team: str = "home") -> Principal:
        """An agent over HTTP, with its key."""
        return Principal("agent", team, agent)

    def admin(self, team: str = "home") -> Principal:
        """The operator in the browser."""
        return Principal("admin", team, "default")

    def add_agent(self, agent: str, team: str = "home") -> Principal:
        """A new agent over HTTP, its team made where it is missing."""

        def unit(work: Writing) -> None:
            if team not in {one.id for one in access_store.teams(work)}:
                access.create_team(work, team, team)
            access.create_agent(work, agent, team, agent)

        self.runtime.database.write(unit)
        return self.agent(agent, team)

    def join(self, caller: Principal | None = None, **arguments: Any) -> "Seat":
        """A session that just joined, of a process of its own unless a caller is given."""
        who = caller or self.local()
        joined = self.call("room_join", who, **arguments)
        return Seat(self, who, joined["session_id"], joined)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Every row of a table, in an order that does not change."""
        return self.columns(table, *Base.metadata.tables[table].columns.keys())

    def columns(self, table: str, *names: str) -> list[tuple[Any, ...]]:
        """Some columns of every row of a table, in an order that does not change."""
        wanted = select(*(Base.metadata.tables[table].columns[name] for name in names))
        with self.runtime.database.engine.connect() as connection:
            return sorted((tuple(row) for row in connection.execute(wanted)), key=repr)

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All that rooms keep, to see that a refused call left nothing."""
        return {table: self.rows(table) for table in TABLES}


TABLES = (
    "rooms",
    "sessions",
    "session_tags",
    "memberships",
    "messages",
    "deliveries",
    "message_rooms",
    "leases",
    "baselines",
    "idempotent_calls",
    "events",
)


@dataclass
class Seat:
    """A session, with the caller who acts for it."""

    store: Store
    caller: Principal
    id: str
    joined: Json

    def __call__(self, tool: str, **arguments: Any) -> Json:
        """Calls a tool for the session."""
        return self.store.call(tool, self.caller, session_id=self.id, **arguments)

    def send(self, to: str, body: str = "x", **arguments: Any) -> Json:
        return self("msg_send", to=to, body=body, **arguments)

    def receive(self, **arguments: Any) -> list[Json]:
        """The messages that msg_recv gives."""
        messages: list[Json] = self("msg_recv", **arguments)["messages"]
        return messages

    def bodies(self) -> list[str]:
        """The bodies that msg_recv gives."""
        return [message["body"] for message in self.receive()]

    def claim(self, path: str | Path, **arguments: Any) -> Json:
        return self("lease_claim", path=str(path), **arguments)

    def drift(self, path: str | Path, **arguments: Any) -> Json:
        return self("drift_check", path=str(path), **arguments)


@contextmanager
def opened(settings: Settings, folder: Path) -> Iterator[Store]:
    """The store of the settings, closed at the end."""
    clock = FakeClock()
    runtime = Runtime(settings, clock=clock)
    try:
        yield Store(settings, clock, runtime, folder)
    finally:
        runtime.close()


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema))
