"""Times are milliseconds inside and RFC 3339 with Z outside."""

import pytest

from agentsroom.core.clock import iso, parse_date


def test_a_moment_is_shown_in_utc_with_milliseconds() -> None:
    assert iso(1_764_553_402_007) == "2025-12-01T01:43:22.007Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [("1970-01-02", 86_400_000), ("1970-01-01T00:00:01Z", 1_000), ("1970-01-01T02:00:00+02:00", 0)],
)
def test_a_date_is_read_as_utc_unless_it_names_a_zone(text: str, moment: int) -> None:
    assert parse_date(text) == moment


def test_what_is_no_date_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid"):
        parse_date("yesterday")
