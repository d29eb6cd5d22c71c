"""The real server, which writes to the file AGENTS_ROOM_TEST_TRACE each SQL statement and when its app is made."""

from gevent import monkey

monkey.patch_all()


def main() -> int:
    """Serves as app.py does."""
    import os
    import sqlite3
    from pathlib import Path

    from flask import Flask
    from gevent.monkey import get_original
    from sqlalchemy import Engine, event

    from agentsroom.core.settings import Settings, load_settings
    from agentsroom.core.sqlite import SqliteBackend
    from agentsroom.factory import create_app
    from agentsroom.gateways.running import Running
    from agentsroom.gateways.serve import serve
    from agentsroom.runtime import Runtime

    class TracedBackend(SqliteBackend):
        """Every connection of the store tells what it executes."""

        def engine(self) -> Engine:
            engine = super().engine()
            event.listen(engine, "connect", self._trace)
            return engine

        def _trace(self, connection: sqlite3.Connection, _record: object) -> None:
            connection.set_trace_callback(lambda statement: print(statement, file=trace))

    def make_app(settings: Settings, runtime: Runtime, running: Running) -> Flask:
        app = create_app(settings, runtime, running)
        print("-- the app is made", file=trace)
        return app

    settings = load_settings()
    assert settings.database_path is not None
    with Path(os.environ["AGENTS_ROOM_TEST_TRACE"]).open("a", buffering=1) as trace:
        backend = TracedBackend(settings.database_path, settings, get_original("time", "sleep"))
        return serve(settings, make_app, backend=backend)


if __name__ == "__main__":
    raise SystemExit(main())
