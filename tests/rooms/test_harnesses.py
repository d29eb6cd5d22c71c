"""Harnesses: known by their environment, from one table."""

import pytest

from agentsroom.rooms.harnesses import HARNESSES, OWN_KEY, OWN_NAME, Found, harness_of, has_key, is_key

KEY = "2b50133e-0000-4000-8000-00000000000a"


@pytest.mark.rule("R16")
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda one: one.name)
def test_each_harness_is_known_by_its_marker(harness: object) -> None:
    one = next(known for known in HARNESSES if known is harness)
    environment = {"PATH": "/bin", one.marker: KEY} | ({one.key: KEY} if one.key else {})
    assert harness_of(environment) == Found(one.name, KEY if one.key else None)


@pytest.mark.rule("R16")
def test_any_other_harness_can_name_itself() -> None:
    assert harness_of({OWN_NAME: "mine", OWN_KEY: KEY, "CLAUDECODE": "1"}) == Found("mine", KEY)
    assert harness_of({}) == Found(None, None)


@pytest.mark.rule("R16")
def test_a_key_without_its_marker_is_anothers() -> None:
    assert harness_of({"CLAUDE_CODE_SESSION_ID": KEY}) == Found(None, None)


@pytest.mark.rule("R15", "R17")
@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (KEY, True),
        ("k" * 8, True),
        ("k" * 128, True),
        ("k" * 7, False),
        ("k" * 129, False),
        ("0123456789abcdef", False),
        ("0123456789ABCDEF", False),
        ("0123456789abcdef0", True),
        ("with space", False),
        ("\u043a\u043b\u044e\u0447\u043a\u043b\u044e\u0447", False),
        ("trailing-newline\n", False),
    ],
)
def test_what_can_be_a_key(text: str, fits: bool) -> None:
    assert is_key(text) is fits
    assert harness_of({OWN_KEY: text}).key == (text if fits else None)


@pytest.mark.rule("R36", "R48")
def test_a_key_is_a_whole_value_whatever_its_variable() -> None:
    assert has_key({"ANYTHING": KEY}, KEY)
    assert not has_key({"ANYTHING": KEY + "x", KEY: "value"}, KEY)


@pytest.mark.rule("R48")
def test_a_key_that_could_be_guessed_is_looked_for_where_keys_stand_alone() -> None:
    assert not has_key({"PASSWORD": "a-guess-at-it", "HOME": "/home/mara"}, "a-guess-at-it")
    for name in (OWN_KEY, "OPENCODE_SESSION_ID"):
        assert has_key({name: "ses_4f1d0c"}, "ses_4f1d0c")
