"""/wiki and /wiki/NAME: the shipped pages as a person reads them, and a search through them."""

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from flask import Blueprint, Response, make_response, render_template, request, session
from flask_wtf.csrf import generate_csrf

from agentsroom.access.routes import allow
from agentsroom.core.article import Article, render_article
from agentsroom.core.errors import InvalidArgument, NotFound
from agentsroom.core.markdown import visible
from agentsroom.core.text import counted
from agentsroom.gateways.errors import wants_page
from agentsroom.gateways.wiki import WikiPage, find_page, wiki_pages
from agentsroom.gateways.wiki_search import search

GROUPS = {
    "Start": ("Home", "Connect", "Glossary"),
    "How it works": ("Protocol", "Architecture"),
    "Run it": ("Settings", "Security", "Speed"),
    "Reference": ("Tools", "CLI", "API", "MCP", "Events", "Errors"),
}
"""The pages as a reader meets them; one that is not named here stands under `More`."""
MOST_LOOKED_FOR = 200
"""Characters of a search."""

_FIRST = "Home"


class Place(NamedTuple):
    """A page in the list of pages."""

    name: str
    title: str
    url: str


class Shelf(NamedTuple):
    """Every page in its group, and the one that is open."""

    groups: dict[str, list[Place]]
    here: str | None

    @property
    def neighbours(self) -> tuple[Place | None, Place | None]:
        """The pages before and after the open one."""
        places = [place for group in self.groups.values() for place in group]
        at = next(number for number, place in enumerate(places) if place.name == self.here)
        return (places[at - 1] if at else None, places[at + 1] if at + 1 < len(places) else None)


def wiki_routes() -> Blueprint:
    """For the person at the browser; agents read the pages as resources."""
    routes = Blueprint("wiki", __name__)

    @routes.get("/wiki")
    @allow("admin")
    def home() -> Response:
        query = request.args.get("q")
        return _answer(_page(_FIRST) if query is None else _results(query))

    @routes.get("/wiki/<name>")
    @allow("admin")
    def page(name: str) -> Response:
        try:
            find_page(name)
        except NotFound as missing:
            if not wants_page():
                raise
            shown = render_template("wiki/missing.html", shelf=shelf(), message=visible(missing.message))
            return make_response(shown, missing.status)
        return _answer(_page(name))

    return routes


def shelf(here: str | None = None) -> Shelf:
    """The pages in their groups."""
    pages = wiki_pages()
    named = {name for names in GROUPS.values() for name in names}
    groups = GROUPS | {"More": tuple(name for name in pages if name not in named)}
    return Shelf({title: list(_places(names, pages)) for title, names in groups.items() if names}, here)


def page_url(name: str) -> str:
    """The address of a page."""
    return f"/wiki/{quote(name)}"


def read_article(page: WikiPage) -> Article:
    """The page as its file is now."""
    return _article(page.path, page.path.stat().st_mtime_ns)


@functools.lru_cache(100)
def _article(path: Path, _changed_at: int) -> Article:
    return render_article(path.read_text(), _resolve)


def _resolve(link: str) -> str | None:
    """A link between two pages, as it works in the files too."""
    path, sign, anchor = link.partition("#")
    name = path.removesuffix(".md")
    if path and (name == path or name not in wiki_pages()):
        return None
    return (page_url(name) if path else "") + sign + anchor


def _places(names: tuple[str, ...], pages: dict[str, WikiPage]) -> Iterator[Place]:
    for name in names:
        if name in pages:
            yield Place(name, _title(pages[name]), page_url(name))


def _page(name: str) -> str:
    article = read_article(find_page(name))
    return render_template(
        "wiki/page.html",
        shelf=shelf(name),
        title=_title(wiki_pages()[name]),
        article=article,
        contents=[section for section in article.sections if section.level in (2, 3)],
    )


def _title(page: WikiPage) -> str:
    """The first page is headed with the product's name, which says nothing in a list."""
    return page.name if page.name == _FIRST else page.title


def _results(query: str) -> str:
    """Raises InvalidArgument."""
    if len(query) > MOST_LOOKED_FOR:
        raise InvalidArgument({"q": f"{len(query):,} characters came; at most {MOST_LOOKED_FOR} are taken"})
    pages = wiki_pages()
    found = search({name: read_article(page).sections for name, page in pages.items()}, query)
    summary = f"{counted(found.total, 'section')} of {counted(len(found.pages), 'page')}"
    return render_template(
        "wiki/search.html",
        shelf=shelf(),
        found=found,
        pages=pages,
        page_url=page_url,
        query=visible(query.strip()),
        summary=summary,
    )


def _answer(html: str) -> Response:
    """The page, or 304 for whoever has it; the token of its forms differs each time and counts by its login."""
    same = html.replace(generate_csrf(), session.get("csrf_token", ""))
    response = make_response(html)
    response.set_etag(hashlib.sha256(same.encode()).hexdigest()[:32], weak=True)
    response.make_conditional(request)
    return response
