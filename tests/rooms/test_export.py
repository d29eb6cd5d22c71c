"""The export of a room: a line for each message, in pages, whatever else happens meanwhile."""

import json
import tracemalloc

import pytest
from flask.testing import FlaskClient

from agentsroom.core.clock import iso
from agentsroom.rooms.export import export_url, file_name
from agentsroom.rooms.service.export import exported_lines, room_to_export
from tests.support.stores import Json, Seat, Store
from tests.support.web import app_of, browser_of, log_in

HOSTILE = "one\ntwo\u2028three\u2029four \U0001f600 </script>"


@pytest.fixture
def client(sqlite_store: Store) -> FlaskClient:
    client = browser_of(app_of(sqlite_store))
    log_in(client, sqlite_store)
    return client


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front."""
    return store.join(store.agent(), room="front"), store.join(store.agent(), room="front", label="beta")


def exported(store: Store, room: str = "front") -> list[Json]:
    database = store.runtime.database
    found, last = database.read(lambda work: room_to_export(work, store.admin(), room))
    return [json.loads(line) for line in b"".join(exported_lines(database, found, last)).splitlines()]


@pytest.mark.rule("R159")
def test_each_message_is_a_line_with_its_deliveries_oldest_first(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    alpha, beta = pair
    first = alpha.send("*", "read", subject="s")["message_id"]
    sent_at = iso(store.clock.now())
    store.clock.forward(5)
    beta.receive()
    read_at = iso(store.clock.now())
    alpha.send(beta.id, "expires", ttl_s=60, reply_to=first)
    beta.send("overseer", "to the overseer")
    store.join(store.agent(), room="desk").send("*", "elsewhere")
    ended_at = iso(store.clock.now() + 60_000)
    store.clock.forward(3_600)
    lines = exported(store)
    history = alpha("room_history", room="front")["messages"]
    assert [{**line, "deliveries": None} for line in lines] == [
        {**message, "deliveries": None} for message in reversed(history)
    ]
    states = [[(one["state"], one["at"]) for one in line["deliveries"]] for line in lines]
    assert states == [[("read", read_at)], [("expired", ended_at)], []]
    assert lines[0]["deliveries"][0] | {"at": sent_at} == {
        "recipient": beta.id,
        "label": "beta",
        "state": "read",
        "at": sent_at,
    }


@pytest.mark.rule("R159")
def test_more_than_a_page_comes_whole_and_each_once(store: Store, pair: tuple[Seat, Seat]) -> None:
    ids = [pair[0].send("*", str(number))["message_id"] for number in range(120)]
    assert [line["message_id"] for line in exported(store)] == ids
    store.join(store.agent(), room="desk")
    assert exported(store, "desk") == []


@pytest.mark.rule("R160")
def test_a_message_is_one_line_for_every_reader(store: Store, pair: tuple[Seat, Seat]) -> None:
    pair[0].send("*", HOSTILE, subject="a\u2028b")
    database = store.runtime.database
    found, last = database.read(lambda work: room_to_export(work, store.admin(), "front"))
    text = b"".join(exported_lines(database, found, last)).decode()
    (line,) = text.splitlines()
    assert json.loads(line)["body"] == HOSTILE


@pytest.mark.rule("R161")
def test_what_is_sent_or_pruned_meanwhile_disturbs_nothing(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, _ = pair
    ids = [alpha.send("*")["message_id"] for _ in range(60)]
    database = store.runtime.database
    found, last = database.read(lambda work: room_to_export(work, store.admin(), "front"))
    pages = exported_lines(database, found, last)
    taken = next(pages)
    alpha.send("*", "later")
    with database.engine.connect() as connection:
        connection.exec_driver_sql(f"DELETE FROM messages WHERE id = {ids[55]}")
    text = taken + b"".join(pages)
    assert [json.loads(line)["message_id"] for line in text.splitlines()] == [*ids[:55], *ids[56:]]


def test_memory_does_not_grow_with_the_room(sqlite_store: Store) -> None:
    seat = sqlite_store.join(sqlite_store.agent(), room="front")
    for _ in range(400):
        seat.send(seat.id, "x" * 50_000)
    database = sqlite_store.runtime.database
    found, last = database.read(lambda work: room_to_export(work, sqlite_store.admin(), "front"))
    tracemalloc.start()
    size = sum(map(len, exported_lines(database, found, last)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 400 * 50_000
    assert peak < size / 2


def test_the_download_has_a_safe_name_and_unknown_rooms_are_told_first(
    client: FlaskClient, sqlite_store: Store
) -> None:
    seat = sqlite_store.join(sqlite_store.agent(), room="a/../b c", extra_rooms=["\u96ea/export"])
    seat.send("*", "hi")
    response = client.get(export_url("shared:a/../b c"))
    assert (response.status_code, response.mimetype) == (200, "application/x-ndjson")
    assert 'attachment; filename="shared-a-..-b-c.jsonl";' in response.headers["Content-Disposition"]
    assert json.loads(response.data)["body"] == "hi"
    other = client.get(export_url("shared:\u96ea/export"))
    assert other.headers["Content-Disposition"].isascii()
    assert "filename*=UTF-8''shared-%E9%9B%AA-export.jsonl" in other.headers["Content-Disposition"]
    assert client.get(export_url("shared:attic")).status_code == 404
    assert client.head(export_url("shared:a/../b c")).data == b""


@pytest.mark.parametrize(
    ("room", "name"),
    [
        ("shared:..", "shared.jsonl"),
        ("...", "room.jsonl"),
        ('dir:a"\u202e;x', "dir-a-x.jsonl"),
        ("repo:" + "r" * 200, f"repo-{'r' * 95}.jsonl"),
    ],
)
def test_a_file_name_is_no_path_and_not_long(room: str, name: str) -> None:
    assert file_name(room) == name
