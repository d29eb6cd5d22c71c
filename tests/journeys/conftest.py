"""A home of its own for each journey, the server that runs on it, two agents and a browser that is logged in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.watching import ROOM, Agent, Watched


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server(home: Path) -> Iterator[WebServer]:
    with WebServer(home) as running:
        yield running


@pytest.fixture
def agents(home: Path, tmp_path: Path, server: WebServer) -> Iterator[tuple[Agent, Agent]]:
    """ada and bob, in the room `front`."""
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


@pytest.fixture
def plain(browser: Browser, server: WebServer) -> Iterator[BrowserContext]:
    """A browser without JavaScript that is logged in."""
    made = browser.new_context(java_script_enabled=False)
    made.new_page().goto(server.link)
    yield made
    made.close()


@pytest.fixture
def watched(context: BrowserContext, server: WebServer) -> Callable[..., Watched]:
    """Makes a page of that browser; nothing is opened in it yet."""
    return lambda path=ROOM: Watched(context, server, path)
