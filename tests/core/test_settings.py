"""Settings are read once, from the environment, and say what they take."""

import pytest

from agentsroom.core.errors import SettingsError
from agentsroom.core.settings import Settings, load_settings


def test_an_empty_environment_gives_the_defaults() -> None:
    assert load_settings({}) == Settings()


def test_an_empty_variable_keeps_the_default() -> None:
    assert load_settings({"AGENTS_ROOM_PORT": ""}).port == 8765


def test_the_store_is_a_path_or_a_url() -> None:
    assert load_settings({"AGENTS_ROOM_HOME": "/h"}).database_url == "sqlite:////h/room.db"
    assert load_settings({"AGENTS_ROOM_DB": "/x/a.db"}).store_name == "/x/a.db"
    postgres = load_settings({"AGENTS_ROOM_DB": "postgresql+psycopg://u:secret@db/rooms"})
    assert postgres.database_path is None
    assert postgres.store_name == "postgresql+psycopg://db/rooms"


@pytest.mark.parametrize(
    ("variable", "value", "taken"),
    [
        ("AGENTS_ROOM_PORT", "http", "a whole number"),
        ("AGENTS_ROOM_PORT", "65536", "0 to 65535"),
        ("AGENTS_ROOM_SYNC", "off", "normal or full"),
        ("AGENTS_ROOM_AUTH", "none", "on or off"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_taken(variable: str, value: str, taken: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable}={value}: .*{taken}"):
        load_settings({variable: value})


@pytest.mark.parametrize(
    "url", ["rooms.example", "ftp://rooms.example", "http://", "http://x:port", "http://[::"]
)
def test_a_public_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="an address such as https"):
        load_settings({"AGENTS_ROOM_URL": url})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"AGENTS_ROOM_HOST": "::1"},
        {"AGENTS_ROOM_HOST": "localhost"},
        {"AGENTS_ROOM_HOST": "127.0.0.2"},
        {"AGENTS_ROOM_URL": "http://127.0.0.1:8765"},
    ],
)
def test_no_authentication_is_accepted_on_loopback(more: dict[str, str]) -> None:
    assert load_settings({"AGENTS_ROOM_AUTH": "off", **more}).auth == "off"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AGENTS_ROOM_HOST", "192.0.2.1"),
        ("AGENTS_ROOM_HOST", "::"),
        ("AGENTS_ROOM_HOST", "box.example"),
        ("AGENTS_ROOM_URL", "https://rooms.example.org"),
        ("AGENTS_ROOM_PROXIES", "1"),
    ],
)
def test_no_authentication_is_refused_where_others_come_in(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"loopback only, not with {variable}={value}"):
        load_settings({"AGENTS_ROOM_AUTH": "off", variable: value})
