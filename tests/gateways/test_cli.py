"""The command line's own words: what was probably meant, and where settings are given."""

import pytest
from click.testing import CliRunner

from agentsroom.cli import cli


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["jion"], "'join'"), (["doctr"], "'doctor'"), (["room", "leav"], "'leave'"), (["rooms"], "'room'")],
)
def test_a_command_that_is_none_is_answered_with_the_one_that_was_meant(words: list[str], meant: str) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert "Did you mean" in done.stderr
    assert meant in done.stderr


@pytest.mark.parametrize(
    ("option", "variable"),
    [("--port", "AGENTS_ROOM_PORT=…"), ("--max-calls", "AGENTS_ROOM_MAX_CALLS=…"), ("--colour", None)],
)
def test_an_option_that_is_a_setting_is_answered_with_its_variable(option: str, variable: str | None) -> None:
    done = CliRunner().invoke(cli, ["serve", option, "80"])
    assert done.exit_code == 2
    assert f"No such option '{option}'" in done.stderr
    assert "AGENTS_ROOM_" not in done.stderr if variable is None else variable in done.stderr


def test_the_help_of_serve_and_room_says_where_to_look() -> None:
    assert "AGENTS_ROOM_PORT=9000" in CliRunner().invoke(cli, ["serve", "--help"]).stdout
    assert "join enters rooms" in CliRunner().invoke(cli, ["room", "--help"]).stdout
