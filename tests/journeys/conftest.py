"""A home of its own for each journey, and the server that runs on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import WebServer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server(home: Path) -> Iterator[WebServer]:
    with WebServer(home) as running:
        yield running
