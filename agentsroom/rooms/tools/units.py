"""How a tool's function opens its unit of work, finds the session that it acts for, and shows that it lives."""

import contextlib
from collections.abc import Callable
from typing import Annotated, TypeVar

from msgspec import Meta

from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import StoreBusy, StoreUnavailable
from agentsroom.core.tools import Call, limit
from agentsroom.rooms.service import handles, presence
from agentsroom.rooms.store.sessions import SessionRow

T = TypeVar("T")

DEFAULT_PAGE = 20
_PATIENCE_S = 0.25
"""How long a read waits for the store's write lock, only to show that its session lives."""

SessionId = Annotated[str, Meta(description="what room_join returned")]
RoomName = Annotated[str, Meta(extra=limit("max_room_name", "characters"))]
KnownRoom = Annotated[RoomName, Meta(description="as room_join returned it")]
Label = Annotated[str, Meta(extra=limit("max_label", "characters"))]
Tag = Annotated[str, Meta(extra=limit("max_tag", "characters"))]
FilePath = Annotated[
    str,
    Meta(extra=limit("max_path_bytes", "bytes"), description="absolute, or relative to the session's cwd"),
]
PageSize = Annotated[int, Meta(ge=1, le=200, description=f"{DEFAULT_PAGE} if not given")]
IdempotencyKey = Annotated[
    str, Meta(min_length=1, max_length=128, description="called again with it, it is done once")
]


def writing(call: Call, session_id: str, act: Callable[[Writing, SessionRow], T]) -> T:
    """Acts for the session, in one writing unit of work that also shows that the session lives."""

    def unit(work: Writing) -> T:
        session = handles.acting(work, call.caller, session_id)
        presence.refresh(work, session)
        return act(work, session)

    return call.database.write(unit)


def reading(call: Call, session_id: str, look: Callable[[Reading, SessionRow], T]) -> T:
    """Looks for the session; that it lives is shown first, unless the store can't be written soon: reads go on."""

    def show(work: Writing) -> None:
        presence.refresh(work, handles.acting(work, call.caller, session_id))

    with contextlib.suppress(StoreBusy, StoreUnavailable):
        call.database.write(show, patience_s=_PATIENCE_S)
    return call.database.read(lambda work: look(work, handles.acting(work, call.caller, session_id)))


def reading_for(call: Call, session_id: str | None, look: Callable[[Reading, SessionRow | None], T]) -> T:
    """The same for tools that may be called without a session."""
    if session_id is None:
        return call.database.read(lambda work: look(work, None))
    return reading(call, session_id, look)
