"""Drift: a file against what the session saw, and whose leases overlap the time between."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentsroom.core import platform
from agentsroom.core.clock import iso
from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms.drift import Verdict, judge
from agentsroom.runtime import Runtime
from tests.support.stores import Seat, Store


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """One who notes n.py, and another."""
    (store.folder / "n.py").write_text("one")
    return store.join(label="alpha"), store.join(label="beta")


def write(store: Store, text: str | None) -> None:
    """The file n.py as it is now; None: it is not there."""
    path = store.folder / "n.py"
    path.unlink(missing_ok=True) if text is None else path.write_text(text)


@pytest.mark.rule("R125")
def test_a_note_is_the_hash_of_the_content_or_absent(store: Store, pair: tuple[Seat, Seat]) -> None:
    seat, _ = pair
    assert seat("note_read", path="n.py") == {"hash": hashlib.sha256(b"one").hexdigest()}
    assert seat("note_read", path="missing.py") == {"hash": "absent"}
    assert seat("note_read", path="n.py/under-a-file") == {"hash": "absent"}
    write(store, "two")
    assert seat.drift("n.py")["changed"] is True
    seat("note_read", path="n.py")
    assert seat.drift("n.py")["changed"] is False


@pytest.mark.rule("R126")
def test_a_session_elsewhere_gives_the_hash_itself(store: Store) -> None:
    seat = store.join(store.agent(), host="elsewhere", cwd="/r")
    for tool in ("note_read", "drift_check"):
        with pytest.raises(InvalidArgument, match="sha256"):
            seat(tool, path="n.py")
        with pytest.raises(
            InvalidArgument, match="came; what sha256sum prints, 64 hex digits, or absent is taken"
        ):
            seat(tool, path="n.py", sha256="zz")
    digest = hashlib.sha256(b"one").hexdigest()
    assert seat("note_read", path="n.py", sha256=digest.upper()) == {"hash": digest}
    assert seat.drift("n.py", sha256=digest)["severity"] == "SAFE"
    assert seat.drift("n.py", sha256="f" * 64)["severity"] == "MINOR"
    assert seat.drift("n.py", sha256="absent")["severity"] == "MINOR"
    assert seat("note_read", path="n.py", sha256="absent") == {"hash": "absent"}


BEYOND: list[dict[str, Any]] = [{"host": "192.0.2.1"}, {"url": "https://rooms.example.org"}, {"proxies": 1}]


@contextmanager
def with_settings(store: Store, **settings: Any) -> Iterator[Store]:
    """The same store, as a server with other settings opens it."""
    changed = replace(store.settings, **settings)
    with closing(Runtime(changed, clock=store.clock)) as runtime:
        yield replace(store, settings=changed, runtime=runtime)


@pytest.mark.rule("R126")
@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("tool", ["note_read", "drift_check"])
def test_for_whoever_may_be_elsewhere_no_file_is_read_and_none_is_told_of(
    sqlite_store: Store, beyond: dict[str, Any], tool: str
) -> None:
    """Whatever stands at the path, the refusal is the same."""
    folder = sqlite_store.folder
    (folder / "n.py").write_text("one")
    (folder / "link").symlink_to("n.py")
    os.mkfifo(folder / "pipe")
    (folder / "closed").mkdir(mode=0)
    with with_settings(sqlite_store, **beyond) as store:
        seat = store.join(store.agent(), host=platform.host_name(), cwd=str(folder))
        errors = []
        for path in ("n.py", "missing.py", ".", "link", "pipe", "closed/x", "x" * 300, "/etc/passwd"):
            with pytest.raises(InvalidArgument) as refused:
                seat(tool, path=path)
            errors.append(refused.value.as_json())
        assert all(one == errors[0] for one in errors)
        assert [one["argument"] for one in errors[0]["problems"]] == ["sha256"]
        assert "sha256sum FILE" in errors[0]["hint"]
        assert store.rows("baselines") == []


@pytest.mark.rule("R126")
@pytest.mark.parametrize("here", [{}, {"url": "http://localhost:8765"}])
def test_callers_of_this_machine_have_files_read_over_http_too(
    sqlite_store: Store, here: dict[str, Any]
) -> None:
    (sqlite_store.folder / "n.py").write_text("one")
    digest = hashlib.sha256(b"one").hexdigest()
    with with_settings(sqlite_store, **here) as store:
        seat = store.join(store.agent(), host=platform.host_name(), cwd=str(store.folder))
        assert seat("note_read", path="n.py") == {"hash": digest}


@pytest.mark.rule("R126")
def test_the_caller_counts_not_who_joined(sqlite_store: Store) -> None:
    (sqlite_store.folder / "n.py").write_text("one")
    digest = hashlib.sha256(b"one").hexdigest()
    with with_settings(sqlite_store, proxies=1) as store:
        local = store.join(store.local())
        over_http = replace(local, caller=store.agent())
        with pytest.raises(InvalidArgument, match="sha256"):
            over_http("note_read", path="n.py")
        assert over_http("note_read", path="n.py", sha256=digest) == {"hash": digest}
        assert local.drift("n.py")["severity"] == "SAFE"


@pytest.mark.rule("R126")
@pytest.mark.parametrize("sha256", ["abc", "g" * 64, "Absent", "", "0" * 64 + "\n", {"sha": 1}])
def test_what_is_no_hash_is_refused(sqlite_store: Store, sha256: object) -> None:
    with pytest.raises(InvalidArgument, match="sha256"):
        sqlite_store.join()("note_read", path="n.py", sha256=sha256)


@pytest.mark.rule("R127")
@pytest.mark.parametrize("tool", ["note_read", "drift_check"])
def test_what_has_no_content_is_refused(store: Store, tool: str) -> None:
    os.mkfifo(store.folder / "pipe")
    (store.folder / "loop").symlink_to("loop")
    seat = store.join()
    for path in (".", "pipe", "/dev/null", "loop", "x" * 300):
        with pytest.raises(InvalidArgument, match="path"):
            seat(tool, path=path)
    assert store.rows("baselines") == []


@pytest.mark.rule("R128")
def test_unchanged_or_never_noted_is_safe(store: Store, pair: tuple[Seat, Seat]) -> None:
    seat, other = pair
    never = seat.drift("n.py")
    assert (never["severity"], never["changed"], never["holder"], never["since"]) == (
        "SAFE",
        False,
        None,
        None,
    )
    assert "SAFE only says that nothing speaks against it" in never["message"]
    assert "note_read" in never["message"]
    seat("note_read", path="n.py")
    other.claim("n.py")
    write(store, "two")
    write(store, "one")
    assert seat.drift("n.py")["severity"] == "SAFE"


@pytest.mark.rule("R129")
def test_changed_and_held_by_nobody_else_is_minor(store: Store, pair: tuple[Seat, Seat]) -> None:
    seat, _ = pair
    seat("note_read", path="n.py")
    write(store, "two")
    told = seat.drift("n.py")
    assert (told["severity"], told["changed"], told["holder"]) == ("MINOR", True, None)
    assert told["path"] == str(store.folder / "n.py")


@pytest.mark.rule("R130")
@pytest.mark.parametrize("end", ["held", "released", "expired", "left"])
@pytest.mark.parametrize("begin", ["before", "after"])
def test_changed_while_another_held_it_is_critical(
    store: Store, pair: tuple[Seat, Seat], begin: str, end: str
) -> None:
    seat, other = pair
    if begin == "before":
        other.claim("n.py", ttl_s=60, mode="shared")
    acquired = iso(store.clock.now())
    store.clock.forward(5)
    seat("note_read", path="n.py")
    if begin == "after":
        acquired = iso(store.clock.now())
        other.claim("n.py", ttl_s=60, mode="shared")
    write(store, "two")
    if end == "released":
        other("lease_release", path="n.py")
    elif end == "left":
        other("room_leave")
    elif end == "expired":
        store.clock.forward(3_600)
    told = seat.drift("n.py")
    assert (told["severity"], told["changed"]) == ("CRITICAL", True)
    assert (told["holder"], told["since"]) == (other.id, acquired)
    assert "beta" in told["message"]


@pytest.mark.rule("R131")
@pytest.mark.parametrize(("before", "after", "word"), [("one", None, "vanished"), (None, "one", "appeared")])
def test_appearing_and_vanishing_are_changes(
    store: Store, pair: tuple[Seat, Seat], before: str | None, after: str | None, word: str
) -> None:
    seat, _ = pair
    write(store, before)
    seat("note_read", path="n.py")
    write(store, after)
    told = seat.drift("n.py")
    assert (told["severity"], told["changed"]) == ("MINOR", True)
    assert word in told["message"]


@pytest.mark.rule("R132")
def test_a_folder_around_counts_an_earlier_lease_and_ones_own_do_not(
    store: Store, pair: tuple[Seat, Seat]
) -> None:
    seat, other = pair
    other.claim("n.py", ttl_s=60)
    store.clock.forward(60)
    other.claim("beside.py")
    other("lease_release", path="beside.py")
    seat("note_read", path="n.py")
    seat.claim("n.py")
    write(store, "two")
    assert seat.drift("n.py")["severity"] == "MINOR"
    seat("lease_release", path="n.py")
    other.claim(".")
    assert seat.drift("n.py")["severity"] == "CRITICAL"


@pytest.mark.rule("R132", "R145")
@pytest.mark.parametrize("step", [-3_600, 3_600])
def test_before_and_after_are_the_order_of_events_whatever_the_clock_does(
    store: Store, pair: tuple[Seat, Seat], step: int
) -> None:
    seat, other = pair
    other.claim("n.py", ttl_s=604_800)
    other("lease_release", path="n.py")
    store.clock.forward(step)
    seat("note_read", path="n.py")
    write(store, "two")
    assert seat.drift("n.py")["severity"] == "MINOR"
    store.clock.forward(-2 * step)
    other.claim("n.py", ttl_s=604_800)
    other("lease_release", path="n.py")
    assert seat.drift("n.py")["severity"] == "CRITICAL"


def test_the_verdict_by_itself() -> None:
    assert judge(None, "a", held_by_another=True) == Verdict("SAFE", changed=False)
    assert judge("a", "a", held_by_another=True) == Verdict("SAFE", changed=False)
    assert judge("a", "b", held_by_another=False) == Verdict("MINOR", changed=True)
    assert judge("a", "b", held_by_another=True) == Verdict("CRITICAL", changed=True)
