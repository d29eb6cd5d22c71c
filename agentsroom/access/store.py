"""Every query of the access domain; returns rows, decides nothing."""

from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update

from agentsroom.access.models import Agent, AgentKey, BrowserLogin, LoginLink, Team
from agentsroom.core.database import Reading, Writing
from agentsroom.core.query import Query


class TeamRow(NamedTuple):
    id: str
    name: str
    created_at: int
    agents: int


class AgentRow(NamedTuple):
    id: str
    team_id: str
    name: str
    created_at: int
    live_keys: int


class KeyRow(NamedTuple):
    public_id: str
    agent_id: str
    secret_hash: str
    created_at: int
    revoked_at: int | None


class KeyHolderRow(NamedTuple):
    """A key that works, and the agent that it belongs to."""

    secret_hash: str
    agent_id: str
    team_id: str


class LoginLinkRow(NamedTuple):
    token_hash: str
    expires_at: int
    used_at: int | None


_agents_of = (
    select(func.count(Agent.id)).where(Agent.team_id == Team.id, Agent.deleted_at.is_(None)).scalar_subquery()
)
_live_keys = (
    select(func.count(AgentKey.public_id))
    .where(AgentKey.agent_id == Agent.id, AgentKey.revoked_at.is_(None))
    .scalar_subquery()
)
_team = select(Team.id, Team.name, Team.created_at, _agents_of).where(Team.deleted_at.is_(None))
_agent = select(Agent.id, Agent.team_id, Agent.name, Agent.created_at, _live_keys).where(
    Agent.deleted_at.is_(None)
)

_TEAMS = Query(_team.order_by(Team.id))
_TEAM = Query(_team.where(Team.id == bindparam("id")))
_INSERT_TEAM = Query(insert(Team), ("id", "name", "created_at"))
_RENAME_TEAM = Query(update(Team).where(Team.id == bindparam("team")).values(name=bindparam("name")))
_DELETE_TEAM = Query(update(Team).where(Team.id == bindparam("team")).values(deleted_at=bindparam("now")))
_TEAM_ID_USED = Query(select(Team.id).where(Team.id == bindparam("id")))

_AGENTS = Query(_agent.order_by(Agent.team_id, Agent.id))
_AGENT = Query(_agent.where(Agent.id == bindparam("id")))
_INSERT_AGENT = Query(insert(Agent), ("id", "team_id", "name", "created_at"))
_RENAME_AGENT = Query(update(Agent).where(Agent.id == bindparam("agent")).values(name=bindparam("name")))
_DELETE_AGENT = Query(update(Agent).where(Agent.id == bindparam("agent")).values(deleted_at=bindparam("now")))
_AGENT_ID_USED = Query(select(Agent.id).where(Agent.id == bindparam("id")))

_key = select(
    AgentKey.public_id, AgentKey.agent_id, AgentKey.secret_hash, AgentKey.created_at, AgentKey.revoked_at
)
_KEYS_OF = Query(_key.where(AgentKey.agent_id == bindparam("agent")).order_by(AgentKey.created_at))
_KEY_HOLDER = Query(
    select(AgentKey.secret_hash, Agent.id, Agent.team_id)
    .join(Agent, Agent.id == AgentKey.agent_id)
    .where(
        AgentKey.public_id == bindparam("public_id"),
        AgentKey.revoked_at.is_(None),
        Agent.deleted_at.is_(None),
    )
)
_INSERT_KEY = Query(insert(AgentKey), ("public_id", "agent_id", "secret_hash", "created_at"))
_REVOKE_KEYS_OF = Query(
    update(AgentKey)
    .where(AgentKey.agent_id == bindparam("agent"), AgentKey.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)
_DELETE_KEYS_OF = Query(delete(AgentKey).where(AgentKey.agent_id == bindparam("agent")))

_INSERT_LINK = Query(insert(LoginLink), ("token_hash", "created_at", "expires_at"))
_LINK = Query(
    select(LoginLink.token_hash, LoginLink.expires_at, LoginLink.used_at).where(
        LoginLink.token_hash == bindparam("token_hash")
    )
)
_USE_LINK = Query(
    update(LoginLink).where(LoginLink.token_hash == bindparam("hash")).values(used_at=bindparam("now"))
)
_INSERT_LOGIN = Query(insert(BrowserLogin), ("id", "created_at", "browser"))
_LIVE_LOGIN = Query(
    select(BrowserLogin.id).where(BrowserLogin.id == bindparam("id"), BrowserLogin.revoked_at.is_(None))
)
_REVOKE_LOGIN = Query(
    update(BrowserLogin).where(BrowserLogin.id == bindparam("login")).values(revoked_at=bindparam("now"))
)


def teams(work: Reading) -> list[TeamRow]:
    return [TeamRow(*row) for row in work.rows(_TEAMS)]


def find_team(work: Reading, team_id: str) -> TeamRow | None:
    row = work.row(_TEAM, id=team_id)
    return TeamRow(*row) if row else None


def insert_team(work: Writing, team_id: str, name: str) -> None:
    work.run(_INSERT_TEAM, id=team_id, name=name, created_at=work.now)


def rename_team(work: Writing, team_id: str, name: str) -> None:
    work.run(_RENAME_TEAM, team=team_id, name=name)


def delete_team(work: Writing, team_id: str) -> None:
    """Its row stays, and with it the history of its rooms; its id is never another's."""
    work.run(_DELETE_TEAM, team=team_id, now=work.now)


def is_team_id_used(work: Reading, team_id: str) -> bool:
    """Whether a team has, or had, that id."""
    return work.row(_TEAM_ID_USED, id=team_id) is not None


def agents(work: Reading) -> list[AgentRow]:
    return [AgentRow(*row) for row in work.rows(_AGENTS)]


def find_agent(work: Reading, agent_id: str) -> AgentRow | None:
    row = work.row(_AGENT, id=agent_id)
    return AgentRow(*row) if row else None


def insert_agent(work: Writing, agent_id: str, team_id: str, name: str) -> None:
    work.run(_INSERT_AGENT, id=agent_id, team_id=team_id, name=name, created_at=work.now)


def rename_agent(work: Writing, agent_id: str, name: str) -> None:
    work.run(_RENAME_AGENT, agent=agent_id, name=name)


def delete_agent(work: Writing, agent_id: str) -> None:
    """Its keys go; its row stays, so that its id is never another's."""
    work.run(_DELETE_KEYS_OF, agent=agent_id)
    work.run(_DELETE_AGENT, agent=agent_id, now=work.now)


def is_agent_id_used(work: Reading, agent_id: str) -> bool:
    """Whether an agent has, or had, that id."""
    return work.row(_AGENT_ID_USED, id=agent_id) is not None


def keys_of(work: Reading, agent_id: str) -> list[KeyRow]:
    return [KeyRow(*row) for row in work.rows(_KEYS_OF, agent=agent_id)]


def find_holder_of_key(work: Reading, public_id: str) -> KeyHolderRow | None:
    """None also for a key that was revoked. Each call over HTTP asks it, in one query read to its end."""
    rows = work.rows(_KEY_HOLDER, public_id=public_id)
    return KeyHolderRow(*rows[0]) if rows else None


def insert_key(work: Writing, public_id: str, agent_id: str, secret_hash: str) -> None:
    work.run(
        _INSERT_KEY, public_id=public_id, agent_id=agent_id, secret_hash=secret_hash, created_at=work.now
    )


def revoke_keys_of(work: Writing, agent_id: str) -> int:
    return work.run(_REVOKE_KEYS_OF, agent=agent_id, now=work.now)


def insert_login_link(work: Writing, token_hash: str, expires_at: int) -> None:
    work.run(_INSERT_LINK, token_hash=token_hash, created_at=work.now, expires_at=expires_at)


def find_login_link(work: Reading, token_hash: str) -> LoginLinkRow | None:
    row = work.row(_LINK, token_hash=token_hash)
    return LoginLinkRow(*row) if row else None


def use_login_link(work: Writing, token_hash: str) -> None:
    work.run(_USE_LINK, hash=token_hash, now=work.now)


def insert_browser_login(work: Writing, login_id: str, browser: str) -> None:
    work.run(_INSERT_LOGIN, id=login_id, created_at=work.now, browser=browser)


def is_live_login(work: Reading, login_id: str) -> bool:
    return work.row(_LIVE_LOGIN, id=login_id) is not None


def revoke_browser_login(work: Writing, login_id: str) -> None:
    work.run(_REVOKE_LOGIN, login=login_id, now=work.now)
