"""Whatever strangers write into a field, no page, fragment or stream in real Chromium takes it for more than text."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

from agentsroom.rooms.addresses import message_url, room_act_url, room_url
from agentsroom.rooms.service.history_view import PAGE_SIZE
from tests.support import cases
from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.stores import Json
from tests.support.strangers import ROOM, Api, Place, Stranger

PATIENCE_MS = 20_000
LOOK = (Path(__file__).parents[1] / "support/strangers.js").read_text()
SHOWN = """(places) => {
  const plain = (text) => (text ?? "").trim().replace(/\\s+/g, " ");
  return places.map(([within, text, attribute]) =>
    [...document.querySelectorAll(within)].some(
      (one) => plain(attribute ? one.getAttribute(attribute) : one.textContent) === plain(text)));
}"""
BEFORE = """
  window.__ran = (n) => { window.__hits = n; window.told("script-runs", String(n)); };
  document.addEventListener("securitypolicyviolation", (event) => window.told("csp", event.violatedDirective));
  document.addEventListener("htmx:sse:before:message", ({ detail }) => window.told("event", detail.message.event));
"""

ALL_FORBID = ["script-runs", "raw-markup", "htmx-acts", "page-broken", "id-clobber", "remote-load"]
OWN: list[Json] = [
    {"id": f"own-{name}", "payload": payload, "fields": [], "expect": {"forbid": ALL_FORBID}}
    for name, payload in {
        "partial": '<hx-partial hx-target="#main" hx-swap="innerHTML">gone</hx-partial>',
        "end-of-a-partial": '</hx-partial><hx-partial hx-target="#history" hx-swap="delete"></hx-partial>',
        "end-of-bdi": "</bdi></b></div><script>__ran(1)</script>",
        "end-of-textarea": "</textarea><script>__ran(1)</script>",
        "end-of-a-picture": "</text></svg><img src=x onerror=__ran(1)>",
        "end-of-an-option": '"></option></datalist><script>__ran(1)</script>',
        "template": "<template><script>__ran(1)</script></template>",
        "dots": "../../settings",
        "escaped-dots": "%2e%2e/%2e%2e/settings",
        "question": "?q=1#main",
        "act": "export/shared:strangers",
        "quotes": "a'b\"c`d&amp;\\",
        "selector": "#main > .page, [id=main]",
        "isolate-end": "a\u2069\u202eb",
        "line-separator": "a\u2028event: changed\u2029data: x",
    }.items()
]
GIVEN = [case for case in cases.read("xss.jsonl") if case["area"] in ("rooms", "transport")]
PAYLOADS = sorted({case["payload"] for case in GIVEN + OWN}, key=lambda text: (len(text.splitlines()), text))
"""Those of several lines last: a stream that begins late holds them."""
EVERY_FIELD = (
    *("msg.body", "msg.subject", "session.label", "session.tag", "session.cwd", "session.harness"),
    *("room.name", "lease.path", "query.search", "path.room"),
)
_AT_ONCE = PAGE_SIZE // 2
"""So many strangers, of two messages each, fill a page of the history."""
_IN_AN_ADDRESS = 8
_MISSED = 60
"""Events; a stream that missed many more asks the page to read all again."""
LATER = {"query.filter": "no page of the rooms filters", "query.next": "the login takes none"}


class Fault(NamedTuple):
    """A forbidden word, and what showed it where."""

    word: str
    where: str


@dataclass
class Seen:
    """What pages showed of one payload."""

    stranger: Stranger
    shown: dict[str, list[str]] = field(default_factory=dict)
    """A field → the pages that showed it as it is."""
    faults: list[Fault] = field(default_factory=list)


class Watch:
    """A logged-in browser, and whatever its pages do that they should not."""

    def __init__(self, context: BrowserContext, server: WebServer) -> None:
        self.context = context
        self.server = server
        self.faults: list[Fault] = []
        self.events: list[str] = []
        context.expose_function("told", self._told)
        context.add_init_script(BEFORE)
        context.on("request", lambda request: self._requested(request.url))
        context.on("dialog", self._opened)
        self.page = self.new_page()
        self.page.goto(server.link)

    def _told(self, word: str, what: str) -> None:
        if word == "event":
            self.events.append(what)
        else:
            self.faults.append(Fault("script-runs" if word == "csp" else word, what))

    def _opened(self, dialog: Dialog) -> None:
        self._told("script-runs", "a dialog")
        dialog.dismiss()

    def _requested(self, url: str) -> None:
        parts = urlsplit(url)
        if f"{parts.scheme}://{parts.netloc}" != self.server.url:
            self.faults.append(Fault("remote-load", url))
        elif not parts.path.startswith(("/rooms", "/live", "/static/", "/login", "/favicon.ico")):
            self.faults.append(Fault("htmx-acts", url))

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(Fault("page-broken", f"{page.url}: {error}")))
        page.on("console", lambda one: self._said(page, one.type, one.text))
        return page

    def _said(self, page: Page, kind: str, text: str) -> None:
        if kind == "error" and "status of 404" not in text:
            self.faults.append(Fault("page-broken", f"{page.url}: {text}"))

    def open(self, address: str, page: Page | None = None, *, is_live: bool = False) -> Page:
        opened = page or self.page
        opened.goto(self.server.url + address, wait_until="commit" if is_live else "domcontentloaded")
        if urlsplit(opened.url).netloc != urlsplit(self.server.url).netloc:
            self.faults.append(Fault("open-redirect", opened.url))
        if is_live:
            expect(opened.locator(".stream[data-state=online]")).to_have_text("Live", timeout=PATIENCE_MS)
        return opened

    def look(self, page: Page, *shown: tuple[Seen, list[Place]]) -> None:
        """Notes what the page must not show, and where each payload stands as it is."""
        before = len(self.faults)
        self.faults += [Fault(word, where) for word, where in page.evaluate(LOOK)]
        places = [(seen, place) for seen, some in shown for place in some]
        if not places:
            return
        found = page.evaluate(SHOWN, [(one.within, one.text, one.attribute) for _, one in places])
        for (seen, place), is_shown in zip(places, found, strict=True):
            if is_shown:
                seen.shown.setdefault(place.field, []).append(page.url)
            else:
                seen.faults.append(Fault("raw-markup", f"{place} is not on {page.url}"))
        for seen, _ in shown:
            seen.faults += self.faults[before:]


@dataclass
class Town:
    """All that was put in, and what came of it."""

    server: WebServer
    watch: Watch
    reader: str
    """The session, of a stdio process, that each message is for."""
    seen: dict[str, Seen]
    received: dict[int, Json]
    """By msg_recv over stdio: a message's id → the message."""
    raw: list[bytes]
    """The very lines that msg_recv sent."""


@pytest.fixture(scope="module")
def town(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Everything is written while two pages look on; then each page that shows it is opened."""
    home = tmp_path_factory.mktemp("strangers")
    with WebServer(home) as server, StdioServer(home, home) as process, context_of(browser) as context:
        process.initialize()
        reader = process.call("room_join", room="strangers", label="reader")["session_id"]
        watch = Watch(context, server)
        live, rooms = (
            watch.open(path, watch.new_page(), is_live=True) for path in (room_url(ROOM), "/rooms")
        )
        with Api(server) as api:
            seen = write(api, process, reader)
        raw, received = receive(process, reader)
        end = process.call("msg_send", session_id=reader, to="*", body="the end")["message_id"]
        look_at_streams(watch, live, rooms, list(seen.values()), end)
        look_at_pages(watch, list(seen.values()))
        yield Town(server, watch, reader, seen, received, raw)


@contextmanager
def context_of(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    try:
        yield context
    finally:
        context.close()


def write(api: Api, process: StdioServer, reader: str) -> dict[str, Seen]:
    seen = {}
    for payload in PAYLOADS:
        stranger = Stranger(payload)
        stranger.put(api, reader)
        if "session.tag" in stranger.taken:
            to = {"session_id": reader, "to": f"tag:{payload}"}
            stranger.to_tag = process.call("msg_send", **to, body="to a tag")["message_id"]
        seen[payload] = Seen(stranger)
    return seen


def receive(process: StdioServer, reader: str) -> tuple[list[bytes], dict[int, Json]]:
    raw: list[bytes] = []
    received: dict[int, Json] = {}
    while True:
        process.send_message(
            "tools/call", {"name": "msg_recv", "arguments": {"session_id": reader}}, len(raw)
        )
        raw.append(process.line())
        answer = json.loads(json.loads(raw[-1])["result"]["content"][0]["text"])
        received |= {one["message_id"]: one for one in answer["messages"]}
        if not answer["more"]:
            return raw, received


def look_at_streams(watch: Watch, live: Page, rooms: Page, seen: list[Seen], end: int) -> None:
    """What came by the stream, and what is fetched when it is opened."""
    expect(live.locator(f"#message-{end}")).to_contain_text("the end", timeout=PATIENCE_MS)
    expect(rooms.get_by_text("the end").first).to_be_visible(timeout=PATIENCE_MS)
    live.evaluate("() => { for (const one of document.querySelectorAll('.why')) one.open = true; }")
    expect(live.locator(".why dl")).to_have_count(live.locator(".why").count(), timeout=PATIENCE_MS)
    watch.look(live, *((one, one.stranger.in_a_room() + one.stranger.in_its_history()) for one in seen))
    watch.look(rooms, *((one, one.stranger.among_the_rooms()) for one in seen))
    live.close()
    rooms.close()


def look_at_pages(watch: Watch, seen: list[Seen]) -> None:
    """Each as the server renders it."""
    for start in range(0, len(seen), _AT_ONCE):
        some = seen[start : start + _AT_ONCE]
        newest = max(max(one.stranger.message, one.stranger.to_tag) for one in some)
        page = watch.open(f"{room_url(ROOM)}?before={newest + 1}")
        watch.look(page, *((one, one.stranger.in_a_room() + one.stranger.in_its_history()) for one in some))
    watch.look(watch.open("/rooms"), *((one, one.stranger.among_the_rooms()) for one in seen))
    for one in seen:
        look_at_pages_of(watch, one)
    for some in (seen[start : start + _IN_AN_ADDRESS] for start in range(0, len(seen), _IN_AN_ADDRESS)):
        look_at_errors(watch, some)


def look_at_pages_of(watch: Watch, one: Seen) -> None:
    stranger, words = one.stranger, quote(one.stranger.payload, safe="")
    places = [Place("query.search", "input[name=q]", stranger.payload.strip(), "value")]
    if stranger.own_room:
        places += stranger.in_a_room() + stranger.in_its_own_room()
    watch.look(watch.open(f"{room_url(stranger.own_room or ROOM)}?q={words}", is_live=True), (one, places))
    if stranger.message:
        watch.look(watch.open(message_url(stranger.message)), (one, stranger.in_its_message()))


def look_at_errors(watch: Watch, some: list[Seen]) -> None:
    """No room is called as all of them together; an address with a line end is none of ours."""
    of_one_line = [one for one in some if "\n" not in one.stranger.payload]
    for payloads in (of_one_line, [one for one in some if one not in of_one_line]):
        words = quote(" none ".join(one.stranger.payload for one in payloads), safe="")
        missing = watch.open(f"/rooms/none%20{words}")
        watch.look(missing, *((one, []) for one in payloads))
        if re.search("No room of the team|Nothing is here", missing.locator("h1").inner_text()):
            for one in payloads:
                one.shown.setdefault("path.room", []).append(missing.url)


def wrong(town: Town, case: Json, name: str) -> list[Fault]:
    """What was seen of the case's payload in the field that it forbids; where the field is not shown, it must be refused."""
    seen = town.seen[case["payload"]]
    if name in seen.stranger.taken or name.startswith(("query", "path")):
        assert name == "msg.body" or seen.shown.get(name), name
    else:
        assert may_be_refused(case["payload"], name), name
    return [one for one in seen.faults if one.word in (*case["expect"]["forbid"], "script-runs")]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, id=f"{case['id']}-{name}")
        for case in GIVEN
        for name in case["fields"]
        if name not in LATER
    ],
)
def test_text_of_a_stranger_is_text(town: Town, case: Json, name: str) -> None:
    assert wrong(town, case, name) == []


@pytest.mark.parametrize("case", GIVEN + OWN, ids=lambda case: case["id"])
def test_it_is_text_in_every_other_field(town: Town, case: Json) -> None:
    assert [fault for name in EVERY_FIELD for fault in wrong(town, case, name)] == []


def may_be_refused(payload: str, name: str) -> bool:
    """Control characters nowhere, line ends in no name, and not too long a tag, label or name."""
    has_control = re.search(r"[\x00-\x08\x0b-\x1f]", payload) is not None
    return has_control or (name == "room.name" and "\n" in payload) or len(payload) > 64


def test_links_that_are_allowed_stay(town: Town) -> None:
    kept = [case for case in GIVEN if case["expect"].get("keep") == "link"]
    page = town.watch.page
    for case in kept:
        address = re.search(r"\((.*)\)", case["payload"])
        assert address is not None
        town.watch.open(message_url(town.seen[case["payload"]].stranger.message), page)
        expect(page.locator(".prose a")).to_have_attribute("href", address[1])
        expect(page.locator(".prose a")).to_have_attribute("rel", re.compile("noopener"))
    assert len(kept) == 2


def test_marks_of_templates_are_letters(town: Town) -> None:
    literal = [case for case in GIVEN if case.get("literal")]
    for case in literal:
        page = town.watch.open(message_url(town.seen[case["payload"]].stranger.message))
        assert page.locator(".prose").inner_text() == case["payload"]
    assert len(literal) == 2


def test_who_receives_a_message_over_mcp_reads_it_as_one_text_of_its_sender(town: Town) -> None:
    """No line of it can pass for a line of ours, nor its words for somebody else's."""
    assert all(line.count(b"\n") == 1 for line in town.raw)
    for seen in town.seen.values():
        stranger = seen.stranger
        if not stranger.message:
            continue
        received = town.received[stranger.message]
        assert (received["sender"], received["to"]) == (stranger.session, received["to"])
        assert received["sender_label"] == (stranger.payload if "session.label" in stranger.taken else None)
        for part in ("subject", "body"):
            assert received[part] == (stranger.payload if f"msg.{part}" in stranger.taken else "")


def test_the_export_has_one_line_a_message(town: Town) -> None:
    token = {"Authorization": f"Bearer {town.server.running['token']}"}
    exported = httpx2.get(town.server.url + room_act_url("export", ROOM), headers=token)
    by_id = {one["message_id"]: one for one in map(json.loads, exported.text.splitlines())}
    for seen in town.seen.values():
        if "msg.body" in seen.stranger.taken:
            assert by_id[seen.stranger.message]["body"] == seen.stranger.payload


def test_a_stream_has_one_event_for_one_change(town: Town) -> None:
    """What is sent again to who missed the last changes: no payload ends its line, its data or its event."""
    page = town.watch.open(room_url(ROOM))
    last = re.search(r"since=(\d+)", page.locator("#stream").get_attribute("hx-sse:connect") or "")
    assert last is not None
    with town.server.connect() as connection:
        connection.ask(f"/live?page={quote(room_url(ROOM), safe='')}&since={int(last[1]) - _MISSED}")
        raw = b""
        while raw.count(b"\n\n") < 2:
            piece = connection.chunk()
            assert piece
            raw += piece
    ready, change, rest = raw.decode().split("\n\n")
    assert ready.startswith("event: ready\n")
    assert rest == ""
    assert [line for line in change.split("\n") if not line.startswith("data: ")] == [f"id: {last[1]}"]
    assert "event: changed" in change
    assert "retry: 1" in change


@pytest.mark.parametrize("command", ["history --limit 200", "who", "lease list"])
def test_a_terminal_gets_nothing_but_printable_text(town: Town, command: str) -> None:
    own = {"AGENTS_ROOM_HOME": str(town.server.home), "AGENTS_ROOM_SESSION": town.reader}
    done = subprocess.run(
        [sys.executable, "-m", "agentsroom", *command.split()],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, **own},
    )
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout) == []
    assert "[go](javascript" in done.stdout


def test_no_page_did_what_it_should_not(town: Town) -> None:
    assert town.watch.faults == []
    assert [one for seen in town.seen.values() for one in seen.faults] == []


def test_no_event_but_ours_came_by_a_stream(town: Town) -> None:
    assert {"", "ready"} <= {name or "" for name in town.watch.events} <= {"", "ready", "heartbeat", "resync"}
