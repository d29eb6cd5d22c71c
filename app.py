"""The web server of a checkout: `make run`."""

from gevent import monkey

monkey.patch_all()


def main() -> int:
    """Makes the app and serves it until it is told to stop; the exit code."""
    from agentsroom.cli import exit_code_of
    from agentsroom.core.errors import AgentsRoomError
    from agentsroom.core.settings import load_settings
    from agentsroom.factory import create_app
    from agentsroom.gateways.serve import serve
    from agentsroom.gateways.terminal import show_error

    try:
        return serve(load_settings(), create_app)
    except AgentsRoomError as error:
        show_error(error)
        return exit_code_of(error)


if __name__ == "__main__":
    raise SystemExit(main())
