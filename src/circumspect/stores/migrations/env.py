"""What Alembic runs to upgrade. `schema.py` hands over the connection, already inside its transaction."""

from alembic import context

from circumspect.stores import review_tables  # noqa: F401
from circumspect.stores.knowledge_tables import FTS
from circumspect.stores.search_tables import MESSAGE_WORDS
from circumspect.stores.tables import metadata


def _ours(name: str | None, kind: str, _parents: object) -> bool:
    """SQLite keeps a full-text table in several of its own, which metadata does not know, nor an index of words."""
    return name is None or not (
        (kind == "table" and name.startswith((FTS, MESSAGE_WORDS))) or (kind == "index" and name == "ix_messages_words")
    )


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_name=_ours,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
