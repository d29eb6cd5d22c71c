"""The injected clock: wall time in whole milliseconds since 1970 (UTC), and its ISO 8601 form."""

import time
from datetime import UTC, datetime
from typing import Protocol

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


class Clock(Protocol):
    """Tells the time; tests give one that they can set."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


def iso(at: int) -> str:
    """`1764553402123` → `2025-12-01T01:43:22.123Z` (RFC 3339, always UTC with Z)."""
    moment = datetime.fromtimestamp(at // 1_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1_000:03d}Z"


def iso_or_none(at: int | None) -> str | None:
    """The ISO form, or None where nothing happened yet."""
    return None if at is None else iso(at)


def parse_date(text: str) -> int:
    """A date (`2026-11-30`) or an ISO moment, read as UTC where it names no zone → milliseconds.

    Raises ValueError when the text is neither.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000)
