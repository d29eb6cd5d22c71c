"""The log of events is read by kind without going through all of it."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_index("ix_events_kind_id", "events", ["kind", "id"], unique=False)
