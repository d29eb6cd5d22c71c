"""Rooms can be paused, and the leases of a span of time are found by an index."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("rooms", sa.Column("paused_at", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_leases_ended",
        "leases",
        ["team_id", "released_at"],
        unique=False,
        sqlite_where=sa.text("released_at IS NOT NULL"),
        postgresql_where=sa.text("released_at IS NOT NULL"),
    )
