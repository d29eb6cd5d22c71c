"""With JavaScript off a person reads, searches, writes, caps, pauses and exports: every page and form works."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.server import WebServer
from tests.support.watching import ROOM, Agent

Agents = tuple[Agent, Agent]


@pytest.fixture
def page(plain: BrowserContext, server: WebServer, agents: Agents) -> Page:
    """The room's page without scripts; ada and bob are there."""
    assert agents
    opened = plain.new_page()
    opened.goto(server.url + ROOM)
    return opened


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


def test_one_reads_searches_and_turns_to_older_pages(page: Page, agents: Agents) -> None:
    ada, bob = agents
    ids = [ada.send(f"number {number}") for number in range(130)]
    answer = bob.send("an answer", ada.id, reply_to=ids[-1])
    page.reload()
    rows = page.locator("#history .message")
    expect(rows).to_have_count(60)
    for first in (71 - 60, 71 - 120):
        page.get_by_role("link", name="Older messages").click()
        expect(rows.last).to_contain_text(f"number {first + 59}")
    expect(rows).to_have_count(11)
    expect(page.get_by_role("link", name="Older messages")).to_have_count(0)
    page.get_by_role("link", name="To the newest messages").click()
    expect(rows.last).to_contain_text("an answer")

    page.get_by_role("link", name=f"replies to {ids[-1]}").click()
    expect(rows).to_have_count(2)
    expect(page.locator("#history")).to_contain_text(f"conversation of message {answer}")

    page.get_by_role("searchbox").fill("77")
    page.get_by_role("searchbox").press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("number 77")
    page.get_by_role("searchbox").fill("nowhere to be found")
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("heading", name="Nothing holds these words")).to_be_visible()


def test_one_asks_why_a_message_is_where_it_is(page: Page, agents: Agents) -> None:
    message = agents[0].send("May I?")
    page.reload()
    page.locator("summary", has_text="why not read?").click()
    page.get_by_role("link", name="What stands in the way").click()
    expect(page.get_by_role("heading", name="Where it is, and why")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("bob")
    page.get_by_role("link", name="shared:front").click()
    expect(page.locator(f"#message-{message}")).to_contain_text("May I?")


def test_one_writes_and_answers(page: Page, server: WebServer, agents: Agents) -> None:
    ada, bob = agents
    asked = ada.send("May I?")
    page.reload()
    page.get_by_role("link", name=f"reply to message {asked}").click()
    expect(page.locator("#answered")).to_contain_text(f"Replies to {asked}")
    expect(page.get_by_role("combobox", name="To")).to_have_value(ada.id)
    page.get_by_role("textbox", name="Message").fill("You may\nof course")
    page.get_by_role("button", name="Send").click()
    expect(page).to_have_url(f"{server.url}{ROOM}#message-{asked + 1}")
    expect(page.locator(f"#message-{asked + 1}")).to_contain_text(f"replies to {asked}")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    page.reload()  # a reload sends nothing again
    expect(page.locator("#history .message")).to_have_count(2)
    assert [message["body"] for message in ada("msg_recv")["messages"]] == ["You may\nof course"]
    assert [message["body"] for message in bob("msg_recv")["messages"]] == ["May I?"]


def test_what_is_refused_stays_in_the_form_with_the_reason(page: Page, agents: Agents) -> None:
    asked = agents[0].send("May I?")
    page.reload()
    page.get_by_role("link", name=f"reply to message {asked}").click()
    page.get_by_role("combobox", name="To").fill("nobody")
    page.get_by_role("textbox", name="Message").fill("half\ntyped <b>")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody here is called 'nobody'")
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_value("half\ntyped <b>")
    expect(page.get_by_role("combobox", name="To")).to_have_value("nobody")
    page.get_by_role("combobox", name="To").fill("ada")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(f"#message-{asked + 1}")).to_contain_text(f"replies to {asked}")


def test_one_caps_pauses_and_resumes(page: Page, server: WebServer, agents: Agents) -> None:
    assert agents
    page.get_by_label("Cap").select_option("hold")
    page.get_by_role("button", name="Set").click()
    expect(page).to_have_url(server.url + ROOM)
    expect(page.get_by_label("Cap")).to_have_value("hold")
    page.get_by_role("button", name="Pause room").click()
    expect(page.locator("#room-paused")).to_contain_text("Paused by the overseer")
    page.get_by_role("textbox", name="Message").fill("for later")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#history .message")).to_have_count(1)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#room-paused .banner")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause room")).to_be_visible()


def test_one_looks_further_back_and_exports(page: Page, agents: Agents, tmp_path: Path) -> None:
    ada, bob = agents
    bob("lease_claim", path="feed.py")
    sent = [ada.send("one"), ada.send("two")]
    page.reload()
    for span in ("1 h", "1 day", "3 h"):
        page.get_by_role("navigation", name="Span").get_by_role("link", name=span).click()
        expect(page.get_by_role("img", name=f"Leases of the last {span}")).to_be_visible()
        expect(page.locator("#lease-timeline a[aria-current=true]")).to_have_text(span)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as JSON Lines").click()
    kept = tmp_path / "export.jsonl"
    download.value.save_as(kept)
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    bodies = [line["body"] for line in lines if "body" in line]
    assert bodies == ["one", "two"]
    assert len(sent) == 2
