"""Node 22 and the MCP tools that run on it, as .ci/system-packages installs them into .node/."""

import os
import subprocess
from pathlib import Path

FOLDER = Path(".node/node_modules/.bin").absolute()


def why_unavailable() -> str | None:
    """Why its tools can't be run here, or None when they can."""
    return (
        None
        if (FOLDER / "node").exists()
        else "Node 22 is not installed: .ci/system-packages node installs it"
    )


def run(program: str, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs one of the tools to its end, whatever its exit code."""
    path = os.pathsep.join((str(FOLDER), os.environ["PATH"]))
    return subprocess.run(
        [str(FOLDER / program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
    )
