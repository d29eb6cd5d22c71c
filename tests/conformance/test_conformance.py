"""The official conformance suite over the real server, in both eras; a run of nothing counts as failed."""

import re
import sys
from pathlib import Path

import pytest

from tests.conftest import is_missing
from tests.support import node
from tests.support.server import WebServer

SERVER = [sys.executable, "-m", "tests.conformance.server"]
EXPECTED_FAILURES = Path(__file__).with_name("expected-failures.yaml")
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many scenarios a server must pass to conform to a revision."""
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def _node() -> None:
    if reason := node.why_unavailable():
        is_missing(reason)


@pytest.mark.parametrize("revision", REQUIRED)
def test_the_server_conforms(revision: str, tmp_path: Path) -> None:
    listed = node.run("conformance", "list", "--server", "--requirements", revision, timeout_s=PATIENCE_S)
    required = re.findall(r"^  - (\S+)$", listed.stdout.partition("Client scenarios")[0], re.MULTILINE)
    assert len(required) == REQUIRED[revision]
    # The suite brings no key; without one everybody is let in on loopback only.
    with WebServer(tmp_path / "home", SERVER, AGENTS_ROOM_AUTH="off", AGENTS_ROOM_MAX_CALLS="0") as server:
        found = node.run(
            "conformance",
            "server",
            *("--url", f"{server.url}/mcp"),
            *("--requirements", revision),
            *("--expected-failures", str(EXPECTED_FAILURES)),
            *("--output-dir", str(tmp_path / "results")),
            timeout_s=PATIENCE_S,
        )
    told = found.stdout.partition("=== SUMMARY ===")[2]
    passed = {
        name for name, many in re.findall(r"^✓ ([\w-]+): (\d+) passed", told, re.MULTILINE) if many != "0"
    }
    assert set(required) - passed == known_failures() & set(required), found.stdout
    assert found.returncode == 0, found.stdout


def known_failures() -> set[str]:
    return set(re.findall(r"^  - (\S+)$", EXPECTED_FAILURES.read_text(), re.MULTILINE))
