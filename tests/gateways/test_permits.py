"""Leave to read a stream: who has it, what ends it, and how much of it there is."""

import pytest

from agentsroom.core.errors import TooManyRequests
from agentsroom.core.feed import RESYNC, FeedEvent
from agentsroom.gateways.permits import ENDS_ACCESS, Permit, Permits


class Holder:
    """Who opened a stream; counts how often that was looked up."""

    def __init__(self) -> None:
        self.is_let_in = True
        self.asked = 0

    def look(self) -> bool:
        self.asked += 1
        return self.is_let_in

    def permit(self) -> Permit:
        return Permits(1).open("holder", self.look)


def event(kind: str) -> FeedEvent:
    return FeedEvent(1, 0, kind, "home", {})


@pytest.mark.parametrize("kind", sorted(ENDS_ACCESS))
def test_it_ends_with_the_event_that_ended_access(kind: str) -> None:
    holder = Holder()
    permit = holder.permit()
    assert permit.wants(event(kind))
    assert permit.holds([event(kind)]), "it was another's key"
    holder.is_let_in = False
    assert not permit.holds([event("message_sent"), event(kind), event("message_sent")])


def test_it_ends_when_the_event_may_be_among_those_that_were_missed() -> None:
    holder = Holder()
    holder.is_let_in = False
    assert not holder.permit().holds([RESYNC])


def test_it_does_not_hold_when_access_ended_before_the_stream_was_subscribed() -> None:
    holder = Holder()
    holder.is_let_in = False
    assert not holder.permit().holds()


def test_other_events_ask_the_store_nothing() -> None:
    holder = Holder()
    permit = holder.permit()
    assert not permit.wants(event("message_sent"))
    assert permit.holds([event("message_sent")] * 3)
    assert holder.asked == 0


def test_one_holder_has_so_many_at_a_time_and_no_more() -> None:
    permits = Permits(2)
    first, _ = (permits.open("ada", bool) for _ in range(2))
    with pytest.raises(TooManyRequests, match="2 streams are open") as refused:
        permits.open("ada", bool)
    assert refused.value.data["retry_after"] > 0
    permits.open("bob", bool)
    first.close()
    first.close()
    permits.open("ada", bool)
    with pytest.raises(TooManyRequests):
        permits.open("ada", bool)
