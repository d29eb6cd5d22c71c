"""wiki/Protocol.md against the tests, both ways: each sentence has a test, each test names sentences that are there."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "wiki" / "Protocol.md"
_SENTENCE = re.compile(r"^- \*\*(R\d+)\*\* (?:\(from (\d\d)\) )?(.+)$", re.MULTILINE)


class Sentence(NamedTuple):
    """A numbered rule; `comes_with` is the part that it waits for."""

    number: str
    comes_with: str
    text: str


class Named(NamedTuple):
    """A test that names rules."""

    test: str
    rules: list[str]


def sentences() -> list[Sentence]:
    return [Sentence(*found) for found in _SENTENCE.findall(PAGE.read_text())]


def named_by_tests() -> list[Named]:
    """Every `@pytest.mark.rule("R1", …)` of the tests."""
    return [
        Named(f"{path.name}::{node.name}", rules)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (rules := _rules(node))
    ]


def _rules(node: ast.FunctionDef) -> list[str]:
    return [
        argument.value
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule"
        for argument in mark.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def test_the_sentences_are_numbered_in_their_order() -> None:
    assert [one.number for one in sentences()] == [f"R{n}" for n in range(1, len(sentences()) + 1)]


def test_every_line_of_a_list_is_a_numbered_sentence() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("- ")]
    assert len(lines) == len(sentences())


def test_each_sentence_that_holds_now_has_a_test() -> None:
    proved = {rule for one in named_by_tests() for rule in one.rules}
    assert [one for one in sentences() if not one.comes_with and one.number not in proved] == []


def test_each_test_names_sentences_that_are_there_and_hold_now() -> None:
    there = {one.number for one in sentences() if not one.comes_with}
    assert [one for one in named_by_tests() if not there.issuperset(one.rules)] == []


def test_a_sentence_ends_and_is_not_said_twice() -> None:
    texts = [one.text for one in sentences()]
    assert all(text.endswith(".") for text in texts)
    assert len(set(texts)) == len(texts)
