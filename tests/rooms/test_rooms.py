"""Rooms: which a session enters by itself, how names compare, which room a call is about."""

import pytest

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.rooms.errors import NotInRoom, RoomRequired, UnknownRoom
from tests.support.git import repository, worktree
from tests.support.stores import Store


@pytest.mark.rule("R1")
def test_one_name_in_two_teams_is_two_rooms(store: Store) -> None:
    theirs = store.join(store.add_agent("mara", "harbour"), room="front")
    ours = store.join(store.agent(), room="front")
    again = store.join(store.agent(), room="front")
    assert ours("room_who", room="front")["sessions"] != theirs("room_who", room="front")["sessions"]
    assert {one["session_id"] for one in ours("room_who")["sessions"]} == {ours.id, again.id}
    assert len([row for row in store.rows("rooms") if "shared:front" in row]) == 2


@pytest.mark.rule("R2")
def test_a_session_enters_the_room_of_its_repository(store: Store) -> None:
    deep = repository(store.folder / "door") / "src" / "wire"
    deep.mkdir(parents=True)
    assert store.join(store.local(cwd=deep)).joined["rooms"] == ["repo:door"]


@pytest.mark.rule("R2")
def test_linked_worktrees_share_the_room_of_the_main_one(store: Store) -> None:
    main = repository(store.folder / "door")
    linked = worktree(main, store.folder / "fix-hinge")
    assert store.join(store.local(cwd=linked)).joined["rooms"] == ["repo:door"]


@pytest.mark.rule("R3")
def test_outside_a_repository_the_room_is_the_folders(store: Store) -> None:
    assert store.join(store.local(cwd=store.folder)).joined["rooms"] == ["dir:work"]
    assert store.join(store.local(cwd="/")).joined["rooms"] == ["dir:/"]


@pytest.mark.rule("R3")
def test_without_a_cwd_no_room_is_entered(store: Store) -> None:
    assert store.join(store.agent()).joined["rooms"] == []


@pytest.mark.rule("R4")
def test_the_room_of_a_session_elsewhere_is_named_by_its_repo_url(store: Store) -> None:
    given = {"cwd": "/srv/checkout", "host": "elsewhere"}
    named = store.join(store.agent(), repo_url="git@code.example.org:team/door.git", **given)
    assert named.joined["rooms"] == ["repo:door"]
    assert store.join(store.agent(), **given).joined["rooms"] == ["dir:checkout"]


@pytest.mark.rule("R5")
def test_any_other_name_is_a_shared_room_with_or_without_its_prefix(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["shared:front", "desk"])
    assert seat.joined["rooms"] == ["shared:front", "shared:desk"]
    assert store.call("room_history", store.admin(), room="desk")["room"] == "shared:desk"
    assert store.call("room_history", store.admin(), room="shared:desk")["room"] == "shared:desk"


@pytest.mark.rule("R6")
def test_names_differ_by_every_letter_but_not_by_their_unicode_form(store: Store) -> None:
    names = ["app-one", "app_one", "app.one", "App-one", "caf\u00e9", "cafe\u0301"]
    seat = store.join(store.agent(), extra_rooms=names)
    assert seat.joined["rooms"] == [f"shared:{name}" for name in names[:5]]


@pytest.mark.rule("R7")
@pytest.mark.parametrize("name", ["repo:door", "dir:work", "repo:", "repo:cafe\u0301"])
def test_anothers_repository_is_not_entered_by_name(store: Store, name: str) -> None:
    with pytest.raises(InvalidArgument, match="entered by itself"):
        store.join(store.agent(), room=name)
    with pytest.raises(InvalidArgument, match="extra_rooms"):
        store.join(store.agent(), extra_rooms=["front", name])
    assert store.rows("rooms") == []


@pytest.mark.rule("R7")
def test_the_own_repositorys_room_may_be_named(store: Store) -> None:
    seat = store.join(store.local(cwd=repository(store.folder / "door")), room="repo:door")
    assert seat.joined["rooms"] == ["repo:door"]


@pytest.mark.rule("R8")
@pytest.mark.parametrize("name", ["", "shared:", "  ", "r" * 129, "shared:" + "r" * 122])
def test_an_empty_or_overlong_name_is_refused(store: Store, name: str) -> None:
    for arguments in ({"room": name}, {"extra_rooms": ["front", name]}):
        with pytest.raises(InvalidArgument, match=next(iter(arguments))):
            store.call("room_join", store.agent(), **arguments)
    assert store.rows("sessions") == []


@pytest.mark.rule("R9")
def test_the_named_room_is_the_default_else_the_automatic_one(store: Store) -> None:
    plain = store.join(store.local(cwd=repository(store.folder / "door")))
    assert plain("room_history")["room"] == "repo:door"
    named = store.join(store.local(cwd=store.folder / "door"), room="front", extra_rooms=["desk"])
    assert set(named.joined["rooms"]) == {"repo:door", "shared:front", "shared:desk"}
    assert named("room_history")["room"] == "shared:front"


@pytest.mark.rule("R9")
def test_a_later_join_keeps_the_default_room_unless_it_names_one(store: Store) -> None:
    process = store.local(key="key-of-the-chat")
    seat = store.join(process, room="front")
    store.join(process)
    assert seat("room_history")["room"] == "shared:front"
    store.join(process, room="desk")
    assert seat("room_history")["room"] == "shared:desk"


@pytest.mark.rule("R9")
def test_no_room_that_the_session_left_is_its_default(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["desk"], harness_key="key-of-the-chat")
    seat("room_leave_room", room="front")
    assert seat("room_history")["room"] == "shared:desk"
    seat("room_leave")
    store.join(store.agent(), harness_key="key-of-the-chat")
    with pytest.raises(RoomRequired):
        seat("room_history")


@pytest.mark.rule("R10")
def test_a_call_about_a_room_needs_one(store: Store) -> None:
    with pytest.raises(RoomRequired):
        store.call("room_history", store.agent())
    with pytest.raises(RoomRequired):
        store.join(store.agent())("room_history")
    with pytest.raises(RoomRequired):
        store.call("room_set_autonomy_cap", store.admin(), autonomy="hold")


@pytest.mark.rule("R11")
def test_no_session_is_in_more_than_64_rooms(store: Store) -> None:
    seat = store.join(store.agent(), harness_key="key-of-the-chat", extra_rooms=[f"r{n}" for n in range(64)])
    assert len(seat.joined["rooms"]) == 64
    before = store.everything()
    with pytest.raises(InvalidArgument, match="at most 64"):
        store.call("room_join", store.agent(), harness_key="key-of-the-chat", extra_rooms=["one more"])
    assert store.everything() == before


@pytest.mark.rule("R12")
@pytest.mark.parametrize("tool", ["room_history", "room_who"])
def test_a_session_asks_about_its_own_rooms_only(store: Store, tool: str) -> None:
    store.join(store.agent(), room="front")
    stranger = store.join(store.add_agent("mara"), room="desk")
    with pytest.raises(NotInRoom, match="front"):
        stranger(tool, room="front")
    with pytest.raises(NotInRoom, match="front"):
        store.call(tool, stranger.caller, room="front")
    assert store.call(tool, stranger.caller, room="desk")


@pytest.mark.rule("R12")
@pytest.mark.parametrize("kind", ["admin", "local"])
def test_an_operator_without_a_session_sees_every_room_of_the_team(store: Store, kind: str) -> None:
    store.join(store.agent(), room="front")
    operator: Principal = store.admin() if kind == "admin" else store.local()
    assert store.call("room_history", operator, room="front")["room"] == "shared:front"


@pytest.mark.rule("R13")
@pytest.mark.parametrize("tool", ["room_history", "room_who", "room_leave_room"])
def test_a_room_that_nobody_entered_is_unknown(store: Store, tool: str) -> None:
    seat = store.join(store.agent(), room="front")
    with pytest.raises(UnknownRoom, match="attic"):
        seat(tool, room="attic")
