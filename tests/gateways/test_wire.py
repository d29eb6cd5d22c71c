"""A request's head on the wire: what is read, and what is refused because two readers could differ about it."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsroom.gateways.wire import MOST_FIELDS, MOST_HEAD, MOST_LINE, Head, HeadRefused, read_head


def read(head: bytes) -> Head:
    lines = BytesIO(head)
    return read_head(lines.readline(MOST_LINE + 1), lines)


def refusal(head: bytes) -> int:
    """The status of the refusal."""
    with pytest.raises(HeadRefused) as refused:
        read(head)
    return refused.value.status


def with_fields(*fields: bytes, method: bytes = b"POST", version: bytes = b"1.1") -> bytes:
    return b"%b /x HTTP/%b\r\n" % (method, version) + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


def test_a_head_is_read() -> None:
    head = read(b"POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nCONTENT-length: \t7 \r\n\r\n")
    fields = [("Host", "h"), ("X-Empty", ""), ("CONTENT-length", "7")]
    assert head == Head("POST", "/a%20b?c=d", "HTTP/1.1", fields, 7, is_chunked=False)
    assert read(with_fields(b"Transfer-Encoding: Chunked")).is_chunked
    assert read(b"GET / HTTP/1.1\nHost: h\n\n").fields == [("Host", "h")], "a bare LF ends a line"
    assert read("GET /é HTTP/1.1\r\n\r\n".encode()).target == "/Ã©", "bytes as Latin-1, as WSGI has them"


@pytest.mark.parametrize(
    ("fields", "version", "is_last"),
    [
        ([], b"1.1", False),
        ([b"Connection: close"], b"1.1", True),
        ([b"Connection: x, Close"], b"1.1", True),
        ([b"Connection: x", b"Connection: close"], b"1.1", True),
        ([b"Connection: closed"], b"1.1", False),
        ([], b"1.0", True),
        ([b"Connection: Keep-Alive"], b"1.0", False),
        ([b"Connection: keep-alive, close"], b"1.0", True),
    ],
)
def test_the_client_says_whether_it_goes_on(fields: list[bytes], version: bytes, is_last: bool) -> None:
    assert read(with_fields(*fields, version=version)).is_last is is_last


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        (b"http://evil.com/rooms", "evil.com", "/rooms"),
        (b"HTTPS://evil.com:1?x=1", "evil.com:1", "/?x=1"),
        (b"http://user@evil.com", "user@evil.com", "/"),
        (b"http:///rooms", "", "/rooms"),
        (b"/http://evil.com/", "ours", "/http://evil.com/"),
        (b"//evil.com/", "ours", "//evil.com/"),
    ],
)
def test_a_whole_address_says_itself_which_host_is_meant(target: bytes, host: str, path: str) -> None:
    head = read(b"GET %b HTTP/1.1\r\nX: y\r\nhost: ours\r\n\r\n" % target)
    assert head.target == path
    assert [value for name, value in head.fields if name.lower() == "host"] == [host]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r\n",
        b"GET /\r\n",
        b"GET / HTTP/0.9\r\n",
        b"GET / HTTP/2.0\r\n",
        b"GET / HTTP/1.10\r\n",
        b"GET / http/1.1\r\n",
        b"GET  / HTTP/1.1\r\n",
        b"GET\t/ HTTP/1.1\r\n",
        b" GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1 \r\n",
        b"GET / x HTTP/1.1\r\n",
        b"GET /\x00 HTTP/1.1\r\n",
        b"GET /a%00b HTTP/1.1\r\n",
        b"GET /a?b=%00 HTTP/1.1\r\n",
        b"GET /\xff HTTP/1.1\r\n",
        b"GET /\r HTTP/1.1\r\n",
        b"G(T / HTTP/1.1\r\n",
        b"GET rooms HTTP/1.1\r\n",
        b"GET * HTTP/1.1\r\n",
        b"GET ftp://evil.com/ HTTP/1.1\r\n",
        b"CONNECT evil.com:443 HTTP/1.1\r\n",
        b"GET / HTTP/1.1",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n",
    ],
)
def test_a_first_line_of_another_form_is_refused(line: bytes) -> None:
    assert refusal(line + b"Host: h\r\n\r\n") == 400


def test_the_server_as_a_whole_may_be_asked_for_its_options() -> None:
    assert read(b"OPTIONS * HTTP/1.1\r\n\r\n").target == "*"


NO_HEADERS = [
    b"no colon",
    b": no name",
    b"Host : space",
    b" Folded: x",
    b"\tFolded: x",
    b"N\x00ul: x",
    b"Nul: \x00",
    b"Bare: cr\rHost: evil",
    b"Bell: \x07",
    b"Delete: \x7f",
    b"N\xe9: x",
    b"(x): y",
]
ENDS_IN_DOUBT = [
    [b"Content-Length: 5", b"Content-Length: 5"],
    [b"Content-Length: 5", b"Content-Length: 6"],
    [b"Content-Length: 5, 5"],
    [b"Content-Length: +5"],
    [b"Content-Length: -5"],
    [b"Content-Length: 5_0"],
    [b"Content-Length: 0x5"],
    [b"Content-Length: \xb2"],
    [b"Content-Length:"],
    [b"Content-Length: " + b"9" * 16],
    [b"Content-Length: 5", b"Transfer-Encoding: chunked"],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
    [b"Transfer-Encoding: gzip, chunked"],
    [b"Transfer-Encoding: chunked, gzip"],
    [b"Transfer-Encoding: xchunked"],
    [b"Transfer-Encoding: identity"],
    [b"Transfer-Encoding:"],
    [b"Transfer-Encoding: \x0bchunked"],
]
"""Headers by which two readers could see two ends of the body."""


@pytest.mark.parametrize("fields", [*([field] for field in NO_HEADERS), *ENDS_IN_DOUBT])
def test_headers_of_another_form_and_ends_in_doubt_are_refused(fields: list[bytes]) -> None:
    assert refusal(with_fields(b"Host: h", *fields)) == 400


def test_chunks_are_not_of_http_1_0() -> None:
    assert refusal(with_fields(b"Transfer-Encoding: chunked", version=b"1.0")) == 400


def test_a_head_is_bounded() -> None:
    room = MOST_LINE - len(b"GET / HTTP/1.1\r\n")
    assert read(b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * room)).target == "/" + "a" * room
    assert refusal(b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * (room + 1))) == 414
    assert len(read(with_fields(*[b"A: b"] * MOST_FIELDS)).fields) == MOST_FIELDS
    assert refusal(with_fields(*[b"A: b"] * (MOST_FIELDS + 1))) == 431
    assert read(with_fields(b"A: " + b"b" * (MOST_LINE - 5)))
    assert refusal(with_fields(b"A: " + b"b" * (MOST_LINE - 4))) == 431
    lines = [b"A: " + b"b" * 4_091] * (MOST_HEAD // 4_096)
    assert read(with_fields(*lines))
    assert refusal(with_fields(*lines, b"C: d")) == 431


def test_a_head_that_breaks_off_is_refused() -> None:
    assert refusal(b"GET / HTTP/1.1\r\nHost: h\r\n") == 400
    assert refusal(b"GET / HTTP/1.1\r\nHost: h") == 400


def outcome(head: bytes) -> str | int:
    """The status of the refusal, if it is one."""
    try:
        found = read(head)
    except HeadRefused as refused:
        return refused.status
    return "read" if found.method and found.target else "half read"


@given(st.binary(max_size=300))
def test_whatever_comes_is_read_or_refused(text: bytes) -> None:
    for head in (text, b"GET / HTTP/1.1\r\n" + text, b"GET / HTTP/1.1\r\nA: " + text + b"\r\n\r\n"):
        assert outcome(head) in ("read", 400, 414, 431)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"X-[a-z0-9-]{1,9}", fullmatch=True),
            st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f")),
        ),
        max_size=9,
    )
)
def test_what_is_written_is_read(fields: list[tuple[str, str]]) -> None:
    head = with_fields(*(f"{name}: {value}".encode("latin-1") for name, value in fields))
    assert read(head).fields == fields
