"""Every page as people see it: axe-core finds nothing, nothing scrolls sideways, its HTML is valid, its print is one of paper."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.conftest import is_missing
from tests.support import node
from tests.support.browser import problems_of
from tests.support.looks import LOOKS, THEMES, WIDTHS, Look, Looker, Theme, looking, printed

NARROWEST, WIDEST, STEP = 320, 1920, 80
FAULTS = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(({ id, help, nodes }) => [id, help, nodes.map((one) => one.html.slice(0, 200))]);
}"""
OVERFLOW = """() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return null;
  const wide = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > clientWidth);
  return wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120));
}"""
MOVING = "() => document.getAnimations().map((one) => one.effect.target.outerHTML.slice(0, 120))"

NOT_THERE = {"error", "wiki-missing", "room-answer"}
"""Chromium reports an answer of 4xx as a problem."""
VALID = {"root": True, "extends": ["html-validate:standard"]}

every_look = pytest.mark.parametrize("what", LOOKS, ids=lambda look: look.name)


@pytest.fixture(scope="module")
def looker(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looker]:
    with looking(browser, tmp_path_factory.mktemp("town")) as looker:
        yield looker


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core; the strict policy stays: the browser itself is what runs it."""
    if reason := node.why_unavailable():
        is_missing(reason)
    return (node.FOLDER.parent / "axe-core/axe.min.js").read_text()


def resized(page: Page, width: int, theme: Theme) -> None:
    page.set_viewport_size(ViewportSize(width=width, height=900))
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")


@every_look
def test_axe_finds_nothing_in_either_theme_at_a_desk_and_on_a_phone(
    looker: Looker, axe: str, what: Look
) -> None:
    page = looker.look(what, WIDTHS[0], THEMES[0])
    page.evaluate(axe)
    found = {}
    for width in WIDTHS:
        for theme in THEMES:
            resized(page, width, theme)
            found[f"{theme} {width}"] = page.evaluate(FAULTS)
    assert {where: faults for where, faults in found.items() if faults} == {}


@every_look
def test_no_page_scrolls_sideways(looker: Looker, what: Look) -> None:
    page = looker.look(what, NARROWEST, "light")
    wide = {}
    for width in range(NARROWEST, WIDEST + 1, STEP):
        page.set_viewport_size(ViewportSize(width=width, height=900))
        wide[width] = page.evaluate(OVERFLOW)
    assert {width: found for width, found in wide.items() if found} == {}


@every_look
def test_nothing_is_wrong_or_moves_where_motion_is_not_wanted(looker: Looker, what: Look) -> None:
    problems = problems_of(looker.page)
    page = looker.look(what, WIDTHS[0], "light")
    assert page.evaluate(MOVING) == []
    expected = 1 if what.name in NOT_THERE else 0
    assert len(problems) == expected, problems


def test_html_is_valid(looker: Looker, tmp_path: Path) -> None:
    if reason := node.why_unavailable():
        is_missing(reason)
    (tmp_path / ".htmlvalidate.json").write_text(json.dumps(VALID))
    for what in LOOKS:
        (tmp_path / f"{what.name}.html").write_text(looker.source(what))
    checked = node.run("html-validate", "--formatter", "text", str(tmp_path), timeout_s=60)
    assert checked.returncode == 0, checked.stdout.replace(f"{tmp_path}/", "")


def test_a_room_prints_its_history_on_white_without_what_only_a_screen_needs(looker: Looker) -> None:
    page = printed(looker)
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for gone in (".rail", ".compose", ".stream", ".page-head .button", "#jump", ".room-list", ".why"):
        assert not any(one.is_visible() for one in page.locator(gone).all()), gone
    messages = page.locator(".message")
    assert messages.count() == 6
    for message in messages.all():
        assert message.is_visible()
    assert page.locator("[data-cut] em").is_visible(), "what a screen cuts is on paper"
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page.pdf(prefer_css_page_size=True))
    assert {(round(float(wide)), round(float(high))) for wide, high in pages} == {(842, 595)}
