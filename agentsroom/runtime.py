"""One process's parts, put together: the store, the feed, this machine, tools, resources and prompts; without Flask.

The web app, the stdio server and the CLI each make one.
"""

from agentsroom.access import service as access
from agentsroom.access.event_kinds import ACCESS_KINDS
from agentsroom.core.backends import Backend
from agentsroom.core.clock import Clock
from agentsroom.core.database import Database, Run, Writing
from agentsroom.core.event_kinds import CORE_KINDS, EventKinds
from agentsroom.core.feed import Feed
from agentsroom.core.principals import LocalProcess, Principal
from agentsroom.core.settings import Settings
from agentsroom.core.tools import Call, Registry, Result
from agentsroom.core.wake import wake_for
from agentsroom.rooms.event_kinds import ROOMS_KINDS
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.prompts import room_prompts
from agentsroom.rooms.resources import room_resources
from agentsroom.rooms.service import sessions
from agentsroom.rooms.tools import room_tools


class Runtime:
    """The parts of a process, opened when first used."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        backend: Backend | None = None,
        run: Run | None = None,
    ) -> None:
        self.settings = settings
        self.database = Database(settings, clock=clock, backend=backend, run=run)
        self.feed = Feed(self.database, wake_for(settings))
        self.machine = Machine()
        self.registry = make_registry(settings, self.machine)
        self.resources = room_resources()
        self.prompts = room_prompts()

    def call(self, name: str, raw: bytes, caller: Principal) -> Result:
        """Runs a tool on its arguments, given as JSON text that core/jsontext.py found well formed.

        Raises UnknownTool, InvalidArgument, and what the tool itself raises.
        """
        return self.registry.call(name, raw, Call(self.database, self.feed, caller))

    def local_principal(self, process: LocalProcess) -> Principal:
        """Who a process of this machine is: AGENTS_ROOM_TEAM and AGENTS_ROOM_AGENT. Raises NotFound or Conflict."""
        settings = self.settings
        return self.database.read(
            lambda work: access.local_principal(work, settings.team, settings.agent, process)
        )

    def delete_agent(self, agent_id: str) -> None:
        """Its sessions leave, its keys go, its messages stay. Raises NotFound, or Conflict for the default agent."""

        def act(work: Writing) -> None:
            sessions.leave_all_of(work, access.get_agent(work, agent_id))
            access.delete_agent(work, agent_id)

        self.database.write(act)

    def close(self) -> None:
        self.feed.close()
        self.database.close()


def make_registry(settings: Settings, machine: Machine) -> Registry:
    """Every tool of the product; AGENTS_ROOM_TOOLS says which of them an MCP client is shown."""
    return Registry(room_tools(machine), settings)


def make_event_kinds() -> EventKinds:
    """Every kind of event of the product."""
    return EventKinds((*ROOMS_KINDS, *ACCESS_KINDS, *CORE_KINDS))
