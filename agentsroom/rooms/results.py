"""What the rooms' tools answer: the shapes of the JSON. A field that may be UNSET is left out then."""

from typing import Literal

from msgspec import UNSET, UnsetType

from agentsroom.core.tools import Result
from agentsroom.rooms.autonomy import LevelName
from agentsroom.rooms.drift import Severity
from agentsroom.rooms.liveness import Liveness

LeaseMode = Literal["exclusive", "shared"]
RefusalReason = Literal["held_exclusive", "held_shared", "overlap"]


class Done(Result):
    """`{}`: it is done, or was already."""


class Joined(Result):
    session_id: str
    rooms: list[str]
    autonomy: LevelName
    warning: str | UnsetType = UNSET


class SessionInfo(Result):
    session_id: str
    agent: str
    label: str | None
    harness: str | None
    host: str | None
    cwd: str | None
    rooms: list[str]
    tags: list[str]
    autonomy: LevelName
    liveness: Liveness
    matched_pid: int | None
    last_seen_at: str


class Sessions(Result):
    sessions: list[SessionInfo]


class Cap(Result):
    room: str
    autonomy: LevelName


class Sent(Result):
    message_id: int
    recipients: int
    warning: str | UnsetType = UNSET


class MessageInfo(Result):
    message_id: int
    sender: str
    sender_label: str | None
    to: str
    subject: str
    body: str
    reply_to: int | None
    created_at: str
    expires_at: str | None


class Inbox(Result):
    rooms: list[str]
    deliveries: int
    read: int
    last_created_at: str | None


class Received(Result):
    messages: list[MessageInfo]
    more: bool
    inbox: Inbox | UnsetType = UNSET


class Unread(Result):
    count: int


class SentInfo(Result):
    message_id: int
    to: str
    subject: str
    states: dict[str, int]
    pending: int
    left: int
    sent: str
    expires_at: str | None


class SentList(Result):
    messages: list[SentInfo]


class History(Result):
    room: str
    messages: list[MessageInfo]
    next: int | None


class Waited(Result):
    messages: list[MessageInfo]
    cursor: int


class Found(Result):
    messages: list[MessageInfo]


class Obstacle(Result):
    recipient: str
    label: str | None
    state: str
    since: str
    reason: Literal["none", "autonomy", "cap", "gone", "left", "wrong_room", "expired", "no_lever"]
    explanation: str


class Explained(Result):
    message_id: int
    recipients: list[Obstacle]


class LeaseInfo(Result):
    path: str
    mode: LeaseMode
    session_id: str
    label: str | None
    acquired_at: str
    expires_at: str


class Claimed(Result):
    ok: bool
    lease: LeaseInfo | None
    holder: str | None
    holders: list[str]
    reason: RefusalReason | None
    warning: str | UnsetType = UNSET


class Renewed(Result):
    lease: LeaseInfo


class Checked(Result):
    free: bool
    lease: LeaseInfo | None


class Leases(Result):
    leases: list[LeaseInfo]


class Noted(Result):
    hash: str


class Drift(Result):
    path: str
    severity: Severity
    changed: bool
    holder: str | None
    since: str | None
    message: str
