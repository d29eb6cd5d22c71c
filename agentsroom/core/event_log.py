"""The event table as a log that is read backwards: pages of it, by kind; returns rows, decides nothing."""

import functools
import json
import re
from typing import NamedTuple

from sqlalchemy import Select, bindparam, select, union_all

from agentsroom.core.clock import iso
from agentsroom.core.database import Reading
from agentsroom.core.feed import FeedEvent
from agentsroom.core.models import Event
from agentsroom.core.query import Query

BEYOND = 2**63 - 1
"""Above every row."""
_ENDS_A_LINE = re.compile("[\x85\u2028\u2029]")
"""To some readers, though JSON lets them stand."""


class LoggedEvent(NamedTuple):
    """A row of the table, its data as the text that is stored."""

    id: int
    at: int
    kind: str
    team_id: str
    data: str

    @property
    def event(self) -> FeedEvent:
        return FeedEvent(self.id, self.at, self.kind, self.team_id, json.loads(self.data))


def stored(event: FeedEvent) -> LoggedEvent:
    """The event as its row."""
    return LoggedEvent(*event[:4], as_stored(event.data))


def as_stored(value: object) -> str:
    """A value as the text that the table keeps."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_columns = tuple(getattr(Event, name) for name in LoggedEvent._fields)
_FIRST = Query(select(*_columns).order_by(Event.id).limit(1))


def first_event(work: Reading) -> LoggedEvent | None:
    """The oldest row that is still in the table."""
    row = work.row(_FIRST)
    return None if row is None else LoggedEvent(*row)


def events_below(work: Reading, before: int, limit: int, kinds: tuple[str, ...] = ()) -> list[LoggedEvent]:
    """Rows with a smaller id, the newest first; of these kinds, or of all where none is named."""
    return [LoggedEvent(*row) for row in work.rows(below(kinds), edge=before, limit=limit)]


def events_from(work: Reading, first: int, limit: int, kinds: tuple[str, ...] = ()) -> list[LoggedEvent]:
    """Rows from this id on, the oldest first; of these kinds, or of all where none is named."""
    return [LoggedEvent(*row) for row in work.rows(upwards(kinds), edge=first, limit=limit)]


@functools.cache
def below(kinds: tuple[str, ...]) -> Query:
    """The query of `events_below`."""
    direction = Event.id.desc()
    page = select(*_columns).where(Event.id < bindparam("edge")).order_by(direction).limit(bindparam("limit"))
    return Query(_of_kinds(page, kinds, newest_first=True))


@functools.cache
def upwards(kinds: tuple[str, ...]) -> Query:
    """The query of `events_from`."""
    page = select(*_columns).where(Event.id >= bindparam("edge")).order_by(Event.id).limit(bindparam("limit"))
    return Query(_of_kinds(page, kinds, newest_first=False))


def _of_kinds(
    page: Select[LoggedEvent], kinds: tuple[str, ...], *, newest_first: bool
) -> Select[LoggedEvent]:
    """The page of each kind by the index, and of those the page: no more rows are read than a page has per kind."""
    if not kinds:
        return page
    pages = [
        select(page.where(Event.kind == bindparam(f"kind_{number}", kind)).subquery())
        for number, kind in enumerate(kinds)
    ]
    every = union_all(*pages).subquery()
    order = every.c.id.desc() if newest_first else every.c.id
    return select(every).order_by(order).limit(bindparam("limit"))


def event_line(event: FeedEvent) -> str:
    """The event as a line of JSON, without the line's end; nothing in it ends a line by anybody's rules."""
    line = {
        "id": event.id,
        "at": iso(event.at),
        "kind": event.kind,
        "team": event.team_id,
        "data": event.data,
    }
    text = json.dumps(line, ensure_ascii=False)
    return _ENDS_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
