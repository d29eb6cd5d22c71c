"""Autonomy: how far a message may reach into a session that did not ask for it."""

from enum import IntEnum
from typing import Literal

LevelName = Literal["notify", "hold", "wake"]
LevelArgument = Literal["notify", "hold", "wake", 0, 1, 2]


class Level(IntEnum):
    """notify: mail waits until it is looked at. hold: the end of a turn is held for it. wake: it may start a turn."""

    NOTIFY = 0
    HOLD = 1
    WAKE = 2

    @property
    def label(self) -> LevelName:
        names: tuple[LevelName, ...] = ("notify", "hold", "wake")
        return names[self]


def parse_level(given: LevelArgument) -> Level:
    """A level from its name or number."""
    return Level[given.upper()] if isinstance(given, str) else Level(given)


def effective(stored: Level, caps: list[int]) -> Level:
    """What counts: the stored level, cut to the lowest cap of the session's rooms."""
    return Level(min([stored, *caps]))
