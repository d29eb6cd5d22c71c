"""The real server with the suite's fixtures on top: `python -m tests.conformance.server`."""

from gevent import monkey

monkey.patch_all()


def main() -> int:
    """Serves as app.py does."""
    from functools import partial

    from agentsroom.core.settings import load_settings
    from agentsroom.factory import create_app
    from agentsroom.gateways.serve import serve
    from tests.conformance.fixtures import FixtureFeatures

    return serve(load_settings(), partial(create_app, features=FixtureFeatures))


if __name__ == "__main__":
    raise SystemExit(main())
