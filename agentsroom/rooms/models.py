"""Tables of the rooms domain."""

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, Text, and_, text
from sqlalchemy.orm import Mapped, mapped_column

from agentsroom.core.models import Base, Id
from agentsroom.rooms import delivery


class Room(Base):
    """A namespace inside a team; `cap` is the highest autonomy of its sessions (None: no cap).

    Paused since `paused_at`, or None.
    """

    __tablename__ = "rooms"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    name: Mapped[str] = mapped_column(Text)
    cap: Mapped[int | None] = mapped_column(Integer)
    created_at: Mapped[int] = mapped_column(BigInteger)
    paused_at: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (Index("uq_rooms_team_id_name", "team_id", "name", unique=True),)


class Session(Base):
    """One agent process. It outlives its agent's row, so that history keeps its names."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    agent_id: Mapped[str] = mapped_column(Text)
    harness: Mapped[str | None] = mapped_column(Text)
    harness_key: Mapped[str | None] = mapped_column(Text)
    cwd: Mapped[str | None] = mapped_column(Text)
    host: Mapped[str | None] = mapped_column(Text)
    repo_url: Mapped[str | None] = mapped_column(Text)
    repo_root: Mapped[str | None] = mapped_column(Text)
    pid: Mapped[int | None] = mapped_column(BigInteger)
    pid_started_at: Mapped[int | None] = mapped_column(BigInteger)
    label: Mapped[str | None] = mapped_column(Text)
    autonomy: Mapped[int] = mapped_column(Integer)
    default_room_id: Mapped[int | None] = mapped_column(BigInteger)
    joined_at: Mapped[int] = mapped_column(BigInteger)
    last_seen_at: Mapped[int] = mapped_column(BigInteger)
    left_at: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (
        Index("uq_sessions_harness_key_agent_id", "harness_key", "agent_id", unique=True),
        Index("ix_sessions_team_id", "team_id"),
    )


class SessionTag(Base):
    """A tag of a session, in NFC."""

    __tablename__ = "session_tags"

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(Text, primary_key=True)


class Membership(Base):
    """A session is in a room, or was in it until `left_at`."""

    __tablename__ = "memberships"

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"), primary_key=True)
    left_at: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (Index("ix_memberships_room_id", "room_id"),)


class Message(Base):
    """One send. The sender's label is kept with it, since sessions are pruned and messages are not."""

    __tablename__ = "messages"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    sender_id: Mapped[str] = mapped_column(Text)
    sender_label: Mapped[str | None] = mapped_column(Text)
    selector: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
    reply_to: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int | None] = mapped_column(BigInteger)


Index("ix_messages_sender_id_id", Message.sender_id, Message.id)


class Delivery(Base):
    """A message's way to one recipient; `state_at` is when it got to its state."""

    __tablename__ = "deliveries"

    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    recipient_id: Mapped[str] = mapped_column(Text, primary_key=True)
    state: Mapped[str] = mapped_column(Text)
    state_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int | None] = mapped_column(BigInteger)


UNREAD = text("deliveries.state IN ({})".format(", ".join(f"'{state.value}'" for state in delivery.UNREAD)))
"""Written out, not bound: else SQLite can't see that a query fits the partial indexes below."""

Index(
    "ix_deliveries_recipient_id_state_message_id", Delivery.recipient_id, Delivery.state, Delivery.message_id
)
Index(
    "ix_deliveries_unread",
    Delivery.recipient_id,
    Delivery.message_id,
    sqlite_where=UNREAD,
    postgresql_where=UNREAD,
)
_MAY_EXPIRE = and_(Delivery.expires_at.is_not(None), UNREAD)
Index("ix_deliveries_expiring", Delivery.expires_at, sqlite_where=_MAY_EXPIRE, postgresql_where=_MAY_EXPIRE)


class MessageRoom(Base):
    """A message belongs to a room's history: one row for each room its sender was in."""

    __tablename__ = "message_rooms"

    room_id: Mapped[int] = mapped_column(ForeignKey("rooms.id"), primary_key=True)
    message_id: Mapped[int] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)


Index("ix_message_rooms_message_id", MessageRoom.message_id)


class Lease(Base):
    """A claim on a path. The row stays when it ends: drift needs the history.

    `path_key` and `repo_key` are what compares (rooms/paths.py); `ended_event` is the event that ended it, which orders
    it against baselines whatever the clock did.
    """

    __tablename__ = "leases"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    session_id: Mapped[str] = mapped_column(Text)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id"))
    host: Mapped[str | None] = mapped_column(Text)
    path: Mapped[str] = mapped_column(Text)
    path_key: Mapped[str] = mapped_column(Text)
    repo_url: Mapped[str | None] = mapped_column(Text)
    repo_key: Mapped[str | None] = mapped_column(Text)
    is_folder: Mapped[int] = mapped_column(Integer)
    mode: Mapped[str] = mapped_column(Text)
    ttl_ms: Mapped[int] = mapped_column(BigInteger)
    acquired_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int] = mapped_column(BigInteger)
    released_at: Mapped[int | None] = mapped_column(BigInteger)
    ended_event: Mapped[int | None] = mapped_column(BigInteger)


_LIVE = text("released_at IS NULL")
Index("ix_leases_live", Lease.expires_at, sqlite_where=_LIVE, postgresql_where=_LIVE)
Index("ix_leases_live_session_id", Lease.session_id, sqlite_where=_LIVE, postgresql_where=_LIVE)
Index("ix_leases_team_id_ended_event", Lease.team_id, Lease.ended_event)
_ENDED = text("released_at IS NOT NULL")
Index("ix_leases_ended", Lease.team_id, Lease.released_at, sqlite_where=_ENDED, postgresql_where=_ENDED)
Index("ix_leases_session_id_path_key", Lease.session_id, Lease.path_key)


class Baseline(Base):
    """The content hash that a session last saw for a path; `after_event` is the newest event at that moment."""

    __tablename__ = "baselines"

    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    path_key: Mapped[str] = mapped_column(Text, primary_key=True)
    hash: Mapped[str] = mapped_column(Text)
    noted_at: Mapped[int] = mapped_column(BigInteger)
    after_event: Mapped[int] = mapped_column(BigInteger)


class IdempotentCall(Base):
    """A call that was made under an idempotency key, and what it answered; kept for 24 hours."""

    __tablename__ = "idempotent_calls"

    session_id: Mapped[str] = mapped_column(Text, primary_key=True)
    tool: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    arguments_hash: Mapped[str] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
