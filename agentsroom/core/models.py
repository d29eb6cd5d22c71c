"""The declarative base of every table, and the event table that core itself owns.

Times are BigInteger milliseconds, choices are text, JSON is text: the driver's own cursor reads and writes them
without conversion, the same on every database.
"""

from sqlalchemy import BigInteger, Index, Integer, MetaData, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = BigInteger().with_variant(Integer, "sqlite")
"""A database integer that counts up by itself (SQLite does so for INTEGER alone)."""


class Base(DeclarativeBase):
    """Every model derives from it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Event(Base):
    """One thing that happened; the database itself refuses UPDATE and DELETE."""

    __tablename__ = "events"
    __table_args__ = (Index("ix_events_kind_id", "kind", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    at: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(Text)
    team_id: Mapped[str] = mapped_column(Text)
    data: Mapped[str] = mapped_column(Text)
