"""How the browser's pages say things of the rooms: names, moments, states; shapes that are ready to render."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

from agentsroom.core.clock import DAY, HOUR, SECOND, iso
from agentsroom.rooms.delivery import state_at
from agentsroom.rooms.liveness import UNKNOWN, Judgement, Liveness
from agentsroom.rooms.store.leases import HeldRow
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.pages import NamedDelivery
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

MINUTE = 60 * SECOND
KINDS = {"repo": "Repositories", "shared": "Shared", "dir": "Folders"}


class Moment(NamedTuple):
    """A moment in UTC, in the forms that a page needs."""

    iso: str
    exact: str
    clock: str
    day: str


class Chip(NamedTuple):
    """One delivery."""

    recipient: str
    state: str
    at: Moment


class ShownMessage(NamedTuple):
    id: int
    sender: str
    tile: str
    to: str
    subject: str
    body: str
    reply_to: int | None
    at: Moment
    deliveries: list[Chip]
    begins_day: bool


class ShownSession(NamedTuple):
    id: str
    name: str
    tile: str
    about: str
    seen: Moment
    ago: str
    liveness: Liveness


class ShownLease(NamedTuple):
    id: int
    path: str
    full_path: str
    holder: str
    mode: str
    left: str
    left_percent: int
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
    row: MessageRow, deliveries: list[NamedDelivery], now: int, *, begins_day: bool = False
) -> ShownMessage:
    """A message with how far it got; the deliveries are its own."""
    names = {one.delivery.recipient_id: one.recipient_label for one in deliveries}
    sender = row.sender_label or row.sender_id
    return ShownMessage(
        id=row.id,
        sender=sender,
        tile=tile(sender),
        to=names.get(row.selector) or row.selector,
        subject=row.subject,
        body=row.body,
        reply_to=row.reply_to,
        at=moment(row.created_at),
        deliveries=[_chip(one, now) for one in deliveries],
        begins_day=begins_day,
    )


def _chip(named: NamedDelivery, now: int) -> Chip:
    delivery = named.delivery
    state = state_at(delivery.state, delivery.expires_at, now).value
    since = delivery.expires_at if state == "expired" and delivery.expires_at else delivery.state_at
    return Chip(named.recipient_label or delivery.recipient_id, state, moment(since))


def day_of(at: int) -> int:
    """Two moments of one day (UTC) have the same."""
    return at // DAY


def session(row: SessionRow, level: str, judgement: Judgement, now: int) -> ShownSession:
    return ShownSession(
        id=row.id,
        name=row.name,
        tile=tile(row.name),
        about=" · ".join(part for part in (row.harness, level) if part),
        seen=moment(row.last_seen_at),
        ago=span(now - row.last_seen_at),
        liveness=judgement.liveness,
    )


def lease(held: HeldRow, judged: dict[str, Judgement], now: int) -> ShownLease:
    """A live lease; `judged`: liveness of the holders that are known."""
    row = held.lease
    return ShownLease(
        id=row.id,
        path=_path_within(row.path, held.holder_cwd) + ("/" if row.is_folder else ""),
        full_path=row.path,
        holder=held.holder_label or row.session_id,
        mode=row.mode,
        left=f"{span(row.expires_at - now)} left",
        left_percent=max(0, min(100, (row.expires_at - now) * 100 // row.ttl_ms)),
        ends=moment(row.expires_at),
        holder_is_gone=judged.get(row.session_id, UNKNOWN).liveness == "gone",
    )


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


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 session`, `1,842 messages`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
