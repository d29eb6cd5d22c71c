"""Every error says what to do next, or stands below with the reason why it does not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsroom.core.errors import AgentsRoomError
from agentsroom.gateways.statuses import STATUSES
from tests.support.wiki_tables import errors, subclasses

ROOT = Path(__file__).parents[2]
WITHOUT_HINT = {"invalid_argument": "each of its problems says what the argument takes"}
"""Code → why its errors say no next step."""


def raised() -> Iterator[tuple[str, ast.Call, type[AgentsRoomError]]]:
    """Every place in the code that makes an error of ours: where, the call, the class."""
    errors()  # imports every module
    classes = {one.__name__: one for one in subclasses(AgentsRoomError)}
    for path in sorted((ROOT / "agentsroom").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node, classes[node.func.id]


def test_each_error_that_is_raised_says_the_next_step() -> None:
    found = list(raised())
    assert len(found) > 60
    silent = [
        where
        for where, call, one in found
        if one.code not in WITHOUT_HINT
        and one.usual_hint is None
        and "hint" not in {given.arg for given in call.keywords}
        and "__init__" not in vars(one)
    ]
    assert silent == []


@pytest.mark.parametrize("status", list(STATUSES))
def test_each_error_of_http_says_the_next_step(status: int) -> None:
    one = STATUSES[status]
    assert one.hint or one.code in WITHOUT_HINT


def test_what_needs_no_hint_is_an_error_that_there_is() -> None:
    assert set(WITHOUT_HINT) <= set(errors())
