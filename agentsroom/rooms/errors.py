"""Errors of the rooms domain, one class for each thing that a caller can act on."""

from agentsroom.core.errors import AgentsRoomError


class UnknownSession(AgentsRoomError):
    """No session has that id; `candidates` are those that were probably meant."""

    code, status = "unknown_session", 404


class UnknownRecipient(AgentsRoomError):
    """`to` is none of the selectors and no session's id."""

    code, status = "unknown_recipient", 404


class UnknownMessage(AgentsRoomError):
    """No message has that id, or it is none that the session may see."""

    code, status = "unknown_message", 404
    usual_hint = "msg_sent and room_history list what you see."


class UnknownRoom(AgentsRoomError):
    """No room of the team has that name."""

    code, status = "unknown_room", 404
    usual_hint = "Look at its name; whoever joins a shared room first makes it."


class NotYourSession(AgentsRoomError):
    """The session is another's: the caller may not act for it."""

    code, status = "not_your_session", 403


class SessionLeft(AgentsRoomError):
    """The session has left; joining with the same harness key revives it."""

    code, status = "session_left", 409


class NotInRoom(AgentsRoomError):
    """The session is not in that room, and never was."""

    code, status = "not_in_room", 409
    usual_hint = "Enter it with room_join; extra_rooms takes several."


class NoSharedRoom(AgentsRoomError):
    """Sender and recipient have no room in common."""

    code, status = "no_shared_room", 409


class RoomRequired(AgentsRoomError):
    """Neither a room nor a session with a default room was given."""

    code, status = "room_required", 409


class LeaseEnded(AgentsRoomError):
    """The session's lease on that path has ended; `ended_at` tells when."""

    code, status = "lease_ended", 409


class NotHolder(AgentsRoomError):
    """The session holds no lease on that path; `holder` is who does."""

    code, status = "not_holder", 409


class NotRecipient(AgentsRoomError):
    """The message was not sent to that session."""

    code, status = "not_recipient", 409
    usual_hint = "msg_recv gives the messages that were sent to you."
