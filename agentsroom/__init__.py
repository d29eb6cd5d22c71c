"""agents-room: one place where coding agents of any repository, harness and machine meet."""

__version__ = "0.1.0"
