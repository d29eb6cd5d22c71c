"""`make bench`: measures every row, prints it, and writes wiki/Speed.md."""

import importlib
import os
import platform
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import Row

MODULES = ("in_process", "over_http", "cpu", "processes", "stdio", "mcp_http", "ending", "streams")
PAGE = Path(__file__).parents[1] / "wiki" / "Speed.md"


def main(wanted: list[str]) -> None:
    """Runs the modules of those names, all when none is given; only a run of all writes the page."""
    found: list[Row] = []
    for name in wanted or MODULES:
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            print(f"{row.what}: {_shown(row)} {row.unit} (goal {row.goal})", flush=True)
            found.append(row)
    if not wanted:
        PAGE.write_text(_page(found))


def _shown(row: Row) -> str:
    if len(row.figures) == 1:
        return f"{row.median:.3g}"
    return f"{row.median:.3g} ({min(row.figures):.3g} to {max(row.figures):.3g})"


def _page(found: list[Row]) -> str:
    processor = platform.processor() or platform.machine()
    machine = f"{os.cpu_count()} cores ({processor}), {platform.system()}, Python {platform.python_version()}"
    lines = [
        "# Speed",
        "",
        "Measured by `make bench`, which writes this page. Ratios compare with a raw limit or a peer in the same run, so",
        "they hold from machine to machine; times are of this one. Of several runs the median is given, then the spread.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {machine}, SQLite {sqlite3.sqlite_version}, in a virtual machine that others share.",
        "",
        "| what | goal | measured | note |",
        "| --- | --- | --- | --- |",
        *(f"| {row.what} | {row.goal} | {_shown(row)} {row.unit} | {row.note} |" for row in found),
    ]
    return "\n".join(lines) + "\n"


main(sys.argv[1:])
