"""Tables of access: teams, their agents, the agents' keys, and browser logins."""

from sqlalchemy import BigInteger, ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from agentsroom.core.models import Base


class Team(Base):
    """What rooms, projects and devices belong to; its id is a slug, fixed at creation and never given again."""

    __tablename__ = "teams"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
    deleted_at: Mapped[int | None] = mapped_column(BigInteger)


class Agent(Base):
    """Who an agent's sessions act as; its id is a slug, unique in the store, and never given to another."""

    __tablename__ = "agents"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"), index=True)
    name: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
    deleted_at: Mapped[int | None] = mapped_column(BigInteger)


class AgentKey(Base):
    """A key of an agent: shown once as `agt_<public_id>.<secret>`, stored hashed."""

    __tablename__ = "agent_keys"

    public_id: Mapped[str] = mapped_column(Text, primary_key=True)
    agent_id: Mapped[str] = mapped_column(ForeignKey("agents.id"))
    secret_hash: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
    revoked_at: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (Index("ix_agent_keys_agent_id", "agent_id"),)


class LoginLink(Base):
    """A link that logs one browser in once."""

    __tablename__ = "login_links"

    token_hash: Mapped[str] = mapped_column(Text, primary_key=True)
    created_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int] = mapped_column(BigInteger)
    used_at: Mapped[int | None] = mapped_column(BigInteger)


class BrowserLogin(Base):
    """A browser that is logged in; its signed cookie names the id, so revoking the row logs it out."""

    __tablename__ = "browser_logins"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    created_at: Mapped[int] = mapped_column(BigInteger)
    browser: Mapped[str] = mapped_column(Text)
    revoked_at: Mapped[int | None] = mapped_column(BigInteger)
