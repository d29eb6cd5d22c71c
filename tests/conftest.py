"""What every test may ask for: a store of either kind with its clock, the session's PostgreSQL and its browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from playwright.sync_api import Browser

from agentsroom.core.database import Database
from agentsroom.core.settings import Settings
from agentsroom.rooms.harnesses import HARNESSES
from tests.support import browser as chromium
from tests.support import postgres
from tests.support.stores import Store, opened


def pytest_configure() -> None:
    """Whatever harness runs the tests, they run as in none, and with no setting of whoever starts them."""
    known = {name for one in HARNESSES for name in (one.marker, one.key) if name}
    for name in list(os.environ):
        if name in known or name.startswith("AGENTS_ROOM_"):
            del os.environ[name]


def pytest_report_header() -> list[str]:
    return os.environ.get("TESTS_SKIP", "").splitlines()


def is_missing(reason: str) -> NoReturn:
    """Skips the test; where nothing may be skipped, fails it."""
    if os.environ.get("TESTS_SKIP_NOTHING"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of this release's schema, to be copied."""
    settings = Settings(home=str(tmp_path_factory.mktemp("template")))
    migrate(settings)
    assert settings.database_path is not None
    return settings.database_path


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A private PostgreSQL with a database `template` of this release's schema."""
    if reason := postgres.why_unavailable():
        is_missing(reason)
    with postgres.cluster() as running:
        url = running.create_database("template")
        migrate(Settings(db=url.render_as_string(hide_password=False)))
        yield running


def migrate(settings: Settings) -> None:
    database = Database(settings)
    assert database.check() == "ok"
    assert database.engine is not None
    database.close()


@pytest.fixture
def sqlite_store(sqlite_template: Path, tmp_path: Path) -> Iterator[Store]:
    """A fresh SQLite file in a home of its own."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    shutil.copy(sqlite_template, home / "room.db")
    with opened(Settings(home=str(home)), folder(tmp_path)) as store:
        yield store


@pytest.fixture
def postgres_store(cluster: postgres.Cluster, tmp_path: Path) -> Iterator[Store]:
    """A fresh PostgreSQL database, with a home of its own."""
    url = cluster.create_database(f"test_{os.urandom(6).hex()}", template="template")
    settings = Settings(home=str(tmp_path / "home"), db=url.render_as_string(hide_password=False))
    with opened(settings, folder(tmp_path)) as store:
        yield store
    assert url.database is not None
    cluster.drop_database(url.database)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    """A fresh store, once of each kind."""
    name = "sqlite_store" if request.param == "sqlite" else "postgres_store"
    chosen: Store = request.getfixturevalue(name)
    return chosen


def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the session; a test takes a context of its own from it."""
    if reason := chromium.why_unavailable():
        is_missing(reason)
    with chromium.browser() as running:
        yield running
