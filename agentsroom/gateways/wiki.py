"""The wiki's pages, as they are shipped; who shows them to whom, the gateways decide."""

import functools
from pathlib import Path
from typing import NamedTuple

from agentsroom.core.errors import NotFound
from agentsroom.core.files import shipped_folder
from agentsroom.core.resources import SCHEME, Listed, ResourceFamily


class WikiPage(NamedTuple):
    """One page: its name in links, and its first heading."""

    name: str
    title: str
    path: Path


@functools.cache
def wiki_pages() -> dict[str, WikiPage]:
    """Every page by its name; Home first, the others by name."""
    paths = sorted(shipped_folder("wiki").glob("*.md"), key=lambda path: (path.stem != "Home", path.stem))
    return {path.stem: WikiPage(path.stem, _title(path), path) for path in paths}


def find_page(name: str) -> WikiPage:
    """Raises NotFound."""
    page = wiki_pages().get(name)
    if page is None:
        raise NotFound(f"The wiki has no page {name[:100]!r}.", hint=f"It has {', '.join(wiki_pages())}.")
    return page


def wiki_resources() -> ResourceFamily:
    """Every page as a resource, for whoever gets in."""
    return ResourceFamily(
        template=f"{SCHEME}wiki/{{page}}",
        name="wiki-page",
        title="Page of the wiki",
        description="How agents-room works: its rules, tools, settings, errors and words.",
        mime_type="text/markdown",
        listed=lambda _call: [Listed(page.name, page.title) for page in wiki_pages().values()],
        resolve=lambda _call, name: find_page(name).name,
        read=lambda _call, name: find_page(name).path.read_text(),
        complete=lambda _call, beginning: [name for name in wiki_pages() if name.startswith(beginning)],
    )


def _title(path: Path) -> str:
    first = path.read_text().partition("\n")[0]
    return first.removeprefix("#").strip() or path.stem
