"""What reaches standard error: whole records, one line each, without secrets or control characters."""

import io
import logging

from agentsroom.core.logs import ScrubbedStream, ScrubbingFormatter

KEY = f"agt_0123456789ab.{'k' * 43}"


def record(message: str, *given: object, error: BaseException | None = None) -> logging.LogRecord:
    raised = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("name", logging.ERROR, "file.py", 1, message, given, raised)


def test_a_record_its_arguments_and_its_traceback_show_no_secret() -> None:
    try:
        raise ValueError(f"no such key: {KEY}")
    except ValueError as error:
        text = ScrubbingFormatter("%(message)s").format(
            record("%s failed with %s", "GET /login/abc", KEY, error=error)
        )
    assert KEY not in text
    assert "k" * 43 not in text
    assert text.startswith("GET /login/[hidden] failed with agt_0123456789ab.[hidden]\nTraceback")
    assert text.endswith("ValueError: no such key: agt_0123456789ab.[hidden]")


def test_nothing_in_a_record_passes_for_a_record_of_its_own_or_moves_the_cursor() -> None:
    text = ScrubbingFormatter("%(levelname)s %(message)s").format(
        record("GET %s failed", "/a\nERROR forged\x1b[2J\u2028")
    )
    assert text == "ERROR GET /a\\nERROR forged\\x1b[2J\\u2028 failed"


def test_other_handlers_see_the_record_as_it_was() -> None:
    one = record("%s", "/a\n")
    ScrubbingFormatter("%(message)s").format(one)
    assert one.getMessage() == "/a\n"


def test_a_percent_sign_that_a_stranger_sent_is_no_format() -> None:
    assert ScrubbingFormatter("%(message)s").format(record("GET %s failed", "/%s%d")) == "GET /%s%d failed"


def test_a_secret_written_in_pieces_is_hidden() -> None:
    sink = io.StringIO()
    stream = ScrubbedStream(sink)
    for letter in f"failed: {KEY}\nnext: ":
        stream.write(letter)
    assert sink.getvalue() == "failed: agt_0123456789ab.[hidden]\n"
    stream.write(KEY)
    stream.flush()
    assert sink.getvalue() == "failed: agt_0123456789ab.[hidden]\nnext: agt_0123456789ab.[hidden]"
