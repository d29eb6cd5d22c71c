"""The two lists of dependencies say the same: requirements.txt (with reasons) and pyproject.toml (the package)."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pins(file: str) -> list[str]:
    lines = (ROOT / file).read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if not line.startswith("#")]


def test_the_package_asks_for_exactly_what_requirements_txt_pins() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == pins("requirements.txt")


def test_the_postgres_extra_is_what_the_tests_use() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["postgres"][0] in pins("requirements-dev.txt")


def test_every_requirement_is_pinned_exactly() -> None:
    loose = [
        pin
        for file in ("requirements.txt", "requirements-dev.txt")
        for pin in pins(file)
        if not re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", pin)
    ]
    assert loose == []
