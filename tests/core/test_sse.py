"""Server-sent events: every case of tests/cases/sse.jsonl, in any cut; what is too long; what we write ourselves."""

import base64
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsroom.core import sse
from agentsroom.core.sse import MOST_RETRY_MS, EventTooLong, SseEvent, SseParser, encode_event
from tests.support.cases import read
from tests.support.stores import Json

CASES = read("sse.jsonl")
SMALL = [case for case in CASES if len(str(case)) < 10_000]


def chunks_of(case: Json) -> list[bytes]:
    return [base64.b64decode(chunk) for chunk in case["chunks_b64"]]


def expected(case: Json) -> Json:
    expect: Json = case["expect"]
    return expect


def read_in(chunks: list[bytes]) -> Json:
    """What the parser gives, in the words of the cases."""
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return {
        "events": [{"event": one.name, "data": one.data, "id": one.id} for one in events],
        "last_event_id": parser.last_event_id,
        "retry_ms": parser.retry_ms,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_sse_case(case: Json) -> None:
    assert read_in(chunks_of(case)) == expected(case)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case["id"])
def test_sse_case_byte_by_byte_and_at_once(case: Json) -> None:
    whole = b"".join(chunks_of(case))
    assert read_in([whole]) == expected(case)
    assert read_in([whole[place : place + 1] for place in range(len(whole))]) == expected(case)


def test_no_case_is_left_out() -> None:
    assert (len(CASES), len(SMALL)) == (35, 34)


@st.composite
def cut(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> tuple[bytes, list[bytes]]:
    """Bytes, whole and in some cut; empty chunks too."""
    given_bytes = draw(whole)
    places = draw(st.lists(st.integers(0, len(given_bytes))))
    ends = [0, *sorted(places), len(given_bytes)]
    return given_bytes, [given_bytes[start:end] for start, end in pairwise(ends)]


PIECES = st.sampled_from(
    [
        *(b"data", b"event", b"id", b"retry", b"other", b":", b": ", b":  ", b"7", b"a", b"\t", b"\0"),
        *(
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"\xef\xbb\xbf",
            b"\xf0\x9f",
            b"\x98\x80",
            b"\xc3\xa9",
            b"\xe2\x80\xa8",
        ),
    ]
)


@settings(deadline=None)
@given(cut(st.sampled_from(SMALL).map(lambda case: b"".join(chunks_of(case)))))
def test_any_cut_of_a_case_gives_the_same(found: tuple[bytes, list[bytes]]) -> None:
    whole, chunks = found
    assert read_in(chunks) == read_in([whole])


@settings(deadline=None)
@given(cut(st.lists(PIECES, max_size=40).map(b"".join)))
def test_any_cut_of_any_bytes_gives_the_same(found: tuple[bytes, list[bytes]]) -> None:
    whole, chunks = found
    assert read_in(chunks) == read_in([whole])


@settings(deadline=None)
@given(cut(st.lists(PIECES, max_size=40).map(b"".join)), st.integers(0, 30))
def test_any_cut_is_too_long_alike(found: tuple[bytes, list[bytes]], most: int) -> None:
    whole, chunks = found
    assert events_until_too_long(chunks, most) == events_until_too_long([whole], most)


def events_until_too_long(chunks: list[bytes], most: int) -> tuple[list[SseEvent], bool]:
    """The events that came, and whether the reading ended too early."""
    parser = SseParser(most=most)
    events: list[SseEvent] = []
    try:
        for chunk in chunks:
            events.extend(parser.feed(chunk))
    except EventTooLong:
        return events, True
    return events, False


@pytest.mark.parametrize("beginning", [b"data:", b":", b"nothing", b"id:", b""])
def test_a_line_that_never_ends_is_given_up(beginning: bytes) -> None:
    parser = SseParser(most=1_000)
    assert list(parser.feed(b"data: before\n\n" + beginning + b"x" * 900)) == [
        SseEvent("message", "before", "")
    ]
    with pytest.raises(EventTooLong, match="1,000 bytes"):
        list(parser.feed(b"x" * 101))


def test_an_event_of_many_lines_that_never_ends_is_given_up() -> None:
    assert events_until_too_long([b"data\n"] * 997, most=1_000) == ([], False)
    assert events_until_too_long([b"data\n"] * 998, most=1_000) == ([], True)


def test_comments_and_whole_events_may_go_on_for_ever() -> None:
    parser = SseParser(most=20)
    for _ in range(1_000):
        assert list(parser.feed(b": alive\nevent: name\n")) == []
        assert list(parser.feed(b"data: 0123456789\n\n")) == [SseEvent("name", "0123456789", "")]


def test_the_largest_message_of_ours_fits() -> None:
    assert sse.MOST_EVENT > 6 * 65_536, "each byte of a body may be a JSON escape of six"


@pytest.mark.parametrize(
    ("value", "retry_ms"),
    [(b"0" * 5_000 + b"9", 9), (b"9" * 5_000, MOST_RETRY_MS), (b"0", 0), (b"", None), ("٣".encode(), None)],
)
def test_a_time_is_digits_however_many(value: bytes, retry_ms: int | None) -> None:
    assert read_in([b"retry: " + value + b"\n"])["retry_ms"] == retry_ms


def test_the_id_of_the_connection_before_holds_until_another_is_told() -> None:
    parser = SseParser("7")
    [first, second] = parser.feed(b"data: a\n\nid: 8\ndata: b\n\n")
    assert (first.id, second.id) == ("7", "8")
    assert SseParser("7").last_event_id == "7"


@settings(deadline=None)
@given(st.text(), st.sampled_from(["message", "ready"]), st.none() | st.integers(0))
def test_what_we_write_is_read_as_one_event(data: str, name: str, event_id: int | None) -> None:
    raw = encode_event(data.encode(errors="replace"), name, event_id)
    [event] = SseParser().feed(raw)
    told = data.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    assert event == SseEvent(name, told, "" if event_id is None else str(event_id))


def test_an_event_that_a_page_swaps_has_no_name() -> None:
    assert sse.encode_event(b"<p>\r\n</p>", None, 7) == b"id: 7\ndata: <p>\ndata: </p>\n\n"
    assert sse.encode_event(b"{}") == b"event: message\ndata: {}\n\n"
