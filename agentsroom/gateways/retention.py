"""What `agents-room prune` does, told in sentences."""

from collections.abc import Iterator
from pathlib import Path

from agentsroom.core.archive import archive_events
from agentsroom.core.clock import DAY, HOUR, iso, parse_date
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.text import counted
from agentsroom.rooms.service.retention import prune
from agentsroom.runtime import Runtime


def prune_store(
    runtime: Runtime,
    silent_hours: float,
    events_before: str | None,
    events_file: Path | None,
    *,
    dry_run: bool,
) -> Iterator[str]:
    """Prunes, and yields what was done (or would be).

    Raises InvalidArgument for a date that is none.
    """
    moment = _moment(events_before) if events_before is not None else None
    pruned = prune(runtime.database, runtime.machine, round(silent_hours * HOUR), dry_run=dry_run)
    verb = "Would remove" if dry_run else "Removed"
    listed = f": {', '.join(pruned.sessions)}" if pruned.sessions else ""
    yield f"{verb} {counted(len(pruned.sessions), 'silent session')} whose process is gone{listed}."
    if dry_run:
        return
    settings = runtime.settings
    if pruned.messages:
        age = counted(settings.retention_messages, "day")
        yield f"Removed {counted(pruned.messages, 'message')} older than {age}."
    if moment is None and settings.retention_events:
        moment = runtime.database.clock.now() - settings.retention_events * DAY
        events_file = settings.home_path / f"events-before-{iso(moment)}.jsonl"
    if moment is not None and events_file is not None:
        count = archive_events(runtime.database, moment, events_file)
        yield f"Moved {counted(count, 'event')} before {iso(moment)} to {events_file}."


def _moment(text: str) -> int:
    try:
        return parse_date(text)
    except ValueError:
        problem = f"{text!r} came; a date such as 2026-11-30, or a moment in ISO 8601, is taken"
        raise InvalidArgument({"events-before": problem}) from None
