"""A private PostgreSQL cluster for one test session; what stands in its databases is the tests' affair."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import URL

OWNER = "postgres"  # the superuser in the cluster, and the system user it runs as when we are root

# Nothing here outlives the session, so nothing is worth waiting for a disk.
CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 200
"""


def program(name: str) -> str | None:
    """Where a server program is: on the PATH, else the newest that Debian keeps off it."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda at: float(at.parts[-3]))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


def why_unavailable() -> str | None:
    """Why no cluster can be started here, or None when one can."""
    missing = [name for name in ("initdb", "pg_ctl") if program(name) is None]
    if missing:
        return f"PostgreSQL is not installed: no {' and no '.join(missing)} found"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL refuses to run as root, and there is no runuser to leave root with"
    return None


class Cluster:
    """A running cluster, reached through a Unix socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "server.log"

    def start(self) -> None:
        """Makes the cluster and waits until it takes connections."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, OWNER)
        self._run(
            "initdb", f"--username={OWNER}", "--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync"
        )
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(CONFIGURATION.format(folder=self.folder))
        self._run("pg_ctl", "start", "--wait", f"--log={self.log}")

    def stop(self) -> None:
        """Ends it at once; its data is thrown away."""
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    def url(self, database: str = "postgres") -> URL:
        """Its address for SQLAlchemy; as text: `url(…).render_as_string(hide_password=False)`."""
        return URL.create(
            "postgresql+psycopg", username=OWNER, database=database, query={"host": str(self.folder)}
        )

    def create_database(self, name: str, template: str = "template1") -> URL:
        """A new database, and its address; empty, or a copy of one that nobody is connected to."""
        command = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._execute(command.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Removes a database and ends the connections to it."""
        self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(
            host=str(self.folder), user=OWNER, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement)

    def _run(self, name: str, *arguments: str) -> None:
        command = [program(name) or name, *arguments, f"--pgdata={self.data}"]
        if os.geteuid() == 0:
            command = ["runuser", "-u", OWNER, "--", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            log = self.log.read_text() if self.log.exists() else ""
            raise RuntimeError(f"{name} failed ({done.returncode}):\n{done.stdout}{done.stderr}{log}")


def _memory() -> str | None:
    """A file system in memory, where a new database costs a tenth of the time; None: there is none."""
    folder = Path("/dev", "shm")  # Linux
    return str(folder) if os.access(folder, os.W_OK) else None


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster that lives as long as the `with` block."""
    with tempfile.TemporaryDirectory(prefix="agents-room-pg-", dir=_memory()) as folder:
        running = Cluster(Path(folder))
        running.start()
        try:
            yield running
        finally:
            running.stop()
