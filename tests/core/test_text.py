"""Texts of strangers: what we make of them before they stand among ours."""

import pytest

from agentsroom.core.text import isolated


@pytest.mark.parametrize("text", ["", "shared:front", "кухня", "日本語", "a\u200bb"])
def test_a_text_that_turns_nothing_stays_as_it_is(text: str) -> None:
    assert isolated(text) == text


@pytest.mark.parametrize(
    "text", ["\u05de\u05d9\u05dc\u05d4", "a\u202eb", "a\u2069\u202eb", "a\u2067b", "\u0661"]
)
def test_a_text_that_turns_what_is_behind_it_is_closed_off_and_cannot_open_itself(text: str) -> None:
    closed = isolated(text)
    assert (closed[0], closed[-1]) == ("\u2068", "\u2069")
    assert not set(closed[1:-1]) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert [one for one in text if one.isalnum()] == [*closed[1:-1]]
