"""Sending: one message from a session to its rooms or from the overseer to one, and what the sender should know of it."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, assert_never

from agentsroom.core.clock import SECOND
from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.tools import Limit
from agentsroom.rooms import delivery
from agentsroom.rooms.errors import NoSharedRoom, UnknownMessage, UnknownRecipient, UnknownSession
from agentsroom.rooms.liveness import Judgement
from agentsroom.rooms.overseer import OVERSEER
from agentsroom.rooms.results import Sent
from agentsroom.rooms.selectors import (
    TAKEN,
    Everyone,
    Holders,
    OneSession,
    Overseer,
    Tagged,
    matches_path,
    parse_selector,
)
from agentsroom.rooms.service import handles
from agentsroom.rooms.store import leases
from agentsroom.rooms.store import messages as store
from agentsroom.rooms.store import sessions as session_store
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

LIMITS = {
    "to": Limit("max_path_bytes", "bytes"),
    "subject": Limit("max_subject", "characters"),
    "body": Limit("max_body_bytes", "bytes"),
    "ttl_s": Limit("max_ttl_s", "seconds"),
}
"""What bounds the parts of a message, whoever sends it."""
_NAMED = 5


class Draft(NamedTuple):
    """A message as its sender gives it."""

    to: str
    subject: str
    body: str
    reply_to: int | None
    ttl_s: int | None


class Sender(Protocol):
    """Who sends, and whom and what it reaches."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str | None: ...

    @property
    def team_id(self) -> str: ...

    def rooms(self, work: Reading) -> list[RoomRow]:
        """In whose history the message stands."""
        ...

    def others(self, work: Reading) -> list[SessionRow]:
        """Everyone in these rooms but the sender."""
        ...

    def others_tagged(self, work: Reading, tag: str) -> list[SessionRow]: ...

    def check_reaches(self, work: Reading, recipient: SessionRow) -> None:
        """Raises NoSharedRoom."""
        ...

    def check_sees(self, work: Reading, message_id: int) -> None:
        """Raises UnknownMessage."""
        ...


@dataclass(frozen=True, slots=True)
class FromSession:
    """A session, in all the rooms that it is in."""

    session: SessionRow

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def label(self) -> str | None:
        return self.session.label

    @property
    def team_id(self) -> str:
        return self.session.team_id

    def rooms(self, work: Reading) -> list[RoomRow]:
        return session_store.rooms_of(work, self.id)

    def others(self, work: Reading) -> list[SessionRow]:
        return [one for one in session_store.sessions_sharing(work, self.id) if one.id != self.id]

    def others_tagged(self, work: Reading, tag: str) -> list[SessionRow]:
        return session_store.sessions_sharing_tagged(work, self.id, tag)

    def check_reaches(self, work: Reading, recipient: SessionRow) -> None:
        if recipient.id == self.id:
            return
        ours = {room.id for room in self.rooms(work)}
        if ours.isdisjoint(room.id for room in session_store.rooms_of(work, recipient.id)):
            raise NoSharedRoom(
                f"to: you and {recipient.name} have no room in common.",
                hint="Join a shared room that it is in, with extra_rooms.",
                session_id=recipient.id,
            )

    def check_sees(self, work: Reading, message_id: int) -> None:
        if store.find_visible_message(work, self.id, message_id) is None:
            raise UnknownMessage(f"reply_to: you see no message {message_id}.", message_id=message_id)


@dataclass(frozen=True, slots=True)
class FromOverseer:
    """The person at the browser, in one room. It has no label, which would be anybody's word."""

    room: RoomRow
    id: str = OVERSEER
    label: None = None

    @property
    def team_id(self) -> str:
        return self.room.team_id

    def rooms(self, _work: Reading) -> list[RoomRow]:
        return [self.room]

    def others(self, work: Reading) -> list[SessionRow]:
        return session_store.sessions_in_room(work, self.room.id)

    def others_tagged(self, work: Reading, tag: str) -> list[SessionRow]:
        return session_store.sessions_in_room_tagged(work, self.room.id, tag)

    def check_reaches(self, work: Reading, recipient: SessionRow) -> None:
        if not session_store.is_in_room(work, recipient.id, self.room.id):
            raise NoSharedRoom(
                f"to: {recipient.name} is not in {self.room.name}.",
                hint="Write to it in a room that it is in.",
                session_id=recipient.id,
            )

    def check_sees(self, work: Reading, message_id: int) -> None:
        if not store.is_in_history(work, message_id, self.room.id):
            text = f"reply_to: no message {message_id} stands in the history of {self.room.name}."
            raise UnknownMessage(text, message_id=message_id)


def send(work: Writing, caller: Principal, sender: Sender, draft: Draft) -> Sent:
    """Stores the message, a delivery for each recipient, and its place in the sender's rooms, as one.

    Raises InvalidArgument, UnknownRecipient, SessionLeft, NoSharedRoom or UnknownMessage.
    """
    if not draft.subject and not draft.body:
        raise InvalidArgument({"body": "is empty, and so is subject; one of them is needed"})
    if draft.reply_to is not None:
        sender.check_sees(work, draft.reply_to)
    rooms = sender.rooms(work)
    recipients = _recipients(work, caller, sender, draft.to, rooms)
    message = MessageRow(
        id=0,
        team_id=sender.team_id,
        sender_id=sender.id,
        sender_label=sender.label,
        selector=draft.to,
        subject=draft.subject,
        body=draft.body,
        reply_to=draft.reply_to,
        created_at=work.now,
        expires_at=None if draft.ttl_s is None else work.now + draft.ttl_s * SECOND,
    )
    ids = [one.id for one in recipients]
    message_id = store.insert_message(work, message, ids, [room.id for room in rooms])
    names = [room.name for room in rooms]
    work.emit(
        "message_sent", sender.team_id, message=message_id, sender=sender.id, recipients=ids, rooms=names
    )
    return Sent(message_id=message_id, recipients=len(recipients))


def _recipients(
    work: Reading, caller: Principal, sender: Sender, to: str, rooms: list[RoomRow]
) -> list[SessionRow]:
    selector = parse_selector(to)
    match selector:
        case Everyone():
            return sender.others(work)
        case OneSession(session_id):
            return [_one_recipient(work, caller, sender, session_id)]
        case Tagged(tag):
            return sender.others_tagged(work, tag)
        case Holders(glob):
            return _holders(work, sender, glob)
        case Overseer():
            return _nobody_but_the_overseer(sender, rooms)
        case _:
            assert_never(selector)


def _one_recipient(work: Reading, caller: Principal, sender: Sender, session_id: str) -> SessionRow:
    try:
        recipient = handles.visible(work, caller, session_id)
    except UnknownSession as error:
        raise UnknownRecipient(f"to: {error.message}", hint=f"to takes {TAKEN}.", **error.data) from None
    sender.check_reaches(work, recipient)
    return recipient


def _holders(work: Reading, sender: Sender, glob: str) -> list[SessionRow]:
    """Who holds a live lease that the glob means, in a room of the sender; each once."""
    return [
        other
        for other in sender.others(work)
        if any(
            matches_path(glob, one.path, is_folder=bool(one.is_folder), holder_cwd=other.cwd)
            for one in leases.live_leases_of(work, other.id)
        )
    ]


def _nobody_but_the_overseer(sender: Sender, rooms: list[RoomRow]) -> list[SessionRow]:
    """The overseer reads the histories: there is no delivery, but there must be a room."""
    if sender.id == OVERSEER:
        raise InvalidArgument({"to": f"{OVERSEER} came, which is you; one or all of the room are taken"})
    if not rooms:
        raise NoSharedRoom(
            "to: you are in no room, and the overseer reads only what stands in a room.",
            hint="Join a room first: room_join with cwd and host, or with room.",
        )
    return []


class Reached(NamedTuple):
    """Whom a message is stored for, and who of them is not signalled as long as which rooms are paused."""

    recipients: list[SessionRow]
    resting: frozenset[str]
    paused_rooms: list[str]


def reached(work: Reading, message_id: int) -> Reached:
    """Of a message that was just sent: the recipients that are still known."""
    recipients = session_store.recipients_of(work, message_id)
    paused_rooms = store.paused_rooms_of_message(work, message_id)
    pauses = store.pauses_by_recipient(work, message_id) if paused_rooms else {}
    resting = frozenset(one for one, paused_at in pauses.items() if delivery.rests(paused_at))
    return Reached(recipients, resting, paused_rooms)


def send_warning(
    to: str, message: Reached, judged: dict[str, Judgement], waiting: frozenset[str]
) -> str | None:
    """What the sender should know: nobody found, recipients that are gone, recipients that nothing may signal.

    `waiting`: who waited for mail in this process when it was sent. No harness has a lever or hooks in this release,
    so a wait is all that gives a signal.
    """
    if to == OVERSEER:
        return (
            "Stored for the overseer, a person who reads the history of your rooms; no session is given it."
        )
    if not message.recipients:
        return f"Stored, but {to} found nobody: no session will be given this message."
    unaware = [one for one in message.recipients if one.id not in waiting]
    gone = [one.name for one in unaware if judged[one.id].liveness == "gone"]
    here = [one for one in unaware if judged[one.id].liveness != "gone"]
    quiet = [one.name for one in here if one.id not in message.resting]
    parts = [_pause_warning(message)]
    if gone:
        parts.append(f"Gone: {_named(gone)}; stored until they come back.")
    if quiet:
        parts.append(
            f"Nothing will signal {_named(quiet)}, unless a msg_wait of theirs runs in another process: "
            "the message waits for their next msg_recv."
        )
    return " ".join(filter(None, parts))


def _pause_warning(message: Reached) -> str:
    resting = [one.name for one in message.recipients if one.id in message.resting]
    if not resting:
        return ""
    rooms = message.paused_rooms
    are, until = ("is", "it is") if len(rooms) == 1 else ("are", "one is")
    if len(resting) == len(message.recipients):
        rest = f"nobody is signalled until {until} resumed"
    else:
        rest = f"no signal reaches {_named(resting)} until {until} resumed"
    return f"{' and '.join(rooms)} {are} paused by the overseer: stored; {rest}."


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
