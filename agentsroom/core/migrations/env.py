"""Alembic's entry: runs the scripts on the connection that core/migrate.py opened, inside its transaction."""

from alembic import context

from agentsroom.core.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
)
context.run_migrations()
