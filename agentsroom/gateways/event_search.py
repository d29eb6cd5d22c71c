"""Finds events in the log, newest first: by group and by words, in looks that each keep the others waiting briefly.

A search for words goes through the rows themselves, so a request goes through so many and says which.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from agentsroom.core.database import Database, Reading
from agentsroom.core.event_kinds import Actor, EventKinds, Group, session_ids
from agentsroom.core.event_log import BEYOND, LoggedEvent, events_below, events_from, first_event, stored
from agentsroom.core.feed import FeedEvent, last_event_id
from agentsroom.rooms.store.names import labels_after, labels_of

PAGE = 60
MOST_LOOKED_THROUGH = 20_000
"""Rows of one request."""
A_LOOK = 1_000
"""Rows of one reading; the other requests get their turns between two."""
A_PIECE = 250
"""Rows of one piece of an export: each is decoded, looked at for secrets and written again, which takes longest."""
_SESSION_ID = re.compile(r'"([0-9a-f]{16})"')


class Wanted(NamedTuple):
    """The part of the log that an address asks for: below the row `before`, or the newest."""

    group: Group | None = None
    words: str = ""
    before: int | None = None


class Found(NamedTuple):
    """A page of the log."""

    rows: list[FeedEvent]
    """Newest first."""
    names: dict[str, str]
    newer: Wanted | None
    older: Wanted | None
    looked: tuple[int, int] | None
    """The newest and the oldest row that was looked through for words; None where all are listed."""
    first: FeedEvent | None
    """The oldest row that the table still has."""
    last_event: int


class Words:
    """What the words of a search match: an event's kind, team and data, who did it, and the labels of its sessions."""

    def __init__(self, kinds: EventKinds, named: Mapping[str, set[str]]) -> None:
        """`named`: each word → the ids of the sessions whose label has it."""
        self._kinds = kinds
        self._wanted = [(_as_stored(word), ids) for word, ids in named.items()]

    def match(self, row: LoggedEvent) -> bool:
        """Whether each word stands in it."""
        text = f"{row.kind} {row.team_id} {row.data} {self._actor(row.kind)}".casefold()
        return all(word in text or _names_one(row.data, ids) for word, ids in self._wanted)

    def _actor(self, kind: str) -> str:
        known = self._kinds.find(kind)
        return "" if known is None or known.actor in (Actor.SESSION, Actor.SENDER) else known.actor


class EventSearch:
    """Looks into the log of one store."""

    def __init__(self, database: Database, kinds: EventKinds) -> None:
        self._database = database
        self._kinds = kinds

    def page(self, wanted: Wanted) -> Found:
        """The page that is asked for, of PAGE rows or fewer."""
        kinds = self._kinds.of_group(wanted.group)
        first, last_event = self._database.read(lambda work: (first_event(work), last_event_id(work)))
        edge = min(wanted.before or BEYOND, last_event + 1)
        rows, lowest, more = self._matching(wanted, kinds, edge)
        shown = rows[:PAGE]
        if more and len(rows) > PAGE:
            lowest = shown[-1].id
        return Found(
            rows=[row.event for row in shown],
            names=self.names([row.event for row in shown]),
            newer=self._newer(wanted, kinds, last_event),
            older=wanted._replace(before=lowest) if more else None,
            looked=(edge - 1, lowest) if wanted.words and edge > lowest else None,
            first=first.event if first else None,
            last_event=last_event,
        )

    def _matching(
        self, wanted: Wanted, kinds: tuple[str, ...], edge: int
    ) -> tuple[list[LoggedEvent], int, bool]:
        """Up to PAGE + 1 rows, the lowest row that was looked at, and whether there may be more."""
        words = self.words(wanted.words)
        size = A_LOOK if words else PAGE + 1
        found: list[LoggedEvent] = []
        looked = 0
        for rows in self._looks(lambda below, work: events_below(work, below, size, kinds), edge):
            for row in rows:
                edge = row.id
                looked += 1
                if words is None or words.match(row):
                    found.append(row)
                    if len(found) > PAGE:
                        return found, edge, True
            if len(rows) < size:
                return found, edge, False
            if looked >= MOST_LOOKED_THROUGH:
                return found, edge, True
        return found, edge, False

    def _looks(
        self, look: Callable[[int, Reading], list[LoggedEvent]], edge: int
    ) -> Iterator[list[LoggedEvent]]:
        """Each look begins where the one before it ended."""
        while rows := self._database.glance(partial(look, edge)):
            yield rows
            edge = rows[-1].id
            time.sleep(0)

    def _newer(self, wanted: Wanted, kinds: tuple[str, ...], last_event: int) -> Wanted | None:
        """The page above; the newest one where words are searched for, since the way back is as long as the way here."""
        if wanted.before is None or wanted.before > last_event:
            return None
        start = wanted.before
        newest = wanted._replace(before=None)
        if wanted.words:
            return newest
        above = self._database.glance(lambda work: events_from(work, start, PAGE, kinds))
        return wanted._replace(before=above[-1].id + 1) if len(above) == PAGE else newest

    def matching_upwards(self, wanted: Wanted) -> Iterator[list[FeedEvent]]:
        """Every event until now that is asked for, oldest first, in pieces; holds no transaction between two."""
        last = self._database.glance(last_event_id)
        kinds, words = self._kinds.of_group(wanted.group), self.words(wanted.words)

        def look(after: int, work: Reading) -> list[LoggedEvent]:
            return events_from(work, after + 1, A_PIECE, kinds)

        for rows in self._looks(look, 0):
            yield [row.event for row in rows if row.id <= last and (words is None or words.match(row))]
            if rows[-1].id >= last:
                return

    def matching(self, events: Sequence[FeedEvent], words: str) -> list[FeedEvent]:
        """Those of the events that the words match."""
        matcher = self.words(words)
        return [one for one in events if matcher is None or matcher.match(stored(one))]

    def names(self, events: list[FeedEvent]) -> dict[str, str]:
        """What the sessions of the events are called."""
        ids = {one for event in events for one in session_ids(event)}
        return self._database.read(lambda work: labels_of(work, ids)) if ids else {}

    def words(self, words: str) -> Words | None:
        """What the words match now; None without words."""
        if not words:
            return None
        named: dict[str, set[str]] = {word.casefold(): set() for word in words.split()}
        for some in self._labels():
            for session_id, label in some:
                text = label.casefold()
                for word, ids in named.items():
                    if word in text:
                        ids.add(session_id)
        return Words(self._kinds, named)

    def _labels(self) -> Iterator[list[tuple[str, str]]]:
        after = ""
        while some := self._database.glance(partial(labels_after, session_id=after, limit=A_LOOK)):
            yield some
            after = some[-1][0]
            time.sleep(0)


def _names_one(data: str, ids: set[str]) -> bool:
    return bool(ids) and not ids.isdisjoint(_SESSION_ID.findall(data))


def _as_stored(word: str) -> str:
    """As it stands inside JSON text."""
    return json.dumps(word, ensure_ascii=False)[1:-1].casefold()
