"""A stranger's Markdown to HTML that is safe to show; of pages that we ship, core/article.py makes HTML.

markdown-it reads it, and nh3 goes over the result: what is not listed here does not come out, whatever was read.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from agentsroom.core.markdown_rules import add_rules, addresses_in

MOST_CHARACTERS = 16_384
MOST_MARKS = 2_000
"""A longer message, or one with more of `_MARKS`, is shown as it was written: reading it would take too long."""
MOST_DEPTH = 20
"""So is one whose quotes and lists nest deeper: markdown-it leaves out what is in there."""

TAGS = {
    *("a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
SCHEMES = {"http", "https", "mailto"}

_MARKS = "[]()*`<>|~-+#\n"
_KEPT = 1_000
_SAID = ("text", "code_inline", "softbreak", "hardbreak")
_ADDRESS = re.compile(r"https?://[^/?#\\]|mailto:[^?#]", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_RULES = (
    *("autolink", "backticks", "blockquote", "code", "emphasis", "fence", "heading", "hr"),
    *("image", "link", "list", "newline", "strikethrough", "table"),
)


@functools.lru_cache(_KEPT)
def render_message(text: str) -> Markup:
    """A stranger's text; HTML in it is text. It has no white space but the text's own: `white-space: pre-wrap` fits.

    No link but to http, https and mailto, no picture, no id and no class; headings are strong lines.
    """
    text = visible(text)
    if len(text) > MOST_CHARACTERS or sum(map(text.count, _MARKS)) > MOST_MARKS:
        return _as_written(text)
    tokens = _reader.parse(text)
    says_something = any(token.content or token.type == "hr" for token in tokens)
    if not says_something or max(token.level for token in tokens) >= MOST_DEPTH - 1:
        return _as_written(text)
    return Markup(_cleaner.clean(_reader.renderer.render(tokens, _reader.options, {})))


def visible(text: str) -> str:
    """The text with every line end as a newline, and every other control character but the tab as a symbol."""
    return _CONTROL.sub(_symbol, _LINE_END.sub("\n", text))


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def _as_written(text: str) -> Markup:
    return Markup("<p>%s</p>") % Markup("<br>").join(text.strip("\n").split("\n"))


class Reader(MarkdownIt):
    """Reads what both kinds of text have; a picture is a link to it, or its words."""

    def __init__(self, *rules: str, renderer: type[RendererHTML], html: bool = False) -> None:
        super().__init__("zero", {"html": html, "maxNesting": MOST_DEPTH}, renderer_cls=renderer)
        self.enable([*_RULES, *rules])
        self.core.ruler.push("pictures", self._without_pictures)

    def validateLink(self, url: str) -> bool:
        return bool(_ADDRESS.match(url))

    def linked(self, address: str, text: str) -> Iterator[Token]:
        """The tokens of a link; of the text alone where the address is none that we link to."""
        href = self.normalizeLink(address)
        is_good = bool(_ADDRESS.match(href))
        if is_good:
            yield Token("link_open", "a", 1, attrs={"href": href})
        yield Token("text", "", 0, content=text)
        if is_good:
            yield Token("link_close", "a", -1)

    def _without_pictures(self, state: StateCore) -> None:
        for token in state.tokens:
            if token.children:
                token.children = [*self._words_for_pictures(token.children)]

    def _words_for_pictures(self, tokens: Iterable[Token]) -> Iterator[Token]:
        for token, is_in_link in with_links(tokens):
            if token.type != "image":
                yield token
                continue
            source = str(token.attrs["src"])
            yield from self.linked("" if is_in_link else source, words_in(token) or source)


def words_in(token: Token) -> str:
    """What a block, or a picture, says; none of a comment."""
    if token.type in ("fence", "code_block"):
        return token.content
    return "".join(child.content or " " for child in token.children or () if child.type in _SAID)


def with_links(tokens: Iterable[Token]) -> Iterator[tuple[Token, bool]]:
    """Each token of a text, and whether it stands in a link."""
    depth = 0
    for token in tokens:
        depth += token.nesting if token.tag == "a" else 0
        yield token, depth > 0


class _Renderer(RendererHTML):
    """Adds no white space: what is there is the text's own."""

    def hardbreak(self, *_: Any) -> str:
        return "<br>"

    def code_block(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return f"<pre><code>{escape(tokens[index].content)}</code></pre>"

    def fence(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return self.code_block(tokens, index)


class _MessageReader(Reader):
    """Knows no references (`[WARN]: disk` is a line of a log), escapes, entities or underlined headings."""

    def __init__(self) -> None:
        super().__init__(renderer=_Renderer)
        add_rules(self)
        self.core.ruler.push("message", self._plain)

    def _plain(self, state: StateCore) -> None:
        for position, token in enumerate(state.tokens):
            token.block = False  # a block is rendered with line ends around it
            if token.children:
                token.children = [*self._with_bare_links(token.children)]
            if token.type == "heading_open":
                inline = state.tokens[position + 1]
                inline.children = [
                    Token("strong_open", "strong", 1),
                    *(inline.children or []),
                    Token("strong_close", "strong", -1),
                ]
            if token.type in ("heading_open", "heading_close"):
                token.tag = "p"

    def _with_bare_links(self, tokens: Iterable[Token]) -> Iterator[Token]:
        for token, is_in_link in with_links(tokens):
            if token.type != "text" or is_in_link:
                yield token
                continue
            done = 0
            for start, end in addresses_in(token.content):
                yield Token("text", "", 0, content=token.content[done:start])
                yield from self.linked(token.content[start:end], token.content[start:end])
                done = end
            yield Token("text", "", 0, content=token.content[done:])


_reader = _MessageReader()
_cleaner = nh3.Cleaner(
    tags=TAGS,
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    url_schemes=SCHEMES,
    url_relative="deny",
)
