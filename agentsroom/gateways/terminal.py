"""How the CLI shows results: tables and blocks by rich, or JSON. Strangers' text is never read as markup."""

import re
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.text import counted
from agentsroom.core.tools import Result
from agentsroom.rooms.results import (
    Checked,
    Claimed,
    Done,
    Drift,
    Explained,
    Found,
    History,
    LeaseInfo,
    Leases,
    MessageInfo,
    Received,
    Renewed,
    SentList,
    Sessions,
    Waited,
)

_STEERS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves as it is, though a terminal or a reader of lines may not: C1, line ends, directions."""
_HARMLESS = "\t\u200c\u200d"
"""A tab, and what joins letters and emoji, or keeps them apart."""


def show(result: Result, *, as_json: bool, field: str | None = None) -> None:
    """Prints a tool's result, or one field of it, to standard output."""
    if field is not None:
        sys.stdout.write(_field(result, field) + "\n")
        return
    if as_json:
        sys.stdout.write(_json_line(result))
        return
    console = _console()
    renderer = _RENDERERS.get(type(result), _fields)
    renderer(console, result)


def show_message(message: MessageInfo, *, as_json: bool) -> None:
    """Prints one message, at once."""
    if as_json:
        sys.stdout.write(_json_line(message))
        sys.stdout.flush()
    else:
        _message(_console(), message)


def _field(result: Result, name: str) -> str:
    value = msgspec.to_builtins(result).get(name, "")
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def show_error(error: AgentsRoomError) -> None:
    """Prints what happened and what to do to standard error."""
    sys.stderr.write(f"Error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"{error.hint}\n")


def show_table(columns: tuple[str, ...], rows: list[tuple[Any, ...]], empty: str) -> None:
    """Prints a table, or why there is none."""
    _table(_console(), columns, rows, empty)


def _json_line(result: Result) -> str:
    """The result as JSON; what could steer a terminal is written as an escape."""
    text = msgspec.json.encode(result).decode()
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _block(text: str) -> str:
    """A stranger's lines: control characters become symbols, and nothing changes the order of the others."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("  " + "".join(map(_visible, line)) for line in lines)


def _visible(character: str) -> str:
    if character.isprintable() or character in _HARMLESS:
        return character
    if character < " " or character == "\x7f":
        return "\u2421" if character == "\x7f" else chr(0x2400 + ord(character))
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) == "Cf" else "\ufffd"


def _line(text: str) -> str:
    """One line, whatever a stranger wrote: nothing of it can pass for a line of ours, or move the cursor."""
    return "".join(character if character.isprintable() else " " for character in text)


def _console() -> Console:
    """As wide as the terminal; wide enough for every table where the output goes to a file or a pipe."""
    return Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else 160)


def _table(console: Console, columns: tuple[str, ...], rows: list[tuple[Any, ...]], empty: str) -> None:
    if not rows:
        console.print(Text(empty))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else _line(str(cell))) for cell in row))
    console.print(table)


def _fields(console: Console, result: Result) -> None:
    for name, value in msgspec.to_builtins(result).items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(shown, dict):
            shown = ", ".join(f"{key} {part}" for key, part in shown.items())
        console.print(Text(_line(f"{name.replace('_', ' ')}: {'-' if shown in (None, '') else shown}")))


def _sessions(console: Console, result: Sessions) -> None:
    columns = ("session", "label", "state", "harness", "level", "rooms", "last seen")
    rows = [
        (
            one.session_id,
            one.label,
            one.liveness,
            one.harness,
            one.autonomy,
            ", ".join(one.rooms),
            one.last_seen_at,
        )
        for one in result.sessions
    ]
    _table(
        console, columns, rows, "Nobody is here. An agent enters with room_join, you with: agents-room join"
    )


def _message(console: Console, message: MessageInfo) -> None:
    name = message.sender_label or message.sender
    about = f" (replies to {message.reply_to})" if message.reply_to else ""
    head = f"{message.message_id}  {name} to {message.to}{about}  {message.created_at}"
    console.print(Text(_line(head), style="bold"))
    if message.subject:
        console.print(Text(f"  {_line(message.subject)}"))
    if message.body:
        console.print(Text(_block(message.body)))


def _messages(console: Console, result: History | Waited | Found) -> None:
    for message in result.messages:
        _message(console, message)
    if not result.messages:
        console.print(Text("No messages."))
    if isinstance(result, History) and result.next is not None:
        console.print(Text(f"Older ones: --before {result.next}"))


def _received(console: Console, result: Received) -> None:
    for message in result.messages:
        _message(console, message)
    if result.more:
        console.print(Text("More wait: call recv again."))
    if isinstance(result.inbox, msgspec.UnsetType):
        return
    inbox = result.inbox
    rooms = ", ".join(inbox.rooms) or "no room"
    console.print(
        Text(
            f"Nothing unread. In {rooms}; {counted(inbox.deliveries, 'delivery', 'deliveries')} so far, {inbox.read} read."
        )
    )


def _sent(console: Console, result: SentList) -> None:
    rows = [
        (
            one.message_id,
            one.to,
            one.subject,
            ", ".join(f"{n} {state}" for state, n in one.states.items()),
            one.sent,
        )
        for one in result.messages
    ]
    _table(console, ("message", "to", "subject", "deliveries", "sent"), rows, "You have sent nothing yet.")


def _leases(console: Console, result: Leases) -> None:
    rows = [(one.path, one.mode, one.label or one.session_id, one.expires_at) for one in result.leases]
    _table(console, ("path", "mode", "holder", "until"), rows, "Nobody holds anything in your rooms.")


def _lease_text(lease: LeaseInfo) -> str:
    until = "shared until" if lease.mode == "shared" else "until"
    return f"{lease.path} is held by {lease.label or lease.session_id} {until} {lease.expires_at}"


def _claimed(console: Console, result: Claimed) -> None:
    if result.lease is not None:
        text = (
            f"You hold {result.lease.path} until {result.lease.expires_at}"
            if result.ok
            else _lease_text(result.lease)
        )
        console.print(Text(_line(f"{text} ({result.lease.mode})." if result.ok else f"Refused: {text}.")))
    if not isinstance(result.warning, msgspec.UnsetType):
        console.print(Text(result.warning))


def _renewed(console: Console, result: Renewed) -> None:
    console.print(Text(_line(f"You hold {result.lease.path} until {result.lease.expires_at}.")))


def _checked(console: Console, result: Checked) -> None:
    held = f"; {_lease_text(result.lease)}" if result.lease is not None else ""
    console.print(Text(_line(f"{'You can claim it' if result.free else 'You can not claim it'}{held}.")))


def _drift(console: Console, result: Drift) -> None:
    console.print(Text(_line(f"{result.severity}: {result.message}")))


def _done(console: Console, _result: Done) -> None:
    console.print(Text("Done."))


def _explained(console: Console, result: Explained) -> None:
    rows = [(one.label or one.recipient, one.state, one.since, one.explanation) for one in result.recipients]
    _table(console, ("recipient", "state", "since", "why"), rows, result.explanation or "")


_RENDERERS: dict[type[Result], Callable[[Console, Any], None]] = {
    Sessions: _sessions,
    History: _messages,
    Waited: _messages,
    Found: _messages,
    Received: _received,
    SentList: _sent,
    Leases: _leases,
    Claimed: _claimed,
    Renewed: _renewed,
    Checked: _checked,
    Drift: _drift,
    Done: _done,
    Explained: _explained,
}
