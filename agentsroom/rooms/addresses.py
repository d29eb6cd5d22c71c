"""What the addresses of the rooms' pages say: which room, which part of its history, how far back."""

from collections.abc import Mapping
from urllib.parse import quote

from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms import timeline
from agentsroom.rooms.service.history_view import Wanted


def room_url(name: str) -> str:
    """The address of a room's page; a slash of its name is no slash of the path."""
    return "/rooms/" + quote(name, safe=":")


def room_act_url(act: str, name: str) -> str:
    """What is asked of a room: `cap`, `export`, `history`, `messages`, `pause`, `resume`.

    The act stands before the name: behind it, a room could be called so.
    """
    return f"/rooms/{act}/{quote(name, safe=':')}"


def message_url(message_id: int) -> str:
    """The address of a message's page."""
    return f"/rooms/messages/{message_id}"


def parse_wanted(query: Mapping[str, str]) -> Wanted:
    """The part of a room that an address asks for. Raises InvalidArgument."""
    return Wanted(
        before=parse_id("before", query.get("before")),
        thread=parse_id("thread", query.get("thread")),
        words=query.get("q", "").strip(),
        shown_from=parse_id("shown_from", query.get("shown_from")),
    )


def parse_id(name: str, text: str | None) -> int | None:
    """The message id that a parameter gives; None when there is none. Raises InvalidArgument."""
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < len(text) <= 15:
        raise InvalidArgument({name: f"{text[:20]!r} came; a message's id is taken"})
    return int(text)


def parse_span(query: Mapping[str, str]) -> str:
    """How far back the picture of who held what goes. Raises InvalidArgument."""
    span = query.get("span", timeline.DEFAULT_SPAN)
    if span not in timeline.SPANS:
        raise InvalidArgument({"span": f"{span[:20]!r} came; {', '.join(timeline.SPANS)} are taken"})
    return span
