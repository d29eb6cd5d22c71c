"""A person who watches a room in a browser, the streams that the page has open, and agents who work in the room."""

import time
from collections.abc import Iterable
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

from tests.support.server import WebServer
from tests.support.stdio import StdioServer

PATIENCE_S = 20
ROOM = "/rooms/shared:front"

expect.set_options(timeout=PATIENCE_S * 1_000)


class Agent:
    """A stdio process that joined the room `front`."""

    def __init__(self, server: StdioServer, label: str) -> None:
        self._server = server
        self._server.initialize()
        self.label = label
        self.id = server.call("room_join", room="front", label=label)["session_id"]

    def send(self, body: str, to: str = "*", **arguments: object) -> int:
        message: int = self("msg_send", to=to, body=body, **arguments)["message_id"]
        return message

    def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        answer: dict[str, Any] = self._server.call(tool, session_id=self.id, **arguments)
        return answer


class Watched:
    """One page and the streams that it has open; `path` is opened by `open`."""

    def __init__(self, context: BrowserContext, server: WebServer, path: str = ROOM) -> None:
        self.page: Page = context.new_page()
        self.url = server.url + path
        self.streams: list[Request] = []
        """Those that are open now."""
        self.opened = 0
        """How many were asked for at all."""
        self.reads = 0
        """How often the main part was read again."""
        self.loads = 0
        """How often the document was loaded."""
        self.page.on("request", self._asked)
        self.page.on("requestfinished", self._ended)
        self.page.on("requestfailed", self._ended)

    def open(self) -> "Watched":
        """The page once it is live."""
        self.page.goto(self.url)
        self.expect_live()
        self.mark()
        return self

    def mark(self) -> None:
        """From now on `is_same_document` knows this document."""
        self.page.evaluate("() => { window.isTheSamePage = true; }")

    def _asked(self, request: Request) -> None:
        if "/live?" in request.url:
            self.streams.append(request)
            self.opened += 1
        self.reads += "/live/main?" in request.url
        self.loads += request.is_navigation_request()

    def _ended(self, request: Request) -> None:
        if request in self.streams:
            self.streams.remove(request)

    @property
    def sign(self) -> Locator:
        """The connection's state, as it is shown."""
        return self.page.locator(".stream")

    @property
    def notice(self) -> Locator:
        return self.page.locator("#live-notice")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#history .message")

    @property
    def field(self) -> Locator:
        """Where the overseer's message is written."""
        return self.page.get_by_role("textbox", name="Message")

    def row(self, message: int) -> Locator:
        return self.page.locator(f"#message-{message}")

    def shown(self) -> list[int]:
        """The ids of the history's messages, from top to bottom."""
        ids: list[str] = self.rows.evaluate_all("(all) => all.map((one) => one.id)")
        return [int(one.removeprefix("message-")) for one in ids]

    def top(self, message: int) -> float:
        """How far below the window's upper edge the message stands, in pixels."""
        found: float = self.row(message).evaluate("(one) => one.getBoundingClientRect().top")
        return found

    def is_same_document(self) -> bool:
        return bool(self.page.evaluate("() => window.isTheSamePage === true"))

    def focused(self) -> str:
        """What has the focus: its id, its name as a field, or its tag."""
        name: str = self.page.evaluate(
            "() => { const one = document.activeElement; return one.id || one.name || one.tagName; }"
        )
        return name

    def expect_state(self, state: str) -> None:
        expect(self.sign).to_have_attribute("data-state", state)

    def expect_live(self) -> None:
        expect(self.page.locator(".stream[data-state=online]")).to_have_text("Live")

    def expect_streams(self, count: int) -> None:
        """So many are open, once what was let go has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.streams) != count:
            assert time.monotonic() < deadline, f"{len(self.streams)} streams, not {count}"
            self.page.evaluate("() => null")  # hears what the browser tells meanwhile

    def expect_right(self, messages: Iterable[int]) -> None:
        """The page is live by one stream, in the same document, and shows these messages, nothing twice."""
        wanted = list(messages)
        self.expect_live()
        expect(self.rows).to_have_count(len(wanted))
        assert self.shown() == wanted
        self.expect_streams(1)
        doubled = self.page.evaluate(
            "() => { const ids = [...document.querySelectorAll('body [id]')].map((one) => one.id);"
            " return ids.filter((id, at) => ids.indexOf(id) !== at); }"
        )
        assert doubled == []
        assert self.page.locator("#stream").count() == 1
        assert self.is_same_document()
