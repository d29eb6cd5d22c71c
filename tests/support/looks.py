"""What can be looked at: every page of the town, and what one does there first. `make shots` takes a picture of each."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from agentsroom.rooms.addresses import message_url, room_url
from tests.support import browser as chromium
from tests.support.server import WebServer
from tests.support.town import BUSY, LONG, NOW, PAUSED, QUIET, UNHEARD, Town, lived_in

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = (1280, 375)
PAPER = ViewportSize(width=1040, height=711)
"""What is printed on of an A4 page on its side, in CSS pixels."""
NOTICES = ("reconnecting", "offline", "missed", "gone", "build")
STILL = [sys.executable, "-m", "tests.support.still_server"]
PATIENCE_MS = 20_000


class Look(NamedTuple):
    """One page as somebody may see it."""

    name: str
    path: Callable[[Town], str]
    do: Callable[[Page], object] = lambda _: None
    """What is done there first."""
    is_live: bool = True


def _at(path: str) -> Callable[[Town], str]:
    return lambda _: path


def _press(key: str) -> Callable[[Page], object]:
    return lambda page: page.keyboard.press(key)


def _open_why(page: Page) -> None:
    page.locator("summary", has_text="why not read?").first.click()
    expect(page.locator("details[open] dl")).to_be_visible()


def _answer(page: Page) -> None:
    page.locator("[data-reply]").last.click()
    expect(page.locator("#answered")).to_be_visible()
    page.locator("#compose [name=to]").fill("nobody")
    page.get_by_label("Message", exact=True).fill("Is anybody there?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#compose-problem .error")).to_be_visible()


def _notice(name: str) -> Callable[[Page], object]:
    show = """(name) => {
      const told = document.querySelector(`template[data-notice="${name}"]`).content.cloneNode(true);
      for (const time of told.querySelectorAll("time")) time.dateTime = "2026-11-30T14:01:00Z";
      document.getElementById("live-notice").replaceChildren(told);
      document.dispatchEvent(new CustomEvent("htmx:after:swap"));
    }"""
    return lambda page: page.evaluate(show, name)


ROOM = Look("room", _at(room_url(BUSY)))
LOOKS = [
    Look("login", _at("/login"), is_live=False),
    Look("error", _at("/rooms/repo:nowhere"), is_live=False),
    Look("rooms", _at("/rooms")),
    ROOM,
    Look("room-why", _at(room_url(BUSY)), _open_why),
    Look("room-keys", _at(room_url(BUSY)), _press("?")),
    Look("room-answer", _at(room_url(BUSY)), _answer),
    Look("room-day", _at(room_url(BUSY) + "?span=24h")),
    Look("room-paused", _at(room_url(PAUSED))),
    Look("room-quiet", _at(room_url(QUIET))),
    Look("room-unheard", _at(room_url(UNHEARD))),
    Look("room-long", _at(room_url(LONG))),
    Look("room-older", _at(room_url(LONG) + "?before=100")),
    Look("room-search", _at(room_url(BUSY) + "?q=feed")),
    Look("room-search-none", _at(room_url(BUSY) + "?q=nothing+at+all")),
    Look("room-thread", lambda town: f"{room_url(BUSY)}?thread={town.asked}"),
    Look("message", lambda town: message_url(town.asked), is_live=False),
    Look("message-long", lambda town: message_url(town.long), is_live=False),
    Look("wiki", _at("/wiki"), is_live=False),
    Look("wiki-page", _at("/wiki/Protocol"), is_live=False),
    Look("wiki-missing", _at("/wiki/Nowhere"), is_live=False),
    Look("wiki-search", _at("/wiki?q=lease"), is_live=False),
    Look("wiki-search-none", _at("/wiki?q=zeppelin"), is_live=False),
    *(Look(f"notice-{name}", _at(room_url(BUSY)), _notice(name)) for name in NOTICES),
]
"""Every page; who adds one adds it here."""


class Looker:
    """A logged-in browser whose clock shows the town's time."""

    def __init__(self, context: BrowserContext, server: WebServer, town: Town) -> None:
        self._context = context
        self._server = server
        self._town = town
        self.page = context.new_page()
        self.page.clock.set_fixed_time(NOW / 1_000)
        self.page.goto(server.link)

    def look(self, what: Look, width: int, theme: Theme) -> Page:
        """The page, as it is once it is live and all was done there."""
        height = 900 if width > 600 else 812
        self.page.set_viewport_size(ViewportSize(width=width, height=height))
        self.page.emulate_media(media="screen", color_scheme=theme, reduced_motion="reduce")
        self.page.goto(self._server.url + what.path(self._town))
        self.page.evaluate("() => document.fonts.ready")
        if what.is_live:
            expect(self.page.locator(".stream[data-state=online]")).to_have_text("Live", timeout=PATIENCE_MS)
        what.do(self.page)
        return self.page

    def source(self, what: Look) -> str:
        """The page's HTML as the server sends it."""
        return self._context.request.get(self._server.url + what.path(self._town)).text()


def unrolled(page: Page) -> Page:
    """The page in a window as high as it is, so that what sticks to the window's edges stands where it belongs."""
    size = page.viewport_size
    assert size is not None
    height = page.evaluate("() => document.documentElement.scrollHeight")
    page.set_viewport_size(ViewportSize(width=size["width"], height=max(height, size["height"])))
    return page


@contextmanager
def looking(browser: Browser, folder: Path) -> Iterator[Looker]:
    """Looks at the town, which is made in the folder."""
    (folder / "work").mkdir()
    with (
        lived_in(folder / "home", folder / "work") as town,
        WebServer(folder / "home", STILL, AGENTS_ROOM_TEST_NOW=str(NOW)) as server,
    ):
        context = browser.new_context(locale="en-GB", timezone_id="UTC")
        yield Looker(context, server, town)
        context.close()


def printed(looker: Looker) -> Page:
    """The busy room as it goes to paper, from the dark theme."""
    page = looker.look(ROOM, PAPER["width"], "dark")
    page.emulate_media(media="print")
    return unrolled(page)


def main() -> None:
    """Takes a picture of every page, or of those named, in both themes at both widths into shots/; of a print, too."""
    shots = Path("shots")
    shots.mkdir(exist_ok=True)
    wanted = [what for what in LOOKS if what.name in sys.argv[1:] or not sys.argv[1:]]
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium.browser() as browser,
        looking(browser, Path(folder)) as looker,
    ):
        for what in wanted:
            for width in WIDTHS:
                for theme in THEMES:
                    page = unrolled(looker.look(what, width, theme))
                    page.screenshot(path=shots / f"{what.name}-{theme}-{width}.png", full_page=True)
        printed(looker).screenshot(path=shots / "room-print.png", full_page=True)
    sys.stdout.write(f"{len(list(shots.iterdir()))} pictures in {shots.absolute()}\n")


if __name__ == "__main__":
    main()
