"""JSON-RPC 2.0 without IO: what one message is, and what an error looks like. What the methods mean is rpc.py's."""

import json
import re
from typing import Any, NamedTuple

import msgspec

from agentsroom.core.errors import ParseError
from agentsroom.core.jsontext import parse_strict

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

RequestId = int | str

_SURROGATE = re.compile("[\ud800-\udfff]")


class Request(NamedTuple):
    """A message that wants a reply."""

    id: RequestId
    method: str
    params: dict[str, Any]
    raw: bytes
    """The whole message, from which a tool's arguments are cut out as they came."""

    @property
    def meta(self) -> dict[str, Any]:
        return object_in(self.params, "_meta")


class Notification(NamedTuple):
    """A message that is never answered."""

    method: str
    params: dict[str, Any]

    @property
    def meta(self) -> dict[str, Any]:
        return object_in(self.params, "_meta")

    @property
    def cancelled(self) -> RequestId | None:
        """The id of the request that it takes back, or None."""
        if self.method != "notifications/cancelled":
            return None
        given = self.params.get("requestId")
        return given if _is_id(given) else None


class Answer(NamedTuple):
    """The client's answer to a request of ours; None stands for an id that is none."""

    id: RequestId | None
    result: dict[str, Any] | None
    """None where it is an error."""


class Reply(NamedTuple):
    """What goes back: the message, and its error's code where it is one."""

    body: bytes
    error: int | None = None


class Refused(Exception):
    """Becomes a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def reply(self, id: RequestId | None) -> Reply:
        return refusal(self.code, self.message, id=id, data=self.data)


def in_use(id: RequestId) -> Refused:
    """A request has the id of one that is not answered yet."""
    return Refused(INVALID_REQUEST, f"A call with the id {json.dumps(id)[:100]} is under way.")


def refusal(code: int, message: str, *, id: RequestId | None = None, data: Any = None) -> Reply:
    """A JSON-RPC error; its id is null where the message's own can't be told."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    text = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}, separators=(",", ":"), ensure_ascii=False)
    return Reply(whole_text(text).encode(), code)


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A notification of ours."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def decode(raw: bytes) -> Request | Notification | Answer | Reply:
    """What one message is; a Reply when it is refused (RFC 8259, JSON-RPC 2.0 section 4)."""
    try:
        value = parse_strict(raw)
    except ParseError as error:
        return refusal(PARSE_ERROR, error.message)
    try:
        return _classified(value, raw)
    except Refused as refused:
        found = value.get("id") if isinstance(value, dict) else None
        return refused.reply(found if _is_id(found) else None)


def _classified(value: Any, raw: bytes) -> Request | Notification | Answer:
    if isinstance(value, list):
        raise Refused(INVALID_REQUEST, "Batches are not taken: send one message at a time.")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
    if "method" not in value:
        if "id" in value and ("result" in value or "error" in value):
            return _answer(value)
        raise Refused(INVALID_REQUEST, "The message has no method.")
    method, params = value["method"], value.get("params")
    if not isinstance(method, str) or _SURROGATE.search(method):
        raise Refused(INVALID_REQUEST, "The method is no text.")
    if "id" not in value:
        return Notification(method, params if isinstance(params, dict) else {})
    if not _is_id(value["id"]):
        raise Refused(INVALID_REQUEST, "An id is a whole number or a text.")
    if params is not None and not isinstance(params, dict):
        raise Refused(INVALID_PARAMS, "The params are no object.")
    return Request(value["id"], method, params or {}, raw)


def _answer(value: dict[str, Any]) -> Answer:
    result = value.get("result")
    return Answer(value["id"] if _is_id(value["id"]) else None, result if isinstance(result, dict) else None)


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return not _SURROGATE.search(value)
    return isinstance(value, int) and not isinstance(value, bool)


def object_in(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """The object of that name, or an empty one where there is none."""
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def whole_text(text: str) -> str:
    """The text with a mark in place of each lone surrogate."""
    return _SURROGATE.sub("\ufffd", text)
