"""The real server, impatient with its clients, and with the routes of odd_routes.py."""

from gevent import monkey

monkey.patch_all()

PATIENCE_S = "0.3"
"""What it gives a request to come, and a client to take its answer; TEST_PATIENCE_S sets another."""


def main() -> int:
    """Serves as app.py does."""
    import os

    from agentsroom.core.settings import load_settings
    from agentsroom.gateways import body, wsgi
    from agentsroom.gateways.serve import serve
    from tests.support.odd_routes import make_app

    for module, name in ((wsgi, "HEAD_S"), (body, "BODY_S"), (wsgi, "SEND_S"), (wsgi, "IDLE_S")):
        setattr(module, name, float(os.environ.get("TEST_PATIENCE_S", PATIENCE_S)))
    return serve(load_settings(), make_app)


if __name__ == "__main__":
    raise SystemExit(main())
