"""Tools on sessions and rooms: join, leave, who is there, caps."""

import contextlib
from typing import Annotated

from msgspec import Meta

from agentsroom.core import platform
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.tools import Arguments, Call, in_own_words, limit
from agentsroom.rooms.autonomy import LevelArgument, parse_level
from agentsroom.rooms.errors import SessionLeft
from agentsroom.rooms.harnesses import OWN_KEY, harness_of, is_key
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.repository import (
    find_origin,
    find_repository,
    guess_root,
    is_address,
    without_credentials,
)
from agentsroom.rooms.results import Cap, Done, Joined, Sessions
from agentsroom.rooms.service import rooms, sessions
from agentsroom.rooms.service.sessions import Joining
from agentsroom.rooms.tools.declare import tool
from agentsroom.rooms.tools.units import KnownRoom, Label, RoomName, SessionId, Tag, reading_for, writing

_KEY_IN_WORDS = "a UUID, or another text of 8 to 128 visible ASCII characters that is not 16 hex digits as a session id is,"


class RoomJoin(Arguments):
    room: Annotated[RoomName, Meta(description="a shared room to enter too; your default then")] | None = None
    extra_rooms: (
        Annotated[
            list[RoomName], Meta(extra=limit("max_rooms", "items"), description="more shared rooms to enter")
        ]
        | None
    ) = None
    label: Annotated[Label, Meta(description="what the others call you")] | None = None
    tags: (
        Annotated[
            list[Tag], Meta(extra=limit("max_tags", "items"), description="tag:<tag> finds you by them")
        ]
        | None
    ) = None
    autonomy: (
        Annotated[LevelArgument, Meta(description="how far mail may reach you; notify if not given")] | None
    ) = None
    harness: Annotated[Label, Meta(description="the program that you run in")] | None = None
    harness_key: (
        Annotated[
            str,
            Meta(
                max_length=128,
                description="the harness's own id of the chat",
                extra=in_own_words(_KEY_IN_WORDS),
            ),
        ]
        | None
    ) = None
    cwd: (
        Annotated[
            str,
            Meta(
                extra=limit("max_path_bytes", "bytes"),
                description="absolute; over HTTP give it, with host, for your repository's room",
            ),
        ]
        | None
    ) = None
    pid: Annotated[int, Meta(ge=1, le=2**31 - 1, description="of your process")] | None = None
    host: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=255,
                description="what `hostname` prints; over HTTP give it, so that claims meet",
            ),
        ]
        | None
    ) = None
    repo_url: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=2048,
                description="where git fetches from, if the server is elsewhere",
            ),
        ]
        | None
    ) = None


class RoomLeave(Arguments):
    session_id: SessionId


class RoomLeaveRoom(Arguments):
    session_id: SessionId
    room: KnownRoom


class RoomWho(Arguments):
    session_id: SessionId | None = None
    room: KnownRoom | None = None


class RoomSetAutonomyCap(Arguments, kw_only=True):
    session_id: SessionId | None = None
    room: KnownRoom | None = None
    autonomy: Annotated[LevelArgument, Meta(description="the highest that counts")]


@tool("Join")
def room_join(call: Call, arguments: RoomJoin, machine: Machine) -> Joined:
    """Enter the room of your repository, and others by name.

    Returns the session_id that every other tool takes. Call it again with the same harness_key to come back.
    """
    _check(call, arguments)
    joining = _joining(call, arguments, machine)
    joined = call.database.write(lambda work: sessions.join(work, call.caller, joining))
    if call.caller.process is not None:
        call.caller.process.joined.add(joined.session_id)
    return joined


def _check(call: Call, arguments: RoomJoin) -> None:
    problems = {}
    if arguments.cwd is not None and not arguments.cwd.startswith("/"):
        problems["cwd"] = f"{arguments.cwd!r} came; an absolute path is taken"
    if arguments.repo_url is not None and not is_address(arguments.repo_url):
        problems["repo_url"] = (
            f"{without_credentials(arguments.repo_url)!r} came; an address that git fetches from is taken, such as "
            "https://host/path, host:path or an absolute folder"
        )
    own = call.caller.process.environment.get(OWN_KEY) if call.caller.process else None
    for name, key in (("harness_key", arguments.harness_key), (OWN_KEY, own)):
        if key is not None and not is_key(key):
            problems[name] = f"{len(key)} characters came; {_KEY_IN_WORDS} is taken"
    if problems:
        raise InvalidArgument(problems)


def _joining(call: Call, arguments: RoomJoin, machine: Machine) -> Joining:
    """What the arguments leave open is taken from the process, where the caller is one of this machine."""
    process = call.caller.process
    found = harness_of(process.environment) if process else None
    host = arguments.host or (process.host if process else None)
    is_ours = host == machine.host
    cwd = arguments.cwd or (process.cwd if process and is_ours else None)
    if cwd and is_ours:
        cwd = machine.real_folder(cwd)
    pid = arguments.pid or (process.pid if process and is_ours else None)
    repository = find_repository(cwd) if cwd and is_ours else None
    root = repository.root if repository else None
    if cwd and arguments.repo_url and root is None:
        root = guess_root(cwd, arguments.repo_url)
    return Joining(
        harness=arguments.harness or (found.name if found else None),
        harness_key=arguments.harness_key or (found.key if found else None),
        cwd=cwd,
        host=host,
        repo_url=without_credentials(arguments.repo_url) if arguments.repo_url else None,
        origin=find_origin(repository) if repository and process else None,
        repository=repository,
        repo_root=root,
        pid=pid,
        pid_started_at=platform.process_started_at(pid) if pid and is_ours else None,
        label=arguments.label,
        tags=arguments.tags,
        autonomy=None if arguments.autonomy is None else parse_level(arguments.autonomy),
        room=arguments.room,
        extra_rooms=arguments.extra_rooms or [],
    )


@tool("Leave")
def room_leave(call: Call, arguments: RoomLeave) -> Done:
    """Leave all rooms; your leases end."""
    with contextlib.suppress(SessionLeft):  # leaving twice changes nothing
        writing(call, arguments.session_id, sessions.leave)
    return Done()


@tool("Leave one room", idempotent=True)
def room_leave_room(call: Call, arguments: RoomLeaveRoom) -> Done:
    """Leave one room and stay in the others."""
    writing(
        call, arguments.session_id, lambda work, session: sessions.leave_room(work, session, arguments.room)
    )
    return Done()


@tool("Who is here", read_only=True, idempotent=True)
def room_who(call: Call, arguments: RoomWho, machine: Machine) -> Sessions:
    """Sessions in your rooms, or in one, each alive, gone or unknown."""
    found = reading_for(
        call,
        arguments.session_id,
        lambda work, session: sessions.who(work, call.caller, session, arguments.room),
    )
    judged = machine.liveness_of(found)
    described = call.database.read(
        lambda work: [sessions.describe(work, one, judged[one.id]) for one in found]
    )
    return Sessions(sessions=described)


@tool("Cap a room", idempotent=True)
def room_set_autonomy_cap(call: Call, arguments: RoomSetAutonomyCap) -> Cap:
    """Operator only: the highest autonomy that counts in a room."""
    level = parse_level(arguments.autonomy)
    return call.database.write(
        lambda work: rooms.set_cap(work, call.caller, arguments.session_id, arguments.room, level)
    )


TOOLS = (
    room_join,
    room_leave,
    room_leave_room,
    room_who,
    room_set_autonomy_cap,
)
