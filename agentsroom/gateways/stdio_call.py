"""One request of an MCP client over stdio whose answer needs what we offer."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.lazy_runtime import LazyRuntime

if TYPE_CHECKING:
    from agentsroom.core.feed import CallFeed
    from agentsroom.core.tools import Tool
    from agentsroom.gateways.features import RuntimeFeatures


class StdioCall:
    """For the thread that runs it and the one that cancels it; `store` must be loading already."""

    def __init__(self, work: rpc.Work | rpc.Listening, store: LazyRuntime) -> None:
        self.work = work
        self.is_cancelled = False
        self._store = store
        self._feed: CallFeed | None = None
        self._has_ended = False
        self._guard = threading.Lock()

    @property
    def id(self) -> jsonrpc.RequestId:
        return self.work.request.id

    @property
    def lasts(self) -> bool:
        """Whether it may take long; such a call only reads."""
        if isinstance(self.work, rpc.Listening):
            return True
        tool = self._tool
        return tool is not None and tool.waits

    @property
    def only_reads(self) -> bool:
        """Whether it calls a tool that changes nothing."""
        tool = self._tool
        return tool is not None and tool.read_only

    @property
    def _tool(self) -> "Tool | None":
        """The tool that it calls, if any; waits until the store's code is loaded."""
        if isinstance(self.work, rpc.Listening) or self.work.tool is None:
            return None
        return self._store.tool(self.work.tool)

    def cancel(self) -> None:
        """Nobody wants the reply any more."""
        self.is_cancelled = True
        self.end_wait()

    def end_wait(self) -> None:
        """What it waits for, or will, ends at once."""
        with self._guard:
            self._has_ended = True
            if self._feed is not None:
                self._feed.cancel()

    def features(self) -> "RuntimeFeatures":
        """What is offered, as this call sees it. Raises what keeps the runtime from being loaded."""
        from agentsroom.gateways.features import RuntimeFeatures

        return RuntimeFeatures(self._store.runtime, self._store.caller, self.feed())

    def feed(self) -> "CallFeed":
        """The call's own view of the feed, which `end_wait` ends. Raises as `features` does."""
        from agentsroom.core.feed import CallFeed

        runtime = self._store.runtime
        with self._guard:
            if self._feed is None:
                self._feed = CallFeed(runtime.feed)
                if self._has_ended:
                    self._feed.cancel()
            return self._feed


class StdioExchange(offers.Exchange):
    """What a call may say on the wire before its reply."""

    def __init__(
        self, request: jsonrpc.Request, capabilities: dict[str, Any], send: Callable[[bytes], None]
    ) -> None:
        super().__init__(request, capabilities)
        self._send = send

    def send(self, message: bytes) -> None:
        self._send(message)
