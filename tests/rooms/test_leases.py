"""Leases: who may claim what, how long it lasts, what a refusal tells."""

from pathlib import Path

import pytest

from agentsroom.core import platform
from agentsroom.core.clock import iso
from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms.errors import LeaseEnded, NotHolder
from tests.support.at_once import at_once, through
from tests.support.git import cloned_from
from tests.support.stores import Json, Seat, Store

KEY = "2b50133e-0000-4000-8000-00000000000a"


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions of one folder."""
    return store.join(label="alpha"), store.join(label="beta")


def ends(seat: Seat) -> dict[str, str]:
    """When each of the session's own leases ends, by the file's name."""
    found = seat("lease_list")["leases"]
    return {Path(one["path"]).name: one["expires_at"] for one in found if one["session_id"] == seat.id}


@pytest.mark.rule("R107", "R108")
@pytest.mark.parametrize(
    ("held", "wanted", "ok", "reason"),
    [
        ("exclusive", "exclusive", False, "held_exclusive"),
        ("exclusive", "shared", False, "held_exclusive"),
        ("shared", "exclusive", False, "held_shared"),
        ("shared", "shared", True, None),
        (None, None, False, "held_exclusive"),
    ],
)
def test_what_stands_beside_what(
    store: Store, pair: tuple[Seat, Seat], held: str | None, wanted: str | None, ok: bool, reason: str | None
) -> None:
    holder, other = pair
    holder.claim("a.py", mode=held)
    answer = other.claim(store.folder / "a.py", mode=wanted)
    assert (answer["ok"], answer["reason"]) == (ok, reason)
    assert answer["holder"] == (other.id if ok else holder.id)


@pytest.mark.rule("R109")
def test_a_folder_covers_what_is_in_it_and_nothing_beside_it(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("app")
    inside, beside = other.claim("app/src/a.py"), other.claim("app-2")
    assert (inside["ok"], inside["reason"], inside["holder"]) == (False, "overlap", holder.id)
    assert inside["lease"]["path"] == str(store.folder / "app")
    assert beside["ok"] is True
    assert other.claim(".")["reason"] == "overlap"


@pytest.mark.rule("R110")
def test_claiming_again_renews_and_keeps_the_mode(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    first = holder.claim("a.py", mode="shared", ttl_s=60)["lease"]
    store.clock.forward(30)
    again = holder.claim("./a.py")["lease"]
    assert (again["mode"], again["acquired_at"]) == ("shared", first["acquired_at"])
    assert again["expires_at"] == iso(store.clock.now() + 60_000)
    assert len(store.rows("leases")) == 1
    assert other.claim("a.py", mode="shared")["ok"] is True


@pytest.mark.rule("R110")
def test_an_exclusive_lease_may_be_made_shared(pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("a.py")
    assert holder.claim("a.py", mode="shared")["lease"]["mode"] == "shared"
    assert other.claim("a.py", mode="shared")["ok"] is True


@pytest.mark.rule("R111")
def test_only_the_sole_holder_makes_a_shared_lease_exclusive(pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("app/a.py", mode="shared")
    other.claim("app", mode="shared")
    refused = holder.claim("app/a.py", mode="exclusive")
    assert (refused["ok"], refused["reason"], refused["holder"]) == (False, "overlap", other.id)
    assert holder("lease_list")["leases"][0]["mode"] == "shared"
    other("lease_release", path="app")
    assert holder.claim("app/a.py", mode="exclusive")["lease"]["mode"] == "exclusive"
    assert other.claim("app/a.py", mode="shared")["ok"] is False


@pytest.mark.rule("R112")
def test_a_refusal_names_who_ends_last_and_each_holder_once(store: Store) -> None:
    first, last, wisher = (store.join() for _ in range(3))
    first.claim("app/a.py", mode="shared", ttl_s=60)
    first.claim("app/b.py", mode="shared", ttl_s=60)
    last.claim("app/a.py", mode="shared", ttl_s=600)
    refused = wisher.claim("app")
    assert (refused["ok"], refused["reason"], refused["holder"]) == (False, "overlap", last.id)
    assert refused["holders"] == [last.id, first.id]
    assert (refused["lease"]["session_id"], refused["lease"]["mode"]) == (last.id, "shared")


@pytest.mark.rule("R112", "R140")
def test_a_refused_claim_writes_nothing(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("a.py")
    before = store.everything()
    assert other.claim("a.py", idempotency_key="once")["ok"] is False
    assert store.everything() == before


@pytest.mark.rule("R112")
def test_the_nearest_reason_is_told_where_several_stand_in_the_way(store: Store) -> None:
    folder, file, wisher = (store.join() for _ in range(3))
    folder.claim("app", mode="shared", ttl_s=600)
    file.claim("app/a.py", mode="shared", ttl_s=60)
    refused = wisher.claim("app/a.py")
    assert (refused["reason"], refused["holder"]) == ("held_shared", folder.id)


@pytest.mark.rule("R113")
def test_claims_of_two_hosts_meet_in_one_repository(store: Store) -> None:
    url = "https://code.example.org/door.git"
    here = store.join(store.agent(), host="h1", cwd="/r/door/src", repo_url=url)
    there = store.join(store.agent(), host="h2", cwd="/home/x/door", repo_url="git@code.example.org:door")
    gate = store.join(store.agent(), host="h2", cwd="/r/door", repo_url="https://code.example.org/gate.git")
    plain = store.join(store.agent(), host="h3", cwd="/r/door/src")
    assert here.claim("a.py")["ok"] is True
    assert there.claim("src/a.py")["reason"] == "held_exclusive"
    assert there.claim("src")["reason"] == "overlap"
    assert there.claim("/srv/src/a.py")["ok"] is True
    assert gate.claim("src/a.py")["ok"] is True
    assert plain.claim("a.py")["ok"] is True


@pytest.mark.rule("R113")
def test_a_checkout_elsewhere_may_be_named_in_any_spelling(store: Store) -> None:
    url = "https://code.example.org/door.git"
    here = store.join(store.agent(), host="h1", cwd="/srv//./w1/", repo_url=url)
    there = store.join(store.agent(), host="h2", cwd="/home/x/door", repo_url=url)
    assert here.claim("src/a.py")["lease"]["path"] == "/srv/w1/src/a.py"
    assert there.claim("src/a.py")["reason"] == "held_exclusive"


@pytest.mark.rule("R16", "R113")
def test_a_local_session_meets_those_elsewhere_by_the_origin_of_its_checkout(store: Store) -> None:
    top = cloned_from("git@code.example.org:team/door.git", store.folder / "workshop")
    here = store.join(store.local(cwd=top))
    there = store.join(
        store.agent(), host="h2", cwd="/home/x/door", repo_url="https://mara:pw@code.example.org/team/door"
    )
    assert here.joined["rooms"] == ["repo:workshop"]
    assert here.claim("src/a.py")["ok"] is True
    assert there.claim("src/a.py")["holder"] == here.id
    assert "pw" not in str(store.columns("sessions", "repo_url"))


@pytest.mark.rule("R16", "R19")
def test_a_repo_url_that_was_given_is_not_replaced_by_the_origin(store: Store) -> None:
    top = cloned_from("https://code.example.org/mara/door", store.folder / "door")
    process = store.local(cwd=top, key=KEY)
    store.join(process, repo_url="https://code.example.org/team/door")
    store.join(process)
    assert store.columns("sessions", "repo_url") == [("https://code.example.org/team/door",)]


@pytest.mark.rule("R16")
def test_no_checkout_is_searched_for_its_origin_over_http(store: Store) -> None:
    top = cloned_from("https://code.example.org/team/door", store.folder / "door")
    store.join(store.agent(), cwd=str(top), host=platform.host_name())
    assert store.columns("sessions", "repo_url") == [(None,)]


@pytest.mark.rule("R113")
def test_one_host_and_path_meet_whatever_the_repositories(store: Store) -> None:
    one = store.join(store.agent(), host="h1", cwd="/r/app", repo_url="https://code.example.org/door")
    other = store.join(store.agent(), host="h1", cwd="/r/app", repo_url="https://code.example.org/gate")
    assert one.claim("a.py")["ok"] is True
    assert other.claim("a.py")["ok"] is False


@pytest.mark.rule("R114")
def test_sessions_that_named_no_host_are_on_one(store: Store) -> None:
    one, other, named = store.join(store.agent()), store.join(store.agent()), store.join()
    assert "without host" in one.claim("/r/a.py")["warning"]
    assert other.claim("/r/a.py")["reason"] == "held_exclusive"
    assert "warning" not in named.claim("/r/a.py")
    url = "https://code.example.org/door"
    placed = store.join(store.agent(), cwd="/r/door", repo_url=url)
    assert "warning" not in placed.claim("a.py")
    assert "without host" in placed.claim("/elsewhere/a.py")["warning"]


@pytest.mark.rule("R115")
def test_teams_do_not_meet_and_rooms_do_not_matter(store: Store) -> None:
    holder = store.join(store.agent(), room="front", host="h1")
    stranger = store.join(store.agent(), room="desk", host="h1")
    foreign = store.join(store.add_agent("mara", "harbour"), room="front", host="h1")
    holder.claim("/r/a.py")
    assert stranger.claim("/r/a.py")["ok"] is False
    assert foreign.claim("/r/a.py")["ok"] is True


@pytest.mark.rule("R116")
def test_of_many_claims_at_once_one_succeeds(store: Store) -> None:
    seats = [store.join() for _ in range(12)]

    def claim(there: Store, number: int) -> Json:
        return through(there, seats[number]).claim("a.py")

    answers = at_once(store, len(seats), claim)
    winners = [one["holder"] for one in answers if one["ok"]]
    assert len(winners) == 1
    assert {one["holder"] for one in answers} == set(winners)


@pytest.mark.rule("R117")
def test_a_lease_has_ended_from_its_last_second_on(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("a.py", ttl_s=1)
    holder.claim("b.py")
    assert holder.claim("c.py", ttl_s=604_800)["lease"]["expires_at"] == iso(store.clock.now() + 604_800_000)
    store.clock.forward(0.999)
    assert other.claim("a.py")["ok"] is False
    store.clock.forward(0.001)
    assert other.claim("a.py")["ok"] is True
    store.clock.forward(3_598.999)
    assert other.claim("b.py")["ok"] is False
    store.clock.forward(0.001)
    assert other.claim("b.py")["ok"] is True


@pytest.mark.rule("R117")
@pytest.mark.parametrize("ttl", [0, -1, 604_801, 1e18, "60", 0.5])
@pytest.mark.parametrize("tool", ["lease_claim", "lease_renew"])
def test_no_other_time_is_taken(sqlite_store: Store, tool: str, ttl: object) -> None:
    seat = sqlite_store.join()
    seat.claim("a.py")
    with pytest.raises(InvalidArgument, match="ttl_s"):
        seat(tool, path="a.py", ttl_s=ttl)


@pytest.mark.rule("R118")
@pytest.mark.parametrize("tool", ["msg_unread", "msg_recv", "room_who", "lease_list"])
def test_each_call_of_the_holder_renews_its_live_leases(store: Store, tool: str) -> None:
    holder, other = store.join(), store.join()
    holder.claim("a.py", ttl_s=60)
    holder.claim("b.py", ttl_s=600)
    store.clock.forward(59)
    other(tool)
    holder(tool)
    now = store.clock.now()
    assert ends(holder) == {"a.py": iso(now + 60_000), "b.py": iso(now + 600_000)}
    store.clock.forward(60)
    holder(tool)
    assert list(ends(holder)) == ["b.py"]


@pytest.mark.rule("R120")
def test_renewing_lets_the_full_or_the_given_time_run(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, _ = pair
    holder.claim("a.py", ttl_s=60)
    store.clock.forward(30)
    assert holder("lease_renew", path="a.py")["lease"]["expires_at"] == iso(store.clock.now() + 60_000)
    assert holder("lease_renew", path="a.py", ttl_s=5)["lease"]["expires_at"] == iso(
        store.clock.now() + 5_000
    )
    store.clock.forward(4)
    holder("msg_unread")
    assert ends(holder) == {"a.py": iso(store.clock.now() + 5_000)}


@pytest.mark.rule("R121")
@pytest.mark.parametrize("tool", ["lease_renew", "lease_release"])
def test_what_has_ended_says_when(store: Store, tool: str, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("b.py")
    store.clock.forward(7)
    holder("lease_release", path="b.py")
    released = iso(store.clock.now())
    holder.claim("a.py", ttl_s=60)
    expired = iso(store.clock.now() + 60_000)
    store.clock.forward(3_000)
    other.claim("a.py")
    with pytest.raises(LeaseEnded, match=expired) as caught:
        holder(tool, path="a.py")
    assert caught.value.data == {"ended_at": expired, "holder": other.id}
    with pytest.raises(LeaseEnded, match=released) as caught:
        holder(tool, path="b.py")
    assert caught.value.data == {"ended_at": released, "holder": None}


@pytest.mark.rule("R121")
@pytest.mark.parametrize("tool", ["lease_renew", "lease_release"])
def test_what_was_never_ones_own_says_whose_it_is(tool: str, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    holder.claim("app")
    with pytest.raises(NotHolder, match=holder.id) as caught:
        other(tool, path="app/a.py")
    assert caught.value.data == {"holder": holder.id}
    with pytest.raises(NotHolder):
        holder(tool, path="app/a.py")
    assert len(holder("lease_list")["leases"]) == 1


@pytest.mark.rule("R122")
def test_a_check_tells_whether_an_exclusive_claim_would_succeed(pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    assert holder("lease_check", path="a.py") == {"free": True, "lease": None}
    holder.claim("a.py", mode="shared")
    own, others = holder("lease_check", path="a.py"), other("lease_check", path="a.py")
    assert (own["free"], others["free"]) == (True, False)
    assert own["lease"] == others["lease"]
    assert (others["lease"]["session_id"], others["lease"]["label"]) == (holder.id, "alpha")
    other.claim("a.py", mode="shared")
    shared = holder("lease_check", path="a.py")
    assert (shared["free"], shared["lease"]["session_id"]) == (False, other.id)


@pytest.mark.rule("R123")
def test_a_list_has_ones_own_and_those_of_the_others_in_ones_rooms(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["desk"])
    near = store.join(store.agent(), room="front", extra_rooms=["desk"])
    far = store.join(store.agent(), room="attic")
    for number, one in enumerate((near, far, seat)):
        one.claim(f"/r/{number}")
    near.claim("/r/short", ttl_s=1)
    store.clock.forward(1)
    assert [one["path"] for one in seat("lease_list")["leases"]] == ["/r/2", "/r/0"]


@pytest.mark.rule("R124")
def test_the_row_of_an_ended_lease_tells_when_it_ended(store: Store, pair: tuple[Seat, Seat]) -> None:
    holder, other = pair
    start = store.clock.now()
    holder.claim("a.py", ttl_s=60)
    store.clock.forward(10)
    holder("lease_release", path="a.py")
    holder.claim("b.py", ttl_s=60)
    store.clock.forward(3_600)
    other("msg_unread")
    with store.runtime.database.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT acquired_at, released_at FROM leases ORDER BY id").all()
    assert [tuple(row) for row in rows] == [(start, start + 10_000), (start + 10_000, start + 70_000)]
