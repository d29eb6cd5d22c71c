"""How the messages of a stream of changes look."""

from agentsroom.gateways.mcp_changes import sse


def test_a_message_may_say_where_the_stream_stands() -> None:
    assert sse(b"{}", 7) == b"event: message\nid: 7\ndata: {}\n\n"
    assert sse(b"{}") == b"event: message\ndata: {}\n\n"
