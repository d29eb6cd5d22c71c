"""Selectors: whom `*`, a session's id, `tag:` and `file:` mean."""

import pytest

from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms.errors import NoSharedRoom, SessionLeft, UnknownRecipient
from agentsroom.rooms.selectors import (
    Everyone,
    Holders,
    OneSession,
    Tagged,
    matches_path,
    parse_selector,
)
from tests.support.stores import Store
from tests.support.waiting import Waiting


def test_a_selector_is_read_once_into_what_it_means() -> None:
    assert parse_selector("*") == Everyone()
    assert parse_selector("tag:cafe\u0301") == Tagged("caf\u00e9")
    assert parse_selector("file:tag:x") == Holders("tag:x")
    assert parse_selector("0123456789abcdef") == OneSession("0123456789abcdef")


@pytest.mark.rule("R66")
@pytest.mark.parametrize("to", ["", "tag:", "file:"])
def test_what_selects_nothing_at_all_is_refused(store: Store, to: str) -> None:
    seat = store.join()
    with pytest.raises(InvalidArgument, match="to:"):
        seat.send(to)
    assert store.rows("messages") == []


@pytest.mark.rule("R58")
def test_everyone_in_any_common_room_gets_it_once_but_the_sender(store: Store) -> None:
    sender = store.join(store.agent(), room="front", extra_rooms=["desk"])
    both = store.join(store.agent(), room="front", extra_rooms=["desk"])
    desk = store.join(store.agent(), room="desk")
    store.join(store.agent(), room="attic")
    store.join(store.agent(), room="front")("room_leave")
    assert sender.send("*")["recipients"] == 2
    assert (both.bodies(), desk.bodies(), sender.bodies()) == (["x"], ["x"], [])
    assert len(store.rows("deliveries")) == 2


@pytest.mark.rule("R59")
def test_an_id_means_one_session_also_ones_own(store: Store) -> None:
    sender, other, third = (store.join(store.agent(), room="front") for _ in range(3))
    assert sender.send(other.id)["recipients"] == 1
    assert sender.send(sender.id, "note to self")["recipients"] == 1
    assert (other.bodies(), third.bodies(), sender.bodies()) == (["x"], [], ["note to self"])


@pytest.mark.rule("R59")
def test_one_without_a_common_room_is_not_reached(store: Store) -> None:
    sender = store.join(store.agent(), room="front")
    other = store.join(store.agent(), room="desk")
    left = store.join(store.agent(), room="front")
    left("room_leave")
    foreign = store.join(store.add_agent("mara", "harbour"), room="front")
    for to, error in (
        (other.id, NoSharedRoom),
        (left.id, SessionLeft),
        (foreign.id, UnknownRecipient),
        ("0123456789abcdef", UnknownRecipient),
        ("ALL", UnknownRecipient),
    ):
        with pytest.raises(error):
            sender.send(to)
    assert store.rows("messages") == []


@pytest.mark.rule("R59")
def test_a_label_is_no_recipient_but_the_error_tells_whose_it_is(store: Store) -> None:
    sender, beta = store.join(), store.join(label="beta")
    with pytest.raises(UnknownRecipient) as caught:
        sender.send("beta")
    assert caught.value.data["candidates"] == [beta.id]


@pytest.mark.rule("R60")
def test_a_tag_means_the_others_who_joined_with_it(store: Store) -> None:
    sender = store.join(store.agent(), room="front", tags=["caf\u00e9"])
    tagged = store.join(store.agent(), room="front", tags=["cafe\u0301", "api"])
    store.join(store.agent(), room="front", tags=["cafe"])
    store.join(store.agent(), room="desk", tags=["caf\u00e9"])
    assert sender.send("tag:cafe\u0301")["recipients"] == 1
    assert tagged.bodies() == ["x"]


@pytest.mark.rule("R61")
def test_a_file_means_the_others_who_hold_it_now_in_a_common_room(store: Store) -> None:
    sender, holder, sharer = (store.join() for _ in range(3))
    elsewhere = store.join(store.local(cwd="/"))
    for seat in (holder, sharer):
        seat.claim("src/wire.go", mode="shared", ttl_s=60)
        seat.claim("src/cable.go", mode="shared", ttl_s=60)
    elsewhere.claim(store.folder / "src/pipe.go")
    sender.claim("own.go")
    assert sender.send("file:wire.go")["recipients"] == 2
    assert sender.send("file:pipe.go")["recipients"] == 0
    assert sender.send("file:own.go")["recipients"] == 0
    holder("lease_release", path="src/wire.go")
    assert sender.send("file:wire.go")["recipients"] == 1
    store.clock.forward(60)
    assert sender.send("file:wire.go")["recipients"] == 0


@pytest.mark.rule("R62")
def test_a_relative_glob_counts_from_the_holder(store: Store) -> None:
    left, right = store.folder / "left", store.folder / "right"
    for folder in (left, right):
        folder.mkdir()
    sender = store.join(store.local(cwd=left), room="front")
    holder = store.join(store.local(cwd=right), room="front")
    holder.claim("src/wire.go")
    found = {
        to: sender.send(to)["recipients"]
        for to in (
            f"file:{right}/src/wire.go",
            "file:src/wire.go",
            "file:wire.go",
            f"file:{left}/src/wire.go",
            "file:../right/src/wire.go",
            "file:../left/src/wire.go",
            "file:wire",
        )
    }
    assert list(found.values()) == [1, 1, 1, 0, 1, 0, 0]


@pytest.mark.rule("R63")
@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("src/*.go", "/r/src/wire.go", True),
        ("src/*.go", "/r/src/deep/wire.go", False),
        ("src/w?re.go", "/r/src/wire.go", True),
        ("src?wire.go", "/r/src/wire.go", False),
        ("src/[vw]ire.go", "/r/src/wire.go", True),
        ("src/[!w]ire.go", "/r/src/wire.go", False),
        ("src/[z-a]", "/r/src/[z-a]", True),
        ("a[/]b", "/r/a/b", False),
        ("**", "/r/src/deep/wire.go", True),
        ("src/**/wire.go", "/r/src/wire.go", True),
        ("src/**/wire.go", "/r/src/a/b/wire.go", True),
        ("**/deep/**", "/r/a/deep/b/wire.go", True),
        ("./src/../src/*.go", "/r/src/wire.go", True),
        ("../q/*.go", "/q/wire.go", True),
        ("a [1] {x}.md", "/r/a [1] {x}.md", True),
        ("*", "/r/*", True),
        ("[", "/r/[", True),
        ("\\*", "/r/\\*", True),
        ("a\nb", "/r/a\nb", True),
        ("wire.go", "/r/wireXgo", False),
        ("WIRE.go", "/r/wire.go", False),
    ],
)
def test_how_a_glob_is_read(glob: str, path: str, matches: bool) -> None:
    assert matches_path(glob, path, is_folder=False, holder_cwd="/r") is matches


@pytest.mark.rule("R62")
def test_a_holder_without_a_cwd_is_found_by_full_path_and_bare_name() -> None:
    found = [
        matches_path(glob, "/r/src/wire.go", is_folder=False, holder_cwd=None)
        for glob in ("/r/src/*.go", "wire.go", "src/wire.go", "*.go")
    ]
    assert found == [True, True, False, True]


@pytest.mark.rule("R64")
def test_who_holds_a_folder_holds_what_is_in_it(store: Store) -> None:
    (store.folder / "src").mkdir()
    sender, holder = store.join(), store.join()
    holder.claim("src")
    expected = {"src/wire.go": 1, "src/*.go": 1, "src/a/b/c": 1, "src": 1, "src-2/wire.go": 0, "*.md": 0}
    assert {glob: sender.send(f"file:{glob}")["recipients"] for glob in expected} == expected


@pytest.mark.rule("R67")
@pytest.mark.parametrize("to", ["*", "tag:nobody", "file:nothing/*.go"])
def test_nobody_found_is_told_and_stored(store: Store, to: str) -> None:
    sender = store.join()
    sent = sender.send(to, "is anybody there?")
    assert sent["recipients"] == 0
    assert to in sent["warning"]
    assert [one["body"] for one in sender("room_history")["messages"]] == ["is anybody there?"]


@pytest.mark.rule("R68")
def test_the_warning_names_who_is_gone_and_whom_nothing_signals(store: Store) -> None:
    sender, quiet = store.join(), store.join(label="quiet")
    gone = store.join(harness_key="a-key-that-no-process-has", label="absent")
    warning: str = sender.send("*")["warning"]
    first, second = warning.split("; ")
    assert "absent" in first
    assert "quiet" in second
    assert "absent" not in sender.send(quiet.id)["warning"]
    assert "Gone: absent" in sender.send(gone.id)["warning"]


@pytest.mark.rule("R68")
def test_who_waits_is_signalled_and_not_in_the_warning(store: Store) -> None:
    sender, reader, quiet = store.join(), store.join(label="reader"), store.join(label="quiet")
    wait = Waiting(store.runtime.feed, lambda: reader("msg_wait", timeout_s=25))
    sent = sender.send("*", "here")
    assert "quiet" in sent["warning"]
    assert "reader" not in sent["warning"]
    assert [one["body"] for one in wait.answer()["messages"]] == ["here"]
    quiet("room_leave")
    assert "reader" in sender.send("*", "after the wait")["warning"]
    reader.receive()
    wait = Waiting(store.runtime.feed, lambda: reader("msg_wait", timeout_s=25))
    assert "warning" not in sender.send(reader.id, "again")
    assert len(wait.answer()["messages"]) == 1


@pytest.mark.rule("R65")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("glob", ["**/" * 32 + "x", "*" * 32 + "x", "a/" * 2_000 + "x", "/**/a" * 16])
def test_no_glob_takes_long_on_any_path(glob: str) -> None:
    """A pattern that tries every way took more than 12 s on each of these, with the store's lock held."""
    path = "/r/" + "a/" * 1_000 + "f.py"
    assert matches_path(glob, path, is_folder=True, holder_cwd="/r") in (True, False)


@pytest.mark.rule("R65")
def test_a_glob_with_too_many_wildcards_is_refused() -> None:
    assert parse_selector("file:" + "*/" * 32) == Holders("*/" * 32)
    with pytest.raises(InvalidArgument, match="up to 32"):
        parse_selector("file:" + "*/" * 33)


@pytest.mark.rule("R68")
def test_a_warning_names_five_and_counts_the_others(store: Store) -> None:
    sender = store.join()
    for number in range(7):
        store.join(label=f"quiet-{number}")
    warning: str = sender.send("*")["warning"]
    assert warning.count("quiet-") == 5
    assert "and 2 more" in warning
