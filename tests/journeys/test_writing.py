"""The overseer writes, answers, caps and pauses, with a mouse or by keys alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.browser import problems_of
from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.watching import Agent, Watched

Agents = tuple[Agent, Agent]
Watch = Callable[..., Watched]


def problem(one: Watched) -> str:
    """What the form says is wrong, once it says something."""
    expect(one.page.locator("#compose-problem .error")).to_be_visible()
    return one.page.locator("#compose-problem").inner_text()


def tab_to(page: Page, selector: str) -> None:
    """Reaches it by Tab, and sees that each stop on the way is seen and shows the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            "(selector) => { const one = document.activeElement; const style = getComputedStyle(one);"
            " const around = one.closest('.compose, .search');"
            " const shows = [one, around].some((part) => part && (getComputedStyle(part).outlineStyle !== 'none'"
            "   || getComputedStyle(part).boxShadow !== 'none'));"
            " return { is: one.matches(selector), shows, what: one.outerHTML.slice(0, 80),"
            "   seen: one === document.body || style.visibility === 'visible' && one.getClientRects().length > 0 };"
            " }",
            selector,
        )
        assert stop["seen"], stop
        assert stop["shows"] or stop["what"].startswith("<body"), stop
        if stop["is"]:
            return
    raise AssertionError(f"Tab does not reach {selector}")


def test_a_message_is_written_and_its_form_is_empty_again(watched: Watch, agents: Agents) -> None:
    _, bob = agents
    one = watched().open()
    problems = problems_of(one.page)
    one.field.fill("Use **main**\nfrom now on")
    one.field.press("Control+Enter")
    expect(one.rows).to_have_count(1)
    expect(one.field).to_have_value("")
    expect(one.field).to_be_focused()
    expect(one.page.locator("#toasts")).to_contain_text("Sent to 2 sessions")
    told = bob("msg_recv")["messages"][0]
    assert told["body"] == "Use **main**\nfrom now on"
    one.page.reload()
    expect(one.field).to_have_value("")
    assert problems == []


def test_a_key_that_is_held_sends_once(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()
    one.field.fill("once")
    one.field.evaluate("(field) => { for (let time = 0; time < 3; time++) field.form.requestSubmit(); }")
    expect(one.rows).to_have_count(1)
    expect(one.field).to_have_value("")
    one.field.fill("then another")
    one.field.press("Control+Enter")
    expect(one.rows).to_have_count(2)
    expect(one.rows.last).to_contain_text("then another")
    one.expect_right([1, 2])


def test_what_is_typed_while_a_message_is_under_way_stays(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()

    def type_on(route: Route) -> None:
        answer = route.fetch()
        one.page.keyboard.type(" and the next")
        route.fulfill(response=answer)

    one.page.route("**/rooms/messages/**", type_on)
    one.field.fill("the first")
    one.field.press("Control+Enter")
    expect(one.rows).to_have_count(1)
    expect(one.field).to_have_value(" and the next")
    expect(one.field).to_be_focused()


@pytest.mark.parametrize(
    ("to", "said"),
    [("nobody", "Nobody here is called 'nobody'"), ("twin", "2 here are called 'twin'")],
)
def test_what_is_refused_stays_in_the_form_with_the_reason(
    watched: Watch, home: Path, tmp_path: Path, agents: Agents, to: str, said: str
) -> None:
    assert agents
    one = watched().open()
    with StdioServer(home, tmp_path) as first, StdioServer(home, tmp_path) as second:
        twins = [Agent(process, "twin") for process in (first, second)]
        expect(one.page.locator("#who .row")).to_have_count(4)
        one.field.fill("for one of you")
        one.page.get_by_role("combobox", name="To").fill(to)
        one.field.press("Control+Enter")
        assert said in problem(one)
        expect(one.field).to_have_value("for one of you")
        expect(one.field).to_be_focused()
        expect(one.rows).to_have_count(0)
        one.page.reload()
        expect(one.field).to_have_value("for one of you")
        one.page.get_by_role("combobox", name="To").fill(twins[1].id)
        one.field.press("Control+Enter")
        expect(one.rows).to_have_count(1)
        assert [message["body"] for message in twins[1]("msg_recv")["messages"]] == ["for one of you"]
        assert twins[0]("msg_recv")["messages"] == []
        expect(one.page.locator("#compose-problem .error")).to_have_count(0)


def test_a_draft_outlives_a_reload_and_is_gone_once_it_is_sent(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()
    one.field.press_sequentially("a draft")
    one.page.reload()
    expect(one.field).to_have_value("a draft")
    one.expect_live()
    one.field.press("Control+Enter")
    expect(one.rows).to_have_count(1)
    one.page.reload()
    expect(one.rows).to_have_count(1)
    expect(one.field).to_have_value("")


def test_a_server_that_is_gone_leaves_the_text_and_says_so(
    watched: Watch, server: WebServer, agents: Agents
) -> None:
    assert agents
    one = watched().open()
    server.process.kill()
    server.process.wait()
    one.expect_state("reconnecting")
    one.field.fill("to nobody yet")
    one.field.press("Control+Enter")
    expect(one.page.locator("#toasts")).to_contain_text("The server did not answer")
    expect(one.field).to_have_value("to nobody yet")
    expect(one.field).to_be_focused()
    one.page.get_by_role("button", name="Pause room").click()
    expect(one.page.locator("#toasts p")).to_have_count(2)


@pytest.mark.parametrize("way", ["link", "key"])
def test_the_overseer_answers_a_message(watched: Watch, agents: Agents, way: str) -> None:
    ada, _ = agents
    asked = ada.send("May I?")
    one = watched().open()
    if way == "link":
        one.row(asked).get_by_role("link", name="reply", exact=False).last.click()
    else:
        one.page.keyboard.press("j")
        expect(one.row(asked)).to_be_focused()
        one.page.keyboard.press("r")
    expect(one.field).to_be_focused()
    expect(one.page.locator("#answered")).to_contain_text(f"Replies to {asked}")
    expect(one.page.get_by_role("combobox", name="To")).to_have_value(ada.id)
    one.page.keyboard.type("You may")
    one.page.keyboard.press("Control+Enter")
    answer = one.row(asked + 1)
    expect(answer).to_contain_text(f"replies to {asked}")
    expect(one.page.locator("#answered")).to_be_hidden()
    expect(one.page.get_by_role("combobox", name="To")).to_have_value("*")
    told = ada("msg_recv")["messages"]
    assert [(message["body"], message["reply_to"]) for message in told] == [("You may", asked)]
    last = ada.send("Thanks", "overseer", reply_to=asked + 1)
    expect(one.row(last)).to_contain_text("Thanks")
    one.row(last).focus()
    one.page.keyboard.press("r")
    expect(one.page.get_by_role("combobox", name="To")).to_have_value(ada.id)
    one.expect_right([asked, asked + 1, last])


def test_taking_an_answer_back_keeps_what_was_typed(watched: Watch, agents: Agents) -> None:
    asked = agents[0].send("May I?")
    one = watched().open()
    one.row(asked).focus()
    one.page.keyboard.press("r")
    one.page.keyboard.type("half typed")
    one.page.get_by_role("link", name="Take back").click()
    expect(one.page.locator("#answered")).to_be_hidden()
    expect(one.page.get_by_role("combobox", name="To")).to_have_value("*")
    expect(one.field).to_have_value("half typed")
    expect(one.field).to_be_focused()


def test_the_cap_is_the_same_in_two_tabs_whoever_sets_it(watched: Watch, agents: Agents) -> None:
    assert agents
    one, other = watched().open(), watched().open()
    for tab, seen, level in ((one, other, "hold"), (other, one, "notify"), (one, other, "wake")):
        tab.page.get_by_label("Cap").focus()
        tab.page.get_by_label("Cap").select_option(level)
        expect(seen.page.get_by_label("Cap")).to_have_value(level)
        expect(tab.page.get_by_label("Cap")).to_have_value(level)
        expect(tab.page.locator("#toasts")).to_contain_text(f"above {level} here")
        expect(tab.page.get_by_label("Cap")).to_be_focused()
    for tab in (one, other):
        tab.expect_right([])


def test_a_room_is_paused_in_one_tab_and_resumed_in_the_other(watched: Watch, agents: Agents) -> None:
    ada, _ = agents
    one, other = watched().open(), watched().open()
    for _ in range(2):
        one.page.get_by_role("button", name="Pause room").click()
        expect(one.page.get_by_role("button", name="Resume")).to_be_focused()
        expect(other.page.locator("#room-paused")).to_contain_text("Paused by the overseer")
        expect(other.page.get_by_role("button", name="Pause room")).to_have_count(0)
        other.page.get_by_role("button", name="Resume").click()
        expect(one.page.locator("#room-paused .banner")).to_have_count(0)
        expect(one.page.get_by_role("button", name="Pause room")).to_be_focused()
    sent = [ada.send("after it")]
    one.expect_right(sent)
    other.expect_right(sent)


def test_who_stands_at_the_top_of_the_page_sees_that_the_room_is_paused(
    watched: Watch, agents: Agents
) -> None:
    for number in range(20):
        agents[0].send(f"number {number}")
    one, other = watched().open(), watched().open()
    one.page.evaluate("() => scrollTo(0, 0)")
    other.page.get_by_role("button", name="Pause room").click()
    expect(one.page.get_by_role("button", name="Resume")).to_be_in_viewport()


def test_a_message_into_a_paused_room_says_that_it_waits(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()
    one.page.get_by_role("button", name="Pause room").click()
    expect(one.page.get_by_role("button", name="Resume")).to_be_visible()
    one.field.fill("for later")
    one.field.press("Control+Enter")
    expect(one.page.locator("#toasts")).to_contain_text("Sent to 2 sessions")
    expect(one.rows).to_have_count(1)
    expect(one.page.locator(".day[data-tone=wait]")).to_have_count(1)


def test_single_keys_walk_the_room(watched: Watch, agents: Agents) -> None:
    ada, _ = agents
    ids = [ada.send(f"number {number}") for number in range(3)]
    one = watched().open()
    keys = one.page.keyboard
    keys.press("j")
    expect(one.row(ids[2])).to_be_focused()
    keys.press("k")
    keys.press("k")
    keys.press("k")
    expect(one.row(ids[0])).to_be_focused()
    keys.press("j")
    expect(one.row(ids[1])).to_be_focused()
    keys.press("y")
    why = one.row(ids[1]).locator("details")
    expect(why.locator("dl")).to_contain_text("bob")
    expect(one.row(ids[1])).to_be_focused()
    keys.press("y")
    expect(why.locator("dl")).to_be_hidden()
    keys.press("/")
    expect(one.page.get_by_role("searchbox")).to_be_focused()
    keys.type("jk?gw/")
    expect(one.page.get_by_role("searchbox")).to_have_value("jk?gw/")
    one.row(ids[1]).focus()
    keys.press("c")
    expect(one.field).to_be_focused()
    one.row(ids[1]).focus()
    keys.press("?")
    sheet = one.page.get_by_role("dialog", name="Keys")
    expect(sheet).to_be_visible()
    keys.press("j")
    keys.press("c")
    keys.press("Escape")
    expect(sheet).to_be_hidden()
    expect(one.row(ids[1])).to_be_focused()
    keys.press("g")
    keys.press("w")
    one.page.wait_for_url("**/wiki")
    keys.press("g")
    keys.press("r")
    one.page.wait_for_url("**/rooms")


def test_everything_is_reached_by_tab_and_the_focus_is_never_lost(watched: Watch, agents: Agents) -> None:
    ada, _ = agents
    message = ada.send("May I?")
    one = watched().open()
    keys = one.page.keyboard
    one.page.evaluate("() => scrollTo(0, 0)")
    tab_to(one.page, ".skip")
    keys.press("Enter")
    tab_to(one.page, "#pause button")
    keys.press("Enter")
    expect(one.page.get_by_role("button", name="Resume")).to_be_focused()
    keys.press("Enter")
    expect(one.page.get_by_role("button", name="Pause room")).to_be_focused()
    tab_to(one.page, "#lease-timeline a[href$='span=1h']")
    tab_to(one.page, f"#message-{message} [data-reply]")
    tab_to(one.page, f"#message-{message} summary")
    keys.press("Enter")
    expect(one.row(message).locator("dl")).to_be_visible()
    expect(one.row(message).locator("summary")).to_be_focused()
    agents[1]("msg_recv")
    expect(one.row(message).locator(".delivery[data-state=read]")).to_have_count(1)
    expect(one.page.locator("body")).not_to_be_focused()
    tab_to(one.page, "#compose textarea")
    keys.type("You may")
    tab_to(one.page, "#compose input[name=to]")
    tab_to(one.page, "#compose button[type=submit]")
    keys.press("Enter")
    expect(one.rows).to_have_count(2)
    expect(one.field).to_be_focused()
    tab_to(one.page, "#cap")
    keys.press("ArrowUp")
    expect(one.page.locator("#toasts")).to_contain_text("above hold here")
    expect(one.page.locator("#cap")).to_be_focused()


def test_the_link_to_older_messages_keeps_the_focus_near(watched: Watch, agents: Agents) -> None:
    ada, _ = agents
    ids = [ada.send(f"number {number}") for number in range(65)]
    one = watched().open()
    older = one.page.locator("#older a")
    older.evaluate("(link) => link.focus({ preventScroll: true })")
    one.page.keyboard.press("Enter")
    expect(one.rows).to_have_count(65)
    expect(one.row(ids[0])).to_be_focused()


def test_a_form_that_fails_says_so(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()
    body = json.dumps({"error": {"code": "internal", "message": "x"}})
    one.page.route(
        "**/rooms/pause/**",
        lambda route: route.fulfill(status=500, content_type="application/json", body=body),
    )
    pause = one.page.get_by_role("button", name="Pause room")
    pause.click()
    expect(one.page.locator("#toasts")).to_contain_text("refused")
    expect(pause).to_be_focused()
