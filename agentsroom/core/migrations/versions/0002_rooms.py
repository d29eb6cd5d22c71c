"""Rooms: sessions, messages and their deliveries, leases, baselines, and the full-text index."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE messages_fts USING fts5("
    "subject, body, content='messages', content_rowid='id', tokenize='unicode61 remove_diacritics 2')",
    "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN "
    "INSERT INTO messages_fts(rowid, subject, body) VALUES (new.id, new.subject, new.body); END",
    "CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN "
    "INSERT INTO messages_fts(messages_fts, rowid, subject, body) "
    "VALUES ('delete', old.id, old.subject, old.body); END",
)
_PUNCTUATION = r"[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+"
_POSTGRES_WORDS = f"to_tsvector('simple', regexp_replace(subject || ' ' || body, '{_PUNCTUATION}', ' ', 'g'))"
POSTGRES_INDEX = (f"CREATE INDEX messages_fts ON messages USING gin ({_POSTGRES_WORDS})",)


def upgrade() -> None:
    op.create_table(
        "idempotent_calls",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("arguments_hash", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "tool", "key", name="pk_idempotent_calls"),
    )
    op.create_table(
        "leases",
        sa.Column("id", ID, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("path_key", sa.Text(), nullable=False),
        sa.Column("repo_url", sa.Text(), nullable=True),
        sa.Column("repo_key", sa.Text(), nullable=True),
        sa.Column("is_folder", sa.Integer(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("ttl_ms", sa.BigInteger(), nullable=False),
        sa.Column("acquired_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("released_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_event", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_leases_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
    )
    op.create_index(
        "ix_leases_live",
        "leases",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )
    op.create_index(
        "ix_leases_live_session_id",
        "leases",
        ["session_id"],
        unique=False,
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )
    op.create_index("ix_leases_session_id_path_key", "leases", ["session_id", "path_key"], unique=False)
    op.create_index("ix_leases_team_id_ended_event", "leases", ["team_id", "ended_event"], unique=False)
    op.create_table(
        "messages",
        sa.Column("id", ID, nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.Text(), nullable=False),
        sa.Column("sender_label", sa.Text(), nullable=True),
        sa.Column("selector", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("reply_to", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_messages_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_messages_sender_id_id", "messages", ["sender_id", "id"], unique=False)
    op.create_table(
        "rooms",
        sa.Column("id", ID, nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cap", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_rooms_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_rooms"),
    )
    op.create_index("uq_rooms_team_id_name", "rooms", ["team_id", "name"], unique=True)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("harness", sa.Text(), nullable=True),
        sa.Column("harness_key", sa.Text(), nullable=True),
        sa.Column("cwd", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("repo_url", sa.Text(), nullable=True),
        sa.Column("repo_root", sa.Text(), nullable=True),
        sa.Column("pid", sa.BigInteger(), nullable=True),
        sa.Column("pid_started_at", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("autonomy", sa.Integer(), nullable=False),
        sa.Column("default_room_id", sa.BigInteger(), nullable=True),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_sessions_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_team_id", "sessions", ["team_id"], unique=False)
    op.create_index("uq_sessions_harness_key_agent_id", "sessions", ["harness_key", "agent_id"], unique=True)
    op.create_table(
        "baselines",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("path_key", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("noted_at", sa.BigInteger(), nullable=False),
        sa.Column("after_event", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_baselines_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", "path_key", name="pk_baselines"),
    )
    op.create_table(
        "deliveries",
        sa.Column("message_id", ID, nullable=False),
        sa.Column("recipient_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("state_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_deliveries_message_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_id", "recipient_id", name="pk_deliveries"),
    )
    op.create_index(
        "ix_deliveries_expiring",
        "deliveries",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text(
            "expires_at IS NOT NULL AND deliveries.state IN ('stored', 'offered', 'accepted', 'undeliverable')"
        ),
        postgresql_where=sa.text(
            "expires_at IS NOT NULL AND deliveries.state IN ('stored', 'offered', 'accepted', 'undeliverable')"
        ),
    )
    op.create_index(
        "ix_deliveries_recipient_id_state_message_id",
        "deliveries",
        ["recipient_id", "state", "message_id"],
        unique=False,
    )
    op.create_index(
        "ix_deliveries_unread",
        "deliveries",
        ["recipient_id", "message_id"],
        unique=False,
        sqlite_where=sa.text("deliveries.state IN ('stored', 'offered', 'accepted', 'undeliverable')"),
        postgresql_where=sa.text("deliveries.state IN ('stored', 'offered', 'accepted', 'undeliverable')"),
    )
    op.create_table(
        "memberships",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("room_id", ID, nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["room_id"], ["rooms.id"], name="fk_memberships_room_id"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_memberships_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", "room_id", name="pk_memberships"),
    )
    op.create_index("ix_memberships_room_id", "memberships", ["room_id"], unique=False)
    op.create_table(
        "message_rooms",
        sa.Column("room_id", ID, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_message_rooms_message_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["room_id"], ["rooms.id"], name="fk_message_rooms_room_id"),
        sa.PrimaryKeyConstraint("room_id", "message_id", name="pk_message_rooms"),
    )
    op.create_index("ix_message_rooms_message_id", "message_rooms", ["message_id"], unique=False)
    op.create_table(
        "session_tags",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="fk_session_tags_session_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session_id", "tag", name="pk_session_tags"),
    )
    for statement in SQLITE_INDEX if op.get_bind().dialect.name == "sqlite" else POSTGRES_INDEX:
        op.execute(statement)
