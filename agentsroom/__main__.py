"""`agents-room` and `python -m agentsroom`: hands over to the CLI, and to the stdio server without loading it."""

import sys


def main() -> None:
    """The console entry; ends the process with its exit code."""
    if sys.argv[1:] == ["mcp"]:  # click alone would cost a client 70 ms at each start
        from agentsroom.gateways.mcp_stdio import serve_stdio

        sys.exit(serve_stdio())
    from agentsroom.cli import cli

    cli(prog_name="agents-room")


if __name__ == "__main__":
    main()
