"""A page that we ship, in Markdown, to HTML: anchors at headings, tables that scroll, code with a button to copy it.

Its author is trusted, and still nothing comes out that is not listed here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import nh3
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from agentsroom.core.markdown import SCHEMES, TAGS, Reader, visible, words_in

Resolve = Callable[[str], str | None]
"""What a link that names no scheme leads to, from how it stands in the page; None for nowhere."""

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|/\\", re.IGNORECASE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


class Section(NamedTuple):
    """A heading and what stands under it, up to the next heading."""

    level: int
    title: str
    anchor: str
    """Empty for the page's title."""
    text: str
    """In plain words, on one line."""


class Article(NamedTuple):
    """A rendered page. Its first heading is not in the HTML: whoever shows it shows the title above it."""

    title: str
    html: Markup
    sections: tuple[Section, ...]
    """The first is the beginning of the page, under its title."""


def render_article(text: str, resolve: Resolve) -> Article:
    """The page; it begins with a heading of level 1. Comments are left out."""
    tokens = _reader.parse(visible(text))
    title = words_in(tokens[1])
    sections = [*_sections(tokens)]
    _furnish(tokens, sections, resolve)
    html = _reader.renderer.render(tokens[3:], _reader.options, {})
    return Article(title, Markup(_cleaner.clean(html)), tuple(sections))


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    anchors: dict[str, int] = {}
    starts = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        title = words_in(tokens[start + 1])
        anchor = _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-")
        anchors[anchor] = times = anchors.get(anchor, 0) + 1
        text = " ".join(filter(None, map(words_in, tokens[start + 2 : end])))
        yield Section(
            int(tokens[start].tag[1:]),
            title,
            _nth(anchor, times) if start else "",
            " ".join(text.split()),
        )


def _nth(anchor: str, times: int) -> str:
    return anchor if times == 1 else f"{anchor}-{times - 1}"


def _furnish(tokens: Sequence[Token], sections: Sequence[Section], resolve: Resolve) -> None:
    """Gives headings their ids and anchors, links their addresses, tables a name."""
    coming = iter(sections)
    here = sections[0]
    tables = 0
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            here = next(coming)
            token.attrs["id"] = here.anchor
            tokens[index + 1].children = [
                *_resolved(tokens[index + 1].children or [], resolve),
                Token("anchor", "a", 0, meta={"section": here}),
            ]
        elif token.type == "table_open":
            tables += 1
            token.meta["name"] = f"Table {tables}: {here.title}"
        elif token.type == "th_open":
            token.attrs["scope"] = "col"
        elif token.children and tokens[index - 1].type != "heading_open":
            token.children = [*_resolved(token.children, resolve)]


def _resolved(tokens: Sequence[Token], resolve: Resolve) -> Iterator[Token]:
    """What leads nowhere is no link."""
    is_link = True
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrs["href"])
            to = href if _ELSEWHERE.match(href) else resolve(href)
            is_link = to is not None
            token.attrs["href"] = to or ""
        if is_link or token.type not in ("link_open", "link_close"):
            yield token


class _Renderer(RendererHTML):
    """Tables in a region that scrolls, code beside its button, no comment."""

    def anchor(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        section: Section = tokens[index].meta["section"]
        name = escape(f"Link to {section.title}")
        return f'<a class="anchor" href="#{escape(section.anchor)}" aria-label="{name}">#</a>'

    def table_open(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        name = escape(tokens[index].meta["name"])
        return f'<div class="scroll-x" role="region" aria-label="{name}" tabindex="0"><table>'

    def table_close(self, *_: Any) -> str:
        return "</table></div>"

    def fence(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        token = tokens[index]
        lines = token.content.splitlines()
        commands = [line[2:] for line in lines if line.startswith("$ ")]
        if not token.info.startswith("console") or not commands:
            return _code(escape(token.content), token.content.rstrip("\n"))
        shown = Markup("\n").join(
            Markup('<span class="prompt">$ </span>%s') % line[2:]
            if line.startswith("$ ")
            else Markup('<span class="prompt">%s</span>') % line
            for line in lines
        )
        return _code(shown, "\n".join(commands))

    def code_block(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return _code(escape(tokens[index].content), tokens[index].content)

    def html_block(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return _unless_comment(tokens[index].content)

    def html_inline(self, tokens: Sequence[Token], index: int, *_: Any) -> str:
        return _unless_comment(tokens[index].content)


def _code(shown: Markup, copied: str) -> str:
    button = (
        '<button class="button" data-rank="quiet" data-shape="icon" data-copy="%s" type="button" aria-label="Copy"'
        ' title="Copy"><svg class="icon" aria-hidden="true"><use href="#i-copy"></use></svg></button>'
    )
    return f'<div class="code"><pre>{shown}</pre>{Markup(button) % copied}</div>'


def _unless_comment(html: str) -> str:
    """Elements in a page are text, as everywhere."""
    return "" if html.lstrip().startswith("<!--") else str(escape(html))


class _ArticleReader(Reader):
    def __init__(self) -> None:
        super().__init__("entity", "escape", "html_block", "html_inline", renderer=_Renderer, html=True)

    def validateLink(self, url: str) -> bool:
        return super().validateLink(url) or not _ELSEWHERE.match(url)


_reader = _ArticleReader()
_cleaner = nh3.Cleaner(
    tags=TAGS | {"button", "div", "h1", "h2", "h3", "h4", "h5", "h6", "span", "svg", "use"},
    attributes={
        "*": set(),
        "a": {"aria-label", "class", "href"},
        "button": {"aria-label", "class", "data-copy", "data-rank", "data-shape", "title", "type"},
        "div": {"aria-label", "class", "role", "tabindex"},
        **{f"h{level}": {"id"} for level in range(1, 7)},
        "ol": {"start"},
        "span": {"class"},
        "svg": {"aria-hidden", "class"},
        "th": {"scope"},
        "use": {"href"},
    },
    url_schemes=SCHEMES,
    link_rel=None,
)
