"""How a message's Markdown is read: nothing that a pasted log, diff, path or pattern holds may vanish or be joined.

Each rule here replaces or joins one of markdown-it's; what is made of the tokens, core/markdown.py decides.
"""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, hr, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

MOST_CELLS = 2_000
"""A table that could have more is text: short rows are filled up to the width of the first."""

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_BEFORE_EMPHASIS = frozenset("\n\t ([{'\"“\u2018—–:*~")
_NOT_IN_EMPHASIS = frozenset("./\\")
_DIFF_BEGINS = re.compile(r"diff --git |@@ -\d+(,\d+)? \+\d+(,\d+)? @@|--- \S+[^\n]*\n\+\+\+ \S")
_DIFF_GOES_ON = re.compile(r"[ +\-@\\]|diff |index |(new|deleted|old) |similarity |(rename|copy) |Binary ")
_UNDER_HEAD = re.compile(r"[-:|][-:| ]+$")
_URL = re.compile(r"(?<!\w)https?://[^\s<>\"`|\\^{}\x00-\x20]+", re.IGNORECASE)
_BEHIND_URL = ".,:;!?'*_~]"


def add_rules(parser: MarkdownIt) -> None:
    """Makes the parser read as this module says."""
    parser.inline.ruler.at("newline", _line_break)
    parser.inline.ruler.at("backticks", _code_span)
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at(
        "hr", hr, {"alt": ["reference", "blockquote", "list"]}
    )  # a line of dashes in a log is text
    parser.block.ruler.at("blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.before("table", "diff", _diff, {"alt": ["paragraph"]})


def addresses_in(text: str) -> Iterator[tuple[int, int]]:
    """Where http and https addresses stand in it; the sentence's own punctuation is no part of them.

    No names without a scheme: `main.py` is a file, not a host in Paraguay.
    """
    for found in _URL.finditer(text):
        end = found.start() + len(_balanced(found[0]).rstrip(_BEHIND_URL))
        if end > found.start() + len("https://"):
            yield found.start(), end


def _balanced(address: str) -> str:
    """Up to the first bracket that closes nothing."""
    depth = 0
    for position, character in enumerate(address):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return address[:position]
    return address


def _line_break(state: StateInline, silent: bool) -> bool:
    """A line ends where it ends, and the next one keeps its indentation."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos += 1
    return True


def _code_span(state: StateInline, silent: bool) -> bool:
    """Within one line: a stray backtick joins none."""
    if state.src[state.pos] != "`":
        return False
    found = _CODE_SPAN.match(state.src, state.pos, state.posMax)
    if found is None:
        end = state.pos
        while end < state.posMax and state.src[end] == "`":
            end += 1
        if not silent:
            state.append_pending(state.src[state.pos : end])
        state.pos = end
        return True
    if not silent:
        code = found[2]
        if code.startswith(" ") and code.endswith(" ") and code.strip():
            code = code[1:-1]
        state.push("code_inline", "code", 0).content = code
    state.pos = found.end()
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Stars around words: `__init__`, `src/*.py` and `f(*args)` are what they are."""
    if silent or state.src[state.pos] != "*":
        return False
    scanned = state.scanDelims(state.pos, True)
    end = state.pos + scanned.length
    before = state.src[state.pos - 1] if state.pos else " "
    after = state.src[end] if end < state.posMax else " "
    opens = scanned.can_open and before in _BEFORE_EMPHASIS and after not in _NOT_IN_EMPHASIS
    closes = scanned.can_close and not after.isalnum() and after not in "_/\\"
    for _ in range(scanned.length):
        state.push("text", "", 0).content = "*"
        state.delimiters.append(
            Delimiter(
                marker=ord("*"),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=opens,
                close=closes,
            )
        )
    state.pos = end
    return True


def _table(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """One whose rows have no more cells than its head: the others would vanish."""
    if line + 2 > last or not _UNDER_HEAD.match(_line(state, line + 1)):
        return False
    width = _line(state, line + 1).strip("| ").count("|") + 1
    if width * (last - line) > MOST_CELLS:
        return False
    row = line + 2
    while row < last and not state.isEmpty(row):
        if _line(state, row).strip("| ").replace("\\|", "").count("|") >= width:
            return False
        row += 1
    return table(state, line, last, silent)


def _quote(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """`>>>` is Python's prompt."""
    return not _line(state, line).startswith(">>>") and blockquote(state, line, last, silent)


def _diff(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """A diff that was pasted as it is; its signs are no list's."""
    if state.level or state.sCount[line] or not _begins_diff(state, line, last, silent):
        return False
    if silent:
        return True
    end = line + 1
    while end < last and (
        _DIFF_GOES_ON.match(_whole(state, end)) or (state.isEmpty(end) and _more_diff(state, end + 1, last))
    ):
        end += 1
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(line, end, 0, True)
    token.map = [line, end]
    state.line = end
    return True


def _begins_diff(state: StateBlock, line: int, last: int, silent: bool) -> bool:
    """A head, or lines of which some begin with a minus and others with a plus."""
    text = _line(state, line)
    two = text + "\n" + (_line(state, line + 1) if line + 1 < last else "")
    if _DIFF_BEGINS.match(two):
        return True
    if silent or text[:1] not in "+-":
        return False
    signs = {text[:1]}
    while (line := line + 1) < last and _whole(state, line)[:1] in {"+", "-", " "}:
        signs.add(_whole(state, line)[0])
        if {"+", "-"} <= signs:
            return True
    return False


def _more_diff(state: StateBlock, line: int, last: int) -> bool:
    """A blank line goes on with the diff only before an indented or signed one: editors strip the blank of such lines."""
    return line < last and bool(re.match(r"[ +@]|-\S", _whole(state, line)))


def _line(state: StateBlock, line: int) -> str:
    """Without what indents it."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _whole(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] : state.eMarks[line]]
