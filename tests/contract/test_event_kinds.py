"""Every event that the code emits is told in words, and every kind that is told is emitted."""

import ast
import importlib
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentsroom.access import service as access
from agentsroom.core.archive import archive_events
from agentsroom.core.database import Writing
from agentsroom.core.event_kinds import Group
from agentsroom.core.feed import FeedEvent, events_after
from agentsroom.rooms.service import rooms
from agentsroom.rooms.service.presence import note_gone
from agentsroom.rooms.service.retention import prune
from agentsroom.runtime import make_event_kinds
from tests.support.stores import Store

ROOT = Path(__file__).parents[2]
KINDS = make_event_kinds()


def emitted() -> Iterator[str]:
    """The kind of each `emit` in the code: as it stands there, or the constant's value."""
    for path in sorted((ROOT / "agentsroom").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "emit"
            ):
                match node.args[0]:
                    case ast.Constant(value=str(kind)):
                        yield kind
                    case ast.Name(id=name):
                        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                        yield getattr(importlib.import_module(module), name)
                    case other:
                        raise AssertionError(f"{path}:{node.lineno} emits {ast.unparse(other)}")


def test_each_kind_that_is_emitted_is_told_and_each_that_is_told_is_emitted() -> None:
    assert set(emitted()) == {one.kind for one in KINDS}


def test_each_group_has_kinds_and_each_kind_says_what_it_means() -> None:
    assert {one.group for one in KINDS} == set(Group)
    assert len({one.meaning for one in KINDS}) == len(list(KINDS))


def test_what_the_code_emits_is_told_in_words(sqlite_store: Store, tmp_path: Path) -> None:
    act_in_every_way(sqlite_store, 1)
    sqlite_store.clock.forward(1)
    database = sqlite_store.runtime.database
    assert archive_events(database, sqlite_store.clock.now(), tmp_path / "events.jsonl") > 0
    act_in_every_way(sqlite_store, 2)
    events = database.read(lambda work: events_after(work, 0))
    told = {event.kind: KINDS.describe(event, {}) for event in events}
    assert {kind for kind, said in told.items() if said.group is None} == set()
    assert set(told) == {one.kind for one in KINDS}
    wordless = {"team_deleted", "messages_pruned"}
    assert {kind for kind, said in told.items() if not said.what} == wordless
    assert all(said.who and said.who.text for said in told.values())


def act_in_every_way(store: Store, number: int) -> None:
    """Does everything that is written down as an event."""
    database = store.runtime.database
    ada, bob = store.join(label="ada", room="front"), store.join(label="bob", room="front")
    gone = store.join(harness_key=str(uuid.uuid4()), room="front")
    read = ada.send(bob.id)["message_id"]
    bob.receive()
    bob("msg_ack", message_id=read)
    ada.send(bob.id, ttl_s=60)
    for path, ttl_s in (("a.py", 60), ("b.py", 600_000)):
        ada.claim(path, ttl_s=ttl_s)
    ada("lease_renew", path="b.py")
    ada("lease_release", path="b.py")
    store.clock.forward(120)
    bob("msg_unread")
    store.call("room_set_autonomy_cap", store.admin(), room="shared:front", autonomy="hold")
    database.write(lambda work: rooms.pause(work, store.admin(), "shared:front"))
    database.write(lambda work: rooms.resume(work, store.admin(), "shared:front"))
    bob("room_leave_room", room="shared:front")
    bob("room_leave")
    store.clock.forward(10 * 24 * 3_600)
    database.settings = replace(store.settings, retention_messages=1)
    database.write(lambda work: note_gone(work, gone.id))
    assert gone.id in prune(database, store.runtime.machine, 1, dry_run=False).sessions
    agent, team = f"agent-{number}", f"team-{number}"

    def administer(work: Writing) -> None:
        access.create_team(work, team, "Team")
        access.rename_team(work, team, "Other")
        access.create_agent(work, agent, team, "Agent")
        access.rename_agent(work, agent, "Other")
        access.rotate_key(work, agent)
        access.revoke_keys(work, agent)
        access.delete_agent(work, agent)
        access.delete_team(work, team)
        access.log_out(work, access.log_in(work, "browser"))

    database.write(administer)


def test_a_kind_of_a_later_release_is_told_by_its_data_without_secrets() -> None:
    secret = f"agt_{'a' * 12}.{'Ab1' * 14}x"
    said = KINDS.describe(
        FeedEvent(1, 0, "later", "home", {"key": secret, "session": "f" * 16, "deep": [{"n": 1}]}),
        {"f" * 16: "ada"},
    )
    assert said.group is None
    assert said.who is not None
    assert said.who.text == "ada"
    [piece] = said.what
    assert piece.is_given
    assert secret.partition(".")[2] not in piece.text
    assert '"deep":[{"n":1}]' in piece.text


def test_a_known_kind_with_other_data_is_told_by_its_data() -> None:
    for data in ({}, {"session": 1, "rooms": None}, {"session": "f" * 16, "rooms": 5}):
        said = KINDS.describe(FeedEvent(1, 0, "session_joined", "home", data), {})
        assert said.group is None
