"""The one thing that is fake in tests: a clock that stands still until it is set."""

from agentsroom.core.clock import SECOND

START = 1_900_000_000_000
"""2030-03-17T17:46:40Z: no time of this machine, so that a forgotten real clock is seen."""


class FakeClock:
    """Wall time in milliseconds, as the test says."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def now(self) -> int:
        return self.at

    def forward(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)

    def back(self, seconds: float) -> None:
        """As when somebody, or NTP, sets the machine's clock back."""
        self.forward(-seconds)
