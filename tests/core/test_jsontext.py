"""JSON is read strictly: what parsers disagree on is refused with the reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "deeper than 64"),
        (b"1" * 5_000, "4,300 digits"),
        (b'{"n":1e999}', "1e999 is larger"),
        (b"[-1e999]", "larger"),
        (b"[" + b"1," * 20_001 + b"1]", "more than the 20,000 values"),
        (b"[" + b"[]," * 1_300_000 + b"1]", "more than the 20,000 values"),
        (b"[" + b'"",' * 1_300_000 + b"1]", "more than the 20,000 values"),
        (b"[" * 4_000_000, "more than the 20,000 values"),
        (b"]" * 4_000_000, "not JSON"),
        (b"[" * 65, "deeper than 64"),
        (b"[" * 64, "not JSON"),
        (b"]" * 100, "not JSON"),
        (b"[" + b"[" * 64 + b"]" * 64 + b",1]", "deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
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
        (b"{" + b",".join(b'"%d":1' % number for number in range(15_000)) + b',"14999":1}', "twice"),
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


def test_depth_is_that_of_the_deepest_place() -> None:
    row = b"[" * 63 + b"1" + b"]" * 63
    assert parse_strict(b"[" + b",".join([row] * 100) + b"]")
    assert parse_strict(b"[" + b"1," * 19_999 + b"1]")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)
    )
)
def test_whatever_is_json_is_read_as_it_is(value: object) -> None:
    assert parse_strict(json.dumps(value).encode()) == value
    assert parse_strict(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value
