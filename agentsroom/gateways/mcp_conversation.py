"""A call over HTTP that may say something before its result, or take long."""

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import msgspec

from agentsroom.core.feed import CallFeed
from agentsroom.core.ids import random_base62
from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.mcp_sessions import HttpSession

QUIET_S = 15.0
"""After so long without a word a stream says that it lives, and a call that still runs becomes a stream."""
ASK_S = 600.0
"""How long a client may take to answer what we ask it."""

Said = bytes | jsonrpc.Reply
"""A message beside the reply, or the reply, which is the last."""


class Conversation(offers.Exchange):
    """One call: it runs in a thread of its own; what it says is read from `next`, in order."""

    def __init__(self, work: rpc.Work, session: HttpSession | None, feed: CallFeed) -> None:
        declared = work.request.meta.get(rpc.CAPABILITIES_KEY)
        if session is not None:
            declared = session.agreed.capabilities
        super().__init__(work.request, declared if isinstance(declared, dict) else {})
        self._work = work
        self._session = session
        self._feed = feed
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._waiting: Future[dict[str, Any] | None] | None = None

    def start(self, features: offers.MakeFeatures) -> None:
        """Begins the call; `end` ends what it waits for, and belongs to the end of the request that carries it."""
        if self._session is not None:
            self._session.under_way[self.request.id] = self.end
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
        self._said.put(message)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        capability = method.partition("/")[0]
        if self._session is None or capability not in self.capabilities:
            raise offers.MissingCapability(capability)
        request_id = f"ask-{random_base62(16)}"
        self._waiting = self._session.asked[request_id] = Future()
        self.send(
            msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        )
        try:
            answer = self._waiting.result(ASK_S)
        finally:
            self._session.asked.pop(request_id, None)
        if answer is None:
            raise TimeoutError(f"The client answered {method} with an error, or not at all.")
        return answer

    def end(self) -> None:
        """Nobody wants the reply any more, or may have it: what the call waits for ends at once."""
        self._feed.cancel()
        if self._session is not None:
            self._session.under_way.pop(self.request.id, None)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
