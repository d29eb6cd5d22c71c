"""Teams, agents and logins, and the event table; the default team and agent are there from the first start."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "browser_logins",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_browser_logins"),
    )
    op.create_table(
        "events",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "login_links",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("token_hash", name="pk_login_links"),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
    )
    op.create_table(
        "agents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_agents_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
    )
    op.create_index("ix_agents_team_id", "agents", ["team_id"], unique=False)
    op.create_table(
        "agent_keys",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name="fk_agent_keys_agent_id"),
        sa.PrimaryKeyConstraint("public_id", name="pk_agent_keys"),
    )
    op.create_index("ix_agent_keys_agent_id", "agent_keys", ["agent_id"], unique=False)
    now = time.time_ns() // 1_000_000
    teams = sa.table("teams", *map(sa.column, ("id", "name", "created_at")))
    agents = sa.table("agents", *map(sa.column, ("id", "team_id", "name", "created_at")))
    op.bulk_insert(teams, [{"id": "home", "name": "Home", "created_at": now}])
    op.bulk_insert(agents, [{"id": "default", "team_id": "home", "name": "Default", "created_at": now}])
