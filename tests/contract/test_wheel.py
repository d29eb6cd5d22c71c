"""The wheel, installed by itself outside the checkout, has all that the product needs."""

import http.client
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_pages_styles_and_wiki(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "static", "wiki"):
        inside = {
            f"agentsroom/{one.relative_to(ROOT)}" for one in (ROOT / folder).rglob("*") if one.is_file()
        }
        assert inside <= names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


def test_the_installed_program_serves_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(packages),
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True)
    program = "import agentsroom, agentsroom.__main__ as entry; print(agentsroom.__file__, flush=True); entry.main()"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(packages),
        "AGENTS_ROOM_HOME": str(tmp_path / "home"),
        "AGENTS_ROOM_PORT": "0",
    }
    with subprocess.Popen(
        [sys.executable, "-c", program, "serve"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert Path(server.stdout.readline().strip()).is_relative_to(packages)
        address = next(
            match[1] for line in server.stdout if (match := re.search(r"http://(\S+)/login/\w+", line))
        )
        assert "token" in _get(address, "/login")
        assert "--accent" in _get(address, "/static/app.css")
        server.terminate()
        assert server.wait(10) == 0


def _get(address: str, path: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200, text
    return text
