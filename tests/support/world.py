"""The world of tests/cases/arguments.jsonl: A, B and C of one repository, and what a case says was done before."""

from collections.abc import Callable
from typing import Any

from agentsroom.core.principals import Principal
from tests.support.git import repository
from tests.support.stores import Json, Seat, Store
from tests.support.ways import Way

KEY_OF_A = "2b50133e-0000-4000-8000-00000000000a"
KEY_OF_B = "7c1de0aa-1111-4222-8333-00000000000b"


class World:
    """Three sessions in repo:w and shared:front, alive, with no leases, no mail, at notify."""

    def __init__(self, store: Store, way: Way) -> None:
        self.store = store
        self.way = way
        self.top = repository(store.folder / "w")
        for name in ("alpha", "beta", "gamma"):
            (self.top / name).mkdir()
        self.seats: dict[str, Seat] = {}
        for name, label in (("A", "alpha"), ("B", "beta"), ("C", None)):
            self.seat(name, label=label)
        self.names: dict[str, Any] = {"<store path>": store.settings.store_name}
        self.caller: Principal = self.seats["A"].caller

    def seat(self, name: str, caller: Principal | None = None, **arguments: Any) -> Seat:
        """Joins the session of that name, in place of the one that has it."""
        if name in self.seats:
            self.seats[name]("room_leave")
        folder = {"A": "alpha", "B": "beta"}.get(name, "gamma")
        label = {"A": "alpha", "B": "beta"}.get(name)
        who, own = self.way.seat(name, self.top / folder)
        given = {"extra_rooms": ["front"], "label": label} | own | arguments
        self.seats[name] = self.store.join(caller or who, **given)
        return self.seats[name]

    def send(self, sender: str, to: str, body: str = "x", **arguments: Any) -> int:
        """A message of one session to another, or to a selector; its id."""
        found: int = self.seats[sender].send(
            self.seats[to].id if to in self.seats else to, body, **arguments
        )["message_id"]
        return found

    def write(self, name: str, text: str) -> None:
        (self.top / "alpha" / name).write_text(text)

    def arrange(self, case: Json) -> None:
        """Does what the case says was done before."""
        for text in case["given"]:
            GIVEN[text](self, case)

    def placeholders(self) -> dict[str, Any]:
        """What `$A`, `$M` and the others stand for."""
        if "$MA" not in self.names:
            self.names["$MA"] = self.send("A", "B") if self.seats["A"].caller == self.caller else 1
        return self.names | {f"${name}": seat.id for name, seat in self.seats.items()}


Step = Callable[[World, Json], object]


def _nothing(_world: World, _case: Json) -> None:
    """It is so already."""


def _only_a_and_b(world: World, _case: Json) -> None:
    world.seats["C"]("room_leave")


def _sent_by_a(world: World, _case: Json) -> None:
    world.names["$MA"] = world.send("A", "B")


def _sent_to_a(world: World, _case: Json) -> None:
    world.names["$M"] = world.send("B", "A")


def _acked_by_a(world: World, case: Json) -> None:
    _sent_to_a(world, case)
    world.seats["A"]("msg_ack", message_id=world.names["$M"])


def _in_the_attic(world: World, _case: Json) -> None:
    other = world.store.join(world.store.agent(), room="attic")
    world.names["$M"] = other.send("*")["message_id"]


def _holds(path: str, **arguments: Any) -> Step:
    def step(world: World, _case: Json) -> None:
        assert world.seats["A"].claim(path, **arguments)["ok"] is True

    return step


def _held_and_released(world: World, _case: Json) -> None:
    world.seats["A"].claim("b.py")
    world.seats["A"]("lease_release", path="b.py")


def _held_and_expired(world: World, _case: Json) -> None:
    world.seats["A"].claim("a.py", ttl_s=1)
    world.store.clock.forward(2)


def _noted(text: str | None, claimed: bool = False) -> Step:
    def step(world: World, _case: Json) -> None:
        world.write("n.py", "one")
        world.seats["A"]("note_read", path="n.py")
        if claimed:
            world.seats["A"].claim("n.py")
        world.write("n.py", text or "")
        if text is None:
            (world.top / "alpha" / "n.py").unlink()

    return step


def _a_with_key(**arguments: Any) -> Step:
    def step(world: World, _case: Json) -> None:
        world.caller = world.seat("A", harness_key=KEY_OF_A, **arguments).caller

    return step


def _b_with_key(world: World, _case: Json) -> None:
    world.seat("B", world.seats["B"].caller, harness_key=KEY_OF_B)


def _b_with_tag(tag: str) -> Step:
    return lambda world, _: world.seat("B", tags=[tag])


def _gone_left(world: World, case: Json) -> None:
    seat = world.seat("GONE", harness_key=case["arguments"].get("harness_key"))
    world.caller = seat.caller if "harness_key" in case["arguments"] else world.caller
    seat("room_leave")


def _b_is_gone(world: World, _case: Json) -> None:
    world.seat("B", harness_key=KEY_OF_B)
    world.names["$MA"] = world.send("A", "B")


def _cap_of_the_repository(world: World, _case: Json) -> None:
    world.store.call("room_set_autonomy_cap", world.store.admin(), room="repo:w", autonomy="hold")


def _operator(world: World, _case: Json) -> None:
    world.caller = world.store.admin()


def _agent_with_key_of_a(world: World, _case: Json) -> None:
    world.caller = world.store.agent()


def _agents_of_their_own(world: World, case: Json) -> None:
    _agent_with_key_of_a(world, case)
    world.seat("A", world.caller)
    world.seat("B", world.store.add_agent("mara"))


def _only_c(world: World, _case: Json) -> None:
    world.caller = world.seats["C"].caller


def _elsewhere(world: World, _case: Json) -> None:
    other = repository(world.store.folder / "elsewhere")
    world.seats["D"] = world.store.join(world.store.local(cwd=other))


def _letter_in_the_id(world: World, _case: Json) -> None:
    while world.seats["A"].id.isdigit():
        world.seat("A")


def _ids_that_begin_alike(world: World, _case: Json) -> None:
    seen = {seat.id[:4]: seat for seat in world.seats.values()}
    while (new := world.store.join(extra_rooms=["front"])).id[:4] not in seen:
        seen[new.id[:4]] = new
    world.seats |= {"A": seen[new.id[:4]], "B": new}


def _the_same_call(world: World, case: Json) -> None:
    given = case["arguments"] | {"session_id": world.seats["A"].id}
    if "to" in given:
        given["to"] = world.seats["B"].id
    answer = world.store.call(case["tool"], world.caller, **given)
    world.names["$MA"] = answer.get("message_id")


def _sent_under_key(world: World, _case: Json) -> None:
    world.send("A", "B", idempotency_key="k1")


GIVEN: dict[str, Step] = {
    "A is in shared:front": _nothing,
    "A has the label alpha": _nothing,
    "B has the label beta": _nothing,
    "nothing is unread for A": _nothing,
    "the caller is a local stdio process": _nothing,
    "B is alive with autonomy notify; $MA is stored": _nothing,
    "A and B share repo:w and shared:front": _only_a_and_b,
    "$MA is a message that A sent to B": _sent_by_a,
    "$M is a message from B to A, not yet received": _sent_to_a,
    "$M was acked by A before": _acked_by_a,
    "$M is a message of the room shared:attic, where A never was": _in_the_attic,
    "A holds an exclusive lease on src/held.py": _holds("src/held.py"),
    "A holds a.py": _holds("a.py"),
    "A holds /w/alpha/a.py, nobody else does": _holds("a.py"),
    "A holds /w/alpha/a.py exclusively": _holds("a.py"),
    "A holds /w/alpha/a.py exclusively, claimed as a.py": _holds("a.py"),
    "A holds /w/alpha/a.py shared": _holds("a.py", mode="shared"),
    "A is the only holder of a.py, shared": _holds("a.py", mode="shared"),
    "A holds the folder /w/alpha/src exclusively": _holds("src/"),
    "A held b.py and released it": _held_and_released,
    "A held a.py with ttl_s 1; two seconds have passed": _held_and_expired,
    "A noted n.py, then it changed": _noted("two"),
    "A noted n.py, then it was deleted": _noted(None),
    "A noted n.py, claimed it and changed it": _noted("two", claimed=True),
    f"A joined with harness_key {KEY_OF_A}": _a_with_key(),
    "A joined with that key and autonomy wake": _a_with_key(autonomy="wake"),
    "A joined with that key and autonomy notify": _a_with_key(autonomy="notify"),
    f"B joined with harness_key {KEY_OF_B}": _b_with_key,
    "only B has the tag api": _b_with_tag("api"),
    "B joined with the tag Hi\u1ebfu (composed)": _b_with_tag("Hi\u1ebfu"),
    "B is gone but has not left": _b_is_gone,
    "B is gone; $MA is stored": _b_is_gone,
    "$GONE joined and called room_leave": _gone_left,
    "$GONE joined with that key and called room_leave": _gone_left,
    "$D is alive in another repository, in no shared room": _elsewhere,
    "$A contains a letter": _letter_in_the_id,
    "the ids of A and B begin with the same four digits": _ids_that_begin_alike,
    "the cap of its room is hold": _cap_of_the_repository,
    "a new agent; the cap of its repository room is hold": _cap_of_the_repository,
    "the caller is the operator (admin or CLI)": _operator,
    "the caller is an agent over HTTP, with A's key": _agent_with_key_of_a,
    "the caller is an agent over HTTP, with A's key; B belongs to another agent": _agents_of_their_own,
    "the caller may act for C only": _only_c,
    "the very same call was made before": _the_same_call,
    "the very same call was made before and gave $MA": _the_same_call,
    "A sent body x to B with the key k1": _sent_under_key,
}
"""What a case says was done before → how it is done."""
