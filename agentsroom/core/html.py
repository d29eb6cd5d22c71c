"""Pieces of a page: the ids of its elements, and what a stream puts where; renders nothing."""

import re
from typing import Literal, NamedTuple

Swap = Literal["append", "delete", "outerHTML", "outerMorph", "prepend"]

_UNSAFE = re.compile(r"[^A-Za-z0-9-]")


def dom_id(*parts: str | int) -> str:
    """An element's id that is a valid selector as it stands: `message`, 1842 → `message-1842`.

    Anything but ASCII letters, digits and hyphens is written as its code point: `app_one` → `app_5f_one`.
    """
    return "-".join(_UNSAFE.sub(lambda found: f"_{ord(found[0]):x}_", str(part)) for part in parts)


class Partial(NamedTuple):
    """One change of an open page."""

    target: str
    """The id of the element that it goes to; a page without it skips the change."""
    swap: Swap
    html: str

    def __str__(self) -> str:
        return f'<hx-partial hx-target="#{self.target}" hx-swap="{self.swap}">{self.html}</hx-partial>'


class Change(NamedTuple):
    """New pieces of a page, and the newest event that they know: a later one than was asked about where they say more."""

    partials: list[Partial]
    last_event: int

    @property
    def html(self) -> str:
        return "".join(map(str, self.partials))
