"""Messages: sending as one act, receiving, looking back, paging."""

import itertools

import pytest

from agentsroom.core.clock import iso
from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms.errors import UnknownMessage
from agentsroom.rooms.service.messages import within_budget
from agentsroom.rooms.store import messages as message_store
from tests.support.at_once import at_once, through
from tests.support.stores import Json, Seat, Store


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions of one room."""
    return store.join(label="alpha"), store.join(label="beta")


@pytest.mark.rule("R69")
def test_a_message_has_a_subject_or_a_body(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for empty in ({}, {"body": ""}, {"subject": ""}, {"subject": "", "body": ""}, {"body": None}):
        with pytest.raises(InvalidArgument, match="body"):
            sender("msg_send", to="*", **empty)
    assert store.rows("messages") == []
    sender("msg_send", to="*", subject="door")
    sender("msg_send", to="*", body="open")
    assert [(one["subject"], one["body"]) for one in reader.receive()] == [("door", ""), ("", "open")]


@pytest.mark.rule("R70")
def test_a_reply_is_to_what_the_session_sent_got_or_can_read(store: Store) -> None:
    alpha, beta, gamma = (store.join(store.agent(), room="front") for _ in range(3))
    outsider = store.join(store.agent(), room="desk")
    message = alpha.send(beta.id)["message_id"]
    beta("room_leave_room", room="front")
    store.join(store.agent(), room="desk", extra_rooms=["front"])
    for seat in (alpha, gamma):
        assert seat.send("*", reply_to=message)["message_id"] > message
    assert beta.send(beta.id, reply_to=message)["message_id"] > message
    for wrong in (message, 999_999):
        with pytest.raises(UnknownMessage, match="reply_to"):
            outsider.send("*", reply_to=wrong)
    first = next(one for one in alpha.receive() if one["sender"] == gamma.id)
    assert first["reply_to"] == message


@pytest.mark.rule("R71")
def test_message_deliveries_and_places_are_written_together(store: Store) -> None:
    sender = store.join(store.agent(), room="front", extra_rooms=["desk"])
    store.join(store.agent(), room="front")
    sender.send("*")
    counts = {table: len(store.rows(table)) for table in ("messages", "deliveries", "message_rooms")}
    assert counts == {"messages": 1, "deliveries": 1, "message_rooms": 2}


@pytest.mark.rule("R72", "R145")
def test_message_ids_follow_the_order_of_sending_whatever_the_clock_does(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    sender, reader = pair
    ids: list[int] = []
    for move in (0, -3_600, 7_200, -60):
        store.clock.forward(move)
        ids.append(sender.send("*", f"{len(ids)}")["message_id"])
    assert ids == sorted(set(ids))
    assert [one["body"] for one in sender("room_history")["messages"]] == ["3", "2", "1", "0"]
    assert reader.bodies() == ["0", "1", "2", "3"]
    assert [one["message_id"] for one in sender("msg_sent")["messages"]] == ids[::-1]


@pytest.mark.rule("R73")
def test_a_message_lives_as_long_as_its_ttl(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for body, ttl in (("short", 1), ("long", 2_592_000), ("for ever", None)):
        sender.send("*", body, ttl_s=ttl)
    told = {one["subject"] + str(one["expires_at"]) for one in sender("msg_sent")["messages"]}
    now = store.clock.now()
    assert told == {"None", iso(now + 1_000), iso(now + 2_592_000_000)}
    store.clock.forward(0.999)
    assert reader("msg_unread")["count"] == 3
    store.clock.forward(0.001)
    assert reader("msg_unread")["count"] == 2
    store.clock.forward(2_592_000)
    assert reader.bodies() == ["for ever"]


@pytest.mark.rule("R74")
@pytest.mark.parametrize(
    "text",
    [
        "\u043f\u0440\u0438\u0432\u0435\u0442 \U0001f642 \u202eabc",
        "<img src=x onerror=1>",
        "{{7*7}} ${x} %s",
        "\ufeffbom",
        "tab\tand\nnewline",
        "cafe\u0301",
        " \u2028 ",
        "'; DROP TABLE messages; --",
    ],
)
def test_texts_come_back_letter_for_letter(store: Store, text: str) -> None:
    sender, reader = store.join(), store.join()
    sender.send("*", text, subject=text.replace("\n", " "))
    (message,) = reader.receive()
    assert (message["body"], message["subject"]) == (text, text.replace("\n", " "))
    assert sender("room_history")["messages"][0]["body"] == text


@pytest.mark.rule("R85")
def test_only_what_is_given_is_marked_read_oldest_first(pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for number in range(5):
        sender.send("*", str(number))
    assert [one["body"] for one in reader.receive(limit=2)] == ["0", "1"]
    assert reader("msg_unread")["count"] == 3
    assert sender("msg_sent")["messages"][0]["states"] == {"stored": 1}
    assert sender("msg_sent")["messages"][4]["states"] == {"read": 1}
    assert reader.bodies() == ["2", "3", "4"]
    assert reader.bodies() == []


@pytest.mark.rule("R85")
def test_two_at_once_never_get_the_same_message(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for number in range(40):
        sender.send("*", str(number))

    def drain(there: Store, _number: int) -> list[str]:
        taken: list[str] = []
        while found := through(there, reader).receive(limit=3):
            taken.extend(one["body"] for one in found)
        return taken

    taken = [body for one in at_once(store, 4, drain) for body in one]
    assert sorted(taken, key=int) == [str(number) for number in range(40)]


@pytest.mark.rule("R86")
def test_an_answer_has_twenty_messages_unless_told_otherwise(pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for number in range(22):
        sender.send("*", str(number))
    first = reader("msg_recv")
    assert (len(first["messages"]), first["more"]) == (20, True)
    rest = reader("msg_recv", limit=200)
    assert (len(rest["messages"]), rest["more"]) == (2, False)


@pytest.mark.rule("R86")
def test_an_answer_carries_about_a_hundred_kilobytes_but_always_a_message(pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    for _ in range(3):
        sender.send("*", "\u044f" * 32_768)
    sizes = []
    for _ in range(3):
        answer = reader("msg_recv")
        sizes.append((len(answer["messages"]), answer["more"]))
    assert sizes == [(1, True), (1, True), (1, False)]


@pytest.mark.rule("R87")
def test_an_empty_answer_tells_an_empty_inbox_from_the_wrong_room(store: Store) -> None:
    reader = store.join(store.agent(), room="front", extra_rooms=["desk"])
    nothing = reader("msg_recv")
    assert nothing == {
        "messages": [],
        "more": False,
        "inbox": {
            "rooms": ["shared:front", "shared:desk"],
            "deliveries": 0,
            "read": 0,
            "last_created_at": None,
        },
    }
    sender = store.join(store.agent(), room="front")
    sender.send("*", "kept")
    sender.send("*", "missed", ttl_s=1)
    last = iso(store.clock.now())
    assert "inbox" not in reader("msg_recv", limit=1)
    store.clock.forward(60)
    inbox = reader("msg_recv")["inbox"]
    assert (inbox["deliveries"], inbox["read"], inbox["last_created_at"]) == (2, 1, last)


@pytest.mark.rule("R88", "R93")
def test_who_joins_later_has_no_old_mail_but_the_history(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, _ = pair
    sender.send("*", "decided: hinges on the left")
    late = store.join()
    assert late("msg_recv")["inbox"]["deliveries"] == 0
    assert [one["body"] for one in late("room_history")["messages"]] == ["decided: hinges on the left"]


@pytest.mark.rule("R89")
def test_unread_counts_and_marks_nothing(pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    sender.send("*")
    sender.send(reader.id)
    assert [reader("msg_unread")["count"] for _ in range(2)] == [2, 2]
    assert len(reader.receive()) == 2
    assert reader("msg_unread")["count"] == 0


@pytest.mark.rule("R93")
def test_history_belongs_to_the_rooms_the_sender_was_in_when_it_sent(store: Store) -> None:
    sender = store.join(store.agent(), room="front", extra_rooms=["desk"])
    friend = store.join(store.agent(), room="desk")
    sender.send(friend.id, "one")
    sender("room_leave_room", room="desk")
    sender.send("*", "two")

    def told(room: str) -> list[str]:
        found = store.call("room_history", store.admin(), room=room)
        return [message["body"] for message in found["messages"]]

    assert told("front") == ["two", "one"]
    assert told("desk") == ["one"]


@pytest.mark.rule("R94")
def test_history_marks_nothing(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    sender.send("*")
    before = store.rows("deliveries")
    reader("room_history")
    assert store.rows("deliveries") == before
    assert reader.bodies() == ["x"]


@pytest.mark.rule("R95", "R145")
@pytest.mark.parametrize("step", [0, -5])
def test_pages_hold_each_message_once_also_when_times_are_equal_or_run_back(store: Store, step: int) -> None:
    sender = store.join()
    for number in range(7):
        store.clock.forward(step)
        sender.send("*", str(number))
    pages: list[list[str]] = []
    before: int | None = None
    while True:
        page: Json = sender("room_history", limit=3, before=before)
        pages.append([one["body"] for one in page["messages"]])
        before = page["next"]
        if before is None:
            break
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]


@pytest.mark.rule("R95")
def test_a_page_ends_early_rather_than_grow_too_large(store: Store) -> None:
    sender = store.join()
    for _ in range(3):
        sender.send("*", "b" * 65_536)
    page = sender("room_history")
    assert len(page["messages"]) == 1
    assert page["next"] == page["messages"][0]["message_id"]


@pytest.mark.rule("R84")
def test_sent_counts_states_pending_and_those_who_left_or_are_gone(store: Store) -> None:
    sender, reader, acker, leaver = (store.join() for _ in range(4))
    store.join(harness_key="a-key-that-no-process-has")
    sender.send("*", subject="door", ttl_s=60)
    reader.receive()
    acker("msg_ack", message_id=acker.receive()[0]["message_id"])
    leaver("room_leave")
    at = iso(store.clock.now())
    (told,) = sender("msg_sent")["messages"]
    assert told["states"] == {"read": 1, "acked": 1, "stored": 2}
    assert (told["pending"], told["left"], told["sent"], told["subject"]) == (2, 2, at, "door")
    store.clock.forward(60)
    (told,) = sender("msg_sent")["messages"]
    assert told["states"] == {"read": 1, "acked": 1, "expired": 2}
    assert (told["pending"], told["left"]) == (0, 0)


@pytest.mark.rule("R84")
def test_sent_gives_ones_own_messages_newest_first(pair: tuple[Seat, Seat]) -> None:
    sender, other = pair
    assert sender("msg_sent") == {"messages": []}
    for number in range(3):
        sender.send("*", subject=str(number))
        other.send("*")
    assert [one["subject"] for one in sender("msg_sent", limit=2)["messages"]] == ["2", "1"]


def test_the_budget_always_lets_one_message_through() -> None:
    row = message_store.MessageRow(1, "home", "a", None, "*", "", "b" * 200_000, None, 0, None)
    assert within_budget([row, row]) == [row]
    small = row._replace(body="b" * 40_000)
    assert len(within_budget(list(itertools.repeat(small, 5)))) == 2
