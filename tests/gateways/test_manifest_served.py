"""The three manifests of a server: where and to whom they are given, their formats, what they say."""

import json
import re
from typing import Any

import pytest

from agentsroom.core.product import DESCRIPTION
from agentsroom.gateways.manifest.served import SERVED, name_at
from tests.support.manifests import ask, client_of, misfits, served
from tests.support.stores import Store
from tests.support.web import BASE, RUNNING


@pytest.mark.parametrize("kind", list(SERVED))
def test_each_is_served_with_its_media_type_and_only_sent_again_when_it_changed(
    kind: str, sqlite_store: Store
) -> None:
    client, place = client_of(sqlite_store), SERVED[kind].place
    answer = ask(client, place)
    assert answer.headers["Content-Type"] == SERVED[kind].media_type
    assert answer.headers["Cache-Control"] == "private, no-cache"
    again = ask(client, place, If_None_Match=answer.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    other = ask(client_of(sqlite_store, url="https://other.example"), place)
    assert other.headers["ETag"] != answer.headers["ETag"]


@pytest.mark.parametrize("kind", list(SERVED))
def test_none_is_for_strangers(kind: str, sqlite_store: Store) -> None:
    answer = client_of(sqlite_store).get(SERVED[kind].place, base_url=BASE)
    assert answer.status_code == 401
    assert DESCRIPTION not in answer.text


@pytest.mark.parametrize(
    ("changes", "headers", "base"),
    [
        ({}, {}, BASE),
        ({}, {"Host": "localhost:8765"}, "http://localhost:8765"),
        ({"url": "https://rooms.example.org"}, {}, "https://rooms.example.org"),
        ({"url": "https://rooms.example.org/"}, {}, "https://rooms.example.org"),
        ({"url": "https://example.org/rooms/"}, {}, "https://example.org/rooms"),
        ({"proxies": 1}, {"X_Forwarded_Host": "localhost:8765"}, "http://localhost:8765"),
    ],
)
def test_addresses_are_those_that_clients_reach(
    sqlite_store: Store, changes: dict[str, Any], headers: dict[str, str], base: str
) -> None:
    client = client_of(sqlite_store, **changes)
    assert served(client, "tools", **headers)["endpoint"] == f"{base}/mcp"
    assert served(client, "server-card", **headers)["remotes"][0]["url"] == f"{base}/mcp"
    assert served(client, "ai-catalog", **headers)["entries"][0]["url"] == f"{base}/mcp/server-card"


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("https://rooms.example.org", "org.example.rooms/agents-room"),
        ("https://Rooms.Example.org:8443/path", "org.example.rooms/agents-room"),
        ("https://example.org.", "org.example/agents-room"),
        ("http://my_box:8765", "my-box/agents-room"),
        ("http://localhost:8765", "localhost/agents-room"),
        ("http://127.0.0.1:8765", "localhost/agents-room"),
        ("http://192.168.1.5", "localhost/agents-room"),
        ("http://[::1]:8765", "localhost/agents-room"),
    ],
)
def test_a_server_has_its_hosts_name_in_reverse_and_an_address_has_none(base: str, name: str) -> None:
    assert name_at(base) == name


@pytest.mark.parametrize("changes", [{}, {"auth": "off"}, {"url": "https://rooms.example.org"}])
def test_the_card_keeps_its_format(sqlite_store: Store, changes: dict[str, str]) -> None:
    card = served(client_of(sqlite_store, **changes), "server-card")
    closed = ("ServerCard", "Remote", "KeyValueInput", "Input")
    assert misfits(card, "server-card-v1.schema.json", closed) == []


def test_the_card_asks_for_a_key_as_a_secret_where_one_is_needed(sqlite_store: Store) -> None:
    client = client_of(sqlite_store)
    [header] = served(client, "server-card")["remotes"][0]["headers"]
    assert (header["name"], header["value"]) == ("Authorization", "Bearer {key}")
    assert header["isSecret"] is header["isRequired"] is header["variables"]["key"]["isSecret"] is True
    assert served(client, "tools")["authentication"]["required"] is True
    unguarded = client_of(sqlite_store, auth="off")
    assert "headers" not in served(unguarded, "server-card")["remotes"][0]
    assert served(unguarded, "tools")["authentication"]["required"] is False


def test_the_catalog_keeps_its_format_and_leads_to_the_card(sqlite_store: Store) -> None:
    """AI Catalog 0.9, "Top-Level Structure", "Catalog Entry" and "Version Format": nobody publishes a schema of it."""
    client = client_of(sqlite_store, url="https://rooms.example.org")
    catalog = served(client, "ai-catalog")
    assert set(catalog) == {"specVersion", "host", "entries"}
    assert re.fullmatch(r"\d+\.\d+", catalog["specVersion"])
    assert set(catalog["host"]) == {"displayName"}
    [entry] = catalog["entries"]
    assert set(entry) == {"identifier", "type", "url"}
    assert entry["identifier"] == "urn:air:rooms.example.org:mcp:agents-room"
    assert entry["type"] == "application/mcp-server-card+json"
    answer = ask(client, entry["url"].removeprefix("https://rooms.example.org"))
    assert answer.mimetype == entry["type"]


def test_the_token_of_the_server_stands_in_none(sqlite_store: Store) -> None:
    client = client_of(sqlite_store)
    assert not any(RUNNING.token in json.dumps(served(client, kind)) for kind in SERVED)
