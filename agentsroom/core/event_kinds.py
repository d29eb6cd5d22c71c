"""What the kinds of events mean: each has a group, and says in a few words who did what; each domain tells its own.

An event is described from its data alone and from the names of the sessions in it. What strangers wrote stands in
pieces of its own, so that a page can keep it apart.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import msgspec

from agentsroom.core.feed import FeedEvent
from agentsroom.core.product import NAME
from agentsroom.core.scrub import scrub, scrub_tokens
from agentsroom.core.text import counted

Data = Mapping[str, Any]
"""What an event keeps of its kind."""
Names = Mapping[str, str]
"""The id of a session → what people call it; an id that is missing stands for itself."""
Tone = Literal["warn", "fail"]
"""`warn`: something ended undone, or rests; `fail`: somebody is let in no more, or is gone for good."""

_MOST_LISTED = 3


class Group(StrEnum):
    """What a reader of the log chooses by."""

    MESSAGES = "messages"
    LEASES = "leases"
    SESSIONS = "sessions"
    ROOMS = "rooms"
    ACCESS = "access"
    STORE = "store"


class Actor(StrEnum):
    """Who did it: the session that a field of the data names, or somebody who is the same each time."""

    SESSION = "session"
    SENDER = "sender"
    OPERATOR = "operator"
    PRODUCT = NAME
    """Time did, and whoever called next wrote it down."""


class Piece(NamedTuple):
    """A part of a sentence: ours, or what somebody gave."""

    text: str
    is_given: bool = False


Sentence = tuple[Piece, ...]


class EventKind(NamedTuple):
    """A kind of event."""

    kind: str
    group: Group
    meaning: str
    """For the wiki."""
    actor: Actor
    what: Callable[[Data, Names], Sentence]
    tone: Tone | None = None


class Described(NamedTuple):
    """An event in words. `who`: None where the event does not say."""

    group: Group | None
    who: Piece | None
    what: Sentence
    tone: Tone | None


def sentence(*parts: str | Piece | Sentence) -> Sentence:
    """A sentence of what is ours (text) and what was given."""
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(Piece(part))
        elif isinstance(part, Piece):
            pieces.append(part)
        else:
            pieces.extend(part)
    return tuple(pieces)


def given(value: object) -> Piece:
    """A text or number that somebody gave, without what has the form of a token of ours."""
    return Piece(scrub_tokens(str(value)), is_given=True)


def listed(values: Collection[object], thing: str) -> Sentence:
    """`a, b`; with more than a few: `12 things`."""
    if len(values) > _MOST_LISTED:
        return sentence(counted(len(values), thing))
    return tuple(
        piece
        for number, one in enumerate(values)
        for piece in ((Piece(", "),) if number else ()) + (given(one),)
    )


class EventKinds:
    """Every kind that this release knows."""

    def __init__(self, kinds: Iterable[EventKind]) -> None:
        self._kinds = {one.kind: one for one in kinds}

    def __iter__(self) -> Iterator[EventKind]:
        return iter(self._kinds.values())

    def of_group(self, group: Group | None) -> tuple[str, ...]:
        """The kinds of the group by their names; none for None, which stands for all events."""
        return tuple(one.kind for one in self if one.group is group)

    def find(self, kind: str) -> EventKind | None:
        return self._kinds.get(kind)

    def shown_data(self, event: FeedEvent) -> Any:
        """The data of the event without what must not be shown; of kinds that are not known doubt hides."""
        return _hidden(event.data, scrub if self.find(event.kind) is None else scrub_tokens)

    def describe(self, event: FeedEvent, names: Names) -> Described:
        """In words. A kind of another release, or one with other data, is told by its data as it stands."""
        known = self.find(event.kind)
        if known is not None:
            try:
                return Described(
                    known.group,
                    _who(known.actor, event.data, names),
                    known.what(event.data, names),
                    known.tone,
                )
            except (LookupError, TypeError, ValueError, AttributeError):
                pass  # another release wrote other data under this name
        return _plain(event, names)


def session_ids(event: FeedEvent) -> Iterator[str]:
    """The sessions that a description of the event may name."""
    if not isinstance(event.data, dict):
        return
    for field in (Actor.SESSION, Actor.SENDER):
        if isinstance(found := event.data.get(field), str):
            yield found
    recipients = event.data.get("recipients")
    if isinstance(recipients, list):
        yield from (one for one in recipients[:_MOST_LISTED] if isinstance(one, str))


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """The value with each text in it as `hide` leaves it."""
    match value:
        case str():
            return hide(value)
        case list():
            return [_hidden(one, hide) for one in value]
        case dict():
            return {hide(name): _hidden(one, hide) for name, one in value.items()}
        case _:
            return value


def _who(actor: Actor, data: Data, names: Names) -> Piece:
    if actor in (Actor.SESSION, Actor.SENDER):
        session_id = data[actor]
        return given(names.get(session_id, session_id))
    return Piece(actor)


def _plain(event: FeedEvent, names: Names) -> Described:
    session_id = next(session_ids(event), None)
    who = None if session_id is None else given(names.get(session_id, session_id))
    text = msgspec.json.encode(_hidden(event.data, scrub)).decode() if event.data else ""
    return Described(None, who, (Piece(text, is_given=True),), None)


def _pruned(data: Data, _names: Names) -> Sentence:
    return sentence(
        f"{counted(data['count'], 'event')} up to row {data['last']:,} moved to ", given(data["file"])
    )


CORE_KINDS = (
    EventKind("events_pruned", Group.STORE, "old events were moved to a file", Actor.OPERATOR, _pruned),
)
