"""A person watches the log of events in Chromium while agents work."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from agentsroom.core.database import Database
from agentsroom.core.settings import Settings
from tests.support.browser import problems_of
from tests.support.server import WebServer
from tests.support.stdio import StdioServer

expect.set_options(timeout=20_000)


@pytest.fixture
def context(browser: Browser, server: WebServer) -> Iterator[BrowserContext]:
    """A browser that is logged in."""
    made = browser.new_context()
    made.new_page().goto(server.link)
    yield made
    made.close()


@pytest.fixture
def agent(home: Path, tmp_path: Path, server: WebServer) -> Iterator[StdioServer]:
    """A stdio process, in a folder of its own."""
    assert server.link
    folder = tmp_path / "ada"
    folder.mkdir()
    with StdioServer(home, folder) as started:
        started.initialize()
        yield started


def opened(context: BrowserContext, server: WebServer, query: str = "") -> Page:
    """The page once it is live."""
    page = context.new_page()
    page.goto(f"{server.url}/events{query}")
    expect(page.locator(".stream[data-state=online]")).to_contain_text("Live")
    page.evaluate("() => { window.isTheSamePage = true; }")
    return page


def is_the_same_page(page: Page) -> bool:
    return bool(page.evaluate("() => window.isTheSamePage === true"))


def kinds(page: Page) -> list[str]:
    """The kinds of the rows from the top."""
    return [text.strip() for text in page.locator("#events tr td:nth-child(2)").all_text_contents()]


def fill(home: Path, count: int) -> None:
    """Writes events as another process of the home would."""
    database = Database(Settings(home=str(home)))
    database.write(lambda work: [work.emit("room_resumed", "home", room=f"shared:{n}") for n in range(count)])
    database.close()


def test_what_happens_is_put_on_top_one_by_one(
    context: BrowserContext, server: WebServer, agent: StdioServer
) -> None:
    page = opened(context, server)
    problems = problems_of(page)
    assert kinds(page) == ["browser_logged_in", "agent_key_rotated"]
    joined = agent.call("room_join", room="front", label="<b>ada</b>")["session_id"]
    expect(page.locator("#events tr")).to_have_count(3)
    agent.call("lease_claim", session_id=joined, path="a.py")
    top = page.locator("#events tr").first
    expect(top).to_contain_text("lease_claimed")
    expect(top.locator("td.strong bdi")).to_have_text("<b>ada</b>")
    expect(top.locator("td.wide")).to_contain_text("ada/a.py, exclusive in")
    assert kinds(page) == ["lease_claimed", "session_joined", "browser_logged_in", "agent_key_rotated"]
    expect(page.locator(".stream")).to_contain_text("Live · 2 new", use_inner_text=True)
    expect(page.locator("#events-newest")).to_have_text("4")
    expect(page.locator("#events-summary")).to_contain_text("Rows 1 to 4,")
    assert is_the_same_page(page)
    assert problems == []


def test_a_filtered_page_takes_only_what_it_filters_for(
    context: BrowserContext, server: WebServer, agent: StdioServer
) -> None:
    leases, words = opened(context, server, "?kind=leases"), opened(context, server, "?q=ADA+lease")
    joined = agent.call("room_join", room="front", label="ada")["session_id"]
    expect(leases.locator("#events-empty")).to_be_visible()
    agent.call("lease_claim", session_id=joined, path="one.py")
    for page in (leases, words):
        expect(page.locator("#events tr")).to_have_count(1)
        expect(page.locator("#events-empty")).to_have_count(0)
        assert kinds(page) == ["lease_claimed"]
        expect(page.locator(".stream")).to_contain_text("1 new")


def test_an_older_page_does_not_move_and_counts_what_is_new(
    context: BrowserContext, server: WebServer, home: Path, agent: StdioServer
) -> None:
    fill(home, 70)
    page = opened(context, server, "?before=30")
    before = page.locator("#events").inner_html()
    agent.call("room_join", room="front")
    expect(page.locator(".stream")).to_contain_text("1 new")
    assert page.locator("#events").inner_html() == before
    page.get_by_role("link", name="Newer").click()
    expect(page.locator("#events tr").first).to_contain_text("session_joined")
    expect(page.get_by_role("link", name="Newer")).to_be_disabled()


def test_a_page_that_missed_much_is_read_again(
    context: BrowserContext, server: WebServer, home: Path
) -> None:
    page = opened(context, server)
    fill(home, 300)
    expect(page.locator("#events tr").first).to_contain_text("shared:299")
    expect(page.locator("#events tr")).to_have_count(60)
    assert is_the_same_page(page)


def test_a_page_that_is_open_for_long_lets_its_oldest_rows_go(
    context: BrowserContext, server: WebServer, home: Path
) -> None:
    page = opened(context, server)
    database = Database(Settings(home=str(home)))
    for number in range(1, 6):
        database.write(
            lambda work: [work.emit("room_resumed", "home", room=f"shared:{n}") for n in range(50)]
        )
        expect(page.locator(".stream")).to_contain_text(f"{number * 50} new")
    database.close()
    rows = page.locator("#events tr")
    expect(rows).to_have_count(240)
    oldest = int(rows.last.get_attribute("data-row") or 0)
    page.get_by_role("link", name="Older").click()
    expect(page.locator("#events tr").first).to_have_attribute("data-row", str(oldest - 1))


def test_swaps_keep_what_is_typed_and_where_one_reads(
    context: BrowserContext, server: WebServer, home: Path, agent: StdioServer
) -> None:
    fill(home, 70)
    page = opened(context, server)
    page.keyboard.press("/")
    page.keyboard.type("half ty")
    page.locator("#event-20").scroll_into_view_if_needed()
    seen = page.locator("#event-40").bounding_box()
    agent.call("room_join", room="front")
    expect(page.locator("#events tr").first).to_contain_text("session_joined")
    now = page.locator("#event-40").bounding_box()
    assert seen is not None
    assert now is not None
    assert abs(seen["y"] - now["y"]) < 2
    page.keyboard.type("ped")
    expect(page.get_by_role("searchbox")).to_have_value("half typed")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/events?q=half+typed")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


def test_without_javascript_one_filters_searches_and_turns_pages(
    browser: Browser, server: WebServer, home: Path
) -> None:
    fill(home, 130)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.link)
    page.goto(f"{server.url}/events")
    expect(page.get_by_role("columnheader").first).to_have_text("Time, UTC", use_inner_text=True)
    expect(page.locator("#events tr")).to_have_count(60)
    page.get_by_role("link", name="Older").click()
    page.get_by_role("link", name="Older").click()
    expect(page.locator("#events tr").last).to_contain_text("agent_key_rotated")
    page.get_by_role("link", name="Access").click()
    assert kinds(page) == ["browser_logged_in", "agent_key_rotated"]
    page.get_by_role("searchbox").fill("login")
    page.get_by_role("searchbox").press("Enter")
    expect(page).to_have_url(f"{server.url}/events?q=login&kind=access")
    assert kinds(page) == ["browser_logged_in"]
    context.close()


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_no_page_is_wider_than_its_window(
    context: BrowserContext, server: WebServer, home: Path, width: int
) -> None:
    database = Database(Settings(home=str(home)))
    database.write(
        lambda work: work.emit("lease_released", "home", session="f" * 16, path="/" + "x" * 300, rooms=[])
    )
    database.write(lambda work: work.emit("of_a_later_release", "home", text="y" * 300))
    database.close()
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    for query in ("", "?q=nothing", "?kind=rooms&before=2"):
        page.goto(f"{server.url}/events{query}")
        assert page.evaluate("() => document.scrollingElement.scrollWidth") == width
