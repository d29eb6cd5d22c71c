"""Every case of tests/cases/paths.jsonl, through the tools: what a claim is stored under, what meets, whom `file:` finds.

A case that tells of files has them under a temporary folder; the others are of a host whose files nobody knows.
"""

from pathlib import Path
from typing import Any

import pytest

from agentsroom.core.errors import InvalidArgument
from tests.support.cases import read, written_out
from tests.support.stores import Json, Seat, Store

CASES = read("paths.jsonl")
RELATIONS = {"same": "held_exclusive", "overlap": "overlap", "independent": None}


class Place:
    """Where the paths of a case stand: under a temporary folder, or nowhere that is known."""

    def __init__(self, store: Store, case: Json) -> None:
        self.store = store
        self.files = case.get("fs", {})
        self.is_local = bool(self.files.keys() & {"symlinks", "files", "dirs"}) and "host" not in case
        self.top = str(store.folder) if self.is_local else ""
        if self.is_local:
            self.make()

    def make(self) -> None:
        for name in self.files.get("dirs", []):
            Path(self.path(name)).mkdir(parents=True, exist_ok=True)
        for name in self.files.get("files", []):
            Path(self.path(name)).parent.mkdir(parents=True, exist_ok=True)
            Path(self.path(name)).touch()
        for name, target in self.files.get("symlinks", {}).items():
            Path(self.path(name)).parent.mkdir(parents=True, exist_ok=True)
            Path(self.path(name)).symlink_to(self.path(target))

    def path(self, path: str) -> str:
        return self.top + path if path.startswith("/") else path

    def join(self, cwd: str, *, host: str = "elsewhere", **arguments: Any) -> Seat:
        where = self.store.runtime.machine.host if self.is_local else host
        caller = self.store.agent()
        return self.store.join(caller, room="front", cwd=self.path(cwd), host=where, **arguments)


@pytest.mark.rule("R101", "R102", "R106")
@pytest.mark.parametrize("case", [one for one in CASES if one["type"] == "normal"], ids=lambda one: one["id"])
def test_what_a_path_is_stored_as(store: Store, case: Json) -> None:
    place = Place(store, case)
    seat = place.join(case["cwd"])
    path = place.path(written_out(case["path"]))
    if "error" in case["expect"]:
        before = store.everything()
        with pytest.raises(InvalidArgument, match="path"):
            seat.claim(path)
        assert store.everything() == before
        assert seat.claim("good.py")["ok"] is True
    else:
        assert seat.claim(path)["lease"]["path"] == place.path(written_out(case["expect"]["normal"]))


@pytest.mark.rule("R101", "R102", "R109", "R113")
@pytest.mark.parametrize("case", [one for one in CASES if one["type"] == "pair"], ids=lambda one: one["id"])
@pytest.mark.parametrize("turned", [False, True], ids=["a-first", "b-first"])
def test_how_two_claims_meet(store: Store, case: Json, turned: bool) -> None:
    place = Place(store, case)
    first, second = (case["b"], case["a"]) if turned else (case["a"], case["b"])
    one, other = (
        place.join(side["cwd"], host=side.get("host", "elsewhere"), repo_url=side.get("repo_url"))
        for side in (first, second)
    )
    assert one.claim(place.path(first["path"]))["ok"] is True
    answer = other.claim(place.path(second["path"]))
    assert answer["reason"] == RELATIONS[case["expect"]["relation"]]
    assert answer["ok"] is (answer["reason"] is None)


@pytest.mark.rule("R61", "R62", "R63", "R64")
@pytest.mark.parametrize(
    "case", [one for one in CASES if one["type"] == "selector"], ids=lambda one: one["id"]
)
def test_whom_a_file_selector_finds(store: Store, case: Json) -> None:
    place = Place(store, case)
    holder = place.join(case["holder_cwd"])
    sender = place.join(case["sender_cwd"] if "sender_cwd" in case else case["holder_cwd"])
    state = case.get("lease_state", "live")
    mode = "shared" if "shared" in state else "exclusive"
    assert holder.claim(place.path(case["lease"]), mode=mode, ttl_s=60)["ok"] is True
    if state == "expired":
        store.clock.forward(60)
    glob = case["selector"].removeprefix("file:")
    assert sender.send(f"file:{place.path(glob)}")["recipients"] == int(case["expect"]["match"])


def test_no_case_is_left_out() -> None:
    assert len(CASES) == 83
    assert {one["type"] for one in CASES} == {"normal", "pair", "selector"}
