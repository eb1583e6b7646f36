"""The tables of documents and their passages, on the same metadata as all others.

A passage's terms are made by us and stored as text, so that both databases index and rank the same things: SQLite in
an FTS5 table that follows `knowledge_passages` by triggers, PostgreSQL in the `search` column, which SQLite leaves
empty. Alembic does not know FTS5 tables; `FTS` is their name, for `migrations/env.py` to leave alone.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR

from circumspect.stores.tables import JsonType, metadata

FTS = "knowledge_words"

documents = sa.Table(
    "knowledge_documents",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("headings", JsonType, nullable=False),
    sa.Column("pages", JsonType, nullable=False),
)

passages = sa.Table(
    "knowledge_passages",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("section", sa.Text, nullable=False),
    sa.Column("path", JsonType, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("grams", sa.Text, nullable=False),
    sa.Column("search", sa.Text().with_variant(TSVECTOR(), "postgresql")),
    sa.Column("embedder", sa.Text),
    sa.Column("vector", sa.LargeBinary),
    sa.ForeignKeyConstraint(
        ["tenant", "document"], ["knowledge_documents.tenant", "knowledge_documents.id"], ondelete="CASCADE"
    ),
    sa.Index("ix_knowledge_passages_tenant_document", "tenant", "document"),
)
# On SQLite, where the column is empty, so is the index.
sa.Index(
    "ix_knowledge_passages_search",
    passages.c.search,
    postgresql_using="gin",
    sqlite_where=sa.text("search IS NOT NULL"),
)

FTS_DDL = (
    "CREATE VIRTUAL TABLE knowledge_words USING fts5(scope, head, body, grams,"
    " content='knowledge_passages', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER knowledge_words_added AFTER INSERT ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (rowid, scope, head, body, grams)"
    " VALUES (new.id, new.scope, new.head, new.body, new.grams);"
    " END",
    "CREATE TRIGGER knowledge_words_removed AFTER DELETE ON knowledge_passages BEGIN"
    " INSERT INTO knowledge_words (knowledge_words, rowid, scope, head, body, grams)"
    " VALUES ('delete', old.id, old.scope, old.head, old.body, old.grams);"
    " END",
)
"""A passage's terms never change: it is added and removed, so there is no trigger for updates."""


def _on_sqlite(moment: str, statement: str) -> None:
    ddl: sa.schema.ExecutableDDLElement = sa.DDL(statement).execute_if(dialect="sqlite")  # type: ignore[no-untyped-call]
    sa.event.listen(passages, moment, ddl)


for _statement in FTS_DDL:
    _on_sqlite("after_create", _statement)
_on_sqlite("before_drop", "DROP TABLE IF EXISTS knowledge_words")
