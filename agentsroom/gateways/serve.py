"""One server of a home: takes its place, opens the store, listens, says how to get in, and ends in time.

For a process whose standard library is patched by gevent (app.py).
"""

import contextlib
import fcntl
import gc
import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click
import gevent
from flask import Flask
from gevent.event import Event
from gevent.monkey import get_original

from agentsroom.access import service as access
from agentsroom.core.backends import Backend, backend_for
from agentsroom.core.errors import Conflict, NotWritable
from agentsroom.core.ids import random_base62, random_session_id
from agentsroom.core.logs import SERVER_FORMAT, log_to_stderr
from agentsroom.core.product import NAME, VERSION
from agentsroom.core.settings import Settings, make_home
from agentsroom.gateways.doctor import unknown_variables
from agentsroom.gateways.running import (
    Running,
    address_here,
    is_every_address,
    own_command,
    running_server,
    shell_line,
    variables_of,
    write_serve_json,
)
from agentsroom.gateways.vigil import Vigil
from agentsroom.gateways.watching import watch_store
from agentsroom.gateways.writing import Writer
from agentsroom.gateways.wsgi import Server, listen
from agentsroom.runtime import Runtime

MakeApp = Callable[[Settings, Runtime, Running], Flask]

END_S = 2.0
"""How long requests under way may take to finish once the server was told to stop."""
LONGEST_END_S = 3.5
"""When the process ends whatever still hangs."""


class AlreadyServed(Conflict):
    """Another server runs on this home."""

    code = "already_served"


def serve(settings: Settings, make_app: MakeApp, *, backend: Backend | None = None) -> int:
    """Serves until SIGTERM or SIGINT; the process's exit code. `make_app` is the factory's create_app.

    Raises AlreadyServed, PortTaken, and what opening the store raises.
    """
    log_to_stderr(SERVER_FORMAT)
    for name, meant in unknown_variables(os.environ):
        instead = f"; did you mean {meant}?" if meant else "."
        click.echo(f"{name} is set, and no setting is called so{instead}", err=True)
    make_home(settings)
    with _only_server_of(settings), contextlib.closing(listen(settings)) as listener:
        backend = backend or backend_for(settings, get_original("time", "sleep"))
        writer = Writer(backend)
        runtime = Runtime(settings, backend=backend, run=writer)
        running = _introduce(settings, listener.getsockname()[1])
        try:
            _check(runtime)  # before anything answers: a big store takes long
            server = Server(listener, make_app(settings, runtime, running))
            gc.freeze()  # what was made until now stays, and is looked at by no collection
            _run(settings, runtime, server, running)
        finally:
            runtime.database.close()
            writer.close()
            gc.freeze()  # nothing is left to collect, and looking for it takes longer than all of the end
    return 0


def _run(settings: Settings, runtime: Runtime, server: Server, running: Running) -> None:
    told_to_stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, told_to_stop.set)
    runtime.feed.start()
    store = settings.database_path
    end_watching = (
        watch_store(store, runtime.database.publish, polling=settings.watch == "poll")
        if store is not None
        else None
    )
    Vigil(runtime).start()
    server.start()
    try:
        write_serve_json(settings, running)
        _greet(settings, runtime, running)
        told_to_stop.wait()
        _end_for_sure()
    finally:
        (settings.home_path / "serve.json").unlink(missing_ok=True)
        if end_watching is not None:
            end_watching()
        server.end(partial(_end_waits, runtime), END_S)


def _end_waits(runtime: Runtime) -> None:
    """Streams, calls that wait for mail, and writes that wait for another process."""
    runtime.feed.close()
    runtime.database.backend.give_up()


def _end_for_sure() -> None:
    """A reader that takes nothing can hold its stream for long; the process ends all the same."""
    sleep = get_original("time", "sleep")

    def end() -> None:
        sleep(LONGEST_END_S)
        os._exit(0)

    get_original("_thread", "start_new_thread")(end, ())


@contextlib.contextmanager
def _only_server_of(settings: Settings) -> Iterator[None]:
    """Holds the home for this server; the lock goes with the process, however it ends. Raises AlreadyServed."""
    path = settings.home_path / "serve.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise NotWritable(f"{path} can't be written: {error.strerror}; a server needs its home.") from error
    with open(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _already_served(settings, file.read().strip()) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _already_served(settings: Settings, pid: str) -> AlreadyServed:
    first = running_server(settings)
    where = f" at {first.url}" if first is not None and str(first.pid) == pid else ""
    return AlreadyServed(
        f"A server runs on {settings.home_path} already: process {pid}{where}.",
        hint=f"Use that one ({shell_line(settings, 'login-link')}), end it, or set AGENTS_ROOM_HOME to another folder.",
        pid=int(pid) if pid.isdigit() else None,
    )


def _introduce(settings: Settings, port: int) -> Running:
    """Who this server is; its token is new with each start."""
    return Running(
        url=address_here(settings, port),
        port=port,
        pid=os.getpid(),
        instance_id=random_session_id(),
        token=random_base62(43),
    )


def _check(runtime: Runtime) -> None:
    """Opens the store and tells what is damaged in it."""
    found = runtime.database.check()
    if found != "ok":
        click.echo(f"The store is damaged: {found}\nRestore a backup of it.", err=True)


def _greet(settings: Settings, runtime: Runtime, running: Running) -> None:
    """How to get in: a login link at each start, the default agent's key at the first one."""
    link = runtime.database.write(access.create_login_link)
    new = runtime.database.write(lambda work: access.first_key(work, access.DEFAULT_AGENT))
    base = settings.url.rstrip("/") or running.url
    click.echo(f"{NAME} {VERSION} serves {settings.store_name} at {base}\n")
    for line in _about_who_gets_in(settings, running):
        click.echo(f"{line}\n")
    click.echo(f"Open this link in a browser; it logs in once:\n\n  {base}/login/{link}\n")
    click.echo(f"An MCP client on this machine takes this entry:\n\n  {_mcp_entry(settings)}\n")
    for line in _about_keys(settings, base, new):
        click.echo(line)
    click.echo("Ctrl+C ends the server.")


def _about_who_gets_in(settings: Settings, running: Running) -> Iterator[str]:
    if settings.auth == "off":
        yield (
            "AGENTS_ROOM_AUTH=off: every program and every user of this machine is the admin here, without a key or a "
            "login."
        )
    if is_every_address(settings.host) and not settings.url:
        yield (
            f"It listens on every address of this machine, but answers by the names above and localhost alone "
            f"(others: foreign_host). AGENTS_ROOM_URL=http://NAME:{running.port} names the one that other machines use."
        )


def _about_keys(settings: Settings, base: str, new: access.NewKey | None) -> Iterator[str]:
    """How a client gets in over HTTP; each indented line is for a shell."""
    yield f"Over HTTP a client reaches {base}/mcp and {base}/api with the key of an agent."
    if new is not None:
        yield f"That of {new.agent_id}, shown this once:\n\n  export AGENTS_ROOM_KEY={new.key}\n"
        yield f"Each further agent, by an ID of your choice, has its own: {shell_line(settings, 'agent', 'create', 'ID')}\n"
    else:
        line = shell_line(settings, "agent", "key", access.DEFAULT_AGENT, "--get", "key")
        yield (
            "Keys that worked before go on working. Only if that of "
            f"{access.DEFAULT_AGENT} is lost, make a new one, which ends it:\n\n  export AGENTS_ROOM_KEY=$({line})\n"
        )


def _mcp_entry(settings: Settings) -> str:
    """For the `mcpServers` of a client's configuration."""
    program, *arguments = shlex.split(own_command())
    entry: dict[str, Any] = {"command": program, "args": [*arguments, "mcp"]}
    if variables := variables_of(settings):
        entry["env"] = variables
    return json.dumps({"mcpServers": {"agents-room": entry}})
