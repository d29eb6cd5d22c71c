"""A page's one stream, whatever becomes of its server, its network and its tab: the page is right afterwards."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.support.browser import problems_of
from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.watching import Agent, Watched

Agents = tuple[Agent, Agent]
Watch = Callable[..., Watched]

SILENCE_MS = 45_000
CONNECT_MS = 10_000


@contextmanager
def stopped(server: WebServer) -> Iterator[None]:
    """The server is there, takes connections, and does nothing."""
    server.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def set_hidden(page: Page, hidden: bool) -> None:
    """As when another tab is shown."""
    page.evaluate(
        "(hidden) => {"
        " Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });"
        " Object.defineProperty(document, 'visibilityState',"
        "   { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def sends(route: Route, *events: tuple[str, object]) -> None:
    """Answers with a stream of these events that ends then."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    route.fulfill(status=200, content_type="text/event-stream", body=body)


def test_what_agents_do_appears_while_one_looks(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    one = watched().open()
    page = one.page
    problems = problems_of(page)
    expect(page.locator("#history-empty")).to_be_visible()

    message = ada.send("Who has feed.py?")
    row = one.row(message)
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
    one.expect_right([message, *ids])
    assert one.opened == 1
    assert problems == []


def test_two_tabs_show_what_agents_and_the_overseer_write(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    one, other = watched().open(), watched().open()
    first = ada.send("from ada")
    expect(other.row(first)).to_contain_text("from ada")
    one.field.fill("from the overseer")
    one.page.get_by_role("button", name="Send").click()
    for tab in (one, other):
        expect(tab.rows).to_have_count(2)
        expect(tab.rows.last).to_contain_text("from the overseer")
    told = bob("msg_recv")["messages"]
    assert [message["body"] for message in told] == ["from ada", "from the overseer"]
    other.field.fill("from the other tab")
    other.field.press("Control+Enter")
    expect(one.rows.last).to_contain_text("from the other tab")
    last = bob.send("from bob")
    for tab in (one, other):
        tab.expect_right(range(first, last + 1))
        assert tab.opened == 1


def test_what_happened_between_the_page_and_its_stream_is_not_lost(watched: Watch, agents: Agents) -> None:
    one = watched()

    def send_first(route: Route) -> None:
        agents[0].send("in between")
        route.continue_()

    one.page.route("**/live?*", send_first)
    one.open()
    expect(one.rows).to_contain_text("in between")
    expect(one.rows).to_have_count(1)


def test_the_list_of_rooms_is_live(watched: Watch, home: Path, tmp_path: Path) -> None:
    one = watched("/rooms").open()
    page = one.page
    problems = problems_of(page)
    expect(page.get_by_role("heading", name="No agent has joined a room")).to_be_visible()
    with StdioServer(home, tmp_path) as process:
        ada = Agent(process, "ada")
        expect(page.locator("#room-shared-front")).to_contain_text("1 alive of 1")
        ada.send("hello")
        expect(page.locator("#room-shared-front")).to_contain_text("hello")
    one.expect_right([])
    assert problems == []


@pytest.mark.parametrize("happened", ["nothing", "a message"])
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_page_comes_back_with_its_server(
    watched: Watch, server: WebServer, agents: Agents, home: Path, end: signal.Signals, happened: str
) -> None:
    ada = agents[0]
    port = str(server.running["port"])
    sent = [ada.send("before")]
    one = watched().open()
    one.expect_right(sent)
    server.process.send_signal(end)
    server.process.wait()
    one.expect_state("reconnecting")
    expect(one.sign).to_have_text("Connecting again")
    expect(one.notice).to_contain_text("Looking for the server again")
    if happened == "a message":
        sent.append(ada.send("while nobody served"))
    one.field.fill("half typed")
    with WebServer(home, AGENTS_ROOM_PORT=port):
        one.expect_live()
        expect(one.notice).to_be_empty()
        one.expect_right(sent)
        expect(one.field).to_have_value("half typed")
        one.field.press("Control+Enter")  # the new process takes the page's forms
        expect(one.rows.last).to_contain_text("half typed")
        one.expect_right([*sent, sent[-1] + 1])


def test_a_server_that_hangs_is_left_after_45_seconds_of_silence(
    watched: Watch, server: WebServer, agents: Agents
) -> None:
    one = watched()
    one.page.clock.install()
    one.open()
    with stopped(server):
        sent = agents[0].send("while it hung")
        one.page.clock.fast_forward(SILENCE_MS - 5_000)
        one.expect_state("online")
        one.page.clock.fast_forward(5_000)
        one.expect_state("reconnecting")
        one.page.clock.fast_forward(CONNECT_MS)
        expect(one.notice).to_contain_text("Looking for the server again")
    one.page.clock.fast_forward(60_000)
    one.expect_right([sent])
    expect(one.notice).to_be_empty()


def test_heartbeats_keep_a_quiet_stream(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched()
    one.page.clock.install()
    one.open()
    for _ in range(3):
        one.page.clock.fast_forward(SILENCE_MS - 5_000)
        one.page.evaluate(
            "() => document.getElementById('stream').dispatchEvent(new CustomEvent("
            "'htmx:sse:before:message', { bubbles: true, detail: { message: { event: 'heartbeat' } } }))"
        )
    one.expect_right([])
    assert one.opened == 1


def test_after_a_gap_the_page_is_read_again_and_keeps_what_was_scrolled_in(
    watched: Watch, server: WebServer, agents: Agents
) -> None:
    ada = agents[0]
    sent = [ada.send(f"number {number}") for number in range(70)]
    one = watched().open()
    one.page.locator("#older").scroll_into_view_if_needed()
    expect(one.rows).to_have_count(70)
    one.row(sent[3]).scroll_into_view_if_needed()
    place = one.top(sent[3])
    with stopped(server):
        sent += [ada.send(f"in the gap {number}") for number in range(110)]
    expect(one.notice).to_contain_text("missed some changes")
    one.expect_right(sent)
    assert one.top(sent[3]) == pytest.approx(place, abs=2)
    assert one.reads == 1


def test_a_message_that_comes_while_the_page_is_read_again_stands_there_once(
    watched: Watch, agents: Agents
) -> None:
    ada = agents[0]
    first = ada.send("before")
    one = watched().open()
    sent = [first]

    def hold_back(route: Route) -> None:
        sent.append(ada.send("while it is read"))
        answer = route.fetch()
        sent.append(ada.send("once it was read"))
        route.fulfill(response=answer)

    one.page.route("**/live/main?*", hold_back)
    one.page.evaluate("() => document.dispatchEvent(new CustomEvent('resync'))")
    expect(one.rows).to_have_count(3)
    one.expect_right(sent)
    expect(one.notice).to_contain_text("missed some changes")


def test_two_reasons_at_once_to_read_the_page_again_leave_one_stream(watched: Watch, agents: Agents) -> None:
    sent = [agents[0].send("before")]
    one = watched().open()
    one.page.evaluate(
        "() => { for (let time = 0; time < 3; time++) document.dispatchEvent(new CustomEvent('resync')); }"
    )
    sent.append(agents[0].send("after"))
    one.expect_right(sent)


def test_an_event_that_the_page_does_not_know_has_it_read_again(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched()
    one.page.route("**/live?*", lambda route: sends(route, ("novelty", {})), times=1)
    one.page.goto(one.url)
    one.mark()
    one.expect_right([])
    assert one.reads == 1


@pytest.mark.parametrize("status", [500, 503])
def test_a_first_answer_that_fails_is_asked_for_again(watched: Watch, agents: Agents, status: int) -> None:
    one = watched()
    one.page.route("**/live?*", lambda route: route.fulfill(status=status), times=1)
    one.page.route("**/live/main?*", lambda route: route.fulfill(status=status), times=2)
    one.page.clock.install()
    one.page.goto(one.url)
    one.mark()
    one.expect_state("reconnecting")
    sent = [agents[0].send("while it failed")]
    one.page.clock.run_for(12_000)
    one.expect_right(sent)
    assert one.reads == 3


def test_a_refused_first_connection_is_tried_again(watched: Watch, agents: Agents) -> None:
    one = watched()
    one.page.route("**/live?*", lambda route: route.abort("connectionrefused"), times=1)
    one.page.route("**/live/main?*", lambda route: route.abort("connectionrefused"), times=2)
    one.page.clock.install()
    one.page.goto(one.url)
    one.mark()
    one.expect_state("reconnecting")
    sent = [agents[0].send("while it failed")]
    one.page.clock.run_for(12_000)
    one.expect_right(sent)


def test_no_try_is_further_away_than_half_a_minute_and_a_quarter(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched()
    one.page.clock.install()
    one.open()
    one.page.evaluate(
        "() => { window.failed = 0; document.addEventListener('htmx:error', () => window.failed++); }"
    )
    one.page.route("**/live**", lambda route: route.abort("connectionrefused"))
    one.page.evaluate("() => document.dispatchEvent(new CustomEvent('resync'))")
    for failed in range(1, 8):
        one.page.wait_for_function("(failed) => window.failed >= failed", arg=failed)
        one.page.clock.fast_forward(37_500)
    one.page.wait_for_function("() => window.failed >= 8")
    one.expect_state("reconnecting")
    one.page.unroute("**/live**")
    one.page.get_by_role("button", name="Try now").click()
    one.expect_right([])


@pytest.mark.parametrize(("status", "words"), [(401, "Signed out"), (403, "Not allowed"), (404, "Not here")])
def test_a_page_that_one_may_not_see_any_more_says_so_and_asks_no_more(
    watched: Watch, agents: Agents, status: int, words: str
) -> None:
    assert agents
    one = watched()
    one.page.route("**/live?*", lambda route: route.fulfill(status=status))
    one.page.clock.install()
    one.page.goto(one.url)
    one.expect_state("gone")
    expect(one.sign).to_contain_text(words)
    expect(one.notice.get_by_role("link", name="Sign in")).to_be_visible()
    one.page.clock.run_for(120_000)
    set_hidden(one.page, True)
    set_hidden(one.page, False)
    one.expect_streams(0)
    assert one.opened == 1
    assert one.reads == 0


def test_signing_out_ends_every_page_of_the_browser(
    watched: Watch, server: WebServer, agents: Agents
) -> None:
    assert agents
    left_open = watched().open()
    left_open.field.fill("half typed")
    one = watched("/rooms").open()
    one.page.get_by_role("button", name="Sign out").click()
    expect(one.page).to_have_url(f"{server.url}/login")
    left_open.expect_state("gone")
    expect(left_open.sign).to_have_text("Signed out")
    expect(left_open.field).to_have_value("half typed")
    left_open.expect_streams(0)
    left_open.notice.get_by_role("link", name="Sign in").click()
    expect(left_open.page.get_by_label("Token")).to_be_visible()


def test_a_hidden_tab_lets_go_and_a_shown_one_is_right_at_once(watched: Watch, agents: Agents) -> None:
    one = watched()
    one.page.clock.install()
    one.open()
    one.page.clock.pause_at(one.page.evaluate("() => Date.now()") / 1_000 + 3)  # no wait would end
    sent = []
    for _ in range(3):
        set_hidden(one.page, True)
        one.expect_streams(0)
        sent.append(agents[0].send("while nobody looked"))
        set_hidden(one.page, False)
        one.page.clock.run_for(10)
        one.expect_right(sent)
    assert one.reads == 0


def test_a_tab_that_is_opened_in_the_background_takes_no_stream_until_it_is_shown(
    watched: Watch, agents: Agents
) -> None:
    one = watched()
    one.page.add_init_script(
        "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });"
    )
    one.page.goto(one.url)
    one.mark()
    sent = [agents[0].send("before it was shown")]
    expect(one.page.locator("[data-htmx-powered]").first).to_be_attached()
    one.expect_streams(0)
    set_hidden(one.page, False)
    one.expect_right(sent)


def test_a_page_that_the_browser_kept_is_read_again(watched: Watch, agents: Agents) -> None:
    one = watched().open()
    one.page.evaluate("() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    sent = [agents[0].send("after it")]
    one.expect_right(sent)
    assert one.reads == 1


def test_a_device_that_was_offline_comes_back(
    watched: Watch, context: BrowserContext, server: WebServer, home: Path, agents: Agents
) -> None:
    port = str(server.running["port"])
    one = watched().open()
    context.set_offline(True)
    one.expect_state("offline")
    server.process.kill()
    server.process.wait()
    expect(one.notice).to_contain_text("This device is offline")
    sent = [agents[0].send("meanwhile")]
    with WebServer(home, AGENTS_ROOM_PORT=port):
        context.set_offline(False)
        one.expect_right(sent)
        expect(one.notice).to_be_empty()


def test_a_stream_that_outlives_a_moment_offline_is_shown_as_live(
    watched: Watch, context: BrowserContext, agents: Agents
) -> None:
    one = watched().open()
    context.set_offline(True)
    one.expect_state("offline")
    context.set_offline(False)
    sent = [agents[0].send("after it")]
    one.expect_right(sent)
    expect(one.notice).to_be_empty()
