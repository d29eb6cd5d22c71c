"""What an MCP server offers one caller, and what a request under way may say to its client: ports, without IO."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from agentsroom.gateways.jsonrpc import Request, notification
from agentsroom.gateways.subscriptions import Change

if TYPE_CHECKING:
    from agentsroom.core.feed import FeedEvent


class MissingCapability(Exception):
    """The client did not say that it can do what the call needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"The call needs a client with the capability {capability}.")
        self.capability = capability


class Exchange:
    """What a request under way may say to its client before the reply. This one can say nothing."""

    def __init__(self, request: Request, capabilities: dict[str, Any]) -> None:
        self.request = request
        self.capabilities = capabilities
        """What the client can do, as it declared."""

    def send(self, message: bytes) -> None:
        """Sends a message beside the reply, where there is a way."""

    def ask(self, method: str, _params: dict[str, Any]) -> dict[str, Any]:
        """The client's result. Raises MissingCapability, and TimeoutError when no answer came."""
        raise MissingCapability(method.partition("/")[0])

    def progress(self, progress: float, total: float | None = None) -> None:
        """Tells how far the call is, if the client asked for that."""
        token = self.request.meta.get("progressToken")
        if token is not None:
            told = {"progressToken": token, "progress": progress}
            self.send(
                notification("notifications/progress", told if total is None else {**told, "total": total})
            )


class Features(Protocol):
    """What the server offers one caller. Every method may raise AgentsRoomError."""

    def tools(self) -> bytes:
        """A JSON list of them all, as tools/list shows them."""
        ...

    def waits(self, tool: str) -> bool:
        """Whether the tool may take long, or say something before its result."""
        ...

    def call_tool(self, name: str, arguments: bytes, exchange: Exchange, /) -> dict[str, Any]:
        """A CallToolResult. Raises UnknownTool, InvalidArgument, and what the tool itself raises."""
        ...

    def resources(self) -> list[dict[str, Any]]: ...

    def resource_templates(self) -> list[dict[str, Any]]: ...

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        """Its contents. Raises NotFound, or why the caller may not read it."""
        ...

    def canonical(self, uri: str) -> str:
        """The resource's URI in the one form that changes name it by. Raises as read_resource does."""
        ...

    def prompts(self) -> list[dict[str, Any]]: ...

    def get_prompt(self, name: str, arguments: dict[str, str], exchange: Exchange, /) -> dict[str, Any]:
        """A GetPromptResult. Raises NotFound and InvalidArgument."""
        ...

    def complete(self, ref: dict[str, Any], argument: str, value: str) -> list[str]:
        """What the argument may go on with, best first. Raises NotFound."""
        ...

    def changes(self, event: "FeedEvent") -> list[Change]:
        """What an event changes for the caller."""
        ...


MakeFeatures = Callable[[], Features]
Act = Callable[[Request, Features, Exchange], dict[str, Any]]
"""Makes the result of a request. Raises Refused, MissingCapability and AgentsRoomError."""
