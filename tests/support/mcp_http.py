"""A client of /mcp that sends what it is told, over a real socket; and a server with two agents to ask."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from agentsroom.access import service as access
from agentsroom.core.settings import Settings
from agentsroom.runtime import Runtime
from tests.support.server import PATIENCE_S, WebServer

Json = dict[str, Any]

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
}
INITIALIZE: Json = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"},
    },
}


class McpAnswer:
    """What came back; its stream, if it is one, is read event by event."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._socket = connection.sock
        self._response = connection.getresponse()
        self.status = self._response.status
        self.headers = self._response.headers
        self.content_type = self._response.headers.get_content_type()

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"

    def body(self) -> bytes:
        """All of it, to its end."""
        with closing(self):
            return self._response.read()

    def json(self) -> Any:
        return json.loads(self.body())

    def events(self) -> Iterator[Json]:
        """The messages of the stream as they come; its comments are left out, ids stand in `_id`."""
        fields: dict[str, str] = {}
        for line in self._response:
            text = line.decode().rstrip("\n")
            name, _, value = text.partition(":")
            if text and name:
                fields[name] = value.strip()
            elif not text and "data" in fields:
                yield {**json.loads(fields["data"]), **({"_id": fields["id"]} if "id" in fields else {})}
                fields = {}

    def message(self) -> Json:
        """The reply, whether it came as JSON or at the end of a stream."""
        if not self.is_stream:
            found: Json = self.json()
            return found
        with closing(self):
            *_, last = self.events()
        return last

    def patience(self, seconds: float) -> None:
        """How long each further event may take."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class McpClient:
    """One agent with its key; each request goes over a connection of its own."""

    def __init__(self, server: WebServer, key: str) -> None:
        self.server = server
        self.key = key
        self.session: str | None = None
        self._ids = 0

    def send(self, method: str, body: bytes | None, headers: dict[str, str | None]) -> McpAnswer:
        """Sends exactly this; a header that is None is left out."""
        port = self.server.running["port"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        given: dict[str, str | None] = {
            "Host": f"127.0.0.1:{port}",
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
        }
        if body is not None:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        connection.putrequest(method, "/mcp", skip_host=True, skip_accept_encoding=True)
        for name, value in {**given, **headers}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        return McpAnswer(connection)

    def initialize(self, version: str = "2025-11-25", capabilities: Json | None = None) -> Json:
        """Opens a session; what the server says of itself."""
        params = {**INITIALIZE["params"], "protocolVersion": version, "capabilities": capabilities or {}}
        answer = self.send("POST", json.dumps({**INITIALIZE, "params": params}).encode(), {})
        self.session = answer.headers["MCP-Session-Id"]
        result: Json = answer.json()["result"]
        with closing(
            self.send("POST", _notification("notifications/initialized"), self.own_headers())
        ) as told:
            assert told.status == 202
        return result

    def own_headers(self) -> dict[str, str | None]:
        return {"MCP-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}

    def legacy(self, method: str, params: Json | None = None, **headers: str) -> McpAnswer:
        """A request within the session."""
        return self.send("POST", self._request(method, params), {**self.own_headers(), **headers})

    def follow(self, last_event_id: str | None = None) -> McpAnswer:
        """The session's stream."""
        own: dict[str, str | None] = {"Accept": "text/event-stream", "Last-Event-ID": last_event_id}
        return self.send("GET", None, self.own_headers() | own)

    def modern(self, method: str, params: Json | None = None, **headers: str) -> McpAnswer:
        """A request that stands alone."""
        given = params or {}
        own: dict[str, str | None] = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if name := given.get("name") or given.get("uri"):
            own["Mcp-Name"] = name
        return self.send("POST", self._request(method, {**given, "_meta": META}), {**own, **headers})

    def call(self, tool: str, **arguments: Any) -> Json:
        """The structured result of a tool."""
        result = self.modern("tools/call", {"name": tool, "arguments": arguments}).message()["result"]
        found: Json = result["structuredContent"]
        return found

    def _request(self, method: str, params: Json | None) -> bytes:
        self._ids += 1
        given = {} if params is None else {"params": params}
        return json.dumps({"jsonrpc": "2.0", "id": self._ids, "method": method, **given}).encode()


def _notification(method: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method}).encode()


def key_of(home: Path, agent: str) -> str:
    """A new key of an agent, who is made where there is none."""
    settings = Settings(home=str(home))
    runtime = Runtime(settings)
    try:
        if agent != access.DEFAULT_AGENT:
            runtime.database.write(lambda work: access.create_agent(work, agent, access.DEFAULT_TEAM, agent))
        return runtime.database.write(lambda work: access.rotate_key(work, agent)).key
    finally:
        runtime.close()
