"""The real server, whose clock stands still at AGENTS_ROOM_TEST_NOW (milliseconds)."""

from gevent import monkey

monkey.patch_all()


def main() -> int:
    """Serves as app.py does."""
    import os
    from functools import partial

    from agentsroom.core import database
    from agentsroom.core.settings import load_settings
    from agentsroom.factory import create_app
    from agentsroom.gateways.serve import serve
    from tests.support.clock import FakeClock

    now = int(os.environ["AGENTS_ROOM_TEST_NOW"])
    vars(database).update(SystemClock=partial(FakeClock, now))
    return serve(load_settings(), create_app)


if __name__ == "__main__":
    raise SystemExit(main())
