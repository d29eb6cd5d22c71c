"""The overseer: writes to one room, can be answered, and no session passes for it."""

from typing import Any

import msgspec
import pytest

from agentsroom.core.errors import Forbidden, InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.tools import Call
from agentsroom.rooms.errors import NoSharedRoom, SessionLeft, UnknownMessage, UnknownRecipient, UnknownRoom
from agentsroom.rooms.overseer import looks_like_overseer
from agentsroom.rooms.service import explain, overseer
from agentsroom.rooms.service.sending import Draft
from tests.support.stores import Json, Seat, Store


def write(
    store: Store, to: str = "*", room: str = "front", caller: Principal | None = None, **parts: Any
) -> Json:
    """What the page is answered."""
    draft = Draft(**{"subject": "", "body": "x", "reply_to": None, "ttl_s": None} | parts | {"to": to})
    runtime = store.runtime
    who = caller or store.admin()
    sent = overseer.write_to_room(runtime.database, runtime.machine, who, room, draft)
    answer: Json = msgspec.to_builtins(sent)
    return answer


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front, and a third elsewhere."""
    store.join(store.agent(), room="desk", tags=["api"], label="gamma")
    alpha = store.join(store.agent(), room="front", label="alpha", tags=["api"])
    return alpha, store.join(store.agent(), room="front", extra_rooms=["desk"], label="beta")


@pytest.mark.rule("R146", "R150")
def test_agents_read_the_overseer_as_the_sender_wherever_they_look(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    alpha, beta = pair
    sent = write(store, body="Stop, please", subject="All")
    assert sent["recipients"] == 2
    seen = [
        alpha("msg_wait", timeout_s=0)["messages"],
        alpha.receive(),
        beta("room_history", room="front")["messages"],
        alpha("msg_search", query="please")["messages"],
    ]
    for (message,) in seen:
        assert (message["message_id"], message["sender"], message["sender_label"]) == (
            sent["message_id"],
            "overseer",
            None,
        )
        assert (message["to"], message["subject"], message["body"]) == ("*", "All", "Stop, please")
    (family,) = store.runtime.resources
    call = Call(store.runtime.database, store.runtime.feed, alpha.caller)
    assert '"sender":"overseer"' in family.read(call, "shared:front")
    alpha("msg_ack", message_id=sent["message_id"])
    told = alpha("why", message_id=sent["message_id"])["recipients"]
    assert {one["label"]: one["state"] for one in told} == {"alpha": "acked", "beta": "stored"}
    assert alpha("msg_sent")["messages"] == []


@pytest.mark.rule("R146", "R150")
def test_what_the_overseer_writes_stands_in_that_room_alone_and_adds_the_event(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    alpha, beta = pair
    number = write(store, ttl_s=60)["message_id"]
    assert beta("room_history", room="desk")["messages"] == []
    assert len(store.rows("message_rooms")) == 1
    event = msgspec.json.decode(max(store.columns("events", "id", "kind", "data"))[2])
    assert sorted(event.pop("recipients")) == sorted([alpha.id, beta.id])
    assert event == {"message": number, "sender": "overseer", "rooms": ["shared:front"]}
    store.clock.forward(60)
    assert alpha.receive() == []


@pytest.mark.rule("R147")
def test_nobody_but_the_admin_is_the_overseer(store: Store, pair: tuple[Seat, Seat]) -> None:
    before = store.everything()
    for caller in (store.agent(), store.local(), pair[0].caller):
        with pytest.raises(Forbidden):
            write(store, caller=caller)
    with pytest.raises(UnknownRoom):
        write(store, caller=store.admin("harbour"))
    assert store.everything() == before


@pytest.mark.rule("R148")
def test_selectors_mean_sessions_of_the_room(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    outside = store.join(store.agent(), room="attic", tags=["api"], cwd="/srv/x", host="elsewhere")
    alpha.claim("/srv/x/a.py")
    outside.claim("/srv/x/b.py")
    for to, recipients in {
        "*": {alpha.id, beta.id},
        beta.id: {beta.id},
        "tag:api": {alpha.id},
        "file:*.py": {alpha.id},
        "tag:nobody": set(),
    }.items():
        number = write(store, to)["message_id"]
        found = store.columns("deliveries", "message_id", "recipient_id")
        assert {recipient for message, recipient in found if message == number} == recipients, to
    with pytest.raises(NoSharedRoom, match="shared:front"):
        write(store, outside.id)
    with pytest.raises(UnknownRecipient):
        write(store, "nobody")
    beta("room_leave")
    with pytest.raises(SessionLeft):
        write(store, beta.id)


@pytest.mark.rule("R149")
def test_a_reply_of_the_overseer_is_to_what_stands_in_the_room(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    question = alpha.send("overseer", "May I?")["message_id"]
    elsewhere = store.join(store.agent(), room="desk").send("*")["message_id"]
    answer = write(store, alpha.id, body="Yes", reply_to=question)["message_id"]
    assert [(one["body"], one["reply_to"]) for one in alpha.receive()] == [("Yes", question)]
    again = alpha.send("overseer", "Thanks", reply_to=answer)["message_id"]
    (newest, *_) = beta("room_history", room="front")["messages"]
    assert (newest["message_id"], newest["to"], newest["reply_to"]) == (again, "overseer", answer)
    for wrong in (elsewhere, 999_999):
        with pytest.raises(UnknownMessage, match="reply_to"):
            write(store, reply_to=wrong)


@pytest.mark.rule("R150")
@pytest.mark.parametrize(
    ("parts", "argument"),
    [
        ({"body": "x" * 65_537}, "body"),
        ({"body": "a\rb"}, "body"),
        ({"body": ""}, "body"),
        ({"subject": "s" * 201}, "subject"),
        ({"to": ""}, "to"),
        ({"to": "tag:"}, "to"),
        ({"to": "overseer"}, "to"),
        ({"to": "file:" + "x" * 4_096}, "to"),
        ({"ttl_s": 0}, "ttl_s"),
        ({"ttl_s": 2_592_001}, "ttl_s"),
        ({"reply_to": 0}, "reply_to"),
    ],
)
def test_the_limits_are_those_of_any_message(
    store: Store, pair: tuple[Seat, Seat], parts: dict[str, Any], argument: str
) -> None:
    before = store.everything()
    with pytest.raises(InvalidArgument) as refused:
        write(store, **parts)
    assert [one["argument"] for one in refused.value.data["problems"]] == [argument]
    assert store.everything() == before
    assert len(pair) == 2


@pytest.mark.rule("R150", "R82")
def test_the_overseer_is_warned_and_told_why(store: Store, pair: tuple[Seat, Seat]) -> None:
    gone = store.join(room="front", label="ghost", harness_key="a-key-that-no-process-has")
    assert "Gone: ghost" in write(store, gone.id)["warning"]
    nobody = write(store, "tag:nobody")
    assert "tag:nobody found nobody" in nobody["warning"]
    told = store.runtime.database.read(
        lambda work: explain.explain(work, store.admin(), nobody["message_id"], {})
    )
    assert "no session with the tag nobody was in shared:front." in str(told.explanation)
    assert pair[0].receive() == []


@pytest.mark.rule("R151", "R82")
def test_an_agent_answers_the_overseer_in_the_history_of_its_rooms(pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    sent = beta.send("overseer", "Done")
    assert sent["recipients"] == 0
    assert "a person" in sent["warning"]
    for room in ("front", "desk"):
        assert beta("room_history", room=room)["messages"][0]["to"] == "overseer"
    assert alpha.receive() == []
    told = beta("why", message_id=sent["message_id"])
    assert told["recipients"] == []
    assert "reads it in the history of" in told["explanation"]
    (listed,) = beta("msg_sent")["messages"]
    assert (listed["to"], listed["states"], listed["pending"]) == ("overseer", {}, 0)


@pytest.mark.rule("R152")
def test_who_is_in_no_room_is_read_by_nobody(store: Store) -> None:
    alone = store.join(store.agent())
    with pytest.raises(NoSharedRoom, match="in no room"):
        alone.send("overseer")
    assert store.rows("messages") == []


@pytest.mark.rule("R153")
@pytest.mark.parametrize(
    "label",
    [
        "overseer",
        "OverSeer",
        " over-seer! ",
        "over\u200bse\u00ader",
        "\uff4f\uff56\uff45\uff52\uff53\uff45\uff45\uff52",
        "\U0001d428\U0001d42f\U0001d41e\U0001d42b\U0001d42c\U0001d41e\U0001d41e\U0001d42b",
        "\u043ev\u0435r\u0455\u0435\u0435r",
        "\u041eVERSEER",
        "\u03bfverseer",
        "\xf3v\xebrs\u0304eer",
        "\xf8verseer",
        "0ver5eer",
        "\u1d0f\u1d20\u1d07\u0280\ua731\u1d07\u1d07\u0280",
        "\ua4f3\ua4e6\ua4f0\ua4e3\ua4e2\ua4f0\ua4f0\ua4e3",
        "\u202ereesrevo",
    ],
    ids=ascii,
)
def test_a_label_that_reads_as_overseer_is_refused(sqlite_store: Store, label: str) -> None:
    assert looks_like_overseer(label)
    with pytest.raises(InvalidArgument, match="person at the browser"):
        sqlite_store.join(sqlite_store.agent(), label=label)
    assert sqlite_store.rows("sessions") == []


@pytest.mark.rule("R153")
@pytest.mark.parametrize(
    "label", ["observer", "overseers", "over", "reesrevo", "\u76e3\u7763", "ov", "!", ""]
)
def test_other_labels_are_taken(sqlite_store: Store, label: str) -> None:
    assert sqlite_store.join(sqlite_store.agent(), label=label).id


@pytest.mark.rule("R153")
def test_a_label_of_before_stays(sqlite_store: Store) -> None:
    seat = sqlite_store.join(sqlite_store.agent(), room="front", label="old", harness_key="key-of-the-chat")
    with sqlite_store.runtime.database.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE sessions SET label = 'overseer'")
    again = sqlite_store.join(sqlite_store.agent(), harness_key="key-of-the-chat")
    assert again.id == seat.id
    again.send("*")
    (message,) = again("room_history", room="front")["messages"]
    assert message["sender"] == seat.id, "the sender is never overseer"
