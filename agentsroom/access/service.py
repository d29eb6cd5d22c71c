"""The rules of access: who exists, which keys work, how a browser gets in."""

from typing import NamedTuple

from agentsroom.access import store
from agentsroom.access.store import AgentRow, TeamRow
from agentsroom.core.clock import HOUR
from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import Conflict, InvalidArgument, NotFound, Unauthenticated
from agentsroom.core.ids import SLUG, random_base62, same_secret, secret_hash
from agentsroom.core.principals import LocalProcess, Principal

DEFAULT_TEAM = "home"
DEFAULT_AGENT = "default"
LOGIN_LINK_LIFE = 24 * HOUR
_NO_SUCH_KEY = secret_hash("no key has this hash")


class NewKey(NamedTuple):
    """A key that was just made; this is the one time that it can be shown."""

    agent_id: str
    key: str


def create_team(work: Writing, team_id: str, name: str) -> TeamRow:
    """Raises InvalidArgument or Conflict."""
    _check_slug("team", team_id)
    if store.is_team_id_used(work, team_id):
        raise Conflict(
            f"The team id {team_id} is in use, or was; an id is never given again.", hint="Choose another."
        )
    store.insert_team(work, team_id, name)
    work.emit("team_created", team_id, name=name)
    return get_team(work, team_id)


def rename_team(work: Writing, team_id: str, name: str) -> TeamRow:
    """Raises NotFound."""
    get_team(work, team_id)
    store.rename_team(work, team_id, name)
    work.emit("team_renamed", team_id, name=name)
    return get_team(work, team_id)


def delete_team(work: Writing, team_id: str) -> None:
    """Raises NotFound, or Conflict while it is the default team or has agents."""
    team = get_team(work, team_id)
    if team_id == DEFAULT_TEAM:
        raise Conflict(
            f"{DEFAULT_TEAM} is the default team and stays.", hint="Rename it: agents-room team rename"
        )
    if team.agents:
        raise Conflict(
            f"The team {team_id} has {team.agents} agents.",
            hint="Delete them first: agents-room agent delete",
        )
    store.delete_team(work, team_id)
    work.emit("team_deleted", team_id)


def get_team(work: Reading, team_id: str) -> TeamRow:
    """Raises NotFound."""
    team = store.find_team(work, team_id)
    if team is None:
        raise NotFound(f"No team is called {team_id}.", hint="agents-room team list names them all.")
    return team


def create_agent(work: Writing, agent_id: str, team_id: str, name: str) -> AgentRow:
    """Raises InvalidArgument, NotFound (the team) or Conflict."""
    _check_slug("agent", agent_id)
    get_team(work, team_id)
    if store.is_agent_id_used(work, agent_id):
        raise Conflict(
            f"The agent id {agent_id} is in use, or was; an id is never given again.",
            hint="Choose another, or give the agent that has it a new key: agents-room agent key ID",
        )
    store.insert_agent(work, agent_id, team_id, name)
    work.emit("agent_created", team_id, agent=agent_id, name=name)
    return get_agent(work, agent_id)


def rename_agent(work: Writing, agent_id: str, name: str) -> AgentRow:
    """Raises NotFound."""
    agent = get_agent(work, agent_id)
    store.rename_agent(work, agent_id, name)
    work.emit("agent_renamed", agent.team_id, agent=agent_id, name=name)
    return get_agent(work, agent_id)


def delete_agent(work: Writing, agent_id: str) -> None:
    """Its keys go with it; what it did stays as history (Runtime.delete_agent ends its sessions too). Raises NotFound, or Conflict for the default agent."""
    agent = get_agent(work, agent_id)
    if agent_id == DEFAULT_AGENT:
        raise Conflict(
            f"{DEFAULT_AGENT} is the agent of local processes and stays.",
            hint="End its keys: agents-room agent revoke",
        )
    store.delete_agent(work, agent_id)
    work.emit("agent_deleted", agent.team_id, agent=agent_id)


def get_agent(work: Reading, agent_id: str) -> AgentRow:
    """Raises NotFound."""
    agent = store.find_agent(work, agent_id)
    if agent is None:
        raise NotFound(f"No agent is called {agent_id}.", hint="agents-room agent list names them all.")
    return agent


def rotate_key(work: Writing, agent_id: str) -> NewKey:
    """Makes a new key and revokes the older ones. Raises NotFound."""
    agent = get_agent(work, agent_id)
    store.revoke_keys_of(work, agent_id)
    public_id, secret = random_base62(12), random_base62(43)
    store.insert_key(work, public_id, agent_id, secret_hash(secret))
    work.emit("agent_key_rotated", agent.team_id, agent=agent_id, key=public_id)
    return NewKey(agent_id, f"agt_{public_id}.{secret}")


def first_key(work: Writing, agent_id: str) -> NewKey | None:
    """A key for an agent that never had one; None for one that had. Raises NotFound."""
    get_agent(work, agent_id)
    return None if store.keys_of(work, agent_id) else rotate_key(work, agent_id)


def revoke_keys(work: Writing, agent_id: str) -> int:
    """How many keys stopped working. Raises NotFound."""
    agent = get_agent(work, agent_id)
    revoked = store.revoke_keys_of(work, agent_id)
    if revoked:
        work.emit("agent_keys_revoked", agent.team_id, agent=agent_id)
    return revoked


def agent_of_key(work: Reading, key: str) -> Principal:
    """The agent that `agt_<public_id>.<secret>` belongs to; an unknown id costs the same as a wrong secret.

    Raises Unauthenticated.
    """
    public_id, _, secret = key.removeprefix("agt_").partition(".")
    found = store.find_holder_of_key(work, public_id) if key.startswith("agt_") else None
    right = same_secret(found.secret_hash if found else _NO_SUCH_KEY, secret)
    if found is None or not right:
        raise Unauthenticated(
            "That key is not valid, or was revoked.",
            hint="agents-room agent key ID makes a new one and ends the agent's older ones; "
            "agents-room agent create ID makes another agent, with a key of its own.",
        )
    return Principal("agent", found.team_id, found.agent_id)


def local_principal(work: Reading, team_id: str, agent_id: str, process: LocalProcess) -> Principal:
    """Who a stdio or CLI process is. Raises NotFound, or Conflict when the agent is of another team."""
    get_team(work, team_id)
    agent = get_agent(work, agent_id)
    if agent.team_id != team_id:
        raise Conflict(
            f"AGENTS_ROOM_AGENT={agent_id} belongs to the team {agent.team_id}, but AGENTS_ROOM_TEAM={team_id}.",
            hint=f"Set AGENTS_ROOM_TEAM={agent.team_id}.",
        )
    return Principal("local", team_id, agent_id, process)


def create_login_link(work: Writing) -> str:
    """The token of a new login link: one use within LOGIN_LINK_LIFE."""
    token = random_base62(43)
    store.insert_login_link(work, secret_hash(token), work.now + LOGIN_LINK_LIFE)
    return token


def log_in_by_link(work: Writing, token: str, browser: str) -> str:
    """Uses the link up; the id of the browser's login. Raises Unauthenticated."""
    link = store.find_login_link(work, secret_hash(token))
    if link is None or link.used_at is not None or link.expires_at <= work.now:
        raise Unauthenticated(
            "This login link was used before, has expired, or is not ours.",
            hint="agents-room login-link prints a new one.",
        )
    store.use_login_link(work, link.token_hash)
    return log_in(work, browser)


def log_in(work: Writing, browser: str) -> str:
    """The id of a new browser login, for the signed cookie."""
    login_id = random_base62(22)
    store.insert_browser_login(work, login_id, browser[:200])
    work.emit("browser_logged_in", DEFAULT_TEAM, login=login_id[:6])
    return login_id


def log_out(work: Writing, login_id: str) -> None:
    """The cookie that names it opens nothing from now on."""
    store.revoke_browser_login(work, login_id)
    work.emit("browser_logged_out", DEFAULT_TEAM, login=login_id[:6])


def admin_of_login(work: Reading, login_id: str) -> Principal | None:
    """The admin whose cookie names a live login, or None."""
    return Principal("admin", DEFAULT_TEAM, DEFAULT_AGENT) if store.is_live_login(work, login_id) else None


def _check_slug(argument: str, slug: str) -> None:
    if not SLUG.fullmatch(slug):
        taken = "lower-case letters, digits and hyphens are taken, up to 64, a letter or digit first"
        raise InvalidArgument({argument: f"{slug!r} came; {taken}"})
