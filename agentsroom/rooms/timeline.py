"""Who held which path over time, laid out as a picture: places in per cent of the span, pure; templates draw it."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from agentsroom.core.clock import HOUR
from agentsroom.core.text import isolated

SPANS = {"1h": HOUR, "3h": 3 * HOUR, "24h": 24 * HOUR}
DEFAULT_SPAN = "3h"
MOST_PATHS = 8
ROW_PX = 38
"""A path's name, its bar, and air."""
_TICKS = 3
_NARROW = 3.0
"""In per cent: a bar that is narrower names nobody."""

State = Literal["ended", "live", "gone"]
"""Of a lease: over, or live with a holder that is there or gone."""


class Span(NamedTuple):
    """A lease, or the part of it that is known: its path, who held it, and from when to when, in ms."""

    path: str
    holder: str
    begins: int
    ends: int
    state: State


class Bar(NamedTuple):
    """`x` and `width` are in per cent of the picture."""

    x: float
    width: float
    state: State
    holders: str
    is_named: bool


class Track(NamedTuple):
    """One path; `y` is the upper edge of its row, in px."""

    path: str
    y: int
    bars: list[Bar]


class Tick(NamedTuple):
    x: float
    at: int
    anchor: Literal["start", "middle"]


class Timeline(NamedTuple):
    """The picture: `height` of its tracks in px; `more` counts the paths that found no room."""

    tracks: list[Track]
    ticks: list[Tick]
    height: int
    more: int


def lay_out(spans: Iterable[Span], begins: int, ends: int) -> Timeline:
    """The paths held last come first; what several held together is one bar."""
    by_path: dict[str, list[Span]] = {}
    for span in spans:
        if span.ends > begins and span.begins < ends:
            by_path.setdefault(span.path, []).append(span)
    latest_first = sorted(by_path, key=lambda path: (-max(one.ends for one in by_path[path]), path))
    shown = latest_first[:MOST_PATHS]
    return Timeline(
        tracks=[
            Track(path, ROW_PX * row, _bars(by_path[path], begins, ends)) for row, path in enumerate(shown)
        ],
        ticks=_ticks(begins, ends),
        height=ROW_PX * len(shown),
        more=len(latest_first) - len(shown),
    )


def _bars(spans: Sequence[Span], begins: int, ends: int) -> list[Bar]:
    groups: list[list[Span]] = []
    for span in sorted(spans, key=lambda one: (one.begins, one.ends)):
        if groups and span.begins < max(one.ends for one in groups[-1]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return [_bar(group, begins, ends) for group in groups]


def _bar(group: Sequence[Span], begins: int, ends: int) -> Bar:
    """What was held without a break; it is as its last holder is."""
    first, last = max(group[0].begins, begins), min(max(one.ends for one in group), ends)
    x, width = _percent(first - begins, begins, ends), _percent(last - first, begins, ends)
    holders = " + ".join(dict.fromkeys(isolated(one.holder) for one in group))
    return Bar(x, width, max(group, key=lambda one: one.ends).state, holders, width >= _NARROW)


def _ticks(begins: int, ends: int) -> list[Tick]:
    return [
        Tick(
            round(100 * number / _TICKS, 1),
            begins + (ends - begins) * number // _TICKS,
            "middle" if number else "start",
        )
        for number in range(_TICKS)
    ]


def _percent(part: int, begins: int, ends: int) -> float:
    return round(100 * part / (ends - begins), 1)
