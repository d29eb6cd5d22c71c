"""A person watches a room in Chromium while agents, each a process of its own, work in it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.support.browser import problems_of
from tests.support.server import WebServer
from tests.support.stdio import StdioServer


class Agent:
    """A stdio process that joined the room `front`."""

    def __init__(self, server: StdioServer, label: str) -> None:
        self._server = server
        self._server.initialize()
        self.id = server.call("room_join", room="front", label=label)["session_id"]

    def send(self, body: str, to: str = "*") -> int:
        message: int = self("msg_send", to=to, body=body)["message_id"]
        return message

    def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        answer: dict[str, Any] = self._server.call(tool, session_id=self.id, **arguments)
        return answer


@pytest.fixture
def agents(home: Path, tmp_path: Path, server: WebServer) -> Iterator[tuple[Agent, Agent]]:
    """ada and bob."""
    assert server.link
    with ExitStack() as stack:
        joined = []
        for label in ("ada", "bob"):
            folder = tmp_path / label
            folder.mkdir()
            joined.append(Agent(stack.enter_context(StdioServer(home, folder)), label))
        yield joined[0], joined[1]


@pytest.fixture
def context(browser: Browser, server: WebServer) -> Iterator[BrowserContext]:
    """A browser that is logged in."""
    made = browser.new_context()
    made.new_page().goto(server.link)
    yield made
    made.close()


def opened(context: BrowserContext, server: WebServer, path: str = "/rooms/shared:front") -> Page:
    """The page once it is live."""
    page = context.new_page()
    page.goto(server.url + path)
    expect_live(page)
    page.evaluate("() => { window.isTheSamePage = true; }")
    return page


expect.set_options(timeout=20_000)


def expect_live(page: Page) -> None:
    expect(page.locator(".stream[data-state=online]")).to_have_text("Live")


def is_the_same_page(page: Page) -> bool:
    return bool(page.evaluate("() => window.isTheSamePage === true"))


def test_what_agents_do_appears_while_one_looks(
    context: BrowserContext, server: WebServer, agents: tuple[Agent, Agent]
) -> None:
    ada, bob = agents
    page = opened(context, server)
    problems = problems_of(page)
    expect(page.locator("#history-empty")).to_be_visible()

    message = ada.send("Who has feed.py?")
    row = page.locator(f"#message-{message}")
    expect(row).to_contain_text("Who has feed.py?")
    expect(page.locator("#history-empty")).to_have_count(0)
    expect(row.locator(".delivery[data-state=stored]")).to_contain_text("bob")
    expect(page.locator("#summary")).to_contain_text("1 message")

    bob("msg_recv")
    expect(row.locator(".delivery[data-state=read]")).to_contain_text("bob")
    bob("msg_ack", message_id=message)
    expect(row.locator(".delivery[data-state=acked]")).to_contain_text("bob")

    bob("lease_claim", path="feed.py")
    expect(page.locator("#leases")).to_contain_text("feed.py")
    bob("room_leave")
    expect(page.locator("#leases")).not_to_contain_text("feed.py")
    expect(page.locator("#who .row")).to_have_count(1)

    ids = [ada.send(f"number {number}") for number in range(3)]
    expect(page.locator(".message")).to_have_count(4)
    shown = page.locator(".message").evaluate_all("(all) => all.map((one) => one.id)")
    assert shown == [f"message-{one}" for one in [message, *ids]]
    assert is_the_same_page(page)
    assert problems == []


def test_what_happened_between_the_page_and_its_stream_is_not_lost(
    context: BrowserContext, server: WebServer, agents: tuple[Agent, Agent]
) -> None:
    page = context.new_page()

    def send_first(route: Route) -> None:
        agents[0].send("in between")
        route.continue_()

    page.route("**/live?*", send_first)
    page.goto(f"{server.url}/rooms/shared:front")
    expect(page.locator(".message")).to_contain_text("in between")
    expect(page.locator(".message")).to_have_count(1)


def test_the_list_of_rooms_is_live(
    context: BrowserContext, server: WebServer, home: Path, tmp_path: Path
) -> None:
    page = opened(context, server, "/rooms")
    problems = problems_of(page)
    expect(page.get_by_role("heading", name="No agent has joined a room")).to_be_visible()
    with StdioServer(home, tmp_path) as process:
        ada = Agent(process, "ada")
        expect(page.locator("#room-shared-front")).to_contain_text("1 alive of 1")
        ada.send("hello")
        expect(page.locator("#room-shared-front")).to_contain_text("hello")
    assert is_the_same_page(page)
    assert problems == []


def test_an_older_page_takes_no_new_messages(
    context: BrowserContext, server: WebServer, agents: tuple[Agent, Agent]
) -> None:
    ada, bob = agents
    first, second = ada.send("one"), ada.send("two")
    page = opened(context, server, f"/rooms/shared:front?before={second}")
    bob("msg_recv")
    ada.send("three")
    expect(page.locator(f"#message-{first} .delivery[data-state=read]")).to_have_count(1)
    expect(page.locator("#summary")).to_contain_text("3 messages")
    expect(page.locator(".message")).to_have_count(1)


def test_a_page_comes_back_with_its_server_and_reads_what_it_missed(
    context: BrowserContext, server: WebServer, agents: tuple[Agent, Agent], home: Path
) -> None:
    port = str(server.running["port"])
    page = opened(context, server)
    server.process.terminate()
    server.process.wait()
    expect(page.locator(".stream[data-state=reconnecting]")).to_have_text("Connecting again")
    agents[0].send("while nobody served")
    with WebServer(home, AGENTS_ROOM_PORT=port):
        expect_live(page)
        expect(page.locator(".message")).to_contain_text("while nobody served")
        expect(page.locator(".message")).to_have_count(1)
        assert is_the_same_page(page)


def test_signing_out_ends_every_page_of_the_browser(
    context: BrowserContext, server: WebServer, agents: tuple[Agent, Agent]
) -> None:
    assert agents
    left_open = opened(context, server)
    page = opened(context, server, "/rooms")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{server.url}/login")
    expect(left_open.locator(".stream[data-state=gone]")).to_have_text("Signed out")


def test_without_javascript_one_signs_in_reads_and_signs_out(browser: Browser, server: WebServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.url}/rooms")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#token-error")).to_contain_text("not the token")
    page.get_by_label("Token").fill(server.running["token"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{server.url}/rooms")
    expect(page.locator(".stream")).to_have_text("Not live")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{server.url}/login")
    context.close()
