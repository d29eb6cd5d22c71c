"""Idempotency keys: the same call twice answers what it answered before, and acts once."""

import hashlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from agentsroom.core.clock import DAY
from agentsroom.core.database import Writing
from agentsroom.core.errors import Conflict
from agentsroom.core.tools import Arguments, Result
from agentsroom.rooms.store import messages as store

LIFE = DAY

R = TypeVar("R", bound=Result)


def once(
    work: Writing,
    session_id: str,
    tool: str,
    key: str | None,
    arguments: Arguments,
    kind: type[R],
    act: Callable[[], R],
    has_acted: Callable[[R], bool] = lambda _: True,
) -> R:
    """What `act` answers, or answered under that key within the last 24 hours.

    An answer of which `has_acted` says no, such as a refusal, is not kept: the next try acts anew.

    Raises Conflict when the key stands for a call with other arguments.
    """
    if key is None:
        return act()
    digest = hashlib.sha256(msgspec.json.encode(arguments)).hexdigest()
    earlier = store.find_idempotent_call(work, session_id, tool, key, work.now - LIFE)
    if earlier is None:
        result = act()
        if has_acted(result):
            store.remember_call(work, session_id, tool, key, digest, msgspec.json.encode(result).decode())
        return result
    if earlier[0] != digest:
        raise Conflict(
            f"idempotency_key: {key!r} was used by this session for {tool} with other arguments.",
            hint="Use a new key for a new call.",
        )
    return msgspec.json.decode(earlier[1], type=kind)
