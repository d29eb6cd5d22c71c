"""What the page of one room shows besides its history: looked up in one reading, then put into words."""

import shlex
from typing import NamedTuple

from agentsroom.core.database import Reading
from agentsroom.core.feed import last_event_id
from agentsroom.core.text import counted
from agentsroom.rooms import timeline
from agentsroom.rooms.autonomy import Level, effective
from agentsroom.rooms.errors import UnknownRecipient
from agentsroom.rooms.liveness import UNKNOWN, Judgement
from agentsroom.rooms.overseer import OVERSEER
from agentsroom.rooms.service import history_view, shown
from agentsroom.rooms.service.history_view import History, Wanted
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.service.shown import (
    Moment,
    RoomName,
    ShownLease,
    ShownSession,
    moment,
    room_name,
)
from agentsroom.rooms.store import leases, pages, sessions
from agentsroom.rooms.store.leases import HeldRow
from agentsroom.rooms.store.sessions import RoomRow, SessionRow
from agentsroom.rooms.timeline import Span, Timeline

MOST_SPANS = 200
"""So many leases, the newest, make the picture of who held what."""


class Present(NamedTuple):
    """Who and what is in a room now, as rows; `held`: leases of the time that the picture tells of."""

    room: RoomRow
    sessions: list[SessionRow]
    tags: list[str]
    levels: dict[str, str]
    leases: list[HeldRow]
    held: list[HeldRow]
    span: str
    message_count: int
    rooms: list[RoomRow]
    unread: dict[int, int]
    now: int


class RoomLink(NamedTuple):
    """A room in the list of rooms."""

    name: RoomName
    unread: int
    is_here: bool


class Counts(NamedTuple):
    """What is in the room: `3 sessions`, `1,842 messages`, `1 live lease`."""

    sessions: str
    messages: str
    leases: str


class Recipient(NamedTuple):
    """Whom the overseer may write to, and who that is."""

    to: str
    who: str


class ShownTick(NamedTuple):
    """A moment on the axis, `x` in per cent."""

    x: float
    at: Moment
    anchor: str


class Picture(NamedTuple):
    """Who held what: drawn, in words, and the spans that one may look at."""

    timeline: Timeline
    ticks: list[ShownTick]
    words: str
    span: str
    spans: dict[str, str]


class Surroundings(NamedTuple):
    """Who and what is in a room now, ready to render."""

    name: RoomName
    counts: Counts
    cap: str
    levels: list[str]
    paused: Moment | None
    waiting: str
    join_command: str
    sessions: list[ShownSession]
    leases: list[ShownLease]
    picture: Picture
    recipients: list[Recipient]
    rooms: dict[str, list[RoomLink]]


def look(work: Reading, team_id: str, name: str, wanted: Wanted, span: str) -> tuple[History, Present, int]:
    """The part of the history, what surrounds it, and the newest event that both of them know.

    Raises UnknownRoom or UnknownMessage.
    """
    room = get_named(work, team_id, name)
    return history_view.history(work, room, wanted), present(work, room, span), last_event_id(work)


def present(work: Reading, room: RoomRow, span: str) -> Present:
    """`span`: one of timeline.SPANS."""
    here = sessions.sessions_in_room(work, room.id)
    caps = pages.lowest_caps_in_room(work, room.id)
    since = work.now - timeline.SPANS[span]
    return Present(
        room=sessions.room(work, room.id),
        sessions=here,
        tags=pages.tags_in_room(work, room.id),
        levels={one.id: _level(one, caps).label for one in here},
        leases=leases.live_leases_in_room(work, room.id),
        held=leases.leases_held_since(work, room.team_id, room.id, since, MOST_SPANS),
        span=span,
        message_count=pages.count_in_room(work, room.id),
        rooms=sessions.rooms_of_team(work, room.team_id),
        unread=pages.unread_by_room(work, room.team_id),
        now=work.now,
    )


def _level(session: SessionRow, caps: dict[str, int]) -> Level:
    return effective(Level(session.autonomy), [caps[session.id]] if session.id in caps else [])


def surroundings(here: Present, judged: dict[str, Judgement]) -> Surroundings:
    """In words; `judged`: liveness of the room's sessions."""
    unread = here.unread.get(here.room.id, 0)
    return Surroundings(
        name=room_name(here.room.name),
        counts=Counts(
            sessions=counted(len(here.sessions), "session"),
            messages=_count_of_messages(here.message_count),
            leases=counted(len(here.leases), "live lease"),
        ),
        cap=Level(Level.WAKE if here.room.cap is None else here.room.cap).label,
        levels=[level.label for level in Level],
        paused=None if here.room.paused_at is None else moment(here.room.paused_at),
        waiting=f"{counted(unread, 'delivery waits', 'deliveries wait')} to be read." if unread else "",
        join_command=_join_command(room_name(here.room.name)),
        sessions=[
            shown.session(one, here.levels[one.id], judged.get(one.id, UNKNOWN), here.now)
            for one in here.sessions
        ],
        leases=[shown.lease(one, judged, here.now) for one in here.leases],
        picture=_picture(here, judged),
        recipients=_recipients(here),
        rooms={
            title: [_link(one, here) for one in rooms] for title, rooms in shown.by_kind(here.rooms).items()
        },
    )


def _count_of_messages(count: int) -> str:
    return f"{count:,}+ messages" if count == pages.MOST_COUNTED else counted(count, "message")


def _join_command(name: RoomName) -> str:
    """A repository's or folder's room is entered by itself, from within it."""
    return (
        f"agents-room join --room {shlex.quote(name.full)}" if name.kind == "shared" else "agents-room join"
    )


def _picture(here: Present, judged: dict[str, Judgement]) -> Picture:
    begins = here.now - timeline.SPANS[here.span]
    spans = [_span(one, judged, here.now) for one in here.held]
    words = ". ".join(
        f"{shown.lease_path(one)} is held by {shown.holder_name(one)}"
        + (", which is gone" if judged.get(one.lease.session_id, UNKNOWN).liveness == "gone" else "")
        for one in here.leases
    )
    laid_out = timeline.lay_out(spans, begins, here.now)
    return Picture(
        timeline=laid_out,
        ticks=[ShownTick(tick.x, moment(tick.at), tick.anchor) for tick in laid_out.ticks],
        words=words or "Nothing is held now",
        span=shown.span(timeline.SPANS[here.span]),
        spans={name: shown.span(size) for name, size in timeline.SPANS.items()},
    )


def _span(held: HeldRow, judged: dict[str, Judgement], now: int) -> Span:
    lease = held.lease
    is_live = lease.released_at is None and lease.expires_at > now
    is_gone = judged.get(lease.session_id, UNKNOWN).liveness == "gone"
    return Span(
        path=shown.lease_path(held),
        holder=shown.holder_name(held),
        begins=lease.acquired_at,
        ends=now if is_live else min(now, lease.released_at or lease.expires_at),
        state=("gone" if is_gone else "live") if is_live else "ended",
    )


def _recipients(here: Present) -> list[Recipient]:
    """Everyone, tags, sessions by name (by id where two share one), and holders of what is held."""
    names = [one.name for one in here.sessions]
    return [
        Recipient("*", "everyone here"),
        *(
            Recipient(one.name if names.count(one.name) == 1 else one.id, one.harness or "session")
            for one in here.sessions
        ),
        *(Recipient(f"tag:{tag}", "who has this tag") for tag in here.tags),
        *(
            Recipient(f"file:{path}", "who holds it")
            for path in dict.fromkeys(one.lease.path for one in here.leases)
        ),
    ]


def selector_meant(work: Reading, room: RoomRow, given: str) -> str:
    """The selector that a person means: a name stands for the room's one session that is called so.

    Raises UnknownRecipient.
    """
    if given in ("*", OVERSEER) or given.startswith(("tag:", "file:")):
        return given
    here = sessions.sessions_in_room(work, room.id)
    named = [one.id for one in here if given in (one.name, one.id)]
    if len(named) == 1:
        return named[0]
    called = f"called {given[:100]!r}"
    raise UnknownRecipient(
        f"{len(named)} here are {called}." if named else f"Nobody here is {called}.",
        hint="Take the name or id of somebody who is here, *, tag:<tag> or file:<glob>.",
    )


def _link(room: RoomRow, here: Present) -> RoomLink:
    return RoomLink(room_name(room.name), here.unread.get(room.id, 0), room.id == here.room.id)
