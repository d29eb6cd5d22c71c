"""/events: the log of all that happened, filtered, paged, live and as a file; parse, look, render."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from flask import Blueprint, Response, render_template, request

from agentsroom.access.routes import allow
from agentsroom.core.clock import iso
from agentsroom.core.database import Database
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.event_kinds import EventKinds, Group
from agentsroom.core.event_log import event_line, first_event
from agentsroom.core.feed import FeedEvent
from agentsroom.core.html import Change, Partial
from agentsroom.core.principals import Principal
from agentsroom.gateways import event_view
from agentsroom.gateways.event_search import PAGE, EventSearch, Wanted

MOST_CHARACTERS = 200
"""Of a search."""
Render = Callable[..., str]


class Region(StrEnum):
    """The ids of what a stream changes on the page; the templates take them from here."""

    SUMMARY = "events-summary"
    BODY = "events-body"
    ROWS = "events"
    EMPTY = "events-empty"
    NEWEST = "events-newest"
    NEW = "events-new"


def events_pages(database: Database, kinds: EventKinds) -> Blueprint:
    pages = Blueprint("events", __name__)
    search = EventSearch(database, kinds)

    @pages.get(event_view.EVENTS)
    @allow("admin")
    def events() -> str:
        wanted = parse_wanted(request.args)
        found = search.page(wanted)
        view = event_view.view(kinds, wanted, found, database.clock.now())
        return render_template("events/events.html", view=view, area=Region, since=view.last_event)

    @pages.get(f"{event_view.EVENTS}/export")
    @allow("admin")
    def export() -> Response:
        """What happens meanwhile is not in it."""
        wanted = parse_wanted(request.args)
        lines = _lines(kinds, search, wanted)
        response = Response(lines, mimetype="application/x-ndjson")
        day = iso(database.clock.now())[:10]
        response.headers.set("Content-Disposition", "attachment", filename=f"events-{day}.jsonl")
        return response

    return pages


def _lines(kinds: EventKinds, search: EventSearch, wanted: Wanted) -> Iterator[str]:
    for events in search.matching_upwards(wanted):
        yield "".join(event_line(one._replace(data=kinds.shown_data(one))) + "\n" for one in events)


class EventsLive:
    """The open page. The newest one takes each new row at its top; an older one stays, and counts them."""

    def __init__(self, database: Database, kinds: EventKinds, render: Render, wanted: Wanted) -> None:
        self._database = database
        self._kinds = kinds
        self._render = render
        self._wanted = wanted
        self._search = EventSearch(database, kinds)
        self._of_group = frozenset(kinds.of_group(wanted.group))
        self.key = ("events", wanted)

    def wants(self, event: FeedEvent) -> bool:
        return self._wanted.group is None or event.kind in self._of_group

    def changes(self, events: Sequence[FeedEvent]) -> Change | None:
        """The rows of these events that the page filters for; None when they would fill a page."""
        new = self._search.matching(events, self._wanted.words)
        if len(new) > PAGE:
            return None
        last = events[-1].id
        partials = [self._summary(last)]
        if new:
            partials.append(Partial(Region.NEW, "append", "<li></li>" * len(new)))
        if new and self._wanted.before is None:
            partials += self._rows(new)
        return Change(partials, last)

    def _rows(self, new: list[FeedEvent]) -> list[Partial]:
        names, now = self._search.names(new), self._database.clock.now()
        rows = [event_view.row(self._kinds, one, names, now) for one in new]
        newest = self._render("events/_newest.html", row=rows[-1], area=Region)
        return [
            Partial(Region.EMPTY, "delete", ""),
            *(Partial(Region.ROWS, "prepend", self._render("events/_row.html", row=one)) for one in rows),
            Partial(Region.NEWEST, "outerHTML", newest),
        ]

    def _summary(self, last_event: int) -> Partial:
        first = self._database.glance(first_event)
        summary = event_view.summary(first.event if first else None, last_event)
        html = self._render("events/_summary.html", summary=summary, area=Region)
        return Partial(Region.SUMMARY, "outerMorph", html)

    def whole(self) -> Change:
        """The page as it is now."""
        found = self._search.page(self._wanted)
        view = event_view.view(self._kinds, self._wanted, found, self._database.clock.now())
        body = self._render("events/_body.html", view=view, area=Region)
        return Change(
            [self._summary(found.last_event), Partial(Region.BODY, "outerMorph", body)], found.last_event
        )


def events_live(
    database: Database,
    kinds: EventKinds,
    render: Render,
    _caller: Principal,
    _names: Mapping[str, Any],
    query: Mapping[str, str],
) -> EventsLive:
    """Raises InvalidArgument."""
    return EventsLive(database, kinds, render, parse_wanted(query))


def parse_wanted(query: Mapping[str, str]) -> Wanted:
    """The part of the log that an address asks for. Raises InvalidArgument."""
    problems = {}
    kind, words, before = query.get("kind", ""), query.get("q", "").strip(), query.get("before", "")
    if kind and kind not in [*Group]:
        problems["kind"] = f"{kind[:20]!r} came; {', '.join(Group)} are taken"
    if len(words) > MOST_CHARACTERS:
        problems["q"] = f"{len(words):,} characters came; up to {MOST_CHARACTERS} are taken"
    if before and not (before.isascii() and before.isdigit() and len(before) <= 18):
        problems["before"] = f"{before[:20]!r} came; the number of a row is taken"
    if problems:
        raise InvalidArgument(problems)
    return Wanted(Group(kind) if kind else None, words, int(before) if before else None)
