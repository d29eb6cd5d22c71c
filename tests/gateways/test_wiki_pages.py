"""The wiki in the browser, without JavaScript: every page, where its links lead, the search, what is not there."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from flask.testing import FlaskClient

from agentsroom.gateways.wiki import wiki_pages
from agentsroom.gateways.wiki_pages import GROUPS, shelf
from tests.support.stores import Store
from tests.support.web import PAGE, app_of, browser_of, log_in


class Seen(HTMLParser):
    """The ids, addresses and words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.current: list[str] = []
        self.labels: list[str | None] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(html)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        if tag == "a":
            self.links.append(given["href"] or "")
            self.current += [self.links[-1]] if given.get("aria-current") == "page" else []
        if given.get("role") == "region":
            self.labels.append(given["aria-label"])

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def browser(sqlite_store: Store) -> FlaskClient:
    client = browser_of(app_of(sqlite_store))
    log_in(client, sqlite_store)
    return client


def page(browser: FlaskClient, path: str, status: int = 200) -> Seen:
    response = browser.get(path, headers=PAGE)
    assert response.status_code == status
    return Seen(response.text)


def in_list(seen: Seen) -> list[str]:
    """The page that is open, by the list of pages."""
    return [link for link in seen.current if link.startswith("/wiki/")]


def test_every_page_is_shown_with_its_place_in_the_list(browser: FlaskClient) -> None:
    for name, shipped in wiki_pages().items():
        seen = page(browser, f"/wiki/{name}")
        assert in_list(seen) == [f"/wiki/{name}"]
        assert seen.tags.count("h1") == 1
        assert shipped.title in seen.words
        assert not re.search(r"<!--|-->|\[\[\[|\]\]\]", seen.words)


def test_every_link_and_anchor_leads_somewhere(browser: FlaskClient) -> None:
    pages = {f"/wiki/{name}": page(browser, f"/wiki/{name}") for name in wiki_pages()}
    pages["/wiki"] = page(browser, "/wiki")
    for address, seen in pages.items():
        assert len(seen.links) > len(pages)
        for link in seen.links:
            to = urlsplit(link)
            if to.scheme:
                assert to.scheme == "https"
                continue
            target = pages.get(to.path or address)
            if target is None:
                assert browser.get(link).status_code in (200, 302), f"{address} links to {link}"
            elif to.fragment:
                assert unquote(to.fragment) in target.ids, f"{address} links to {link}"


def test_no_two_elements_of_a_page_have_one_id_or_one_name(browser: FlaskClient) -> None:
    for name in wiki_pages():
        seen = page(browser, f"/wiki/{name}")
        assert len(seen.ids) == len(set(seen.ids)), name
        assert len(seen.labels) == len(set(seen.labels)) == seen.tags.count("table")


def test_the_wiki_opens_with_its_first_page(browser: FlaskClient) -> None:
    assert in_list(page(browser, "/wiki")) == ["/wiki/Home"]


def test_each_group_has_the_pages_that_it_names() -> None:
    assert {name for names in GROUPS.values() for name in names} <= set(wiki_pages())
    assert [place.name for group in shelf().groups.values() for place in group] != []
    assert {place.name for group in shelf().groups.values() for place in group} == set(wiki_pages())


def test_one_page_leads_to_the_next_and_back(browser: FlaskClient) -> None:
    way = ["/wiki/Home"]
    while after := re.search(r'href="([^"]+)">Next: ', browser.get(way[-1]).text):
        way.append(after[1])
        before = re.search(r'href="([^"]+)">Before: ', browser.get(after[1]).text)
        assert before is not None
        assert before[1] == way[-2]
    assert sorted(way) == sorted(f"/wiki/{name}" for name in wiki_pages())


@pytest.mark.parametrize("name", ["Nope", "home", "Home.md", "..", "<b>x", "a\x1bb"])
def test_an_unknown_page_is_not_found_and_shows_what_there_is(browser: FlaskClient, name: str) -> None:
    response = browser.get("/wiki/" + name.replace("\x1b", "%1B"), headers=PAGE)
    assert response.status_code == 404
    assert response.headers["Cache-Control"] == "no-store"
    seen = Seen(response.text)
    assert "b" not in seen.tags
    assert "\x1b" not in response.text
    assert {f"/wiki/{page}" for page in wiki_pages()} <= set(seen.links)


def test_a_program_is_told_of_an_unknown_page_in_json(browser: FlaskClient) -> None:
    response = browser.get("/wiki/Nope", headers={"Accept": "application/json"})
    assert response.status_code == 404
    assert response.json is not None
    assert response.json["error"]["code"] == "not_found"


def test_what_the_search_finds_is_there(browser: FlaskClient) -> None:
    seen = page(browser, "/wiki?q=lease+drift")
    hits = [link for link in seen.links if "#" in link and link != "#main"]
    assert "/wiki/Protocol#drift" in hits
    for hit in hits:
        to = urlsplit(hit)
        assert unquote(to.fragment) in page(browser, to.path).ids
    assert "mark" in seen.tags


def test_a_search_that_finds_nothing_says_what_would(browser: FlaskClient) -> None:
    seen = page(browser, "/wiki?q=lease+zzzz")
    assert "No section says “lease zzzz”" in seen.words
    assert "zzzz is nowhere" in seen.words
    assert "/wiki?q=lease" in seen.links
    assert "/wiki/Glossary" in page(browser, "/wiki?q=zzzz").links
    assert "Nothing to look for" in page(browser, "/wiki?q=").words


def test_what_was_looked_for_is_shown_as_it_is(browser: FlaskClient) -> None:
    response = browser.get("/wiki?q=<script>__ran(1)</script>{{7*7}}%1b%00", headers=PAGE)
    assert response.status_code == 200
    assert "<script>__ran" not in response.text
    assert "{{7*7}}␛␀" in response.text
    assert "\x1b" not in response.text


def test_a_search_has_a_length(browser: FlaskClient) -> None:
    assert browser.get("/wiki?q=" + "x" * 200).status_code == 200
    assert browser.get("/wiki?q=" + "x" * 201).status_code == 422


@pytest.mark.parametrize("path", ["/wiki", "/wiki/Tools", "/wiki?q=lease"])
def test_a_page_is_only_sent_again_when_it_changed(browser: FlaskClient, path: str) -> None:
    browser.get(path)
    first = browser.get(path)
    again = browser.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["Cache-Control"] == "private, no-cache"
    assert browser.get("/wiki/CLI", headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_another_login_gets_a_page_with_its_own_token(browser: FlaskClient, sqlite_store: Store) -> None:
    browser.get("/wiki")
    known = {"If-None-Match": browser.get("/wiki").headers["ETag"]}
    other = browser_of(browser.application)
    log_in(other, sqlite_store)
    other.get("/wiki")
    assert other.get("/wiki", headers=known).status_code == 200
    assert browser.get("/wiki", headers=known).status_code == 304
