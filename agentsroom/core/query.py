"""A statement written in SQLAlchemy Core, compiled once per database, run on the driver's own cursor.

Core writes the SQL for both databases; running it through the driver costs a third of Core's own execution.
"""

from typing import Any

from sqlalchemy import Dialect, Executable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler


class Query:
    """One prepared statement; `columns` names what an insert takes as parameters."""

    def __init__(self, statement: Executable, columns: tuple[str, ...] | None = None) -> None:
        assert isinstance(statement, ClauseElement)
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None, dict[str, Any]]] = {}

    def on(self, dialect: Dialect, given: dict[str, Any]) -> tuple[str, Any]:
        """The SQL text for `dialect`, and `given` in the form that its driver takes.

        Raises KeyError for a parameter that the statement needs and `given` lacks.
        """
        compiled = self._compiled.get(dialect.name) or self._compile(dialect)
        sql, names, fixed = compiled
        if names is None:
            return sql, {**fixed, **given}
        return sql, [given[name] if name in given else fixed[name] for name in names]

    def text(self, dialect: Dialect) -> str:
        """The SQL alone, as `on` gives it."""
        return (self._compiled.get(dialect.name) or self._compile(dialect))[0]

    def _compile(self, dialect: Dialect) -> tuple[str, tuple[str, ...] | None, dict[str, Any]]:
        compiled = self._statement.compile(dialect=dialect, column_keys=self._columns)
        assert isinstance(compiled, SQLCompiler)
        fixed = {name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required}
        names = tuple(compiled.positiontup or ()) if compiled.positional else None
        self._compiled[dialect.name] = (str(compiled), names, fixed)
        return self._compiled[dialect.name]
