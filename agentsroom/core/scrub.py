"""Takes secrets out of a text before it is written down: keys, tokens, cookies, passwords in addresses."""

import re

HIDDEN = "[hidden]"

_RULES = (
    # A key keeps its public part, by which its agent is found.
    (re.compile(r"(?i)((?:agt|dev)_(?:[0-9a-z]{12}(?:\.|%2e))?+)[\w.%~+/=-]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)((?:/|%2f)(?:login|monitor)(?:/|%2f))[^\s?#&\"'<>/]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer(?:\s|%20|\+)+)[^\s\"',;]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)(cookie[\"']?\s*[:=,]\s*[\"']?)[^\"'\r\n]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(agents_room_\w*=)[^\s\"',;]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(?i)((?:csrf_?token|password)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]+"), rf"\g<1>{HIDDEN}"),
    (re.compile(r"(://[^\s/:@]*:)[^\s/]+@"), rf"\g<1>{HIDDEN}@"),
    # Whatever is as long as our tokens and looks like them, wherever it stands.
    (re.compile(r"[0-9A-Za-z]{43,}"), HIDDEN),
)

_TOKEN = r"(?=[A-Za-z]*[0-9])(?=[0-9a-z]*[A-Z])(?=[0-9A-Z]*[a-z])[0-9A-Za-z]{43}(?![0-9A-Za-z])"
_EXACT = re.compile(rf"(?<![0-9A-Za-z]){_TOKEN}")


def scrub(text: str) -> str:
    """The text with `[hidden]` for each secret; doubt hides."""
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text


def scrub_tokens(text: str) -> str:
    """The text with `[hidden]` for what has the very form of a token of ours, and for nothing else.

    For texts that answer somebody, whose paths and names must stay as they are.
    """
    return _EXACT.sub(HIDDEN, text)
