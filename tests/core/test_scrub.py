"""No secret stays in a text, wherever it stands in it; what is none stays readable."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsroom.core.scrub import HIDDEN, scrub, scrub_tokens

TOKEN = "Kq3ZtWv8sYb1NfR5hLx0GmC7dJpU2eAoT9iEwQyS6Vz"
KEY = f"agt_Pu8LicParT12.{TOKEN}"
BASE62 = string.digits + string.ascii_letters


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "key={}",
        "the key '{}' is wrong",
        'Authorization: Bearer {}"',
        "Authorization: bearer  {}",
        "Authorization%3A%20Bearer%20{}",
        "{{'Authorization': 'Bearer {}'}}",
        "GET /rooms?key={}&x=1 failed",
        "GET /login/{} failed",
        "GET /login/{}?x HTTP/1.1",
        "http://127.0.0.1:8765/login/{}#x",
        "%2Flogin%2F{}",
        '{{"token": "{}"}}',
        "b'token={}&csrf_token=x'",
        "Cookie: agents_room_01234567={}; other={}",
        "{{'Cookie': 'x={}'}}",
        "('Set-Cookie', 'monitor_door={}; HttpOnly')",
        "postgresql+psycopg://ada:{}@db/rooms",
        "password={} host=db",
        "X-CSRFToken: {}",
        "x{}y",
        "{0}{0}",
        "\u00e9{}\n",
    ],
)
@pytest.mark.parametrize("secret", [TOKEN, KEY, f"dev_{TOKEN[:12]}.{TOKEN}", KEY.replace(".", "%2E")])
def test_a_secret_is_hidden(text: str, secret: str) -> None:
    scrubbed = scrub(text.format(secret, secret))
    assert secret not in scrubbed
    assert TOKEN not in scrubbed
    assert HIDDEN in scrubbed


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        (
            "postgresql+psycopg://ada:p@ss:word@db:5432/rooms",
            "postgresql+psycopg://ada:[hidden]@db:5432/rooms",
        ),
        (
            "postgresql://db/rooms?user=ada&password=x&y=z",
            "postgresql://db/rooms?user=ada&password=[hidden]&y=z",
        ),
        ("agt_short", "agt_[hidden]"),
        ("GET /login/short failed", "GET /login/[hidden] failed"),
        ("GET /monitor/short/x failed", "GET /monitor/[hidden]/x failed"),
        ("Bearer short, then", "Bearer [hidden], then"),
        ("Cookie: a=b; c=d", "Cookie: [hidden]"),
        ("csrf_token=Ij.x-y_z&token=a", "csrf_token=[hidden]&token=a"),
    ],
)
def test_a_short_secret_is_known_by_where_it_stands(text: str, scrubbed: str) -> None:
    assert scrub(text) == scrubbed


def test_a_key_keeps_its_public_part_by_which_its_agent_is_found() -> None:
    public = KEY.partition(".")[0]
    assert scrub(f"the key {KEY} was refused") == f"the key {public}.{HIDDEN} was refused"
    assert scrub(f"the key {public} was revoked") != f"the key {KEY} was revoked"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "POST /login failed",
        "GET /rooms/repo:app?before=12 failed",
        "The store /home/ada/.agents-room/room.db is busy: process 4711 holds it.",
        "https://rooms.example.org:8443/rooms",
        "git@example.org:ada/door.git",
        "session 0123456789abcdef of ada@host",
        "commit 0123456789abcdef0123456789abcdef01234567",
        'File "/srv/agentsroom/access/service.py", line 12, in agent_of_key',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


@given(
    st.text(),
    st.text(),
    st.text(BASE62, min_size=43, max_size=43),
    st.sampled_from(
        ["{}", "agt_ABCDEFGHIJKL.{}", "dev_ABCDEFGHIJKL.{}", "Bearer {}", "/login/{}", "://u:{}@h"]
    ),
)
def test_no_surroundings_bring_a_secret_back(before: str, after: str, secret: str, form: str) -> None:
    scrubbed = scrub(before + form.format(secret) + after)
    assert secret not in scrubbed
    assert scrub(scrubbed) == scrubbed


@given(st.text(alphabet="agtdev_.%2elogin/:@bearcokps =\"'\n[hi]0A", max_size=200))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once


@pytest.mark.parametrize(
    "piece", ["agt_", "/login/", "://", "://a:", "cookie ", "a", "bearer ", "password ", "@"]
)
def test_a_long_text_is_scrubbed_in_a_time_that_grows_with_it(piece: str) -> None:
    """A pattern that looks back again and again would take hours here; the test's time-out tells."""
    assert scrub(piece * 300_000 + "\n")


@pytest.mark.parametrize(
    "text", ["no session {}", '{{"room": "{}"}}', "?key={}&x=1", "agt_ABCDEFGHIJKL.{}", "/login/{}"]
)
def test_an_answer_repeats_no_token(text: str) -> None:
    assert scrub_tokens(text.format(TOKEN)) == text.format(HIDDEN)


@pytest.mark.parametrize(
    "text",
    [
        "/srv/app/login/form.py is held by ada",
        "Bearer of news, cookie: none",
        f"blobs/sha256/{'0123456789abcdef' * 4}",
        f"{TOKEN}x",
        "AbstractSingletonProxyFactoryBeanImplementa.java",
        "a" * 43,
        "0123456789" * 5,
    ],
)
def test_an_answer_keeps_every_path_and_name(text: str) -> None:
    assert scrub_tokens(text) == text
