"""What agents-room offers one MCP caller: the registry's tools, the domains' resources and prompts, the wiki."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from agentsroom.core.errors import InvalidArgument, NotFound, UnknownTool
from agentsroom.core.feed import RESYNC, CallFeed, FeedEvent
from agentsroom.core.principals import Principal
from agentsroom.core.resources import Prompt, ResourceFamily
from agentsroom.core.text import refused_character
from agentsroom.core.tools import Call
from agentsroom.gateways.methods import describe_tools, tool_result
from agentsroom.gateways.offers import Exchange, Features
from agentsroom.gateways.rpc import CAPABILITIES
from agentsroom.gateways.subscriptions import Change, ListChanged, ResourceUpdated, Subscriptions
from agentsroom.gateways.wiki import wiki_resources
from agentsroom.runtime import Runtime

_LONGEST_ARGUMENT = 65_536


class RuntimeFeatures:
    """One caller's view of a runtime (offers.Features); `caller` is asked when it is needed first."""

    capabilities: ClassVar[dict[str, Any]] = CAPABILITIES

    def __init__(self, runtime: Runtime, caller: Callable[[], Principal], feed: CallFeed) -> None:
        self._runtime = runtime
        self._caller = caller
        self._feed = feed
        self._families = (*runtime.resources, wiki_resources())

    @property
    def _call(self) -> Call:
        return Call(self._runtime.database, self._feed, self._caller())

    def tools(self) -> bytes:
        return describe_tools(self._runtime.registry)

    def waits(self, tool: str) -> bool:
        try:
            return self._runtime.registry.get(tool).waits
        except UnknownTool:
            return False

    def call_tool(self, name: str, arguments: bytes, _exchange: Exchange) -> dict[str, Any]:
        registry = self._runtime.registry
        registry.get(name)  # an unknown tool is told before a store that can't be opened
        return tool_result(msgspec.json.encode(registry.call(name, arguments, self._call)))

    def resources(self) -> list[dict[str, Any]]:
        return [
            {
                "uri": family.uri(one.value),
                "name": one.value,
                "title": one.title,
                "description": family.description,
                "mimeType": family.mime_type,
            }
            for family in self._families
            for one in family.listed(self._call)
        ]

    def resource_templates(self) -> list[dict[str, Any]]:
        return [
            {
                "uriTemplate": family.template,
                "name": family.name,
                "title": family.title,
                "description": family.description,
                "mimeType": family.mime_type,
            }
            for family in self._families
        ]

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        family, value = self._meant(uri)
        return [{"uri": uri, "mimeType": family.mime_type, "text": family.read(self._call, value)}]

    def canonical(self, uri: str) -> str:
        family, value = self._meant(uri)
        return family.uri(family.resolve(self._call, value))

    def _meant(self, uri: str) -> tuple[ResourceFamily, str]:
        """Raises NotFound."""
        for family in self._families:
            value = family.value_in(uri)
            if value is not None and refused_character(value) is None:
                return family, value
        raise NotFound("No resource has this URI.", hint="resources/list names them all.")

    def prompts(self) -> list[dict[str, Any]]:
        return [prompt.described() for prompt in self._runtime.prompts]

    def get_prompt(self, name: str, arguments: dict[str, str], _exchange: Exchange) -> dict[str, Any]:
        prompt = self._prompt(name)
        _check_arguments(prompt, arguments)
        content = {"type": "text", "text": prompt.render(arguments)}
        return {"description": prompt.description, "messages": [{"role": "user", "content": content}]}

    def _prompt(self, name: str) -> Prompt:
        """Raises NotFound."""
        for prompt in self._runtime.prompts:
            if prompt.name == name:
                return prompt
        raise NotFound(
            "No prompt has this name.",
            hint=f"There are {', '.join(one.name for one in self._runtime.prompts)}.",
        )

    def complete(self, ref: dict[str, Any], argument: str, value: str) -> list[str]:
        complete = self._completion(ref, argument)
        return complete(self._call, value) if complete is not None else []

    def _completion(self, ref: dict[str, Any], argument: str) -> Callable[[Call, str], list[str]] | None:
        """How the argument is completed, if it is. Raises NotFound."""
        match ref:
            case {"type": "ref/prompt", "name": str(name)}:
                known = {one.name: one.complete for one in self._prompt(name).arguments}
            case {"type": "ref/resource", "uri": str(template)}:
                known = {one.variable: one.complete for one in self._families if one.template == template}
            case _:
                raise NotFound("ref names no prompt and no resource template.")
        if argument not in known:
            raise NotFound("No argument of that name can be completed there.")
        return known[argument]

    def changes(self, event: FeedEvent) -> list[Change]:
        if event.team_id != self._caller().team_id:
            return []
        updated: list[Change] = [
            ResourceUpdated(family.uri(value))
            for family in self._families
            for value in family.updated_by(event)
        ]
        relisted = any(family.is_relisted_by(event) for family in self._families)
        return [*updated, ListChanged("resources")] if relisted else updated


def news(event: FeedEvent, subscriptions: Subscriptions, features: Features) -> list[bytes]:
    """The notifications that an event makes; after a gap, all that there may be."""
    if event is RESYNC:
        return subscriptions.everything()
    return subscriptions.notifications(features.changes(event))


def _check_arguments(prompt: Prompt, given: dict[str, str]) -> None:
    """Raises InvalidArgument with every problem."""
    known = {one.name: one for one in prompt.arguments}
    problems = {name: f"is no argument of {prompt.name}" for name in given if name not in known}
    for name, value in given.items():
        if problem := refused_character(value):
            problems[name] = problem
        elif len(value) > _LONGEST_ARGUMENT:
            problems[name] = f"{len(value):,} characters came; at most {_LONGEST_ARGUMENT:,} are taken"
    missing = [name for name, one in known.items() if one.required and not given.get(name, "").strip()]
    problems |= dict.fromkeys(missing, "is missing; text is needed")
    if problems:
        raise InvalidArgument(problems)
