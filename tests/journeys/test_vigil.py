"""What nobody says is seen all the same: an agent that was killed, a lease and a message whose time is over."""

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from playwright.sync_api import expect

from tests.support.server import WebServer
from tests.support.stdio import StdioServer
from tests.support.watching import Agent, Watched


def test_an_agent_that_is_killed_is_gone_from_the_page_at_once(
    watched: Callable[..., Watched], home: Path, tmp_path: Path
) -> None:
    harness = subprocess.Popen(["sleep", "600"])
    with StdioServer(home, tmp_path) as process:
        process.initialize()
        ada = process.call("room_join", room="front", label="ada", pid=harness.pid)["session_id"]
        process.call("lease_claim", session_id=ada, path="a.py")
        page = watched().open().page
        state = page.locator(f"#session-{ada} .state")
        expect(state).to_have_attribute("data-state", "alive")
        harness.kill()  # its parent has not asked how it ended: it is gone all the same
        expect(state).to_have_attribute("data-state", "gone")
        harness.wait()
        expect(page.locator("#leases .lease[data-tone=bad]")).to_contain_text("a.py")


def test_what_ended_while_the_store_was_busy_is_written_down_later(
    watched: Callable[..., Watched], server: WebServer, home: Path, tmp_path: Path
) -> None:
    harness = subprocess.Popen(["sleep", "600"])
    with StdioServer(home, tmp_path) as process, closing(sqlite3.connect(home / "room.db")) as other:
        process.initialize()
        ada = process.call("room_join", room="front", label="ada", pid=harness.pid)["session_id"]
        page = watched().open().page
        state = page.locator(f"#session-{ada} .state")
        expect(state).to_have_attribute("data-state", "alive")
        other.execute("BEGIN IMMEDIATE")
        harness.kill()
        harness.wait()
        server.wait_for("what ended is not written down yet")
        other.rollback()
        expect(state).to_have_attribute("data-state", "gone", timeout=15_000)


def test_a_lease_and_a_message_end_on_the_page_when_their_time_is_over(
    watched: Callable[..., Watched], agents: tuple[Agent, Agent]
) -> None:
    ada, _ = agents
    page = watched().open().page
    ada("lease_claim", path="a.py", ttl_s=2)
    expect(page.locator("#leases")).to_contain_text("a.py")
    message = ada("msg_send", to="*", body="soon over", ttl_s=1)["message_id"]
    expect(page.locator(f"#message-{message} .delivery")).to_have_attribute("data-state", "expired")
    expect(page.locator("#leases .lease")).to_have_count(0)
