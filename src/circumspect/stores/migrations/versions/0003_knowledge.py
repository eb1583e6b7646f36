"""Documents and their passages, with what each database needs to find words in them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_FTS = (
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


def upgrade() -> None:
    op.create_table(
        "knowledge_documents",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("headings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("pages", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_knowledge_documents")),
    )
    op.create_table(
        "knowledge_passages",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("section", sa.Text(), nullable=False),
        sa.Column("path", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("grams", sa.Text(), nullable=False),
        sa.Column("search", sa.Text().with_variant(TSVECTOR(), "postgresql"), nullable=True),
        sa.Column("embedder", sa.Text(), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "document"],
            ["knowledge_documents.tenant", "knowledge_documents.id"],
            name=op.f("fk_knowledge_passages_tenant_document_knowledge_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_knowledge_passages")),
    )
    op.create_index("ix_knowledge_passages_tenant_document", "knowledge_passages", ["tenant", "document"], unique=False)
    op.create_index(
        "ix_knowledge_passages_search",
        "knowledge_passages",
        ["search"],
        unique=False,
        postgresql_using="gin",
        sqlite_where=sa.text("search IS NOT NULL"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for statement in _FTS:
            op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE knowledge_words")
    op.drop_table("knowledge_passages")
    op.drop_table("knowledge_documents")
