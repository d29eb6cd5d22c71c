"""Measurements of speed, each as a ratio to the raw limit or a peer in the same run (`make bench`)."""

from statistics import median
from typing import NamedTuple


class Row(NamedTuple):
    """One line of wiki/Speed.md: what was measured, its goal, and the figures of several runs."""

    what: str
    goal: str
    unit: str
    """What the figures are: `× raw`, `ms`, …"""
    figures: list[float]
    note: str = ""

    @property
    def median(self) -> float:
        return median(self.figures)
