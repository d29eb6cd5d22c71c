"""The JSON API under schemathesis: whatever its description allows or forbids, no answer is one that it does not tell of."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig

from agentsroom.core.settings import Settings
from agentsroom.gateways.statuses import STATUSES
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.stores import Store
from tests.support.web import BASE, agent_key, app_of, bearer

TOOLS = [tool.name for tool in make_registry(Settings(), Machine())]
EXAMPLES = 25
"""So many random bodies that the description allows, and so many that it forbids, an operation."""
REFUSED = {400, 401, 405, 413, 415, 422}
"""Before anybody looks at what is meant."""
CONFIG = {
    "seed": 1,
    # what is wrong is in the body: the key is a right one, and a test of its own asks without one
    "generation": {"with-security-parameters": False},
    "checks": {
        # well formed is not right: a path, a selector, a room or a message that is none, a label with a line end
        "positive_data_acceptance": {"enabled": False},
        # no 403, 404 or 409: what the schema forbids is refused before anybody looks for what is meant
        "negative_data_rejection": {"expected-statuses": sorted(REFUSED)},
    },
}
AnyCase = Case[Any]
DECLARED = {200} | {status for status, one in STATUSES.items() if one.is_of_the_api}
HARNESS_KEY = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"


class Attack:
    """One operation of the real app, called by an agent whose session is in a room with mail for it."""

    def __init__(self, store: Store, tool: str) -> None:
        self._store = store
        self._headers = bearer(agent_key(store))
        self.mail: int = store.join(room="front").send(self._join())["message_id"]
        app = app_of(store)
        (self._limiter,) = app.extensions["limiter"]
        self._schema = schemathesis.openapi.from_wsgi(
            "/api/openapi.json",
            app,
            config=SchemathesisConfig.from_dict(CONFIG),
            base_url=BASE,
            headers=self._headers,
        )
        self.operation = self._schema[f"/api/tools/{tool}"]["POST"]

    def _join(self) -> str:
        """The session, also after a call that left."""
        own = {"cwd": str(self._store.folder), "host": self._store.runtime.machine.host}
        return self._store.join(self._store.agent(), harness_key=HARNESS_KEY, room="front", **own).id

    def of_bounds(self) -> Iterator[AnyCase]:
        """Each bound of each argument, kept and broken, and each thing that may be wrong around the body."""
        return self._schema.iter_coverage_cases(
            self.operation,
            generation_modes=list(GenerationMode),
            generation_config=self._schema.config.generation_for(operation=self.operation),
        )

    def send(self, case: AnyCase, **meant: Any) -> int:
        """The status; raises unless what comes is as the description says.

        `meant`: arguments that name what is there.
        """
        self._limiter.reset()  # wrong keys are slowed; each of these comes as the first
        if case.meta is not None and case.meta.generation.mode.is_positive:
            case.body = self._meant(case.body, meant)
        sent: dict[str, Any] = {"base_url": BASE, "headers": self._headers}
        answer = case.call(**sent)
        case.validate_response(answer, headers=self._headers, transport_kwargs=sent)
        return answer.status_code

    def _meant(self, body: Any, meant: dict[str, Any]) -> Any:
        """The arguments for the session that is there; a wait is one look, since no more mail will come."""
        known = {**meant, "session_id": self._join()}
        named = {name: value for name, value in known.items() if body.get(name) is not None}
        short = {"timeout_s": 0} if self.operation.path.endswith("/msg_wait") else {}
        return {**body, **named, **short}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_bounds_of_every_argument_are_kept(sqlite_store: Store, tool: str) -> None:
    attack = Attack(sqlite_store, tool)
    statuses = {attack.send(case) for case in attack.of_bounds()}
    assert statuses <= DECLARED
    assert 422 in statuses, "no bound was broken"


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_that_is_sent_brings_an_answer_that_is_not_told_of(sqlite_store: Store, tool: str) -> None:
    attack = Attack(sqlite_store, tool)
    bounded = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )

    statuses = set()

    def send(case: AnyCase) -> None:
        statuses.add(attack.send(case, to="*", message_id=attack.mail))

    for mode in GenerationMode:
        bounded(given(attack.operation.as_strategy(generation_mode=mode))(send))()
    assert statuses <= DECLARED
    assert statuses & REFUSED, "no body was bad"
    assert statuses - REFUSED, "none was good"
