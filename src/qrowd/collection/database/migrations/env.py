"""Alembic's way in: runs migrations on the connection that `opening` opened."""

from alembic import context

from qrowd.collection.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
