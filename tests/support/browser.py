"""Headless Chromium for the tests of pages: Debian's, driven by Playwright, which downloads nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",  # root has none; it opens our own pages only
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def executable() -> str | None:
    """Debian's Chromium, or None where it is not installed."""
    return shutil.which("chromium")


def why_unavailable() -> str | None:
    """Why no browser can be started here, or None when one can."""
    return None if executable() else "Chromium is not installed: no chromium on the PATH"


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that lives as long as the `with` block; each test takes a context of its own from it."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS, headless=True)
        try:
            yield running
        finally:
            running.close()


def problems_of(page: Page) -> list[str]:
    """A list that grows with each script error and console error of the page, CSP violations among them."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    return problems
