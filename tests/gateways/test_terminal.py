"""What strangers wrote, in a terminal: nothing steers it, nothing passes for a line of ours, no markup acts."""

import json
import re
from typing import Any

import pytest

from agentsroom.gateways.terminal import show, show_message
from agentsroom.rooms.results import History, MessageInfo
from tests.support.cases import read
from tests.support.stores import Json

CASES = [case for case in read("xss.jsonl") if case.get("surface") == "cli"]
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
HOSTILE = "".join(map(chr, range(0x20))) + "\x7f\x80\x9b31m\x9f\u202e\u2028\u2066\u200f[bold]x[/bold]\r\nnext"


def message(text: str, **changes: Any) -> MessageInfo:
    """One that has the text in every field that a stranger writes."""
    fields: dict[str, Any] = {
        "message_id": 7,
        "sender": "0123456789abcdef",
        "sender_label": text,
        "to": text,
        "subject": text,
        "body": text,
        "reply_to": None,
        "created_at": "2026-12-07T10:00:00Z",
        "expires_at": None,
    }
    return MessageInfo(**{**fields, **changes})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("as_json", [False, True])
def test_terminal_case(case: Json, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert case["expect"] == {"forbid": ["terminal-escape"]}
    payload = case["payload"]
    show_message(message(payload), as_json=as_json)
    printed = capsys.readouterr().out
    assert not STEERS.search(printed)
    if payload.isprintable():
        assert printed.count(payload) == 4, "markup is text"


def test_there_are_cases() -> None:
    assert len(CASES) == 6


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_steers_the_terminal(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    show_message(message(HOSTILE), as_json=as_json)
    show(History(room="shared:x", messages=[message(HOSTILE)], next=None), as_json=as_json)
    assert not STEERS.search(capsys.readouterr().out)


def test_json_says_the_very_text_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_message(message(HOSTILE), as_json=True)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 1
    assert json.loads(printed)["body"] == HOSTILE


def test_a_body_stands_indented_under_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    shown = message("one\n8  ada to *\n\tthree\x1b[2J", sender_label="bob", to="*", subject="s", reply_to=3)
    show_message(shown, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "7  bob to * (replies to 3)  2026-12-07T10:00:00Z",
        "  s",
        "  one",
        "  8  ada to *",
        "        three␛[2J",
    ]


def test_letters_of_every_script_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    body = "naïve 日本 👩🏽\u200d🔧 क्\u200cष"
    show_message(message("x", body=body), as_json=False)
    assert body in capsys.readouterr().out
