"""What the page of events shows, ready to render: rows in words, and where its links lead."""

from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from agentsroom.access.service import DEFAULT_TEAM
from agentsroom.core.clock import DAY, SECOND, iso
from agentsroom.core.event_kinds import Described, EventKinds, Group, Names
from agentsroom.core.feed import FeedEvent
from agentsroom.gateways.event_search import Found, Wanted

EVENTS = "/events"


class Moment(NamedTuple):
    """A moment in UTC: for the machine, whole, and as short as the reader needs it."""

    iso: str
    exact: str
    text: str


class Row(NamedTuple):
    """One event in the table."""

    id: int
    at: Moment
    kind: str
    team: str | None
    """Where it is not the first team."""
    said: Described


class Choice(NamedTuple):
    """A group to filter by; None is everything."""

    title: str
    url: str
    is_chosen: bool


class EventsView(NamedTuple):
    """The page."""

    wanted: Wanted
    rows: list[Row]
    choices: list[Choice]
    summary: str
    looked: str | None
    newer_url: str | None
    older_url: str | None
    export_url: str
    everything_url: str
    last_event: int


def view(kinds: EventKinds, wanted: Wanted, found: Found, now: int) -> EventsView:
    """In words, as they are told at `now`."""
    newest = wanted._replace(before=None)
    return EventsView(
        wanted=wanted,
        rows=[row(kinds, one, found.names, now) for one in found.rows],
        choices=[_choice(newest, group) for group in (None, *Group)],
        summary=summary(found.first, found.last_event),
        looked=None
        if found.looked is None
        else f"Rows {found.looked[0]:,} to {found.looked[1]:,} looked through",
        newer_url=None if found.newer is None else url(found.newer),
        older_url=None if found.older is None else url(found.older),
        export_url=url(newest, f"{EVENTS}/export"),
        everything_url=EVENTS,
        last_event=found.last_event,
    )


def row(kinds: EventKinds, event: FeedEvent, names: Names, now: int) -> Row:
    return Row(
        id=event.id,
        at=_moment(event.at, now),
        kind=event.kind,
        team=None if event.team_id == DEFAULT_TEAM else event.team_id,
        said=kinds.describe(event, names),
    )


def summary(first: FeedEvent | None, last_event: int) -> str:
    """How much the log holds; ids count the rows."""
    if first is None:
        return "Append-only. No row yet."
    when = datetime.fromtimestamp(first.at / SECOND, UTC)
    return f"Append-only. Rows {first.id:,} to {last_event:,}, since {when.day} {when:%B %Y}."


def url(wanted: Wanted, path: str = EVENTS) -> str:
    """The address of a part of the log, or of what is made of it."""
    query = {"kind": wanted.group, "q": wanted.words, "before": wanted.before}
    given = {name: str(value) for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def _choice(wanted: Wanted, group: Group | None) -> Choice:
    title = "Everything" if group is None else group.capitalize()
    return Choice(title, url(wanted._replace(group=group)), wanted.group is group)


def _moment(at: int, now: int) -> Moment:
    when = datetime.fromtimestamp(at / SECOND, UTC)
    day = "" if at // DAY == now // DAY else f"{when.day} {when:%b %Y}, "
    return Moment(iso(at), f"{when:%Y-%m-%d %H:%M:%S} UTC", f"{day}{when:%H:%M:%S}")
