"""A Query is written in Core and run by the driver, with its literals and its parameters in the right places."""

import sqlite3

from sqlalchemy import bindparam, create_engine, func, literal, select, update
from sqlalchemy.dialects import sqlite

from agentsroom.core.models import Event
from agentsroom.core.query import Query

_QUERY = Query(select(literal(7), func.substr(bindparam("text"), 1, bindparam("length")), bindparam("text")))


def test_sqlite_takes_parameters_in_order_also_when_one_is_used_twice() -> None:
    sql, parameters = _QUERY.on(sqlite.dialect(), {"length": 2, "text": "abc"})
    assert sqlite3.connect(":memory:").execute(sql, parameters).fetchone() == (7, "ab", "abc")


def test_a_parameter_may_be_none() -> None:
    query = Query(select(bindparam("text").is_(None)))
    sql, parameters = query.on(sqlite.dialect(), {"text": None})
    assert sqlite3.connect(":memory:").execute(sql, parameters).fetchone() == (1,)


def test_a_value_that_is_written_into_the_statement_may_be_none() -> None:
    query = Query(update(Event).where(Event.id == bindparam("event")).values(kind=None))
    sql, parameters = query.on(sqlite.dialect(), {"event": 3})
    assert parameters == [None, 3]
    assert sql.count("?") == 2


def test_postgresql_takes_them_by_name() -> None:
    query = Query(select(Event.id).where(Event.id > bindparam("after")).limit(5))
    sql, parameters = query.on(create_engine("postgresql+psycopg://").dialect, {"after": 3})
    assert "%(after)s" in sql
    assert parameters["after"] == 3
    assert 5 in parameters.values()
