"""The server on its socket: requests that are half, slow, too big or doubtful, and clients that take no answer."""

import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsroom.gateways.headers import HEADERS
from agentsroom.gateways.wire import MOST_BODY, MOST_BODY_OF_STRANGERS, MOST_LINE
from tests.support.raw import Answer, Raw
from tests.support.server import WebServer

HASTY = [sys.executable, "-m", "tests.support.hasty_server"]
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: $HOST\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with WebServer(tmp_path_factory.mktemp("wsgi") / "home", HASTY) as running:
        yield running


@pytest.fixture
def raw(server: WebServer) -> Iterator[Raw]:
    with Raw(server) as connection:
        yield connection


def post(*fields: bytes, body: bytes = b"", path: bytes = b"/login") -> bytes:
    lines = [b"POST %b HTTP/1.1" % path, b"Host: $HOST", *fields, b"", body]
    return b"\r\n".join(lines)


def carries_our_headers(answer: Answer) -> bool:
    return all(answer.headers.get(name.lower()) == value for name, value in HEADERS.items())


def test_many_requests_are_answered_on_one_connection(raw: Raw) -> None:
    raw.send(HEALTH + HEALTH)
    assert [raw.answer().status for _ in range(2)] == [200, 200]
    assert raw.ask(HEALTH.replace(b"$HOST", b"evil.com")).status == 403
    assert raw.ask(HEALTH).status == 200


FLOODS = {
    "trailers": b"0\r\n" + b"X: y\r\n" * 400_000,
    "chunks of a byte": b"1\r\n \r\n" * 400_000,
    "extensions": b"1;a=b\r\n \r\n" * 200_000,
    "a line without an end": b"1;" + b"a" * 3_000_000,
}


@pytest.mark.parametrize("path", [b"/login", b"/healthz", b"/mcp", b"/nosuch"])
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_a_stranger_is_refused_and_holds_up_nobody(
    server: WebServer, path: bytes, flood: str
) -> None:
    with Raw(server) as stranger, Raw(server) as other:
        stranger.send(post(b"Transfer-Encoding: chunked", path=path))
        sending = threading.Thread(target=stranger.send_what_is_taken, args=(FLOODS[flood],))
        sending.start()
        for _ in range(20):
            assert other.ask(HEALTH).status == 200
        assert 400 <= stranger.answer().status < 500
        sending.join()


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_somebody_who_was_let_in_is_refused_too(server: WebServer, raw: Raw, flood: str) -> None:
    raw.send(put(server, b"Transfer-Encoding: chunked"))
    sending = threading.Thread(target=raw.send_what_is_taken, args=(FLOODS[flood],))
    sending.start()
    assert raw.answer().status in (400, 408, 413), "408: this server is hasty"
    sending.join()


def test_who_sends_without_a_pause_holds_up_nobody(server: WebServer, raw: Raw) -> None:
    many = 200
    with Raw(server) as other:
        other.send(HEALTH)
        size = other.unread()
        assert other.answer().status == 200
        raw.send(HEALTH * many)
        assert other.ask(HEALTH).status == 200
        assert raw.unread() < many * size, "it was answered before the last of the many"


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET / HTTP/3.0\r\n\r\n", 400, "bad_request"),
        (b"GET /healthz\r\n\r\n", 400, "bad_request"),
        (b"GET /%b HTTP/1.1\r\nHost: $HOST\r\n\r\n" % (b"a" * MOST_LINE), 414, "address_too_long"),
        (
            b"GET / HTTP/1.1\r\nHost: $HOST\r\nCookie: %b\r\n\r\n" % (b"a" * 200_000),
            431,
            "headers_too_large",
        ),
        (
            post(b"Content-Length: 1", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
            400,
            "bad_request",
        ),
    ],
    ids=["version", "no version", "long line", "big headers", "two lengths"],
)
def test_a_refused_head_is_answered_and_is_the_last(raw: Raw, head: bytes, status: int, code: str) -> None:
    refused = raw.ask(head)
    assert (refused.status, refused.code) == (status, code)
    assert carries_our_headers(refused)
    assert refused.headers["connection"] == "close"
    assert raw.is_closed()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.0\r\nHost: $HOST\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.1\r\nHost: $HOST\r\nHost: $HOST\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: $HOST\r\nHost: evil.com\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.com\r\nHost: $HOST\r\n\r\n", 403),
        (b"GET http://$HOST/healthz HTTP/1.1\r\nHost: evil.com\r\n\r\n", 200),
        (b"GET http://evil.com/healthz HTTP/1.1\r\nHost: $HOST\r\n\r\n", 403),
        (b"GET http://user@$HOST/healthz HTTP/1.1\r\nHost: $HOST\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: $HOST\r\nX-Forwarded-Host: evil.com\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.com\r\nX-Forwarded-Host: $HOST\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.com\r\nX_Forwarded_Host: $HOST\r\n\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.com\r\nHost_: $HOST\r\n\r\n", 403),
    ],
)
def test_which_host_is_meant_can_not_be_blurred(raw: Raw, head: bytes, status: int) -> None:
    assert raw.ask(head).status == status


def test_half_a_head_is_waited_for_and_then_given_up(raw: Raw) -> None:
    late = raw.ask(b"GET /healthz HTTP/1.1\r\nHost: ")
    assert (late.status, late.code) == (408, "too_slow")
    assert carries_our_headers(late)
    assert raw.is_closed()


def test_a_connection_that_says_nothing_is_closed_without_a_word(raw: Raw) -> None:
    assert raw.is_closed()


def test_an_idle_connection_is_closed_without_a_word(raw: Raw) -> None:
    assert raw.ask(HEALTH).status == 200
    assert raw.is_closed()


def put(server: WebServer, *fields: bytes, body: bytes = b"") -> bytes:
    """A request of the admin's, whose body is read."""
    key = f"Authorization: Bearer {server.running['token']}".encode()
    return post(key, b"Content-Type: application/json", *fields, body=body, path=b"/test/take")


@pytest.mark.parametrize(
    ("field", "body"),
    [
        (b"Content-Length: 9", b""),
        (b"Content-Length: 9", b"x"),
        (b"Content-Length: 9\r\nConnection: Upgrade\r\nUpgrade: h2c", b"x"),
        (b"Transfer-Encoding: chunked", b""),
        (b"Transfer-Encoding: chunked", b"9"),
        (b"Transfer-Encoding: chunked", b"9\r\nxx"),
        (b"Transfer-Encoding: chunked", b"2\r\nxx\r\n"),
        (b"Transfer-Encoding: chunked", b"2\r\nxx\r\n0\r\n"),
    ],
)
def test_half_a_body_is_waited_for_and_then_given_up(
    server: WebServer, raw: Raw, field: bytes, body: bytes
) -> None:
    late = raw.ask(put(server, field, body=body))
    assert (late.status, late.code) == (408, "too_slow")
    assert carries_our_headers(late)
    assert raw.is_closed()


def test_a_body_in_chunks_is_read(server: WebServer, raw: Raw) -> None:
    taken = raw.ask(put(server, b"Transfer-Encoding: chunked", body=b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n"))
    assert (taken.status, taken.body) == (200, b"5")
    assert raw.ask(HEALTH).status == 200


def test_half_a_body_that_nobody_reads_holds_nothing(raw: Raw) -> None:
    assert raw.ask(post(b"Content-Length: 9", body=b"x", path=b"/nothing")).status == 404
    assert raw.is_closed()


def test_a_body_that_is_too_big_is_refused_before_it_is_read(raw: Raw) -> None:
    refused = raw.ask(post(b"Expect: 100-continue", b"Content-Length: 99999999"))
    assert (refused.status, refused.code) == (413, "too_large")
    assert refused.headers["connection"] == "close"
    assert raw.is_closed()


@pytest.mark.parametrize("path", [b"/rooms", b"/nothing", b"/static/app.css", b"/healthz"])
def test_every_address_refuses_a_body_that_is_too_big(raw: Raw, path: bytes) -> None:
    assert raw.ask(post(b"Content-Length: 99999999", path=path)).status == 413


@pytest.mark.parametrize(("size", "status"), [(MOST_BODY, 200), (MOST_BODY + 1, 413)])
def test_a_body_is_bounded_however_it_comes(server: WebServer, raw: Raw, size: int, status: int) -> None:
    body = bytes(size)
    assert raw.ask(put(server, b"Content-Length: %d" % size, body=body)).status == status
    with Raw(server) as other:
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (size, body)
        answer = other.ask(put(server, b"Transfer-Encoding: chunked", body=chunk))
        assert answer.status == status
        assert status == 200 or answer.code == "too_large"


def test_chunks_without_end_are_refused(server: WebServer, raw: Raw) -> None:
    raw.send(put(server, b"Transfer-Encoding: chunked"))
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    for _ in range(80):
        raw.send(piece)
    refused = raw.answer()
    assert (refused.status, refused.code) == (413, "too_large")
    assert raw.is_closed()


def test_a_chunk_that_is_none_ends_the_connection(server: WebServer, raw: Raw) -> None:
    refused = raw.ask(put(server, b"Transfer-Encoding: chunked", body=b"zz\r\n" + HEALTH))
    assert refused.status == 400
    assert raw.is_closed(), "what follows is not taken for a request"


def test_a_chunk_that_is_none_and_that_nobody_reads_ends_the_connection(server: WebServer, raw: Raw) -> None:
    assert raw.ask(post(b"Transfer-Encoding: chunked", body=b"\r\n" + HEALTH, path=b"/nothing")).status == 404
    assert raw.is_closed()
    assert "invalid literal" not in server.output


def test_strangers_are_read_little_of(raw: Raw, server: WebServer) -> None:
    form = b"Content-Type: application/x-www-form-urlencoded"
    body = b"a&" * (MOST_BODY_OF_STRANGERS // 2)
    assert raw.ask(post(form, b"Content-Length: %d" % len(body), body=body)).code == "csrf_failed"
    assert raw.ask(post(form, b"Content-Length: %d" % (len(body) + 1), body=body + b"a")).status == 413
    with Raw(server) as other:
        assert other.ask(post(form, b"Transfer-Encoding: chunked")).status == 411


def test_the_rest_of_a_small_body_that_nobody_read_is_no_request(raw: Raw) -> None:
    body = HEALTH.replace(b"$HOST", raw.host)
    assert raw.ask(post(b"Content-Length: %d" % len(body), body=body, path=b"/nothing")).status == 404
    assert raw.ask(HEALTH).status == 200


def test_a_client_that_takes_nothing_is_let_go(server: WebServer, raw: Raw) -> None:
    before = server.output.count("the flood ended")
    raw.send(HEALTH.replace(b"/healthz", b"/test/flood"))
    server.wait_for("the flood ended\n" * (before + 1))
    assert server.output.count("the flood ended") == before + 1


def test_a_fault_before_the_first_byte_is_answered(server: WebServer, raw: Raw) -> None:
    broken = raw.ask(HEALTH.replace(b"/healthz", b"/test/late?first"))
    assert (broken.status, broken.code) == (500, "internal")
    assert carries_our_headers(broken)
    assert raw.is_closed()
    server.wait_for("GET /test/late?first failed")


def test_a_fault_after_the_first_byte_ends_the_answer(raw: Raw) -> None:
    broken = raw.ask(HEALTH.replace(b"/healthz", b"/test/late"))
    assert broken.status == 200
    assert not broken.body.endswith(b"0\r\n\r\n"), "the client is not told that this was all"


@pytest.mark.parametrize(
    "half", [b"", b"GE", b"GET / HTTP/1.1\r\nHost: x", post(b"Content-Length: 9", body=b"x")]
)
def test_a_client_that_hangs_up_leaves_no_trace(server: WebServer, half: bytes) -> None:
    with Raw(server) as gone:
        gone.send(half)
    with Raw(server) as other:
        assert other.ask(HEALTH).status == 200
    assert "Greenlet" not in server.output


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 8), st.binary(max_size=4)), min_size=1, max_size=4)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_bytes_that_were_changed_on_the_way_get_a_clean_answer(
    server: WebServer, edits: list[tuple[int, int, bytes]]
) -> None:
    before = len(server.output)
    for request in (
        HEALTH,
        HEALTH.replace(b"/healthz", b"/live?page=/rooms&since=0"),
        put(server, b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
        put(server, b"Content-Length: 2", body=b"{}"),
    ):
        changed = request
        for place, cut, new in edits:
            at = place % (len(request) + 1)
            changed = changed[:at] + new + changed[at + cut :]
        with Raw(server) as raw:
            raw.send(changed)
            raw.finish()
            assert raw.status() in {200, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 429, 431}
    assert "Traceback" not in server.output[before:]
