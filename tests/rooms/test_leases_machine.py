"""Leases and drift under any order of claims, renewals, releases, expiry, leaving and clock changes.

A model in Python says who holds what; the store must agree, no two live leases ever conflict, and drift is as bad as
the model says.
"""

from dataclasses import dataclass
from itertools import combinations, count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from agentsroom.core.clock import SECOND
from agentsroom.core.principals import Principal
from agentsroom.rooms.errors import LeaseEnded, NotHolder
from tests.support.stores import Seat, Store

NAMES = ("a", "b", "c")
PATHS = ("/r", "/r/app", "/r/app/x.py", "/r/app/y.py", "/r/app-2", "/r/lib/x.py")
TEAMS = count()
SECONDS = st.sampled_from([-3_600, -1, 1, 29, 30, 3_600])

names, paths = st.sampled_from(NAMES), st.sampled_from(PATHS)
modes = st.sampled_from([None, "exclusive", "shared"])
ttls = st.sampled_from([None, 1, 30, 600])


@dataclass
class Held:
    """A lease as the model has it; `ended` orders its end among the ends and the notes."""

    owner: str
    path: str
    mode: str
    ttl: int
    expires_at: int
    ended: int | None = None


def meet(one: str, other: str) -> bool:
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


class Leases(RuleBasedStateMachine):
    """Three sessions of one folder on a host whose files nobody knows; a team of its own in a shared store."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        number = next(TEAMS)
        self.team = f"team-{number}"
        self.caller: Principal = self.store.add_agent(f"agent-{number}", self.team)
        self.seats = {name: self.join(name) for name in NAMES}
        self.left: set[str] = set()
        self.leases: list[Held] = []
        self.contents = dict.fromkeys(PATHS, "0" * 64)
        self.notes: dict[tuple[str, str], tuple[str, int]] = {}
        self.moment = 0

    def join(self, name: str) -> Seat:
        return self.store.join(
            self.caller, room="front", harness_key=f"key-of-{name}", host="elsewhere", cwd="/r"
        )

    @property
    def now(self) -> int:
        return self.store.clock.now()

    def end(self, lease: Held) -> None:
        self.moment += 1
        lease.ended = self.moment

    def end_what_expired(self) -> None:
        for lease in self.leases:
            if lease.ended is None and lease.expires_at <= self.now:
                self.end(lease)

    def call(self, name: str) -> bool:
        """What each call of a session does first; False when it has left."""
        if name in self.left:
            return False
        self.end_what_expired()
        for lease in self.live():
            if lease.owner == name:
                lease.expires_at = self.now + lease.ttl
        return True

    def live(self) -> list[Held]:
        return [one for one in self.leases if one.ended is None and one.expires_at > self.now]

    def own(self, name: str, path: str) -> Held | None:
        return next((one for one in self.live() if (one.owner, one.path) == (name, path)), None)

    def may_hold(self, name: str, path: str) -> Held | None:
        """The lease that a call acts on; without one the call is refused, and changes nothing."""
        own = None if name in self.left else self.own(name, path)
        if own is not None:
            self.call(name)
        return own

    @rule(name=names, path=paths, mode=modes, ttl=ttls)
    def claim(self, name: str, path: str, mode: str | None, ttl: int | None) -> None:
        if not self.call(name):
            return
        own = self.own(name, path)
        wished = mode or (own.mode if own else "exclusive")
        in_the_way = [
            one
            for one in self.live()
            if one.owner != name and meet(one.path, path) and "exclusive" in (wished, one.mode)
        ]
        answer = self.seats[name].claim(path, mode=mode, ttl_s=ttl)
        assert answer["ok"] is not bool(in_the_way)
        if in_the_way:
            same = [one.mode for one in in_the_way if one.path == path]
            expected = "held_exclusive" if "exclusive" in same else "held_shared" if same else "overlap"
            assert answer["reason"] == expected
            assert set(answer["holders"]) == {self.seats[one.owner].id for one in in_the_way}
            latest = max(one.expires_at for one in in_the_way)
            ends_last = {self.seats[one.owner].id for one in in_the_way if one.expires_at == latest}
            assert answer["holder"] in ends_last
            return
        life = ttl * SECOND if ttl else own.ttl if own else 3_600 * SECOND
        if own:
            own.mode, own.ttl, own.expires_at = wished, life, self.now + life
        else:
            self.leases.append(Held(name, path, wished, life, self.now + life))

    @rule(name=names, path=paths, ttl=ttls)
    def renew(self, name: str, path: str, ttl: int | None) -> None:
        own = self.may_hold(name, path)
        if own is None:
            if name not in self.left:
                with pytest.raises((LeaseEnded, NotHolder)):
                    self.seats[name]("lease_renew", path=path, ttl_s=ttl)
            return
        self.seats[name]("lease_renew", path=path, ttl_s=ttl)
        own.ttl = ttl * SECOND if ttl else own.ttl
        own.expires_at = self.now + own.ttl

    @rule(name=names, path=paths)
    def release(self, name: str, path: str) -> None:
        own = self.may_hold(name, path)
        if own is None:
            if name not in self.left:
                had = any((one.owner, one.path) == (name, path) for one in self.leases)
                with pytest.raises(LeaseEnded if had else NotHolder):
                    self.seats[name]("lease_release", path=path)
            return
        self.seats[name]("lease_release", path=path)
        self.end(own)

    @rule(name=names)
    def leave(self, name: str) -> None:
        if self.call(name):
            for lease in self.live():
                if lease.owner == name:
                    self.end(lease)
        self.seats[name]("room_leave")
        self.left.add(name)

    @rule(name=names)
    def come_back(self, name: str) -> None:
        self.end_what_expired()
        assert self.join(name).id == self.seats[name].id
        self.left.discard(name)

    @rule(seconds=SECONDS)
    def set_the_clock(self, seconds: int) -> None:
        self.store.clock.forward(seconds)

    @rule(path=paths, content=st.sampled_from(["0" * 64, "1" * 64, "absent"]))
    def change(self, path: str, content: str) -> None:
        self.contents[path] = content

    @rule(name=names, path=paths)
    def note(self, name: str, path: str) -> None:
        if self.call(name):
            self.seats[name]("note_read", path=path, sha256=self.contents[path])
            self.notes[name, path] = self.contents[path], self.moment

    @rule(name=names, path=paths)
    def drift(self, name: str, path: str) -> None:
        if not self.call(name):
            return
        told = self.seats[name].drift(path, sha256=self.contents[path])
        noted, since = self.notes.get((name, path), (None, 0))
        changed = noted is not None and noted != self.contents[path]
        overlapping = [
            one
            for one in self.leases
            if one.owner != name and meet(one.path, path) and (one.ended is None or one.ended > since)
        ]
        severity = "SAFE" if not changed else "CRITICAL" if overlapping else "MINOR"
        assert (told["severity"], told["changed"]) == (severity, changed)
        if severity == "CRITICAL":
            assert told["holder"] in {self.seats[one.owner].id for one in overlapping}

    @rule(name=names, path=paths)
    def check(self, name: str, path: str) -> None:
        if self.call(name):
            others = [one for one in self.live() if one.owner != name and meet(one.path, path)]
            assert self.seats[name]("lease_check", path=path)["free"] is not bool(others)

    @rule(name=names)
    def list_all(self, name: str) -> None:
        if self.call(name):
            listed = {(one["session_id"], one["path"]) for one in self.seats[name]("lease_list")["leases"]}
            assert listed == {(self.seats[one.owner].id, one.path) for one in self.live()}

    @invariant()
    def no_two_live_leases_conflict(self) -> None:
        columns = ("session_id", "path", "mode", "expires_at", "released_at")
        live = [
            (owner, path, mode)
            for owner, path, mode, expires_at, released_at in self.store.columns("leases", *columns)
            if owner in {seat.id for seat in self.seats.values()}
            and released_at is None
            and expires_at > self.now
        ]
        for (owner, path, mode), (other, theirs, their_mode) in combinations(live, 2):
            if owner != other and meet(path, theirs):
                assert (mode, their_mode) == ("shared", "shared")
        ids = {seat.id: name for name, seat in self.seats.items()}
        assert sorted((ids[owner], path, mode) for owner, path, mode in live) == sorted(
            (one.owner, one.path, one.mode) for one in self.live()
        )


@pytest.mark.rule("R107", "R108", "R111", "R117", "R118", "R130", "R145")
def test_leases_agree_with_the_model(store: Store) -> None:
    class OnThisStore(Leases):
        pass

    OnThisStore.store = store
    run_state_machine_as_test(
        OnThisStore,
        settings=settings(
            max_examples=50 if store.is_sqlite else 20,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
