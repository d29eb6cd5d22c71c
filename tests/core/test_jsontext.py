"""JSON is read strictly: what parsers disagree on is refused with the reason."""

import pytest

from agentsroom.core.errors import ParseError
from agentsroom.core.jsontext import parse_strict


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":1,"a":1}', '"a" stands twice'),
        (b'{"x":{"a":1,"b":2,"a":3}}', '"a" stands twice'),
        (b'{"n":NaN}', "NaN"),
        (b'{"n":-Infinity}', "-Infinity"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b"", "line 1, column 1"),
        (b"{} {}", "Extra data"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deeper than 64"),
        (b"1" * 5_000, "digits"),
        (b'{"a":"\n"}', "control character"),
    ],
)
def test_what_parsers_disagree_on_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        parse_strict(raw)


def test_depth_is_counted_outside_of_texts() -> None:
    deep = b"[" * 64 + b'"[[[[{{{{\\"[[["' + b"]" * 64
    assert parse_strict(deep) is not None
    assert parse_strict(b'["' + b"[" * 1_000 + b'"]') == ["[" * 1_000]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{" + b",".join(b'"%d":1' % number for number in range(50_000)) + b',"49999":1}', "twice"),
        (b'"' + b'\\"' * 100_000 + b"[" * 65, "not JSON"),
        (b"[" + b",".join([b"[]"] * 65) + b',"' + b"x" * 4_000_000, "not JSON"),
    ],
    ids=["many keys", "escaped quotes", "a long text"],
)
@pytest.mark.timeout(20)
def test_no_text_takes_longer_than_its_length(raw: bytes, reason: str) -> None:
    """Each of these took minutes, or a gigabyte, with a check that looks back."""
    with pytest.raises(ParseError, match=reason):
        parse_strict(raw)


def test_whole_values_come_back() -> None:
    assert parse_strict(b' {"a":[1,2.5,"\\u00e9",null]} ') == {"a": [1, 2.5, "é", None]}
