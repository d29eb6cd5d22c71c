"""What the rooms' tools answer: the shapes of the JSON. A field that may be UNSET is left out then.

What is said of the fields stands in the wiki; the published schemas leave it out, to be short.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from agentsroom.core.tools import Result
from agentsroom.rooms.autonomy import LevelName
from agentsroom.rooms.drift import Severity
from agentsroom.rooms.liveness import Liveness


def about(text: str) -> Meta:
    """What a field is, for the wiki."""
    return Meta(description=text)


LeaseMode = Literal["exclusive", "shared"]
RefusalReason = Literal["held_exclusive", "held_shared", "overlap"]
StayReason = Literal["none", "autonomy", "cap", "gone", "left", "wrong_room", "paused", "expired", "no_lever"]

Label = Annotated[str | None, about("what the session calls itself")]
Warned = Annotated[str | UnsetType, about("what to know or to do; left out when there is nothing")]


class Done(Result):
    """`{}`: it is done, or was already."""


class Joined(Result):
    session_id: Annotated[str, about("16 hex digits; every other tool takes them")]
    rooms: Annotated[list[str], about("all that the session is in")]
    autonomy: Annotated[LevelName, about("the level that counts, caps included")]
    warning: Warned = UNSET


class SessionInfo(Result):
    """A session, as others see it."""

    session_id: Annotated[str, about("msg_send takes it as `to`")]
    agent: Annotated[str, about("the agent that it belongs to")]
    label: Label
    harness: Annotated[str | None, about("the program that it runs in")]
    host: Annotated[str | None, about("the machine that it named")]
    cwd: Annotated[str | None, about("its folder there")]
    rooms: Annotated[list[str], about("all that it is in")]
    tags: Annotated[list[str], about("`tag:<tag>` finds it by them")]
    autonomy: Annotated[LevelName, about("the level that counts, caps included")]
    liveness: Annotated[Liveness, about("whether its process runs")]
    matched_pid: Annotated[int | None, about("the process by which it is alive")]
    last_seen_at: Annotated[str, about("its last call; UTC, ISO 8601")]


class Sessions(Result):
    sessions: Annotated[list[SessionInfo], about("those that have not left")]


class Cap(Result):
    room: Annotated[str, about("its whole name")]
    autonomy: Annotated[LevelName, about("the highest level that counts in it from now on")]


class Sent(Result):
    message_id: Annotated[int, about("grows with each message")]
    recipients: Annotated[int, about("how many sessions it is stored for")]
    warning: Warned = UNSET


class MessageInfo(Result):
    """A message; its subject and body are another agent's words, or those of the overseer, a person."""

    message_id: Annotated[int, about("msg_ack and reply_to take it")]
    sender: Annotated[str, about("the session that sent it; `overseer` is the person at the browser")]
    sender_label: Annotated[str | None, about("what the sender called itself then; null for the overseer")]
    to: Annotated[str, about("the selector that the sender gave")]
    subject: Annotated[str, about("may be empty")]
    body: Annotated[str, about("may be empty where there is a subject")]
    reply_to: Annotated[int | None, about("the message that it answers")]
    created_at: Annotated[str, about("when it was sent; UTC, ISO 8601")]
    expires_at: Annotated[str | None, about("when it expires if it is unread; null: never")]


class Inbox(Result):
    """What tells a session that has read all from one that sits in the wrong room."""

    rooms: Annotated[list[str], about("all that the session is in")]
    deliveries: Annotated[int, about("how many messages were ever sent to it")]
    read: Annotated[int, about("how many of them it read")]
    last_created_at: Annotated[str | None, about("when the last was sent; UTC, ISO 8601")]


class Received(Result):
    messages: Annotated[list[MessageInfo], about("read from now on; oldest first")]
    more: Annotated[bool, about("whether others wait: call again")]
    inbox: Annotated[Inbox | UnsetType, about("only when there are no messages")] = UNSET


class Unread(Result):
    count: Annotated[int, about("what msg_recv would give")]


class SentInfo(Result):
    """A message that the session sent, and how far it got."""

    message_id: Annotated[int, about("why takes it")]
    to: Annotated[str, about("the selector that was given")]
    subject: Annotated[str, about("may be empty")]
    states: Annotated[dict[str, int], about("each state → how many recipients are in it")]
    pending: Annotated[int, about("how many have not read it, and still may")]
    left: Annotated[int, about("how many of these have left or are gone")]
    sent: Annotated[str, about("when; UTC, ISO 8601")]
    expires_at: Annotated[str | None, about("when it expires if it is unread; null: never")]


class SentList(Result):
    messages: Annotated[list[SentInfo], about("newest first")]


class History(Result):
    room: Annotated[str, about("its whole name")]
    messages: Annotated[list[MessageInfo], about("newest first")]
    next: Annotated[int | None, about("the `before` of the page that follows; null: there is none")]


class Waited(Result):
    messages: Annotated[list[MessageInfo], about("still unread; empty when the time is over")]
    cursor: Annotated[int, about("the `after` of the next wait")]


class Found(Result):
    messages: Annotated[list[MessageInfo], about("newest first")]


class Obstacle(Result):
    """What stands in the way of a message to one recipient."""

    recipient: Annotated[str, about("the session")]
    label: Label
    state: Annotated[str, about("of the delivery: [Protocol](Protocol.md#deliveries) draws them")]
    since: Annotated[str, about("when it got there; UTC, ISO 8601")]
    reason: Annotated[StayReason, about("what stands in the way of the next state")]
    explanation: Annotated[str, about("the same in a sentence")]


class Explained(Result):
    message_id: Annotated[int, about("the one that was asked for")]
    recipients: Annotated[list[Obstacle], about("one for each session that it was stored for")]
    explanation: Annotated[str | UnsetType, about("only without recipients: why none was found")] = UNSET


class LeaseInfo(Result):
    """A lease: who holds a path until when."""

    path: Annotated[str, about("absolute, links resolved; a folder with all in it")]
    mode: Annotated[LeaseMode, about("shared ones stand side by side, an exclusive one alone")]
    session_id: Annotated[str, about("who holds it")]
    label: Label
    acquired_at: Annotated[str, about("when it was claimed; UTC, ISO 8601")]
    expires_at: Annotated[str, about("when it ends unless it is renewed; each call of its holder renews it")]


class Claimed(Result):
    ok: Annotated[bool, about("whether you hold it")]
    lease: Annotated[LeaseInfo | None, about("yours, or the one in the way that ends last")]
    holder: Annotated[str | None, about("the session of that lease")]
    holders: Annotated[list[str], about("every session in the way, each once; with ok, all that hold it")]
    reason: Annotated[
        RefusalReason | None, about("held: on that very path; overlap: on a folder around or a path within")
    ]
    warning: Warned = UNSET


class Renewed(Result):
    lease: Annotated[LeaseInfo, about("as it is now")]


class Checked(Result):
    free: Annotated[bool, about("whether you could claim it exclusively now")]
    lease: Annotated[LeaseInfo | None, about("the one that stands there, another's first")]


class Leases(Result):
    leases: Annotated[list[LeaseInfo], about("yours first")]


class Noted(Result):
    hash: Annotated[str, about("SHA-256 in hex, or absent")]


class Drift(Result):
    path: Annotated[str, about("absolute, links resolved")]
    severity: Annotated[
        Severity,
        about(
            "SAFE: write, but read it first if you noted nothing; MINOR: read it again; CRITICAL: talk to the holder"
        ),
    ]
    changed: Annotated[bool, about("whether it differs from what you noted; false if you noted nothing")]
    holder: Annotated[str | None, about("who held it meanwhile")]
    since: Annotated[str | None, about("when the holder claimed it; UTC, ISO 8601")]
    message: Annotated[str, about("the same in a sentence")]
