"""What a person does in a room by its forms: with scripts it is answered with pieces, without with the page."""

import re

import pytest
from flask.testing import FlaskClient

from agentsroom.rooms.addresses import room_act_url
from tests.support.stores import Json, Seat, Store
from tests.support.web import PAGE, app_of, browser_of, csrf_token, log_in

ROOM = "/rooms/shared:front"
PIECES = {"HX-Request": "true"}


@pytest.fixture
def seats(sqlite_store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front."""
    ada = sqlite_store.join(label="ada", room="front", tags=["review"])
    return ada, sqlite_store.join(label="bob", room="front")


class Person:
    """A browser that is logged in and has the page open."""

    def __init__(self, client: FlaskClient, store: Store) -> None:
        log_in(client, store)
        self._client = client
        self._token = csrf_token(client, ROOM)

    def get(self, address: str) -> str:
        response = self._client.get(address)
        assert response.status_code == 200, response.text
        return response.text

    def submits(self, act: str, status: int, room: str = "shared:front", **form: str) -> str:
        """Without scripts; where it leads, or the page that came."""
        response = self._client.post(
            room_act_url(act, room), data={"csrf_token": self._token, **form}, headers=PAGE
        )
        assert response.status_code == status, response.text
        return response.location or response.text

    def sends(self, act: str, status: int = 200, **form: str) -> str:
        """With scripts; the pieces that came."""
        headers = {"X-CSRFToken": self._token, **PIECES}
        response = self._client.post(room_act_url(act, "shared:front"), data=form, headers=headers)
        assert response.status_code == status, response.text
        assert "csrf" not in response.text
        return response.text


@pytest.fixture
def person(sqlite_store: Store, seats: tuple[Seat, Seat]) -> Person:
    assert seats
    return Person(browser_of(app_of(sqlite_store)), sqlite_store)


def received(seat: Seat) -> list[Json]:
    return seat.receive()


def test_a_message_goes_to_everyone_here_and_leads_back_to_itself(
    person: Person, seats: tuple[Seat, Seat]
) -> None:
    location = person.submits("messages", 303, body=" One\r\nTwo ", to="*")
    for seat in seats:
        [message] = received(seat)
        assert (message["sender"], message["body"]) == ("overseer", "One\nTwo")
        assert location == f"{ROOM}#message-{message['message_id']}"


def test_a_name_means_the_one_session_that_is_called_so(person: Person, seats: tuple[Seat, Seat]) -> None:
    assert "Sent to 1 session." in person.sends("messages", body="x", to="bob")
    assert (len(received(seats[0])), len(received(seats[1]))) == (0, 1)
    assert "Sent to 1 session." in person.sends("messages", body="x", to="tag:review")
    assert "Sent to 1 session." in person.sends("messages", body="x", to=seats[0].id)
    assert len(received(seats[0])) == 2


@pytest.mark.parametrize(
    ("form", "status", "reason"),
    [
        ({"body": "kept", "to": "carl"}, 404, "Nobody here is called"),
        ({"body": "kept", "to": ""}, 404, "Nobody here is called"),
        ({"body": "", "to": "*"}, 422, "is empty"),
        ({"body": "kept", "to": "*", "reply_to": "99"}, 404, "no message 99"),
        ({"body": "kept", "to": "*", "reply_to": "x"}, 422, "a message&#39;s id is taken"),
        ({"body": "kept\x01", "to": "*"}, 422, "body"),
        ({"body": "kept", "to": "overseer"}, 422, "which is you"),
        ({"body": "kept" * 20_000, "to": "*"}, 422, "body"),
    ],
)
def test_what_is_refused_stays_in_the_form_with_the_reason(
    person: Person, seats: tuple[Seat, Seat], form: dict[str, str], status: int, reason: str
) -> None:
    page = person.submits("messages", status, **form)
    assert reason in page
    assert form["body"] in page
    assert reason in person.sends("messages", status, **form)
    assert received(seats[0]) == []


def test_two_of_one_name_are_told_apart_by_their_ids(person: Person, sqlite_store: Store) -> None:
    twin = sqlite_store.join(label="bob", room="front")
    assert "2 here are called" in person.sends("messages", 404, body="x", to="bob")
    assert f'<option value="{twin.id}">' in person.get(ROOM)
    assert "Sent to 1 session." in person.sends("messages", body="x", to=twin.id)


def test_an_answer_is_begun_by_a_link_and_stands_in_the_thread(
    person: Person, seats: tuple[Seat, Seat]
) -> None:
    asked = seats[0].send("*", "May I?")["message_id"]
    page = person.get(f"{ROOM}?reply={asked}")
    assert f'name="reply_to" value="{asked}"' in page
    assert f'value="{seats[0].id}"' in page
    person.submits("messages", 303, body="You may", to=seats[0].id, reply_to=str(asked))
    [answer] = received(seats[0])
    assert answer["reply_to"] == asked
    thread = person.get(f"{ROOM}?thread={answer['message_id']}")
    assert re.findall(r'id="message-(\d+)"', thread) == [str(asked), str(answer["message_id"])]
    again = person.get(f"{ROOM}?reply={answer['message_id']}")
    assert f'name="to" value="{seats[0].id}"' in re.sub(r"\s+", " ", again), "not to oneself"


def test_a_cap_is_set(person: Person, seats: tuple[Seat, Seat]) -> None:
    assert person.submits("cap", 303, autonomy="hold") == ROOM
    assert re.search(r"<option selected>hold</option>", person.get(ROOM))
    assert "above notify" in person.sends("cap", autonomy="notify")
    assert seats[0]("room_who", room="front")["sessions"][0]["autonomy"] == "notify"
    person.sends("cap", 422, autonomy="most")


def test_a_room_is_paused_and_resumed(person: Person, seats: tuple[Seat, Seat]) -> None:
    assert person.submits("pause", 303) == ROOM
    seats[0].send("*", "while paused")
    page = person.get(ROOM)
    assert "Paused by the overseer" in page
    assert page.index("<span>Paused</span>") < page.index("while paused")
    assert "paused" in person.get("/rooms")
    assert "Resumed" in person.sends("resume")
    assert "Paused by the overseer" not in person.get(ROOM)
    assert "Paused:" in person.sends("pause")


def test_a_room_of_nobody_is_told(person: Person) -> None:
    for act in ("messages", "cap", "pause", "resume"):
        told = person.submits(act, 404, room="shared:nowhere", body="x", to="*", autonomy="hold")
        assert "is called &#39;shared:nowhere&#39;" in told, act
