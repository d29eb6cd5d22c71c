"""Lines on the wire of a stdio server: whole, long, blank, broken off."""

import os
import threading
from io import BytesIO

import pytest

from agentsroom.gateways import standard_streams
from agentsroom.gateways.standard_streams import LONGEST_LINE, lines_of, write_line


@pytest.mark.parametrize(
    ("came", "lines"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b" a \r\n\n \t\n b\n", [b"a", b"b"]),
        (b"a\nbroken", [b"a"]),
        (b"123456789\n", [b"123456789"]),
        (b"1234567890\nb\n", [None, b"b"]),
        (b"x" * 100 + b"\nb\n", [None, b"b"]),
        (b"x" * 100, [None]),
    ],
)
def test_whole_lines_are_read_and_a_longer_one_is_told(
    monkeypatch: pytest.MonkeyPatch, came: bytes, lines: list[bytes | None]
) -> None:
    monkeypatch.setattr(standard_streams, "LONGEST_LINE", 9)
    assert list(lines_of(BytesIO(came))) == lines


def test_a_line_is_written_whole_however_little_the_pipe_takes() -> None:
    source, sink = os.pipe()
    message = b"x" * (LONGEST_LINE // 4)
    writer = threading.Thread(target=write_line, args=(sink, message))
    writer.start()
    with os.fdopen(source, "rb") as reader:
        assert reader.readline() == message + b"\n"
        writer.join()
        os.close(sink)
        assert reader.read() == b""


def test_nobody_who_reads_is_told() -> None:
    source, sink = os.pipe()
    os.close(source)
    with pytest.raises(BrokenPipeError):
        write_line(sink, b"x")
    os.close(sink)
