"""Takes old events out of the append-only table: written to JSON Lines first, and an event says so."""

import functools
import os
from pathlib import Path
from typing import IO

from sqlalchemy import bindparam, delete, func, select

from agentsroom.core.database import Database, Writing
from agentsroom.core.errors import Conflict
from agentsroom.core.event_log import event_line
from agentsroom.core.feed import EVENTS_PRUNED, events_after
from agentsroom.core.files import whole_file
from agentsroom.core.models import Event
from agentsroom.core.query import Query

_LAST_BEFORE = Query(select(func.max(Event.id)).where(Event.at < bindparam("moment")))
_DELETE_UP_TO = Query(delete(Event).where(Event.id <= bindparam("last")))


def archive_events(database: Database, before: int, target: Path) -> int:
    """Moves the events before that moment (milliseconds) to the file; how many.

    The file is complete and on the disk before the first row goes. Raises Conflict when it is there already.
    """
    if target.exists():
        raise Conflict(f"{target} is there already; events are written to a new file.")
    last = database.read(lambda work: work.value(_LAST_BEFORE, moment=before))
    if last is None:
        return 0
    with whole_file(target) as partial, partial.open("w") as file:
        written = _write_events(database, int(last), file)
        file.flush()
        os.fsync(file.fileno())
    database.write(lambda work: _delete(work, database, int(last), written, target))
    return written


def _write_events(database: Database, last: int, file: IO[str]) -> int:
    written, after = 0, 0
    while after < last:
        for event in database.read(functools.partial(events_after, after=after)):
            after = event.id
            if event.id > last:
                break
            file.write(event_line(event) + "\n")
            written += 1
    return written


def _delete(work: Writing, database: Database, last: int, count: int, target: Path) -> None:
    database.backend.unguard_events(work.cursor)
    work.run(_DELETE_UP_TO, last=last)
    database.backend.guard_events(work.cursor)
    work.emit(EVENTS_PRUNED, work.settings.team, count=count, last=last, file=str(target))
