"""Which harness a process runs in, known by its environment: one table.

Its rows say how a harness is recognised and where it puts its own session key.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Harness(NamedTuple):
    """One kind of program that runs agents."""

    name: str
    marker: str
    """The environment variable whose presence tells the harness."""
    key: str | None
    """The environment variable with the harness's own session key, where it sets one."""


HARNESSES = (
    Harness("claude-code", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    Harness("codex", "CODEX_THREAD_ID", "CODEX_THREAD_ID"),
    Harness("cursor", "CURSOR_AGENT", "CURSOR_CONVERSATION_ID"),
    Harness("gemini", "GEMINI_CLI", "GEMINI_SESSION_ID"),
    Harness("opencode", "OPENCODE", "OPENCODE_SESSION_ID"),
)

OWN_NAME = "AGENTS_ROOM_HARNESS"
OWN_KEY = "AGENTS_ROOM_HARNESS_KEY"
"""Any other harness can name itself and its key with these two variables."""


_NAME = re.compile(r"[\x21-\x7e]{1,80}")
_KEY = re.compile(r"[\x21-\x7e]{8,128}")
_LOOKS_LIKE_A_SESSION_ID = re.compile(r"[0-9a-fA-F]{16}")


def is_key(text: str) -> bool:
    """Whether it can be a harness key: long enough to be nobody else's, and no session id by mistake."""
    return bool(_KEY.fullmatch(text)) and not _LOOKS_LIKE_A_SESSION_ID.fullmatch(text)


class Found(NamedTuple):
    """What an environment tells of its harness."""

    name: str | None
    key: str | None


def harness_of(environment: Mapping[str, str]) -> Found:
    """The harness that the environment names, and its session key; what can be neither is as if it were not set."""
    known = next((one for one in HARNESSES if one.marker in environment), None)
    name = environment.get(OWN_NAME) or (known.name if known else "")
    key = environment.get(OWN_KEY) or (environment.get(known.key, "") if known and known.key else "")
    return Found(name if _NAME.fullmatch(name) else None, key if is_key(key) else None)


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KEY_VARIABLES = (OWN_KEY, *(one.key for one in HARNESSES if one.key))


def has_key(environment: Mapping[str, str], key: str) -> bool:
    """Whether the environment carries that harness key: a UUID in any variable, another text in those of the table.

    Nobody guesses a UUID; who joins with a guess at another text must not learn whether some variable holds it.
    """
    if _UUID.fullmatch(key):
        return key in environment.values()
    return any(environment.get(name) == key for name in _KEY_VARIABLES)
