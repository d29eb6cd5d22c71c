"""Drift: whether a file is still what a session last saw, and how bad it is that it is not."""

from typing import Literal, NamedTuple

ABSENT = "absent"
"""The hash of a file that is not there."""

Severity = Literal["SAFE", "MINOR", "CRITICAL"]
"""SAFE: unchanged, or never noted. MINOR: changed, nobody else held it. CRITICAL: changed while another held it."""


class Verdict(NamedTuple):
    severity: Severity
    changed: bool


def judge(baseline: str | None, current: str, *, held_by_another: bool) -> Verdict:
    """`held_by_another`: another's lease on the path overlaps the time since the baseline.

    Appearing and vanishing are changes.
    """
    if baseline is None or baseline == current:
        return Verdict("SAFE", changed=False)
    return Verdict("CRITICAL" if held_by_another else "MINOR", changed=True)
