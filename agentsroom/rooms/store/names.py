"""What sessions are called, many at once; returns rows, decides nothing."""

from collections.abc import Collection

from sqlalchemy import bindparam, select

from agentsroom.core.database import Reading
from agentsroom.core.query import Query
from agentsroom.rooms.models import Session

_AT_ONCE = 100
_places = tuple(f"id_{number}" for number in range(_AT_ONCE))
"""Parameters for that many ids: one prepared statement whatever their number."""

_LABELS_OF = Query(
    select(Session.id, Session.label).where(
        Session.id.in_([bindparam(place) for place in _places]), Session.label.is_not(None)
    )
)
_LABELS = Query(
    select(Session.id, Session.label)
    .where(Session.id > bindparam("after"), Session.label.is_not(None))
    .order_by(Session.id)
    .limit(bindparam("limit"))
)


def labels_of(work: Reading, session_ids: Collection[str]) -> dict[str, str]:
    """The labels of those of the sessions that have one."""
    ids = sorted(session_ids)
    found: dict[str, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        some += [some[0]] * (_AT_ONCE - len(some))
        found.update(work.rows(_LABELS_OF, **dict(zip(_places, some, strict=True))))
    return found


def labels_after(work: Reading, session_id: str, limit: int) -> list[tuple[str, str]]:
    """Id and label of sessions with a greater id, in the order of ids; none without a label."""
    return [(found, label) for found, label in work.rows(_LABELS, after=session_id, limit=limit)]
