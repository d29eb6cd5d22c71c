"""The command line: one command a tool, made from the registry, and the operator's own commands. Thin."""

import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentsroom.core.errors import AgentsRoomError, InvalidArgument, WaitTimeout
from agentsroom.core.product import DESCRIPTION, NAME, VERSION
from agentsroom.core.settings import PREFIX, Settings, load_settings
from agentsroom.core.text import counted

if TYPE_CHECKING:
    from agentsroom.access.service import NewKey
    from agentsroom.core.principals import Principal
    from agentsroom.runtime import Runtime

T = TypeVar("T")

EXIT_CODES = {
    0: "done",
    2: "usage: an argument or option is wrong",
    3: "wait_timeout: the time ran out",
    4: "no server, or no store that can be used",
    5: "refused: the error says why",
}

_GROUPS = {
    "room": "leave one room, cap a room (join enters rooms, who lists who is there)",
    "lease": "claim, renew, release, check and list leases",
    "drift": "note what you read, check whether it changed",
    "wait": "wait for something to happen",
}

_MANIFESTS = ("tools", "server-card", "ai-catalog", "server.json", "mcpb")


class _Commands(click.Group):
    """Knows every name at once, and loads the store's code only for a command that needs it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_tool_group().commands, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or _tool_group().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but what was probably meant is looked for among the tools, too."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs a command; our errors end it with their exit code and no traceback."""
        try:
            return super().main(*args, **extra)
        except AgentsRoomError as error:
            from agentsroom.gateways.terminal import show_error

            show_error(error)
            sys.exit(exit_code_of(error))


class _Serve(click.Command):
    """Its settings are variables, and who looks for an option is told so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises NoSuchOption, UsageError and the like."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").upper().replace("-", "_")
            if all(one.name.upper() != name for one in fields(Settings)):
                raise
            text = f"{error.message} Set the variable instead: {PREFIX}{name}=… {NAME} serve"
            raise click.NoSuchOption(error.option_name, text, ctx=ctx) from None


def exit_code_of(error: AgentsRoomError) -> int:
    """The process's exit code for an error (EXIT_CODES)."""
    if isinstance(error, InvalidArgument):
        return 2
    if isinstance(error, WaitTimeout):
        return 3
    return 4 if error.status == 503 else 5


def _tool_group() -> click.Group:
    """Every tool as a command, in groups where PLACES gives it two words."""
    from agentsroom.gateways.commands import PLACES, command_of
    from agentsroom.rooms.machine import Machine
    from agentsroom.runtime import make_registry

    root = click.Group()
    registry = make_registry(load_settings({}), Machine())
    for tool in registry:
        group = root
        for word in PLACES[tool.name].words[:-1]:
            if word not in group.commands:
                group.add_command(click.Group(word, help=_GROUPS[word].capitalize() + "."))
            inner = group.commands[word]
            assert isinstance(inner, click.Group)
            group = inner
        group.add_command(command_of(tool, registry.schema(tool), _open_as_agent))
    return root


_HELP = f"""{DESCRIPTION}

An agent enters with `join` (over MCP: room_join); a person watches in the browser: `{NAME} serve`.
"""


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, help=_HELP)
@click.version_option(VERSION, prog_name=NAME)
def cli() -> None:
    """Every command stands under this one."""


def _open() -> "Runtime":
    from agentsroom.core.logs import log_to_stderr
    from agentsroom.runtime import Runtime

    log_to_stderr("agents-room: %(message)s")
    return Runtime(load_settings())


def _open_as_agent() -> "tuple[Runtime, Principal]":
    """The store, and this process as an agent's; the process that started the command stands for the session."""
    from agentsroom.core.principals import this_process

    runtime = _open()
    return runtime, runtime.local_principal(this_process(os.getppid()))


def _write(act: Callable[[Any], T]) -> T:
    return _open().database.write(act)


@cli.command(cls=_Serve)
def serve() -> None:
    """Run the server: pages, the JSON API and MCP over HTTP, on one port, until Ctrl+C.

    Settings are environment variables, such as AGENTS_ROOM_PORT=9000 agents-room serve; wiki/Settings.md lists them.
    """
    from gevent import monkey

    monkey.patch_all()  # before anything that imports sockets, threads or SSL
    from agentsroom.factory import create_app
    from agentsroom.gateways.serve import serve as run

    sys.exit(run(load_settings(), create_app))


@cli.command()
def mcp() -> None:
    """Speak MCP over standard input and output, for a client that starts this program itself."""
    from agentsroom.gateways.mcp_stdio import serve_stdio

    sys.exit(serve_stdio())


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(VERSION)


@cli.command("login-link")
def login_link() -> None:
    """Print a link that logs a browser in once."""
    from agentsroom.access import service as access
    from agentsroom.gateways.running import base_url, running_server

    settings = load_settings()
    token = _write(access.create_login_link)
    click.echo(f"{base_url(settings)}/login/{token}")
    if running_server(settings) is None:
        click.echo(
            "No server runs on this home: the link works as soon as one does (agents-room serve).", err=True
        )


@cli.group()
def team() -> None:
    """List, create, rename and delete teams."""


@team.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def team_list(as_json: bool) -> None:
    """List the teams."""
    from agentsroom.access import store

    _print_rows(("id", "name", "agents"), _open().database.read(store.teams), as_json)


@team.command("create")
@click.argument("team_id", metavar="ID")
@click.option("--name", help="What people call it; without it, the id.")
def team_create(team_id: str, name: str | None) -> None:
    """Create a team; its id is fixed from then on."""
    from agentsroom.access import service as access

    created = _write(lambda work: access.create_team(work, team_id, name or team_id))
    click.echo(
        f"The team {created.id} is there. Give it agents: agents-room agent create ID --team {created.id}"
    )


@team.command("rename")
@click.argument("team_id", metavar="ID")
@click.argument("name")
def team_rename(team_id: str, name: str) -> None:
    """Give a team another name; its id stays."""
    from agentsroom.access import service as access

    renamed = _write(lambda work: access.rename_team(work, team_id, name))
    click.echo(f"The team {renamed.id} is called {renamed.name} now.")


@team.command("delete")
@click.argument("team_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
def team_delete(team_id: str, yes: bool) -> None:
    """Delete a team that has no agents; its rooms' history stays in the store."""
    from agentsroom.access import service as access

    _confirm(f"Delete the team {team_id}?", yes)
    _write(lambda work: access.delete_team(work, team_id))
    click.echo(f"The team {team_id} is deleted.")


@cli.group()
def agent() -> None:
    """List, create, rename and delete agents; make and revoke their keys."""


@agent.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def agent_list(as_json: bool) -> None:
    """List the agents of every team."""
    from agentsroom.access import store

    _print_rows(("id", "team_id", "name", "live_keys"), _open().database.read(store.agents), as_json)


def _key_options(command: Callable[..., None]) -> Callable[..., None]:
    """Of a command that makes a key."""
    get = click.option(
        "--get", "field", type=click.Choice(["agent_id", "key"]), help="Print one field of the result alone."
    )
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(get(command))


@agent.command("create")
@click.argument("agent_id", metavar="ID")
@click.option("--team", "team_id", default="home", show_default=True, help="The team that it belongs to.")
@click.option("--name", help="What people call it; without it, the id.")
@_key_options
def agent_create(agent_id: str, team_id: str, name: str | None, as_json: bool, field: str | None) -> None:
    """Create an agent and print its key, once."""
    from agentsroom.access import service as access

    def act(work: Any) -> access.NewKey:
        access.create_agent(work, agent_id, team_id, name or agent_id)
        return access.rotate_key(work, agent_id)

    _print_key(_write(act), as_json, field)


@agent.command("rename")
@click.argument("agent_id", metavar="ID")
@click.argument("name")
def agent_rename(agent_id: str, name: str) -> None:
    """Give an agent another name; its id stays."""
    from agentsroom.access import service as access

    renamed = _write(lambda work: access.rename_agent(work, agent_id, name))
    click.echo(f"The agent {renamed.id} is called {renamed.name} now.")


@agent.command("key")
@click.argument("agent_id", metavar="ID")
@_key_options
def agent_key(agent_id: str, as_json: bool, field: str | None) -> None:
    """Make a new key for an agent and print it, once; its older keys stop working."""
    from agentsroom.access import service as access

    _print_key(_write(lambda work: access.rotate_key(work, agent_id)), as_json, field)


@agent.command("revoke")
@click.argument("agent_id", metavar="ID")
def agent_revoke(agent_id: str) -> None:
    """Revoke every key of an agent."""
    from agentsroom.access import service as access

    revoked = _write(lambda work: access.revoke_keys(work, agent_id))
    click.echo(
        f"{counted(revoked, 'key')} of {agent_id} stopped working."
        if revoked
        else f"{agent_id} had no working key."
    )


@agent.command("delete")
@click.argument("agent_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
def agent_delete(agent_id: str, yes: bool) -> None:
    """Delete an agent for good; its keys go with it, its sessions leave, its messages stay."""
    _confirm(f"Delete the agent {agent_id} and its keys? Its id is never given again.", yes)
    _open().delete_agent(agent_id)
    click.echo(f"The agent {agent_id} is deleted, and its keys with it; its sessions have left.")


@cli.command()
@click.argument("room")
def pause(room: str) -> None:
    """Pause ROOM: its messages are stored, and signal nobody until it is resumed."""
    from agentsroom.rooms.service import rooms

    click.echo(f"{_steer(rooms.pause, room)} is paused. It goes on with: agents-room resume ROOM")


@cli.command()
@click.argument("room")
def resume(room: str) -> None:
    """End the pause of ROOM."""
    from agentsroom.rooms.service import rooms

    click.echo(f"{_steer(rooms.resume, room)} goes on.")


def _steer(act: Callable[..., Any], room: str) -> str:
    """The name of the room that was acted on."""
    runtime, caller = _open_as_agent()
    name: str = runtime.database.write(lambda work: act(work, caller, room)).name
    return name


@cli.command()
@click.argument("room")
def export(room: str) -> None:
    """Write the history of ROOM to standard output, a line of JSON for each message, with its deliveries."""
    from agentsroom.rooms.service.export import exported_lines, room_to_export

    runtime, caller = _open_as_agent()
    found, last = runtime.database.read(lambda work: room_to_export(work, caller, room))
    for lines in exported_lines(runtime.database, found, last):
        click.echo(lines, nl=False)


@cli.command()
@click.option("--silent-hours", type=click.FloatRange(0, 1e6), default=24.0, show_default=True)
@click.option(
    "--events-before", metavar="DATE", help="Also move events before this date (UTC) to --events-file."
)
@click.option(
    "--events-file", type=click.Path(path_type=Path), help="Where they are written first, as JSON Lines."
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def prune(silent_hours: float, events_before: str | None, events_file: Path | None, dry_run: bool) -> None:
    """Remove sessions that are silent and gone; their messages stay."""
    from agentsroom.gateways.retention import prune_store

    if (events_before is None) != (events_file is None):
        raise click.UsageError("--events-before and --events-file go together.")
    for line in prune_store(_open(), silent_hours, events_before, events_file, dry_run=dry_run):
        click.echo(line)


@cli.command()
@click.argument("room")
@click.option("--since", metavar="ID", type=click.IntRange(0), help="Begin after the message of this id.")
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(0),
    help="Begin with the newest N messages; without it, 10, or all that follow --since.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each message as a line of JSON.")
def watch(room: str, since: int | None, last: int | None, as_json: bool) -> None:
    """Print a room's messages as they come, until Ctrl+C; needs a server that runs."""
    from agentsroom.gateways.watch import watch_room

    watch_room(load_settings(), room, since, last, as_json=as_json)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Say what is wrong, and how to mend it; exit code 5 when something is."""
    from agentsroom.gateways.doctor import FAULT, examine

    findings = examine(load_settings(), os.environ)
    _print_rows(("state", "what", "finding", "fix"), findings, as_json)
    if any(one.state == FAULT for one in findings):
        sys.exit(5)


@cli.command()
@click.argument("kind", required=False, type=click.Choice(_MANIFESTS))
@click.option(
    "--write",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write server.json and the bundle's manifest.json into DIR, or the one that is named.",
)
@click.option("--repository", metavar="URL", help="Where the source is, for the two that can be written.")
@click.option(
    "--name", help="The name in the MCP registry; without it, io.github.OWNER/agents-room by --repository."
)
@click.option("--force", is_flag=True, help="With --write: replace files that are not ours.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON; each manifest is JSON anyhow.")
def manifest(
    kind: str | None,
    folder: Path | None,
    repository: str | None,
    name: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print one of the five manifests, or write the two of a release; without either, list them."""
    from agentsroom.gateways.manifest import command, overview

    if force and folder is None:
        raise click.UsageError("--force goes with --write.")
    if folder is not None:
        command.write_manifests(kind, folder, repository, name, force=force)
    elif kind is not None:
        command.show_manifest(kind, repository, name)
    else:
        _print_rows(("name", "where", "what"), overview(), as_json)


@cli.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def backup(target: Path, force: bool) -> None:
    """Copy the store to TARGET, whole, while it is in use."""
    if target.exists() and not force:
        raise click.UsageError(f"{target} is there already; --force replaces it.")
    runtime = _open()
    size = runtime.database.backup(target)
    click.echo(f"{runtime.settings.store_name} is copied to {target} ({size:,} bytes).")


def _print_rows(columns: tuple[str, ...], rows: list[Any], as_json: bool) -> None:
    """Rows are named tuples; columns names the fields that are shown."""
    if as_json:
        import json

        click.echo(json.dumps([row._asdict() for row in rows]))
        return
    from agentsroom.gateways.terminal import show_table

    cells = [tuple(getattr(row, column) for column in columns) for row in rows]
    show_table(tuple(column.replace("_", " ") for column in columns), cells, "None.")


def _confirm(question: str, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True)


def _print_key(new: "NewKey", as_json: bool, field: str | None) -> None:
    if field is not None:
        click.echo(getattr(new, field))
    elif as_json:
        import json

        click.echo(json.dumps(new._asdict()))
    else:
        text = f"The key of {new.agent_id}, shown this once; any older one of its keys works no longer:"
        click.echo(f"{text}\n\n  export AGENTS_ROOM_KEY={new.key}\n")
