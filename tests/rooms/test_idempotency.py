"""Idempotency keys: the same call twice acts once, another call under the same key is a conflict."""

import pytest

from agentsroom.core.errors import Conflict, InvalidArgument
from tests.support.stores import Seat, Store


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions of one folder."""
    return store.join(), store.join()


@pytest.mark.rule("R138")
def test_the_same_send_twice_is_one_message(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, reader = pair
    first = sender.send("*", idempotency_key="k1")
    assert sender.send("*", idempotency_key="k1") == first
    assert sender.send("*", idempotency_key="k1", ttl_s=None) == first
    assert reader.bodies() == ["x"]
    assert len(store.rows("messages")) == 1


@pytest.mark.rule("R138")
def test_the_same_claim_twice_is_one_lease_and_answers_as_before(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    holder, _ = pair
    first = holder.claim("a.py", idempotency_key="k1")
    store.clock.forward(10)
    assert holder.claim("a.py", idempotency_key="k1") == first
    assert len(store.rows("leases")) == 1


@pytest.mark.rule("R138", "R140")
@pytest.mark.parametrize("change", [{"body": "other"}, {"to": "tag:api"}, {"ttl_s": 5}, {"subject": "s"}])
def test_the_same_key_with_other_arguments_is_a_conflict(
    store: Store, pair: tuple[Seat, Seat], change: dict[str, object]
) -> None:
    sender, reader = pair
    given: dict[str, object] = {"to": "*", "body": "x", "idempotency_key": "k1"}
    sender("msg_send", **given)
    before = store.everything()
    with pytest.raises(Conflict, match="idempotency_key"):
        sender("msg_send", **given | change)
    assert store.everything() == before
    assert reader.bodies() == ["x"]


@pytest.mark.rule("R138")
def test_a_key_belongs_to_one_session_and_tool(pair: tuple[Seat, Seat]) -> None:
    one, other = pair
    first = one.send("*", idempotency_key="k1")["message_id"]
    assert other.send("*", idempotency_key="k1")["message_id"] != first
    assert one.claim("a.py", idempotency_key="k1")["ok"] is True


@pytest.mark.rule("R138", "R145")
def test_a_key_is_kept_for_a_day(store: Store, pair: tuple[Seat, Seat]) -> None:
    sender, _ = pair
    first = sender.send("*", idempotency_key="k1")["message_id"]
    store.clock.back(3_600)
    assert sender.send("*", idempotency_key="k1")["message_id"] == first
    store.clock.forward(3_600 + 24 * 3_600 - 0.001)
    assert sender.send("*", idempotency_key="k1")["message_id"] == first
    store.clock.forward(0.001)
    assert sender.send("*", "another", idempotency_key="k1")["message_id"] > first


@pytest.mark.rule("R139")
def test_a_refused_claim_may_be_tried_again_under_its_key(pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("a.py")
    assert other.claim("a.py", idempotency_key="k1")["ok"] is False
    holder("lease_release", path="a.py")
    assert other.claim("a.py", idempotency_key="k1")["ok"] is True


@pytest.mark.rule("R138")
@pytest.mark.parametrize("key", ["", "k" * 129, 7, "a\u0000b"])
def test_what_is_no_key_is_refused(sqlite_store: Store, key: object) -> None:
    with pytest.raises(InvalidArgument, match="idempotency_key"):
        sqlite_store.join().send("*", idempotency_key=key)
