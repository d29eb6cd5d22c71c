"""How the browser's pages say things of the rooms: names, moments, states; shapes that are ready to render."""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

from agentsroom.core.clock import DAY, HOUR, SECOND, iso
from agentsroom.rooms.delivery import UNREAD, State, state_at
from agentsroom.rooms.liveness import UNKNOWN, Judgement, Liveness
from agentsroom.rooms.overseer import OVERSEER
from agentsroom.rooms.store.leases import HeldRow
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.pages import NamedDelivery
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

MINUTE = 60 * SECOND
_LONG_CHARACTERS, _LONG_LINES = 1_500, 20
_MOST_CHIPS = 8
KINDS = {"repo": "Repositories", "shared": "Shared", "dir": "Folders"}


class Moment(NamedTuple):
    """A moment in UTC, in the forms that a page needs."""

    iso: str
    exact: str
    clock: str
    day: str


class Chip(NamedTuple):
    """One delivery, or all of one state where there are many: `of` tells how many there are in all."""

    recipient: str
    state: str
    at: Moment | None
    some: int = 1
    of: int | None = None


class Place(NamedTuple):
    """How a message stands under the one above it."""

    begins_day: bool = False
    continues_thread: bool = False
    begins_pause: bool = False


ALONE = Place()


class ShownMessage(NamedTuple):
    id: int
    sender: str
    tile: str
    by_overseer: bool
    to: str
    subject: str
    body: str
    size: str | None
    """Of a body that is cut at first."""
    reply_to: int | None
    answered_to: str
    """The selector of an answer to it."""
    at: Moment
    deliveries: list[Chip]
    asks_why: bool
    """Somebody has not read it, or nobody was found."""
    place: Place


class ShownSession(NamedTuple):
    id: str
    name: str
    tile: str
    harness: str | None
    level: str
    seen: Moment
    ago: str
    liveness: Liveness
    why: str


class ShownLease(NamedTuple):
    id: int
    path: str
    full_path: str
    holder: str
    mode: str
    left: str
    left_s: int
    ttl_s: int
    ends: Moment
    holder_is_gone: bool


class RoomName(NamedTuple):
    """A room's name, taken apart: `repo:app` is the repository `app`."""

    full: str
    kind: str
    short: str


def room_name(name: str) -> RoomName:
    kind, _, short = name.partition(":")
    return RoomName(name, kind, short)


def moment(at: int) -> Moment:
    when = datetime.fromtimestamp(at / SECOND, UTC)
    return Moment(
        iso=iso(at),
        exact=f"{when:%Y-%m-%d %H:%M:%S} UTC",
        clock=f"{when:%H:%M}",
        day=f"{when:%A}, {when.day} {when:%B %Y}",
    )


def span(ms: int) -> str:
    """`9 s`, `4 min`, `3 h`, `2 days`: whole units, rounded down."""
    for unit, size in (("days", DAY), ("h", HOUR), ("min", MINUTE)):
        if ms >= size:
            count = ms // size
            return "1 day" if (count, unit) == (1, "days") else f"{count} {unit}"
    return f"{max(ms, 0) // SECOND} s"


def tile(name: str) -> str:
    """Two letters that stand for a session: `bench-sqlite` → `bs`, `docs` → `do`."""
    words = re.findall(r"\w+", name)
    letters = words[0][0] + words[1][0] if len(words) > 1 else name.strip()[:2]
    return letters.lower()


def message(
    row: MessageRow,
    deliveries: list[NamedDelivery],
    now: int,
    *,
    place: Place = ALONE,
    is_whole: bool = False,
) -> ShownMessage:
    """A message with how far it got; the deliveries are its own. Unless it is whole, what is long is cut."""
    names = {one.delivery.recipient_id: one.recipient_label for one in deliveries}
    sender = row.sender_label or row.sender_id
    states = [state_at(one.delivery.state, one.delivery.expires_at, now) for one in deliveries]
    return ShownMessage(
        id=row.id,
        sender=sender,
        tile=tile(sender),
        by_overseer=row.sender_id == OVERSEER,
        to=names.get(row.selector) or row.selector,
        subject=row.subject,
        body=row.body,
        size=_size(row.body) if _is_long(row.body) and not is_whole else None,
        reply_to=row.reply_to,
        answered_to=answered_to(row),
        at=moment(row.created_at),
        deliveries=_chips(deliveries, states, is_whole),
        asks_why=not is_whole and (not states or any(state in UNREAD for state in states)),
        place=place,
    )


def answered_to(row: MessageRow) -> str:
    """Whom the overseer’s answer goes to: who wrote it, or whom the overseer wrote to before."""
    return row.selector if row.sender_id == OVERSEER else row.sender_id


def _is_long(body: str) -> bool:
    return len(body) > _LONG_CHARACTERS or body.count("\n") > _LONG_LINES


def _size(body: str) -> str:
    size = len(body.encode())
    return f"{size:,} bytes" if size < 1_000 else f"{size / 1_000:.1f} kB"


def _chips(deliveries: list[NamedDelivery], states: list[State], is_whole: bool) -> list[Chip]:
    """One for each recipient, or for each state where there are many."""
    if is_whole or len(deliveries) <= _MOST_CHIPS:
        return [_chip(one, state) for one, state in zip(deliveries, states, strict=True)]
    counts = Counter(states)
    return [Chip("", state.value, None, counts[state], len(deliveries)) for state in State if counts[state]]


def _chip(named: NamedDelivery, state: State) -> Chip:
    delivery = named.delivery
    expired = delivery.expires_at if state is State.EXPIRED else None
    return Chip(
        named.recipient_label or delivery.recipient_id, state.value, moment(expired or delivery.state_at)
    )


def day_of(at: int) -> int:
    """Two moments of one day (UTC) have the same."""
    return at // DAY


def session(row: SessionRow, level: str, judgement: Judgement, now: int) -> ShownSession:
    return ShownSession(
        id=row.id,
        name=row.name,
        tile=tile(row.name),
        harness=row.harness,
        level=level,
        seen=moment(row.last_seen_at),
        ago=span(now - row.last_seen_at),
        liveness=judgement.liveness,
        why=_matched(judgement),
    )


def _matched(judgement: Judgement) -> str:
    """What tells whether it lives."""
    match judgement.liveness:
        case "alive":
            return f"process {judgement.pid} runs"
        case "gone":
            return "its process no longer runs"
        case _:
            return "its process can’t be seen from here"


def lease(held: HeldRow, judged: dict[str, Judgement], now: int) -> ShownLease:
    """A live lease; `judged`: liveness of the holders that are known."""
    row = held.lease
    return ShownLease(
        id=row.id,
        path=lease_path(held),
        full_path=row.path,
        holder=holder_name(held),
        mode=row.mode,
        left=f"{span(row.expires_at - now)} left",
        left_s=(row.expires_at - now) // SECOND,
        ttl_s=row.ttl_ms // SECOND,
        ends=moment(row.expires_at),
        holder_is_gone=judged.get(row.session_id, UNKNOWN).liveness == "gone",
    )


def holder_name(held: HeldRow) -> str:
    """Its label, else its id."""
    return held.holder_label or held.lease.session_id


def lease_path(held: HeldRow) -> str:
    """As people call it: from the holder's folder on, with a slash behind a folder."""
    return _path_within(held.lease.path, held.holder_cwd) + ("/" if held.lease.is_folder else "")


def _path_within(path: str, cwd: str | None) -> str:
    inside = cwd is not None and path.startswith(cwd.rstrip("/") + "/")
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd is not None and inside else path


def by_kind(rooms: list[RoomRow]) -> dict[str, list[RoomRow]]:
    """The title of each kind that has rooms → its rooms."""
    kinds = [room_name(room.name).kind for room in rooms]
    return {
        title: [room for room, of in zip(rooms, kinds, strict=True) if of == kind]
        for kind, title in KINDS.items()
        if kind in kinds
    }
