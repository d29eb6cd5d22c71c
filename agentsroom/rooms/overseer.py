"""The overseer: the person at the browser as a sender of messages, and what looks like its name. No session is it."""

import re
import unicodedata

OVERSEER = "overseer"
"""The sender's id: a session's has 16 hex digits, so that none can be this. It is a selector, too."""

_LATIN = re.compile(r"LATIN (?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?")
_LOOK_ALIKES = {
    "o": "\N{GREEK SMALL LETTER OMICRON}\N{CYRILLIC SMALL LETTER O}\N{ARMENIAN SMALL LETTER OH}\N{LISU LETTER O}",
    "v": "\N{GREEK SMALL LETTER NU}\N{CYRILLIC SMALL LETTER IZHITSA}\N{CHEROKEE LETTER DO}\N{LISU LETTER HA}",
    "e": "\N{CYRILLIC SMALL LETTER IE}\N{ESTIMATED SYMBOL}\N{CHEROKEE LETTER GV}\N{LISU LETTER E}3",
    "r": "\N{CYRILLIC SMALL LETTER GHE}\N{CHEROKEE LETTER E}\N{CHEROKEE LETTER SV}\N{LISU LETTER ZHA}",
    "s": "\N{CYRILLIC SMALL LETTER DZE}\N{CHEROKEE LETTER DU}\N{LISU LETTER SA}5$",
}
"""As letters stand after case folding."""
_READ_AS = {sign: letter for letter, signs in _LOOK_ALIKES.items() for sign in signs}
_RIGHT_TO_LEFT_OVERRIDE = "\N{RIGHT-TO-LEFT OVERRIDE}"


def looks_like_overseer(label: str) -> bool:
    """Whether people would read the label as `overseer`: in any letter case, with marks, invisible or foreign signs.

    As far as is sensible: who must not be fooled goes by the sender's id.
    """
    read = _as_read(label)
    return read == OVERSEER or (_RIGHT_TO_LEFT_OVERRIDE in label and read[::-1] == OVERSEER)


def _as_read(label: str) -> str:
    """The letters and digits that are seen, each as the Latin one that it looks like."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", label).casefold())
    return "".join(letter for letter in map(_letter, plain) if letter.isalnum())


def _letter(sign: str) -> str:
    if unicodedata.digit(sign, None) == 0:
        return "o"
    latin = _LATIN.fullmatch(unicodedata.name(sign, ""))
    return latin[1].lower() if latin else _READ_AS.get(sign, sign)
