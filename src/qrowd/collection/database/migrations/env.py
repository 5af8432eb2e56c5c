"""Alembic's way in: runs migrations on the connection that `opening` opened."""

from alembic import context

from qrowd.collection.database.opening import connection_of
from qrowd.collection.database.schema import metadata

context.configure(
    connection=connection_of(context.config), target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
