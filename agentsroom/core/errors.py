"""Errors that a caller can act on: one class each, with a code, a status of the JSON API, and data.

The gateways render them (one renderer a surface); a domain adds its own classes in its errors module.
"""

from itertools import islice
from typing import Any, ClassVar


class AgentsRoomError(Exception):
    """The base; never raised itself.

    `message` says what happened, `hint` what to do about it, `data` the names and values in machine form.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    usual_hint: ClassVar[str | None] = None
    """The hint of one that is raised without."""

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.usual_hint
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """`{"code", "message", "hint"?, …data}`: the error object of every surface."""
        hint = {} if self.hint is None else {"hint": self.hint}
        return {"code": self.code, "message": self.message, **hint, **self.data}


class ParseError(AgentsRoomError):
    """The text is not the JSON that we read (RFC 8259, no duplicate keys, depth up to 64)."""

    code, status = "parse_error", 400
    usual_hint = "Send one JSON object in UTF-8; what JSON libraries write is taken."


class InvalidArgument(AgentsRoomError):
    """One or more arguments are not what the tool takes; `problems` lists them all at once."""

    code, status = "invalid_argument", 422
    MOST = 20
    """So many problems are told; an answer is never as long as what a stranger sends."""

    def __init__(self, problems: dict[str, str], *, hint: str | None = None) -> None:
        shown = [(argument[:100], problem[:500]) for argument, problem in islice(problems.items(), self.MOST)]
        text = "; ".join(f"{argument}: {problem}" for argument, problem in shown)
        if len(problems) > self.MOST:
            text += f"; and {len(problems) - self.MOST:,} more"
        listed = [{"argument": argument, "problem": problem} for argument, problem in shown]
        super().__init__(text, hint=hint, problems=listed)


class UnknownTool(AgentsRoomError):
    """No tool of that name."""

    code, status = "unknown_tool", 404


class Unauthenticated(AgentsRoomError):
    """Nobody we know; a key, a token or a login is needed."""

    code, status = "unauthenticated", 401
    usual_hint = (
        "Send the header Authorization: Bearer KEY; on the server's machine, agents-room agent create ID makes an agent "
        "and its key."
    )


class Forbidden(AgentsRoomError):
    """Somebody we know, who may not do this."""

    code, status = "forbidden", 403
    usual_hint = "Ask the operator: the admin in the browser, or somebody at the machine of the server."


class NotFound(AgentsRoomError):
    """Nothing is there under that name."""

    code, status = "not_found", 404
    usual_hint = "Ask for the list of what is there."


class Conflict(AgentsRoomError):
    """It contradicts what is there already."""

    code, status = "conflict", 409
    usual_hint = "Look at what is there first; nothing was changed."


class WaitTimeout(AgentsRoomError):
    """What was waited for did not happen in time."""

    code, status = "wait_timeout", 408
    usual_hint = "Wait again, or longer."


class TooManyRequests(AgentsRoomError):
    """Too many in a short time, or at once; `retry_after` says after how many seconds another is welcome."""

    code, status = "too_many_requests", 429
    usual_hint = "Wait as many seconds as Retry-After says, then try again."


class Stopping(AgentsRoomError):
    """The server stops before what was waited for has happened; who asks again waits on."""

    code, status = "stopping", 503


class StoreBusy(AgentsRoomError):
    """Another process held the store's write lock for longer than we wait; nothing was written."""

    code, status = "store_busy", 503
    usual_hint = "Try again."


class StoreUpgraded(AgentsRoomError):
    """The store was upgraded by a newer release while this process ran; nothing was written."""

    code, status = "upgraded", 503


class StoreTooNew(AgentsRoomError):
    """The store was written by a newer release than this one."""

    code, status = "store_too_new", 503


class StoreUnavailable(AgentsRoomError):
    """The disk is full or read-only, or the store is damaged; nothing was written, reads go on where they can."""

    code, status = "store_unavailable", 503
    usual_hint = "agents-room doctor, on the machine of the store, tells what is wrong."


class NotWritable(AgentsRoomError):
    """A file that was to be written can't be."""

    code, status = "not_writable", 409
    usual_hint = "Look at its rights and at the free space, or choose another place."


class SettingsError(AgentsRoomError):
    """A setting in the environment is not what it takes."""

    code, status = "bad_setting", 500
    usual_hint = "Unset it for the default; wiki/Settings.md says what each takes."
