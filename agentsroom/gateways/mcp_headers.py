"""The HTTP headers that MCP messages travel with: which era a message is of, and whether headers and body agree.

Streamable HTTP of 2026-07-28 repeats method and name in headers (SEP-2243), so that proxies can route without the
body; what a server acts on must then be what its proxies saw.
"""

import base64
import binascii
from collections.abc import Callable

from agentsroom.gateways.jsonrpc import Answer, Notification, Refused, Request
from agentsroom.gateways.rpc import (
    LEGACY_VERSIONS,
    VERSION_KEY,
    check_meta,
    check_version,
    is_handshake,
    is_modern,
)

HEADER_MISMATCH = -32020

SESSION_ID = "MCP-Session-Id"
VERSION = "MCP-Protocol-Version"
METHOD = "Mcp-Method"
NAME = "Mcp-Name"

GetHeader = Callable[[str], str | None]
"""Gives a request's header by its name, in any letter case; None where it is missing."""

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose params name what they are about: the parameter that Mcp-Name repeats."""
_ENCODED = ("=?base64?", "?=")


def is_of_modern_era(message: Request | Notification | Answer, header: GetHeader) -> bool:
    """What the body says counts; where it says nothing, a version that no legacy client speaks, without a session."""
    if isinstance(message, Answer):
        return False
    if isinstance(message, Request):
        if is_handshake(message):
            return False
        if is_modern(message):
            return True
    elif VERSION_KEY in message.meta:
        return True
    version = header(VERSION)
    return version is not None and version not in LEGACY_VERSIONS and header(SESSION_ID) is None


def check_headers(request: Request, header: GetHeader) -> None:
    """Raises Refused unless the headers of a modern request say what its body says."""
    version = header(VERSION)
    if version is not None and VERSION_KEY not in request.meta:
        check_version(version)
    check_meta(request.meta)
    _check(VERSION, header(VERSION), request.meta[VERSION_KEY])
    _check(METHOD, header(METHOD), request.method)
    name = request.params.get(_NAMED_BY.get(request.method, ""))
    if isinstance(name, str):
        _check(NAME, header(NAME), name)


def _check(name: str, came: str | None, wanted: str) -> None:
    if came is None:
        raise Refused(HEADER_MISMATCH, f"The header {name} is missing.")
    if decoded(came) != wanted:
        raise Refused(HEADER_MISMATCH, f"The header {name} does not say what the body says.")


def decoded(value: str) -> str | None:
    """A header's text, where it came as `=?base64?…?=`; None where that is malformed."""
    before, after = _ENCODED
    if not (value.startswith(before) and value.endswith(after)):
        return value
    encoded = value.removeprefix(before).removesuffix(after)
    try:
        raw = base64.b64decode(encoded, validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == encoded else None
    except (binascii.Error, ValueError):
        return None
