"""What the events of access mean, in words; all of them are the operator's acts."""

from collections.abc import Callable

from agentsroom.core.event_kinds import Actor, Data, EventKind, Group, Names, Sentence, Tone, given, sentence

What = Callable[[Data, Names], Sentence]


def _of(thing: str) -> What:
    return lambda data, _names: sentence(f"{thing} ", given(data[thing]))


def _called(thing: str) -> What:
    return lambda data, _names: sentence(f"{thing} ", given(data[thing]), ", called ", given(data["name"]))


def _new_key(data: Data, _names: Names) -> Sentence:
    return sentence("agent ", given(data["agent"]), f", key agt_{data['key']}; older ones work no longer")


def _keys_gone(data: Data, _names: Names) -> Sentence:
    return sentence("agent ", given(data["agent"]), ": no key of it works any more")


def _team(data: Data, _names: Names) -> Sentence:
    return sentence("called ", given(data["name"]))


def _nothing(_data: Data, _names: Names) -> Sentence:
    return ()


def _kind(kind: str, meaning: str, what: What, tone: Tone | None = None) -> EventKind:
    return EventKind(kind, Group.ACCESS, meaning, Actor.OPERATOR, what, tone)


ACCESS_KINDS = (
    _kind("team_created", "a team was made", _team),
    _kind("team_renamed", "a team got another name", _team),
    _kind("team_deleted", "a team was deleted", _nothing, "fail"),
    _kind("agent_created", "an agent was made", _called("agent")),
    _kind("agent_renamed", "an agent got another name", _called("agent")),
    _kind("agent_deleted", "an agent was deleted, and its keys with it", _of("agent"), "fail"),
    _kind("agent_key_rotated", "an agent got a new key, and its older ones ended", _new_key),
    _kind("agent_keys_revoked", "the keys of an agent ended", _keys_gone, "fail"),
    _kind("browser_logged_in", "a browser logged in", _of("login")),
    _kind("browser_logged_out", "a browser logged out", _of("login")),
)
