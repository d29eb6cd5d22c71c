"""Sessions: what a join takes and gives, joining again, leaving, who is there."""

import os
import re
from pathlib import Path

import pytest

from agentsroom.core.clock import iso
from agentsroom.core.errors import Conflict, InvalidArgument, NotFound
from agentsroom.rooms.errors import NotInRoom, SessionLeft
from tests.support.at_once import at_once
from tests.support.git import repository
from tests.support.stores import Json, Seat, Store

KEY = "2b50133e-0000-4000-8000-00000000000a"


def described(store: Store, seat: Seat) -> dict[str, object]:
    """What room_who tells of the session."""
    found = store.call("room_who", store.admin())["sessions"]
    return next(one for one in found if one["session_id"] == seat.id)


@pytest.mark.rule("R14")
def test_a_join_gives_the_id_that_other_tools_take(store: Store) -> None:
    seat = store.join()
    assert re.fullmatch("[0-9a-f]{16}", seat.id)
    assert seat("msg_unread") == {"count": 0}


@pytest.mark.rule("R15")
@pytest.mark.parametrize("key", [KEY, "kkkkkkkk", "!#$%&()*+", "k" * 128, "0123456789abcde"])
def test_a_harness_key_is_a_uuid_or_visible_ascii(store: Store, key: str) -> None:
    assert store.join(store.agent(), harness_key=key).id


@pytest.mark.rule("R15")
@pytest.mark.parametrize(
    "key",
    ["", "kkkkkkk", "k" * 129, "two words", "key\u00a0with-nbsp", "0123456789abcdef", "0123456789ABCDEF"],
)
def test_what_could_be_a_session_id_or_anybodys_word_is_no_harness_key(store: Store, key: str) -> None:
    with pytest.raises(InvalidArgument, match=r"harness_key: .* came; a UUID, or another text of 8 to 128"):
        store.join(store.agent(), harness_key=key)
    assert store.rows("sessions") == []


@pytest.mark.rule("R16")
def test_a_local_join_takes_what_is_missing_from_its_process(store: Store) -> None:
    environment = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": KEY}
    seat = store.join(store.local(environment=environment))
    told = described(store, seat)
    assert (told["harness"], told["cwd"]) == ("claude-code", str(store.folder))
    assert told["host"] == store.runtime.machine.host
    again = store.join(store.local(environment=environment), harness="another")
    assert again.id == seat.id
    row = next(row for row in store.rows("sessions") if seat.id in row)
    assert KEY in row
    assert os.getpid() in row


@pytest.mark.rule("R16")
def test_a_join_over_http_takes_nothing_from_the_server(store: Store) -> None:
    told = described(store, store.join(store.agent()))
    assert [told[name] for name in ("harness", "cwd", "host")] == [None, None, None]


@pytest.mark.rule("R16")
def test_a_process_that_stands_for_another_host_takes_neither_cwd_nor_pid_from_here(store: Store) -> None:
    told = described(store, store.join(host="elsewhere"))
    assert (told["cwd"], told["rooms"], told["liveness"]) == (None, [], "unknown")


@pytest.mark.rule("R17")
@pytest.mark.parametrize("bad", ["1", "0123456789abcdef", "two words and more", "\udcff" * 9])
def test_a_bad_key_or_name_in_the_environment_is_as_if_not_set(store: Store, bad: str) -> None:
    environment = {"AGENTS_ROOM_HARNESS": "\x1b[1m", "CODEX_THREAD_ID": bad}
    first, second = (store.join(store.local(environment=environment)) for _ in range(2))
    assert first.id != second.id
    assert described(store, first)["harness"] is None


@pytest.mark.rule("R17")
def test_a_bad_key_that_was_set_for_us_is_named(store: Store) -> None:
    with pytest.raises(InvalidArgument, match="AGENTS_ROOM_HARNESS_KEY"):
        store.join(store.local(key="short"))
    assert store.rows("sessions") == []


@pytest.mark.rule("R18")
@pytest.mark.parametrize("cwd", ["src", "..", "", "~/src"])
def test_a_relative_cwd_is_refused(store: Store, cwd: str) -> None:
    with pytest.raises(InvalidArgument, match="cwd"):
        store.join(cwd=cwd)


@pytest.mark.rule("R18", "R2")
def test_a_cwd_behind_a_link_is_the_folder_that_it_leads_to(store: Store) -> None:
    inside = repository(store.folder / "door") / "src"
    inside.mkdir()
    link = store.folder / "shortcut"
    link.symlink_to(inside)
    seat = store.join(cwd=str(link))
    assert described(store, seat)["cwd"] == str(inside)
    assert seat.joined["rooms"] == ["repo:door"]


@pytest.mark.rule("R18")
def test_a_folder_whose_name_is_no_utf8_gives_a_session_without_cwd(store: Store) -> None:
    folder = Path(os.fsdecode(os.fsencode(store.folder) + b"/\xff"))
    folder.mkdir()
    assert described(store, store.join(store.local(cwd=folder)))["cwd"] is None


@pytest.mark.rule("R19")
def test_joining_again_keeps_what_it_does_not_give(store: Store) -> None:
    given = {"harness_key": KEY, "label": "alpha", "tags": ["api"], "harness": "codex"}
    seat = store.join(store.agent(), room="front", autonomy="hold", cwd="/w/a", host="elsewhere", **given)
    before = described(store, seat)
    again = store.join(store.agent(), harness_key=KEY)
    assert again.id == seat.id
    assert described(store, again) == before
    changed = store.join(store.agent(), harness_key=KEY, label="beta", cwd="/w/b")
    assert described(store, changed)["label"] == "beta"
    assert described(store, changed)["cwd"] == "/w/b"
    assert set(changed.joined["rooms"]) == {"dir:a", "dir:b", "shared:front"}


@pytest.mark.rule("R3", "R4", "R114")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["in no room", "cwd", "host", "with room"]),
        ({"host": "h1"}, ["in no room"]),
        ({"repo_url": "https://code.example.org/door"}, ["in no room", "repo_url alone", "cwd and host"]),
        ({"repo_url": "https://code.example.org/door", "room": "front"}, ["repo_url alone", "cwd and host"]),
        ({"cwd": "/w/a"}, ["without host", "hostname"]),
        ({"cwd": "/w/a", "room": "front"}, ["without host"]),
        ({"cwd": "/w/a", "room": "front", "autonomy": "wake"}, ["cap of shared:front", "without host"]),
        ({"cwd": "/w/a", "host": "h1"}, []),
        ({"cwd": "/w/a", "repo_url": "https://code.example.org/door"}, []),
        ({"room": "front"}, []),
    ],
)
def test_who_does_not_say_where_it_is_is_told_what_that_costs(
    store: Store, given: Json, words: list[str]
) -> None:
    store.join(room="front")
    store.call("room_set_autonomy_cap", store.admin(), room="front", autonomy="hold")
    joined = store.join(store.agent(), **given).joined
    assert ("warning" in joined) is bool(words)
    assert all(word in joined["warning"] for word in words)


@pytest.mark.parametrize("url", ["not a url", "door", "https://mara:pw@host"])
def test_a_repo_url_that_git_could_not_fetch_from_is_refused(store: Store, url: str) -> None:
    with pytest.raises(InvalidArgument, match=r"repo_url: .* host:path") as caught:
        store.join(store.agent(), cwd="/w/a", host="h1", repo_url=url)
    assert "pw" not in caught.value.message
    assert store.rows("sessions") == []


@pytest.mark.rule("R114")
def test_what_a_session_said_before_counts_when_it_joins_again(store: Store) -> None:
    store.join(store.agent(), harness_key=KEY, cwd="/w/a", host="h1")
    assert "warning" not in store.join(store.agent(), harness_key=KEY).joined


@pytest.mark.rule("R19")
def test_one_key_of_two_agents_is_two_sessions(store: Store) -> None:
    first = store.join(store.agent(), harness_key=KEY)
    assert store.join(store.add_agent("mara"), harness_key=KEY).id != first.id


@pytest.mark.rule("R20")
def test_two_sessions_of_one_cwd_have_their_own_mail_leases_and_baselines(store: Store) -> None:
    (store.folder / "a.py").write_text("one")
    sender, first, second = (store.join() for _ in range(3))
    assert len({sender.id, first.id, second.id}) == 3
    sender.send("*")
    assert first.bodies() == ["x"]
    assert (first("msg_unread")["count"], second("msg_unread")["count"]) == (0, 1)
    first("note_read", path="a.py")
    (store.folder / "a.py").write_text("two")
    assert (first.drift("a.py")["changed"], second.drift("a.py")["changed"]) == (True, False)
    first.claim("a.py")
    assert second.claim("a.py")["ok"] is False


@pytest.mark.rule("R20")
def test_a_new_key_is_a_new_session(store: Store) -> None:
    keys = [KEY, KEY.replace("a", "b"), None, None]
    assert len({store.join(store.agent(), harness_key=key).id for key in keys}) == 4


@pytest.mark.rule("R21")
def test_fifty_joins_at_once_with_one_key_are_one_session(store: Store) -> None:
    def join(there: Store, _number: int) -> str:
        return there.join(store.agent(), harness_key=KEY, room="front").id

    assert len(set(at_once(store, 50, join))) == 1
    assert len(store.rows("sessions")) == 1


@pytest.mark.rule("R22")
def test_a_session_that_left_is_in_no_room_holds_nothing_and_its_id_says_so(store: Store) -> None:
    other = store.join()
    seat = store.join()
    seat.claim("a.py")
    seat("room_leave")
    assert [one["session_id"] for one in other("room_who")["sessions"]] == [other.id]
    assert other("lease_check", path="a.py")["free"] is True
    for tool in ("msg_recv", "lease_list", "room_who", "room_history"):
        with pytest.raises(SessionLeft, match=seat.id):
            seat(tool)


@pytest.mark.rule("R23")
def test_the_same_key_revives_a_session_with_its_mail(store: Store) -> None:
    sender = store.join(store.agent(), room="front")
    seat = store.join(store.agent(), harness_key=KEY, room="front", extra_rooms=["desk"])
    sender.send("*", "while you were away")
    seat("room_leave")
    back = store.join(store.agent(), harness_key=KEY, room="front")
    assert back.id == seat.id
    assert back.joined["rooms"] == ["shared:front"]
    assert back.bodies() == ["while you were away"]


@pytest.mark.rule("R24")
def test_leaving_twice_is_no_error(store: Store) -> None:
    seat = store.join()
    assert seat("room_leave") == {}
    before = store.everything()
    assert seat("room_leave") == {}
    assert store.everything() == before


@pytest.mark.rule("R25")
def test_leaving_one_room_keeps_the_others(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["desk"])
    assert seat("room_leave_room", room="front") == {}
    assert seat("room_leave_room", room="shared:front") == {}
    assert described(store, seat)["rooms"] == ["shared:desk"]
    seat("room_leave_room", room="desk")
    assert described(store, seat)["rooms"] == []
    assert [one["session_id"] for one in seat("room_who")["sessions"]] == [seat.id]


@pytest.mark.rule("R25")
def test_a_room_never_entered_can_not_be_left(store: Store) -> None:
    store.join(store.agent(), room="desk")
    with pytest.raises(NotInRoom, match="desk"):
        store.join(store.agent(), room="front")("room_leave_room", room="desk")


@pytest.mark.rule("R26")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("msg_unread", {}),
        ("msg_recv", {}),
        ("msg_wait", {"timeout_s": 0}),
        ("room_who", {}),
        ("lease_list", {}),
        ("drift_check", {"path": "a.py"}),
        ("note_read", {"path": "a.py"}),
        ("msg_search", {"query": "door"}),
    ],
)
def test_every_call_shows_that_the_session_was_there(
    store: Store, tool: str, arguments: dict[str, object]
) -> None:
    seat = store.join()
    store.clock.forward(60)
    seat(tool, **arguments)
    assert described(store, seat)["last_seen_at"] == iso(store.clock.now())


@pytest.mark.rule("R27")
def test_who_answers_for_a_room_for_a_session_or_for_the_caller(store: Store) -> None:
    mara = store.add_agent("mara")
    front = store.join(store.agent(), room="front", extra_rooms=["desk"])
    desk = store.join(mara, room="desk")
    attic = store.join(mara, room="attic")
    hidden = store.join(store.add_agent("nils"), room="cellar")

    def ids(answer: dict[str, list[dict[str, str]]]) -> set[str]:
        return {one["session_id"] for one in answer["sessions"]}

    assert ids(front("room_who", room="front")) == {front.id}
    assert ids(front("room_who")) == {front.id, desk.id}
    assert ids(store.call("room_who", mara)) == {front.id, desk.id, attic.id}
    assert ids(store.call("room_who", store.admin())) == {front.id, desk.id, attic.id, hidden.id}


@pytest.mark.rule("R28")
def test_who_shows_rooms_tags_level_and_liveness_of_those_who_are_there(store: Store) -> None:
    store.join()("room_leave")
    seat = store.join(label="alpha", tags=["ui", "api"], autonomy="wake", room="front")
    store.call("room_set_autonomy_cap", store.admin(), room="front", autonomy="hold")
    (told,) = store.call("room_who", store.admin())["sessions"]
    assert told["session_id"] == seat.id
    assert told["agent"] == "default"
    assert told["rooms"] == ["dir:work", "shared:front"]
    assert told["tags"] == ["api", "ui"]
    assert (told["autonomy"], told["liveness"], told["matched_pid"]) == ("hold", "alive", os.getpid())


@pytest.mark.rule("R29")
def test_tags_are_kept_in_one_unicode_form_and_replaced_by_a_later_join(store: Store) -> None:
    seat = store.join(store.agent(), harness_key=KEY, tags=["cafe\u0301", "caf\u00e9", "api"])
    assert described(store, seat)["tags"] == ["api", "caf\u00e9"]
    store.join(store.agent(), harness_key=KEY, tags=[])
    assert described(store, seat)["tags"] == []


@pytest.mark.rule("R22")
def test_the_sessions_of_a_deleted_agent_leave_with_it(store: Store) -> None:
    stays, goes = store.join(room="front"), store.join(store.add_agent("mara"), room="front")
    process = store.local(agent="mara")  # one that runs on
    goes.claim("/r/a.py")
    message = stays.send(goes.id)["message_id"]
    store.runtime.delete_agent("mara")
    assert [one["session_id"] for one in stays("room_who")["sessions"]] == [stays.id]
    assert stays.send("*")["recipients"] == 0
    assert {"session_left", "lease_released", "agent_deleted"} <= {
        row[0] for row in store.columns("events", "kind")
    }
    [told] = stays("why", message_id=message)["recipients"]
    assert told["reason"] == "left"
    assert "mara was deleted" in told["explanation"]
    with pytest.raises(NotFound, match="mara"):
        store.join(process, harness_key=KEY)


@pytest.mark.rule("R22")
def test_an_agent_that_can_not_be_deleted_keeps_its_sessions(store: Store) -> None:
    seat = store.join(room="front")
    with pytest.raises(Conflict):
        store.runtime.delete_agent("default")
    assert len(seat("room_who")["sessions"]) == 1
