"""What the events of the rooms mean, in words."""

from agentsroom.core.event_kinds import (
    Actor,
    Data,
    EventKind,
    Group,
    Names,
    Sentence,
    given,
    listed,
    sentence,
)


def _rooms(data: Data) -> Sentence:
    return listed(data["rooms"], "room")


def _in_rooms(data: Data) -> Sentence:
    return sentence(" in ", _rooms(data)) if data["rooms"] else ()


def _sent(data: Data, names: Names) -> Sentence:
    recipients = listed([names.get(one, one) for one in data["recipients"]], "session")
    return sentence("message ", given(data["message"]), " to ", recipients or "nobody", _in_rooms(data))


def _messages(data: Data, _names: Names) -> Sentence:
    ids = data["messages"]
    return sentence(
        "message " if len(ids) == 1 else "messages " if len(ids) <= 3 else "", listed(ids, "message")
    )


def _message(data: Data, _names: Names) -> Sentence:
    return sentence("message ", given(data["message"]))


def _claimed(data: Data, _names: Names) -> Sentence:
    return sentence(given(data["path"]), f", {data['mode']}", _in_rooms(data))


def _path(data: Data, _names: Names) -> Sentence:
    return sentence(given(data["path"]))


def _joined(data: Data, _names: Names) -> Sentence:
    return sentence(_rooms(data))


def _session(data: Data, _names: Names) -> Sentence:
    label = data["label"]
    return sentence("session ", given(data["session"]), *((", ", given(label)) if label else ()))


def _cap(data: Data, _names: Names) -> Sentence:
    return sentence(given(data["room"]), ": no session is above ", given(data["autonomy"]))


def _room(data: Data, _names: Names) -> Sentence:
    return sentence(given(data["room"]))


def _nothing(_data: Data, _names: Names) -> Sentence:
    return ()


ROOMS_KINDS = (
    EventKind("message_sent", Group.MESSAGES, "a message was stored", Actor.SENDER, _sent),
    EventKind("messages_read", Group.MESSAGES, "a session was given messages", Actor.SESSION, _messages),
    EventKind("message_acked", Group.MESSAGES, "a session acknowledged a message", Actor.SESSION, _message),
    EventKind(
        "messages_expired",
        Group.MESSAGES,
        "the time of messages was over before all had read them",
        Actor.PRODUCT,
        _messages,
        "warn",
    ),
    EventKind("messages_pruned", Group.STORE, "old messages were removed", Actor.OPERATOR, _nothing),
    EventKind("lease_claimed", Group.LEASES, "a session claimed a path", Actor.SESSION, _claimed),
    EventKind("lease_renewed", Group.LEASES, "a session renewed a lease", Actor.SESSION, _path),
    EventKind("lease_released", Group.LEASES, "a session gave a lease back, or left", Actor.SESSION, _path),
    EventKind("lease_expired", Group.LEASES, "a lease ended by itself", Actor.SESSION, _path, "warn"),
    EventKind("session_joined", Group.SESSIONS, "a session joined, or joined again", Actor.SESSION, _joined),
    EventKind("session_left", Group.SESSIONS, "a session left all rooms", Actor.SESSION, _joined),
    EventKind("room_left", Group.SESSIONS, "a session left one room", Actor.SESSION, _joined),
    EventKind(
        "session_gone", Group.SESSIONS, "a session’s process was seen to end", Actor.SESSION, _joined, "warn"
    ),
    EventKind(
        "session_pruned", Group.STORE, "a session whose process is gone was removed", Actor.OPERATOR, _session
    ),
    EventKind("cap_set", Group.ROOMS, "a room got a cap", Actor.OPERATOR, _cap),
    EventKind("room_paused", Group.ROOMS, "a room was paused", Actor.OPERATOR, _room, "warn"),
    EventKind("room_resumed", Group.ROOMS, "a room goes on", Actor.OPERATOR, _room),
)
