"""Resources and prompts, as MCP has them: values of the domains, beside the tools of core/tools.py.

A family of resources has one URI template with one variable: `agents-room://rooms/{room}/history`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from agentsroom.core.tools import Call

if TYPE_CHECKING:
    from agentsroom.core.feed import FeedEvent

SCHEME = "agents-room://"

Complete = Callable[[Call, str], list[str]]
"""The values that begin like the text, for the caller; best first."""


class Listed(NamedTuple):
    """One resource of a family that a caller may read."""

    value: str
    """What stands for the variable."""
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceFamily:
    """Resources of one kind: how they are called, who may read which, and when one is another."""

    template: str
    name: str
    title: str
    description: str
    mime_type: str
    listed: Callable[[Call], list[Listed]]
    """Those that the caller may read."""
    resolve: Callable[[Call, str], str]
    """The value that a given one stands for, such as a short name. Raises why there is none for the caller."""
    read: Callable[[Call, str], str]
    """The text of one, by any value that stands for it. Raises as `resolve` does."""
    complete: Complete
    updated_by: "Callable[[FeedEvent], list[str]]" = lambda _event: []
    """The values whose resource an event makes another."""
    is_relisted_by: "Callable[[FeedEvent], bool]" = lambda _event: False
    """Whether an event may make `listed` another."""

    @property
    def variable(self) -> str:
        return self.template.partition("{")[2].partition("}")[0]

    def uri(self, value: str) -> str:
        """The canonical URI of one: everything but letters, digits and `-._~` is percent-encoded (RFC 6570)."""
        return self.template.replace(f"{{{self.variable}}}", quote(value, safe=""))

    def value_in(self, uri: str) -> str | None:
        """What stands for the variable in the URI; None where it is of another family."""
        before, after = self.template.split(f"{{{self.variable}}}")
        if not uri.startswith(before) or not uri.endswith(after) or len(uri) < len(before) + len(after):
            return None
        encoded = uri.removeprefix(before).removesuffix(after)
        try:
            value = unquote(encoded, errors="strict")
        except UnicodeDecodeError:
            return None
        return value if value and "/" not in encoded else None


class PromptArgument(NamedTuple):
    """One argument of a prompt; its values are texts."""

    name: str
    description: str
    required: bool = False
    complete: Complete | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A text that a person picks and an agent then works by."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[dict[str, str]], str]
    """The text, from the arguments that were given."""

    def described(self) -> dict[str, Any]:
        """As prompts/list shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [
                {"name": one.name, "description": one.description, "required": one.required}
                for one in self.arguments
            ],
        }
