"""What an MCP client wants to be told of, and the notifications that tell it; without IO."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

from agentsroom.gateways.jsonrpc import RequestId, notification

ListName = Literal["tools", "prompts", "resources"]
LISTS: tuple[ListName, ...] = ("tools", "prompts", "resources")
SUBSCRIPTION_ID_KEY = "io.modelcontextprotocol/subscriptionId"
MOST_URIS = 1_000
"""Resources that one client may subscribe to; the oldest make room."""


class ListChanged(NamedTuple):
    """A list that a client may have read is another now."""

    name: ListName


class ResourceUpdated(NamedTuple):
    """The resource of that canonical URI is another now."""

    uri: str


Change = ListChanged | ResourceUpdated


@dataclass
class Subscriptions:
    """The wishes of one client: changes of lists, and of resources by their URIs; for several threads."""

    lists: set[ListName] = field(default_factory=set)
    uris: dict[str, str] = field(default_factory=dict)
    """Canonical URI → as the client wrote it; each change makes another, so that who reads it needs no lock."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Goes with each notification: a modern client tells its streams apart by it."""
    wished: tuple[str, ...] = ()
    """URIs that a modern client asked for, whether they are met or not."""
    _changing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def to_every_list(cls, capabilities: dict[str, Any]) -> Self:
        """A legacy client is told of every list that can change."""
        return cls(lists={name for name in LISTS if _can_change(name, capabilities)})

    @classmethod
    def listening(cls, id: RequestId, wishes: dict[str, Any], capabilities: dict[str, Any]) -> Self:
        """A modern client is told of what it asked for; its URIs are still to be met."""
        lists = {
            name
            for name in LISTS
            if wishes.get(f"{name}ListChanged") is True and _can_change(name, capabilities)
        }
        uris = wishes.get("resourceSubscriptions")
        wished = tuple(uri for uri in uris if isinstance(uri, str)) if isinstance(uris, list) else ()
        return cls(lists=lists, meta={SUBSCRIPTION_ID_KEY: id}, wished=wished[:MOST_URIS])

    def add(self, canonical: str, uri: str) -> None:
        with self._changing:
            kept = [one for one in self.uris.items() if one[0] != canonical]
            self.uris = dict([*kept, (canonical, uri)][-MOST_URIS:])

    def forget(self, uri: str) -> None:
        """Takes back what was added as `uri`; nothing happens if it was not."""
        with self._changing:
            self.uris = {canonical: given for canonical, given in self.uris.items() if given != uri}

    def acknowledgement(self) -> bytes:
        """The first message to a modern client: what of its wishes is met."""
        met: dict[str, Any] = {f"{name}ListChanged": True for name in LISTS if name in self.lists}
        if self.uris:
            met["resourceSubscriptions"] = list(self.uris.values())
        return self._notification("notifications/subscriptions/acknowledged", {"notifications": met})

    def notifications(self, changes: Iterable[Change]) -> list[bytes]:
        """One for each of the changes that the client wants to hear of."""
        return [told for change in changes for told in self._told(change)]

    def everything(self) -> list[bytes]:
        """After a gap: whatever the client wants to hear of may have changed."""
        lists: list[Change] = [ListChanged(name) for name in LISTS]
        return self.notifications([*lists, *map(ResourceUpdated, self.uris)])

    def _told(self, change: Change) -> list[bytes]:
        match change:
            case ListChanged(name) if name in self.lists:
                return [self._notification(f"notifications/{name}/list_changed", {})]
            case ResourceUpdated(uri) if (given := self.uris.get(uri)) is not None:
                return [self._notification("notifications/resources/updated", {"uri": given})]
            case _:
                return []

    def _notification(self, method: str, params: dict[str, Any]) -> bytes:
        return notification(method, {**params, "_meta": self.meta} if self.meta else params)


def _can_change(name: ListName, capabilities: dict[str, Any]) -> bool:
    return bool(capabilities.get(name, {}).get("listChanged"))
