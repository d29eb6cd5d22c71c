"""What a process of ours writes to standard error: log records, tracebacks, warnings; none of it with a secret."""

import copy
import logging
import sys
from typing import TextIO

from agentsroom.core.scrub import scrub

SERVER_FORMAT = "%(asctime)s %(levelname)s %(message)s"


def log_to_stderr(line_format: str) -> None:
    """From now on warnings and errors are logged, and whatever else writes to standard error is scrubbed, too."""
    if sys.stderr is not None and not isinstance(sys.stderr, ScrubbedStream):  # None: it is closed
        sys.stderr = ScrubbedStream(sys.stderr)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ScrubbingFormatter(line_format))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)


class ScrubbingFormatter(logging.Formatter):
    """A record is one line, then its traceback; no letter of it moves the terminal's cursor."""

    def format(self, record: logging.LogRecord) -> str:
        ours = copy.copy(record)
        ours.msg, ours.args = _printable(record.getMessage()), None
        return _printable(scrub(super().format(ours)), kept="\n\t")


class ScrubbedStream:
    """A text stream for what no logger writes, such as the last words of a greenlet; scrubs line by line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """A line is written when it is whole."""
        lines, end, self._begun = (self._begun + text).rpartition("\n")
        self._stream.write(scrub(lines) + end)
        return len(text)

    def flush(self) -> None:
        """Writes the line that is begun."""
        begun, self._begun = self._begun, ""
        self._stream.write(scrub(begun))
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def _printable(text: str, kept: str = "") -> str:
    """Control characters as Python writes them, but for those that are kept."""
    return "".join(one if one.isprintable() or one in kept else repr(one)[1:-1] for one in text)
