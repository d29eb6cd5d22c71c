"""stdin and stdout as a wire of lines, which nothing else in the process can write to."""

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of a message; a longer one is refused unread."""


def take_standard_streams() -> tuple[BinaryIO, int]:
    """Both ends of the wire, on descriptors that nobody else knows; children inherit neither."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    sys.stdout = sys.stderr
    return source, sink


def lines_of(source: BinaryIO) -> Iterator[bytes | None]:
    """Every whole line without its end, blank ones left out; None stands for one that is too long."""
    while line := source.readline(LONGEST_LINE + 1):
        if line.endswith(b"\n"):
            if message := line.strip(b" \t\r\n"):
                yield message
        elif len(line) > LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = source.readline(64 * 1024)
            yield None


def write_line(sink: int, message: bytes) -> None:
    """Raises OSError when nobody reads any more."""
    line = memoryview(message + b"\n")
    while line:
        line = line[os.write(sink, line) :]
