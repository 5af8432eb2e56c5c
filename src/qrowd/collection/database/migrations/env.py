"""Alembic's way in: runs migrations on the connection that `upgrading` opened."""

from alembic import context

from qrowd.collection.database.schema import metadata
from qrowd.collection.database.versions import connection_of

context.configure(
    connection=connection_of(context.config), target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
