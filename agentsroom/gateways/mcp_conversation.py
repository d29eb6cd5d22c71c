"""A call over HTTP that may say something before its result, or take long."""

import queue
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from agentsroom.core.ids import random_base62
from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.lasting import QUIET_S, Lasting
from agentsroom.gateways.mcp_sessions import HttpSession

ASK_S = 600.0
"""How long a client may take to answer what we ask it."""

Said = bytes | jsonrpc.Reply
"""A message beside the reply, or the reply, which is the last."""


class Conversation(offers.Exchange):
    """One call: it runs in a thread of its own; what it says is read from `next`, in order.

    Where the client takes no stream, the call can say nothing before its reply, and ask nothing.
    """

    def __init__(
        self, work: rpc.Work, session: HttpSession | None, lasting: Lasting, *, takes_stream: bool
    ) -> None:
        declared = work.request.meta.get(rpc.CAPABILITIES_KEY)
        if session is not None:
            declared = session.agreed.capabilities
        super().__init__(work.request, declared if takes_stream and isinstance(declared, dict) else {})
        self._work = work
        self._session = session
        self._lasting = lasting
        self._takes_stream = takes_stream
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._asked: str | None = None

    def start(self, features: offers.MakeFeatures) -> None:
        """Begins the call, which ends with its request at the latest. Raises Refused."""
        if self._session is not None:
            self._session.begin(self.request.id, self._cancel)
            self._lasting.at_end(partial(self._session.finish, self.request.id))
        self._lasting.at_end(self._give_up_asking)
        threading.Thread(target=self._run, args=(features,), name="call", daemon=True).start()

    def _run(self, features: offers.MakeFeatures) -> None:
        self._said.put(self._work.run(features, self))

    def next(self, timeout_s: float | None) -> Said | None:
        """What the call says next; None when `timeout_s` passed without a word."""
        try:
            return self._said.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def rest(self, first: Said | None) -> Iterator[bytes | None]:
        """Every message from the first on; None stands for a while without a word."""
        said = first
        while not isinstance(said, jsonrpc.Reply):
            yield said
            said = self.next(QUIET_S)
        yield said.body

    def send(self, message: bytes) -> None:
        if self._takes_stream:
            self._said.put(message)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Nothing that the product offers asks its client; what tests of the protocol offer does."""
        capability = method.partition("/")[0]
        if self._session is None or capability not in self.capabilities:
            raise offers.MissingCapability(capability)
        self._asked = f"ask-{random_base62(16)}"
        answered = self._session.expect(self._asked)
        self.send(
            msgspec.json.encode({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        )
        try:
            answer = answered.result(ASK_S)
        finally:
            self._give_up_asking()
        if answer is None:
            raise TimeoutError(f"The client answered {method} with an error, or not at all.")
        return answer

    def _give_up_asking(self) -> None:
        if self._session is not None:
            self._session.settle(self._asked, None)

    def _cancel(self) -> None:
        """Nobody wants the reply any more: what the call waits for ends at once."""
        self._lasting.feed.cancel()
        self._give_up_asking()
