"""What Alembic runs to upgrade. `schema.py` hands over the connection, already inside its transaction."""

from alembic import context

from circumspect.stores.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
