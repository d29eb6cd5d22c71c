"""What a person has in hand survives what the stream changes: text, focus, place, selection, what is open."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import create_engine

from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.watching import ROOM, Agent, Watched

Agents = tuple[Agent, Agent]
Watch = Callable[..., Watched]

RESYNC = "() => document.dispatchEvent(new CustomEvent('resync'))"
LONG = "\n\n".join(f"Line {number} of a long report." for number in range(400))


@pytest.fixture
def third(home: Path, tmp_path: Path, agents: Agents) -> Iterator[Agent]:
    """cleo, so that a message has a recipient more."""
    assert agents
    folder = tmp_path / "cleo"
    folder.mkdir()
    with StdioServer(home, folder) as process:
        yield Agent(process, "cleo")


def read_again(one: Watched) -> None:
    """The page reads its main part, and is live afterwards."""
    with one.page.expect_response("**/live/main?*"):
        one.page.evaluate(RESYNC)
    one.expect_live()
    one.expect_streams(1)


def announces(page: Page, build: str) -> None:
    """The server says that it runs this build, as it does when a stream is opened."""
    page.evaluate(
        "(buildId) => document.dispatchEvent("
        "new CustomEvent('ready', { detail: { data: JSON.stringify({ buildId }) } }))",
        build,
    )


def selected(page: Page) -> str:
    text: str = page.evaluate("() => getSelection().toString()")
    return text


def test_half_typed_text_its_focus_and_its_caret_stay(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    sent = [ada.send("before")]
    one = watched().open()
    one.field.fill("half typed text")
    one.field.evaluate("(field) => field.setSelectionRange(5, 10, 'backward')")
    to = one.page.get_by_role("combobox", name="To")
    bob("msg_recv")
    sent.append(bob.send("an answer"))
    expect(one.rows).to_have_count(2)
    read_again(one)
    expect(one.field).to_have_value("half typed text")
    expect(one.field).to_be_focused()
    caret = one.field.evaluate(
        "(field) => [field.selectionStart, field.selectionEnd, field.selectionDirection]"
    )
    assert caret == [5, 10, "backward"]
    to.fill("bo")
    bob("lease_claim", path="feed.py")
    expect(one.page.locator("#recipient-names option[value$='feed.py']")).to_be_attached()
    expect(to).to_be_focused()
    expect(to).to_have_value("bo")
    search = one.page.get_by_role("searchbox")
    search.fill("half")
    read_again(one)
    expect(search).to_be_focused()
    expect(search).to_have_value("half")
    one.expect_right(sent)


def test_what_is_being_composed_by_an_input_method_goes_on(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    ada.send("before")
    one = watched().open()
    one.field.focus()
    method = one.page.context.new_cdp_session(one.page)
    one.page.evaluate(
        "() => { window.composed = [];"
        " for (const name of ['compositionstart', 'compositionend'])"
        "   document.addEventListener(name, (event) => window.composed.push(name)); }"
    )
    method.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    bob("msg_recv")
    bob.send("while one composes")
    expect(one.rows).to_have_count(2)
    read_again(one)
    method.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    assert one.page.evaluate("() => window.composed") == ["compositionstart"]
    method.send("Input.insertText", {"text": "日本"})
    expect(one.field).to_have_value("日本")
    expect(one.field).to_be_focused()
    expect(one.rows).to_have_count(2)


def test_who_reads_old_messages_goes_on_reading_and_is_told_how_many_came(
    watched: Watch, agents: Agents
) -> None:
    ada, _ = agents
    sent = [ada.send(f"number {number}") for number in range(30)]
    one = watched().open()
    jump = one.page.locator("#jump")
    one.row(sent[5]).evaluate("(row) => row.scrollIntoView({ block: 'center' })")
    expect(jump).to_be_visible()
    place = one.top(sent[5])
    sent += [ada.send(f"new {number}") for number in range(3)]
    expect(jump.locator(".count")).to_have_text("3")
    one.expect_right(sent)
    assert one.top(sent[5]) == pytest.approx(place, abs=2)
    sent.append(ada.send("in the break"))
    read_again(one)
    expect(jump.locator(".count")).to_have_text("4")
    assert one.top(sent[5]) == pytest.approx(place, abs=2)
    jump.click()
    expect(one.row(sent[-1])).to_be_in_viewport()
    expect(one.row(sent[-1])).to_be_focused()
    expect(jump).to_be_hidden()
    sent.append(ada.send("followed"))
    expect(one.row(sent[-1])).to_be_in_viewport()
    expect(jump).to_be_hidden()


def test_a_selection_inside_a_message_stays_when_its_row_changes(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    message = ada.send("some words **to select** in here")
    one = watched().open()
    one.row(message).locator(".prose").evaluate("(prose) => getSelection().selectAllChildren(prose)")
    before = selected(one.page)
    assert "to select" in before
    bob("msg_recv")
    expect(one.row(message).locator(".delivery[data-state=read]")).to_have_count(1)
    assert selected(one.page) == before
    read_again(one)
    assert selected(one.page) == before


def test_what_is_open_stays_open(watched: Watch, agents: Agents, third: Agent) -> None:
    ada, bob = agents
    message, long = ada.send("to both"), ada.send(LONG)
    one = watched().open()
    one.page.get_by_role("link", name="Show all of it").click()
    height = one.row(long).bounding_box()
    why = one.row(message).locator("details")
    why.locator("summary").click()
    expect(why).to_contain_text("cleo")
    expect(why.locator("dl")).to_be_visible()
    one.page.keyboard.press("?")
    sheet = one.page.locator("#key-sheet")
    expect(sheet).to_be_visible()
    bob("msg_recv")
    expect(one.row(message).locator(".delivery[data-state=read]")).to_have_count(1)
    expect(one.row(long).locator(".delivery[data-state=read]")).to_have_count(1)
    read_again(one)
    expect(why.locator("dl")).to_be_visible()
    expect(one.page.get_by_role("link", name="Show all of it")).to_be_hidden()
    after = one.row(long).bounding_box()
    assert height is not None
    assert after is not None
    assert after["height"] == height["height"]
    expect(sheet).to_be_visible()
    assert sheet.evaluate("(dialog) => dialog.matches(':modal')")
    one.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    third("msg_recv")
    expect(one.row(message).locator(".delivery[data-state=read]")).to_have_count(2)
    one.expect_right([message, long])


def test_a_move_keeps_focus_text_and_what_is_open(watched: Watch, agents: Agents) -> None:
    ada, _ = agents
    ids = [ada.send(f"number {number}") for number in range(3)]
    one = watched().open()
    one.row(ids[2]).locator("details").evaluate("(why) => { why.open = true; }")
    one.row(ids[2]).evaluate(
        "(row) => { const field = document.createElement('input'); field.id = 'probe'; row.append(field);"
        " field.value = 'typed'; field.focus(); field.setSelectionRange(2, 3); }"
    )
    move = "(data) => document.dispatchEvent(new CustomEvent('move', { detail: { data: JSON.stringify(data) } }))"
    one.page.evaluate(move, {"id": f"message-{ids[2]}", "to": "history", "before": f"message-{ids[0]}"})
    assert one.shown() == [ids[2], ids[0], ids[1]]
    probe = one.page.locator("#probe")
    expect(probe).to_be_focused()
    expect(probe).to_have_value("typed")
    assert probe.evaluate("(field) => field.selectionStart") == 2
    expect(one.row(ids[2]).locator("details")).to_have_attribute("open", "")
    one.page.evaluate(move, {"id": f"message-{ids[2]}", "to": "history", "before": None})
    assert one.shown() == ids
    expect(probe).to_be_focused()
    one.page.evaluate(move, {"id": "message-0", "to": "history", "before": None})
    one.page.evaluate(move, {"id": f"message-{ids[0]}", "to": "nowhere", "before": None})
    assert one.shown() == ids


def test_another_build_loads_the_page_once(watched: Watch, agents: Agents) -> None:
    sent = [agents[0].send("before")]
    one = watched().open()
    one.page.evaluate("() => { document.documentElement.dataset.build = 'older'; }")
    with one.page.expect_event("load"):
        one.page.evaluate(
            "() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
        )
    one.expect_live()
    assert not one.is_same_document()
    one.mark()
    read_again(one)
    one.expect_right(sent)
    assert one.loads == 2


def test_another_build_waits_for_what_is_half_typed(watched: Watch, agents: Agents) -> None:
    sent = [agents[0].send("before")]
    one = watched().open()
    one.field.fill("half typed")
    announces(one.page, "newer")
    expect(one.notice).to_contain_text("A new version runs on the server")
    one.expect_right(sent)
    expect(one.field).to_have_value("half typed")
    with one.page.expect_event("load"):
        one.page.get_by_role("button", name="Send").click()
    expect(one.rows).to_have_count(2)
    one.expect_live()
    expect(one.field).to_have_value("")
    assert one.loads == 2


def test_another_build_waits_for_an_open_dialog(watched: Watch, agents: Agents) -> None:
    assert agents
    one = watched().open()
    one.page.keyboard.press("?")
    announces(one.page, "newer")
    expect(one.notice).to_contain_text("A new version runs on the server")
    one.expect_right([])
    with one.page.expect_event("load"):
        one.page.keyboard.press("Escape")
    one.expect_live()
    assert one.loads == 2


def test_two_builds_behind_one_address_make_no_loop(watched: Watch, agents: Agents) -> None:
    """Each document comes from one build and its stream from the other, and next time the other way round."""
    assert agents
    one = watched()
    loads = 0

    def document(route: Route) -> None:
        nonlocal loads
        loads += 1
        answer = route.fetch()
        own = "one" if loads % 2 else "two"
        marked = answer.text().replace('<html lang="en" data-build="', f'<html lang="en" data-build="{own}')
        route.fulfill(response=answer, body=marked.replace(f'"{own}', f'"{own}" data-was="', 1))

    def stream(route: Route) -> None:
        other = "two" if loads % 2 else "one"
        body = f'event: ready\ndata: {{"buildId": "{other}", "instanceId": "i"}}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    one.page.route("**/rooms/shared:front", document)
    one.page.route("**/live?*", stream)
    one.page.clock.install()
    one.page.goto(one.url)
    opened = 0
    while opened < 6:  # the stream ends each time, and the page opens it again
        with one.page.expect_request("**/live?*"):
            one.page.clock.run_for(3_000)
        opened += 1
    assert loads <= 3


def test_ten_thousand_messages_are_shown_a_page_at_a_time(watched: Watch, home: Path, agents: Agents) -> None:
    ada, _ = agents
    add_read_messages(home, ada, 10_000)
    one = watched().open()
    expect(one.rows).to_have_count(60)
    assert one.shown() == list(range(9_941, 10_001))
    expect(one.row(10_000)).to_be_in_viewport()

    one.page.evaluate(
        "() => { window.changed = []; new MutationObserver((all) => { for (const one of all)"
        " for (const node of [...one.addedNodes, ...one.removedNodes])"
        "   if (node.nodeType === 1 && !node.matches('time, .day')) window.changed.push(node.id || node.outerHTML);"
        " }).observe(document.getElementById('history'), { childList: true, subtree: true }); }"
    )
    new = ada.send("one more")
    expect(one.rows).to_have_count(61)
    assert one.page.evaluate("() => window.changed") == [f"message-{new}"]
    expect(one.row(new)).to_be_in_viewport()

    for pages in (2, 3):
        first = one.shown()[0]
        one.row(first).evaluate("(row) => row.scrollIntoView({ block: 'center' })")
        one.page.mouse.move(500, 400)
        one.page.mouse.wheel(0, -600)
        expect(one.rows).to_have_count(60 * pages + 1)
        expect(one.row(first)).to_be_in_viewport()
        one.expect_right(range(10_001 - 60 * pages, new + 1))
    place = one.top(9_900)
    read_again(one)
    one.expect_right(range(10_001 - 180, new + 1))
    assert one.top(9_900) == pytest.approx(place, abs=2)


def test_an_older_page_takes_no_new_messages(watched: Watch, agents: Agents) -> None:
    ada, bob = agents
    first, second = ada.send("one"), ada.send("two")
    one = watched(f"{ROOM}?before={second}").open()
    bob("msg_recv")
    ada.send("three")
    expect(one.row(first).locator(".delivery[data-state=read]")).to_have_count(1)
    expect(one.page.locator("#summary")).to_contain_text("3 messages")
    one.expect_right([first])
    read_again(one)
    one.expect_right([first])


def test_an_older_page_that_cannot_be_had_leaves_the_link_to_it(
    watched: Watch, server: WebServer, home: Path, agents: Agents
) -> None:
    add_read_messages(home, agents[0], 70)
    one = watched()
    one.page.route(
        "**/rooms/history/**",
        lambda route: route.fulfill(status=503, content_type="application/json", body='{"error": {}}'),
        times=1,
    )
    one.open()
    older = one.page.get_by_role("link", name="Older messages")
    with one.page.expect_response("**/rooms/history/**"):
        older.scroll_into_view_if_needed()
    expect(older).to_be_visible()
    older.click()
    expect(one.rows).to_have_count(70)
    assert server.process.poll() is None


def add_read_messages(home: Path, sender: Agent, count: int) -> None:
    """To shared:front, without the work of sending them."""
    engine = create_engine(f"sqlite:///{home / 'room.db'}")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO messages (team_id, sender_id, selector, subject, body, created_at) "
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
            "SELECT 'home', ?, '*', '', 'Message ' || n, 1000000000000 FROM numbers",
            (count, sender.id),
        )
        connection.exec_driver_sql(
            "INSERT INTO message_rooms (room_id, message_id) "
            "SELECT rooms.id, messages.id FROM rooms, messages WHERE rooms.name = ?",
            ("shared:front",),
        )
        connection.exec_driver_sql(
            "INSERT INTO deliveries (message_id, recipient_id, state, state_at) "
            "SELECT id, ?, 'read', 1000000000000 FROM messages",
            (sender.id,),
        )
    engine.dispose()
