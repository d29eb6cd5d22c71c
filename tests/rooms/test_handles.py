"""Handles: which session an id means, what an error tells of the one that was meant, who may act for it."""

from pathlib import Path

import pytest

from agentsroom.core.errors import AgentsRoomError, InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.settings import Settings
from agentsroom.rooms.errors import NotYourSession, SessionLeft, UnknownSession
from tests.support.stores import Seat, Store, opened

KEY = "2b50133e-0000-4000-8000-00000000000a"


def error_of(store: Store, given: str, caller: Principal | None = None) -> UnknownSession:
    """What a call with that session id is told."""
    with pytest.raises(UnknownSession) as caught:
        store.call("msg_unread", caller or store.local(), session_id=given)
    return caught.value


@pytest.mark.rule("R30")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("msg_recv", {}),
        ("msg_unread", {}),
        ("msg_sent", {}),
        ("msg_wait", {"timeout_s": 0}),
        ("msg_ack", {"message_id": 1}),
        ("msg_send", {"to": "*", "body": "x"}),
        ("msg_search", {"query": "x"}),
        ("room_history", {}),
        ("room_who", {}),
        ("room_leave", {}),
        ("room_leave_room", {"room": "front"}),
        ("room_set_autonomy_cap", {"autonomy": "hold"}),
        ("why", {"message_id": 1}),
        ("lease_claim", {"path": "a"}),
        ("lease_renew", {"path": "a"}),
        ("lease_release", {"path": "a"}),
        ("lease_check", {"path": "a"}),
        ("lease_list", {}),
        ("note_read", {"path": "a"}),
        ("drift_check", {"path": "a"}),
    ],
)
@pytest.mark.parametrize("given", ["0123456789abcdef", "null", " ", "", "\u2603"])
def test_no_tool_answers_for_an_unknown_id(
    sqlite_store: Store, tool: str, arguments: dict[str, object], given: str
) -> None:
    sqlite_store.join(label="alpha")
    with pytest.raises(UnknownSession):
        sqlite_store.call(tool, sqlite_store.local(), session_id=given, **arguments)


@pytest.mark.rule("R31")
def test_a_harness_key_leads_to_its_session(store: Store) -> None:
    seat = store.join(harness_key=KEY)
    error = error_of(store, KEY)
    assert seat.id in error.message
    assert error.data == {"candidates": [seat.id]}
    assert "harness key" in error_of(store, KEY.replace("a", "b")).message


@pytest.mark.rule("R32")
@pytest.mark.parametrize("length", [1, 4, 15])
def test_a_cut_id_leads_to_its_session(store: Store, length: int) -> None:
    seat = store.join(label="alpha")
    assert seat.id in error_of(store, seat.id[:length]).message


@pytest.mark.rule("R32")
def test_a_beginning_that_two_share_leads_to_both(store: Store) -> None:
    first, second, other = store.join(label="alpha"), store.join(label="alps"), store.join(label="beta")
    error = error_of(store, "alp")
    assert set(error.data["candidates"]) == {first.id, second.id}
    assert first.id in error.message
    assert second.id in error.message
    assert other.id not in error.message


@pytest.mark.rule("R32")
@pytest.mark.parametrize("given", ["%", "alph_", "ALPHA", "lpha"])
def test_only_a_beginning_letter_for_letter_counts(store: Store, given: str) -> None:
    store.join(label="alpha")
    assert error_of(store, given).data["candidates"] == []


@pytest.mark.rule("R33")
def test_an_id_of_the_right_shape_has_possibly_left_or_is_from_another_store(store: Store) -> None:
    for caller in (store.local(), store.admin(), store.agent()):
        message = error_of(store, "0123456789abcdef", caller).message
        assert "possibly left and was removed" in message
        assert "another store" in message
        assert store.settings.store_name in message


@pytest.mark.rule("R33")
def test_who_comes_from_another_machine_is_not_told_where_the_store_is(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), url="https://rooms.example.org")
    with opened(settings, tmp_path) as store:
        for caller in (store.local(), store.admin(), store.agent()):
            message = error_of(store, "0123456789abcdef", caller).message
            assert (settings.store_name in message) is caller.is_operator


@pytest.mark.rule("R33")
def test_an_id_in_capitals_is_none(store: Store) -> None:
    seat = store.join()
    while seat.id.isdigit():
        seat = store.join()
    assert error_of(store, seat.id.upper()).data["candidates"] == []


@pytest.mark.rule("R34")
def test_a_hint_names_nobody_whom_the_caller_can_not_see(store: Store) -> None:
    mara, nils = store.add_agent("mara"), store.add_agent("nils")
    seat = store.join(nils, label="alpha", harness_key=KEY, room="cellar")
    for given in ("alp", seat.id[:5], KEY):
        error = error_of(store, given, mara)
        assert error.data["candidates"] == []
        assert seat.id not in str(error.as_json())
        assert error_of(store, given, nils).data["candidates"] == [seat.id]
        assert error_of(store, given, store.local()).data["candidates"] == [seat.id]
    store.join(mara, room="cellar")
    assert error_of(store, "alp", mara).data["candidates"] == [seat.id]


@pytest.mark.rule("R35")
def test_a_session_of_another_team_is_unknown(store: Store) -> None:
    theirs = store.join(store.add_agent("mara", "harbour"), harness_key=KEY, label="alpha")
    for given in (theirs.id, KEY, "alp"):
        error = error_of(store, given)
        assert error.data["candidates"] == []
        assert theirs.id == given or theirs.id not in error.message


@pytest.mark.rule("R36")
def test_a_session_with_a_key_is_its_process_and_its_keys(store: Store) -> None:
    process = store.local()
    seat = store.join(process, harness_key=KEY)
    assert seat("msg_unread") == {"count": 0}
    assert Seat(store, store.local(key=KEY), seat.id, {})("msg_unread") == {"count": 0}
    with pytest.raises(NotYourSession):
        Seat(store, store.local(), seat.id, {})("msg_unread")
    with pytest.raises(NotYourSession):
        Seat(store, store.local(key=KEY.replace("a", "b")), seat.id, {})("msg_unread")


@pytest.mark.rule("R36")
def test_a_session_without_a_key_is_acted_for_by_any_local_process(store: Store) -> None:
    seat = store.join()
    assert Seat(store, store.local(), seat.id, {})("msg_unread") == {"count": 0}


@pytest.mark.rule("R37")
@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize("tool", ["msg_recv", "room_leave", "room_who", "lease_list", "room_history"])
def test_over_http_a_session_is_of_use_to_its_own_agent_only(store: Store, tool: str, has_key: bool) -> None:
    seat = store.join(store.agent(), room="front", harness_key=KEY if has_key else None)
    store.join(store.add_agent("mara"), room="front")
    for stranger in (store.agent("mara"), store.admin()):
        before = store.everything()
        with pytest.raises(NotYourSession):
            store.call(tool, stranger, session_id=seat.id)
        assert store.everything() == before
    assert isinstance(seat(tool), dict)


@pytest.mark.rule("R37")
def test_a_strangers_session_that_left_is_still_not_yours(store: Store) -> None:
    seat = store.join(store.agent())
    seat("room_leave")
    with pytest.raises(NotYourSession):
        store.call("msg_recv", store.add_agent("mara"), session_id=seat.id)
    with pytest.raises(SessionLeft):
        seat("msg_recv")


@pytest.mark.rule("R38")
@pytest.mark.parametrize("argument", ["sender", "as", "from", "agent"])
def test_no_argument_names_another_sender(store: Store, argument: str) -> None:
    sender, reader = store.join(label="alpha"), store.join()
    with pytest.raises(InvalidArgument, match=argument):
        sender.send("*", **{argument: "overseer"})
    sender.send("*")
    (message,) = reader.receive()
    assert (message["sender"], message["sender_label"]) == (sender.id, "alpha")


def hint_of(seat: Seat, tool: str, **arguments: object) -> str:
    """What the refusal says to do next."""
    with pytest.raises(AgentsRoomError) as refused:
        seat(tool, **arguments)
    return refused.value.hint or ""


def test_who_acts_for_another_is_told_to_join_and_to_send(store: Store) -> None:
    theirs = store.join(store.add_agent("mara"), room="front")
    stranger = store.agent()
    hint = hint_of(Seat(store, stranger, theirs.id, {}), "msg_recv")
    assert "room_join" in hint
    assert "msg_send" in hint
    assert store.join(stranger, room="front").send(theirs.id)["recipients"] == 1


def test_who_has_left_is_told_how_to_come_back_and_who_writes_to_it_to_look_around(store: Store) -> None:
    seat, sender = store.join(store.agent(), harness_key=KEY, room="front"), store.join(room="front")
    seat("room_leave")
    assert "harness_key of before" in hint_of(seat, "msg_recv")
    assert "room_who" in hint_of(sender, "msg_send", to=seat.id, body="x")
    assert store.join(store.agent(), harness_key=KEY, room="front").id == seat.id
    assert sender.send(seat.id)["recipients"] == 1


def test_who_names_a_room_that_it_is_not_in_is_told_how_to_enter_it(store: Store) -> None:
    seat = store.join(store.agent(), harness_key=KEY, room="front")
    store.join(store.local(), room="desk")
    assert "room_who" in hint_of(seat, "room_history", room="attic")
    assert "room_join" in hint_of(seat, "room_history", room="attic")
    assert "extra_rooms" in hint_of(seat, "room_history", room="desk")
    assert "cwd" in hint_of(seat, "room_history", room=f"dir:{store.folder.name}")
    store.join(store.agent(), harness_key=KEY, extra_rooms=["desk"])
    assert seat("room_history", room="desk")["messages"] == []
    assert "session_id" in hint_of(store.join(store.agent()), "room_history")


def test_who_gives_a_relative_path_without_a_cwd_is_told_to_give_either(store: Store) -> None:
    seat = store.join(store.agent(), harness_key=KEY, room="front")
    hint = hint_of(seat, "lease_claim", path="a.py")
    assert "absolute path" in hint
    assert "cwd and host" in hint
    store.join(store.agent(), harness_key=KEY, cwd="/r", host="h1")
    assert seat.claim("a.py")["lease"]["path"] == "/r/a.py"
