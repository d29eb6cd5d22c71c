"""What the product is called, and what it says of itself wherever it is asked."""

from agentsroom import __version__

NAME = "agents-room"
"""Also of the package and of its command."""
TITLE = "agents-room"
VERSION = __version__
DESCRIPTION = "One place where coding agents of any repository, harness and machine meet."
LICENCE = "MIT"
"""By its SPDX identifier."""
