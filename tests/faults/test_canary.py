"""Real secrets, sent in every good and bad way to every route: nothing that the server writes shows one of them."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from agentsroom.core.settings import Settings
from agentsroom.runtime import Runtime
from tests.support.odd_routes import make_app
from tests.support.raw import Answer, Raw
from tests.support.server import WebServer
from tests.support.web import RUNNING

COMMAND = [sys.executable, "-m", "tests.support.hasty_server"]
VALUES = ("x", "room_who", "msg_send")
"""What stands for a variable of a path, besides the secrets."""


class Canaries:
    """The secrets of one server, and the answers that it gave."""

    def __init__(self, server: WebServer, tmp_path: Path) -> None:
        self.server = server
        self.greeting = server.output
        self.token = server.running["token"]
        found = re.search(r"AGENTS_ROOM_KEY=(\S+)", server.output)
        assert found is not None
        self.key = found[1]
        self.used_link = server.link.rpartition("/")[2]
        self.link = self.run("login-link").strip().rpartition("/")[2]
        name, self.cookie = self._log_in()
        self.cookie_header = f"Cookie: {name}={self.cookie}"
        self.answers: list[tuple[str, Answer]] = []
        self.folder = tmp_path

    @property
    def secrets(self) -> dict[str, str]:
        """By their names; a key's secret part is the secret."""
        return {
            "the key": self.key.partition(".")[2],
            "the token": self.token,
            "the used link": self.used_link,
            "the other link": self.link,
            "the cookie": self.cookie,
        }

    def _log_in(self) -> tuple[str, str]:
        """Name and value of the cookie."""
        with Raw(self.server) as raw:
            answer = raw.ask(f"GET /login/{self.used_link} HTTP/1.1\r\nHost: $HOST\r\n\r\n".encode())
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        return name, value

    def ask(self, method: str, path: str, *fields: str, body: str = "") -> None:
        head = [f"{method} {path} HTTP/1.1", "Host: $HOST", *fields, f"Content-Length: {len(body)}", "", body]
        with Raw(self.server) as raw:
            self.answers.append((f"{method} {path} {fields}", raw.ask("\r\n".join(head).encode())))

    def run(self, *arguments: str) -> str:
        """What a command of the CLI prints."""
        environment = {**os.environ, "AGENTS_ROOM_HOME": str(self.server.home)}
        command = [sys.executable, "-m", "agentsroom", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[Canaries]:
    with WebServer(tmp_path / "home", COMMAND, TEST_PATIENCE_S="20") as server:
        yield Canaries(server, tmp_path)


def routes(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Every method of every route, its path's variables to be filled in; the endless one left out."""
    settings = Settings(home=str(tmp_path / "other"))
    with closing(Runtime(settings)) as runtime:
        for rule in make_app(settings, runtime, RUNNING).url_map.iter_rules():
            if rule.rule != "/test/flood":
                yield from ((method, rule.rule) for method in sorted(rule.methods or ()))


def drive(canaries: Canaries, method: str, rule: str) -> None:
    """Asks in every way."""
    good = [
        f"Authorization: Bearer {canaries.key}",
        f"Authorization: Bearer {canaries.token}",
        canaries.cookie_header,
    ]
    bad = [f"Authorization: Bearer {canaries.link}", *(f"{one}x" for one in good)]
    everything = " ".join([canaries.key, canaries.token, canaries.used_link])
    for value in VALUES if "<" in rule else VALUES[:1]:
        path = re.sub(r"<.*?>", value, rule)
        for header in good + bad:
            canaries.ask(method, path, header)
        for header in good:
            query = f"{path}?key={canaries.key}&page=/rooms?x={canaries.token}&since={canaries.key}&before={everything}"
            canaries.ask(method, query.replace(" ", "+"), header)
            for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain", "x"):
                for body in ('{"session_id": "%s"}', '{"%s"', "%s", "token=%s&csrf_token=%s"):
                    text = body.replace("%s", everything)
                    canaries.ask(
                        method, path, header, f"Content-Type: {kind}", f"X-Odd: {everything}", body=text
                    )
    if "<" in rule:
        for secret in (canaries.key, canaries.token, canaries.used_link):
            for header in [*good, "X: y"]:
                canaries.ask(method, re.sub(r"<.*?>", secret, rule), header)
    canaries.ask(method, "/nothing/" + quote(everything), good[0])
    canaries.ask(method, rule, f"Host: {canaries.token}.evil.com")
    canaries.ask(f"{method}{canaries.token}", "/", good[0])


def assert_hidden(canaries: Canaries, text: str, where: str) -> None:
    for name, secret in canaries.secrets.items():
        assert secret not in text, f"{name} stands in {where}: {text[:2_000]}"


def test_nothing_that_the_server_writes_shows_a_secret(canaries: Canaries, tmp_path: Path) -> None:
    for method, rule in routes(tmp_path):
        drive(canaries, method, rule)
    statuses = {answer.status for _, answer in canaries.answers}
    assert statuses >= {200, 302, 400, 401, 403, 404, 405, 429, 500}
    for asked, answer in canaries.answers:
        assert_hidden(canaries, f"{answer.headers}", f"the headers of the answer to {asked}")
        assert_hidden(canaries, answer.body.decode("latin-1"), f"the answer to {asked}")
    assert "Traceback" in canaries.server.output
    assert_hidden(canaries, canaries.server.output[len(canaries.greeting) :], "the output")
    for command in (("agent", "list"), ("team", "list", "--json"), ("doctor",), ("who", "--json")):
        assert_hidden(canaries, canaries.run(*command), f"what {command} prints")
    assert_hidden(canaries, dump(canaries.server.home / "room.db"), "the store")
    exported = tmp_path / "events.jsonl"
    canaries.run("prune", "--events-before", "2999-01-01", "--events-file", str(exported))
    assert "agent_key_rotated" in exported.read_text()
    assert_hidden(canaries, exported.read_text(), "the exported events")
    assert_files_are_clean(canaries)


def dump(path: Path) -> str:
    """Every row of every table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        assert {"events", "agent_keys", "browser_logins", "login_links"} <= set(tables)
        return "\n".join(
            repr(row) for table in tables for row in connection.execute(f'SELECT * FROM "{table}"')
        )


def assert_files_are_clean(canaries: Canaries) -> None:
    """Every file of the home, the write-ahead log included, as bytes."""
    files = [path for path in canaries.server.home.rglob("*") if path.is_file()]
    assert {"room.db", "room.db-wal", "serve.json", "secret"} <= {path.name for path in files}
    for path in files:
        text = path.read_bytes().decode("latin-1")
        if path.name == "serve.json":
            text = text.replace(canaries.token, "")
        assert_hidden(canaries, text, str(path))


def test_a_store_that_breaks_shows_no_secret_either(canaries: Canaries) -> None:
    store = canaries.server.home / "room.db"
    store.rename(store.with_name("away.db"))
    for header in (
        f"Authorization: Bearer {canaries.key}",
        f"Authorization: Bearer {canaries.token}",
        canaries.cookie_header,
    ):
        for path in (
            "/rooms",
            f"/login/{canaries.link}",
            f"/rooms/{canaries.key}",
            "/healthz",
            "/live?page=/rooms",
        ):
            canaries.ask("GET", path, header)
    assert {answer.status for _, answer in canaries.answers} == {503, 200}, "200: a stream that began"
    for asked, answer in canaries.answers:
        assert_hidden(canaries, f"{answer.headers} {answer.body!r}", f"the answer to {asked}")
    assert_hidden(canaries, canaries.server.output[len(canaries.greeting) :], "the output")
