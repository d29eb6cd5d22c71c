"""Who calls: a value that the gateways make and the services ask; nothing here looks anything up."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["admin", "agent", "local"]


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """The process on this machine that speaks: over stdio or as the CLI."""

    environment: Mapping[str, str]
    pid: int
    cwd: str | None
    host: str
    joined: set[str] = field(default_factory=set)
    """Ids of the sessions that this very process joined."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, and for which team and agent.

    admin: the browser's cookie or the token of serve.json. agent: an agent's key over HTTP. local: whoever may open
    the store's file, over stdio or the CLI.
    """

    kind: Kind
    team_id: str
    agent_id: str
    process: LocalProcess | None = None

    @property
    def is_operator(self) -> bool:
        """May steer the rooms: set caps, prune."""
        return self.kind in ("admin", "local")


def this_process(pid: int | None = None) -> LocalProcess:
    """The running process; `pid` where another one stands for the agent (the CLI's parent)."""
    return LocalProcess(dict(os.environ), pid or os.getpid(), _cwd(), socket.gethostname())


def _cwd() -> str | None:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # the folder was removed under us
        return None
