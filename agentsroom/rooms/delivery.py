"""The states of a delivery and the ways between them: forward only, steps may be skipped."""

from collections.abc import Sequence
from enum import StrEnum


class State(StrEnum):
    """Where a message is on its way to one recipient."""

    STORED = "stored"
    OFFERED = "offered"
    ACCEPTED = "accepted"
    UNDELIVERABLE = "undeliverable"
    READ = "read"
    ACKED = "acked"
    EXPIRED = "expired"


MEANINGS = {
    State.STORED: "written; no signal was tried",
    State.OFFERED: "a signal was given; whether it was taken is not known",
    State.ACCEPTED: "the harness took the signal",
    State.UNDELIVERABLE: "the recipient is at wake, and its harness has no lever",
    State.READ: "the recipient took the body",
    State.ACKED: "the recipient confirmed it",
    State.EXPIRED: "its time ran out before the body was taken",
}

TRANSITIONS = {
    State.STORED: (
        State.OFFERED,
        State.ACCEPTED,
        State.UNDELIVERABLE,
        State.READ,
        State.ACKED,
        State.EXPIRED,
    ),
    State.OFFERED: (State.ACCEPTED, State.READ, State.ACKED, State.EXPIRED),
    State.ACCEPTED: (State.READ, State.ACKED, State.EXPIRED),
    State.UNDELIVERABLE: (State.READ, State.ACKED, State.EXPIRED),
    State.READ: (State.ACKED,),
    State.ACKED: (),
    State.EXPIRED: (),
}

UNREAD = tuple(state for state, following in TRANSITIONS.items() if State.READ in following)
"""The states in which the body still waits to be taken."""


def can_move(state: State, to: State) -> bool:
    """Whether a delivery may go from `state` to `to`."""
    return to in TRANSITIONS[state]


def state_at(stored: str, expires_at: int | None, now: int) -> State:
    """The state as it is now: one that may expire has expired once its time is reached (milliseconds)."""
    state = State(stored)
    if expires_at is not None and expires_at <= now and can_move(state, State.EXPIRED):
        return State.EXPIRED
    return state


def reached_at(state_at: int, expires_at: int | None, state: State) -> int:
    """When a delivery got to the state that it is in now; nobody writes down at once that it has expired."""
    return expires_at if state is State.EXPIRED and expires_at is not None else state_at


def rests(paused_at: Sequence[int | None]) -> bool:
    """Whether a delivery signals nobody for now: every room that message and recipient have in common is paused.

    `paused_at`: of each of these rooms. A delivery without any is in the wrong room, and does not rest.
    """
    return bool(paused_at) and None not in paused_at
