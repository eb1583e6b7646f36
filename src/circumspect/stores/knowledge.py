"""Documents and passages in the database: put, remove, read, and find candidates. Plain functions on a connection.

Every query names the tenant. What a person typed reaches the database only as terms, which are letters and digits and
nothing else, quoted all the same; there is no way to write full-text syntax. The candidates of a query are the best by
the database's own rank and, on PostgreSQL, whose rank does not know rare words, some for each word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.knowledge.passages import cut
from circumspect.knowledge.ranking import Candidate, Query, grams
from circumspect.knowledge.terms import terms
from circumspect.knowledge.tree import KnowledgeDocument, SectionHeading, TextSpan, grow
from circumspect.stores.codec import check_identifiers
from circumspect.stores.knowledge_tables import documents, passages
from circumspect.stores.statements import run, sql

POOL = 200
PER_WORD = 40


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document without its text."""

    id: str
    title: str
    media_type: str
    hash: str
    language: str
    characters: int
    pages: int


@dataclass(frozen=True, slots=True)
class PassageRow:
    document: str
    title: str
    section: str
    path: tuple[str, ...]
    page: int | None
    span: TextSpan
    text: str


# --- writing --------------------------------------------------------------------------------------------------------


def put(connection: sa.Connection, tenant: str, document: KnowledgeDocument, language: str) -> list[int]:
    """The ids of its passages, in reading order. A document of the same id is replaced."""
    check_identifiers(tenant, document.id)
    remove(connection, tenant, document.id)
    headings = [[section.span.start, section.level, section.title] for section in document.sections() if section.id]
    connection.execute(
        documents.insert(),
        {
            "tenant": tenant,
            "id": document.id,
            "title": document.title,
            "media_type": document.media_type,
            "hash": document.hash,
            "language": language,
            "text": document.text,
            "headings": headings,
            "pages": [[page.start, page.end] for page in document.pages],
        },
    )
    rows = _rows(tenant, document)
    if connection.dialect.name == "postgresql":
        for row in rows:
            row["terms"] = f"{row['head']} {row['body']} {row['grams']}"
    if rows:
        connection.execute(_INSERT[connection.dialect.name], rows)
    mine = sa.select(passages.c.id).where(passages.c.tenant == tenant, passages.c.document == document.id)
    return list(connection.execute(mine.order_by(passages.c.first)).scalars())


_INSERT = {
    "sqlite": passages.insert(),
    "postgresql": passages.insert().values(search=sa.func.to_tsvector("simple", sa.bindparam("terms", type_=sa.Text))),
}


def _rows(tenant: str, document: KnowledgeDocument) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for piece in cut(document):
        text = document.quote(piece.span)
        head = " ".join(dict.fromkeys((document.title, *piece.section.path)))
        rows.append(
            {
                "tenant": tenant,
                "document": document.id,
                "section": piece.section.id,
                "path": list(piece.section.path),
                "page": document.page_of(piece.span.start),
                "first": piece.span.start,
                "last": piece.span.end,
                "scope": _scope(tenant),
                "head": " ".join(terms(head)),
                "body": " ".join(terms(text)),
                "grams": " ".join(grams(f"{head} {text}")),
            }
        )
    return rows


def _scope(tenant: str) -> str:
    """The tenant as one word of the index, so that a search reads no other tenant's entries."""
    return "t" + hashlib.sha256(tenant.encode()).hexdigest()[:24]


def remove(connection: sa.Connection, tenant: str, document: str) -> bool:
    done = connection.execute(documents.delete().where(documents.c.tenant == tenant, documents.c.id == document))
    return done.rowcount > 0


def set_vectors(connection: sa.Connection, tenant: str, embedder: str, vectors: Sequence[tuple[int, bytes]]) -> None:
    for passage, vector in vectors:
        connection.execute(
            passages.update()
            .where(passages.c.tenant == tenant, passages.c.id == passage)
            .values(embedder=embedder, vector=vector)
        )


def without_vectors(connection: sa.Connection, embedder: str, limit: int) -> dict[str, list[int]]:
    """Passages that this embedder has not seen, by tenant."""
    p = passages.c
    rows = connection.execute(
        sa.select(p.tenant, p.id).where(p.embedder.is_distinct_from(embedder)).order_by(p.id).limit(limit)
    )
    waiting: dict[str, list[int]] = {}
    for tenant, id_ in rows:
        waiting.setdefault(tenant, []).append(id_)
    return waiting


# --- reading --------------------------------------------------------------------------------------------------------


def list_documents(connection: sa.Connection, tenant: str) -> list[DocumentRow]:
    d = documents.c
    rows = connection.execute(
        sa.select(d.id, d.title, d.media_type, d.hash, d.language, sa.func.length(d.text), d.pages)
        .where(d.tenant == tenant)
        .order_by(d.id)
    )
    return [DocumentRow(*row[:6], pages=len(row[6])) for row in rows]


def get(connection: sa.Connection, tenant: str, document: str) -> KnowledgeDocument | None:
    row = connection.execute(
        sa.select(documents).where(documents.c.tenant == tenant, documents.c.id == document)
    ).one_or_none()
    if row is None:
        return None
    pages = tuple(TextSpan(start, end) for start, end in row.pages)
    headings = [SectionHeading(start, level, title) for start, level, title in row.headings]
    root = grow(row.text, row.title, headings, pages)
    return KnowledgeDocument(row.id, row.title, row.text, root, pages, row.media_type, row.hash)


_SQLITE = """
    SELECT p.id, p.head, p.body, p.grams
    FROM knowledge_words JOIN knowledge_passages p ON p.id = knowledge_words.rowid
    {languages}
    WHERE knowledge_words MATCH :match AND p.tenant = :tenant
    ORDER BY bm25(knowledge_words, 0.0, 1.0, 1.0, 0.3), p.id LIMIT :pool
"""
_POSTGRES = """
    SELECT p.id, p.head, p.body, p.grams FROM knowledge_passages p
    {languages}
    WHERE p.tenant = :tenant AND p.id IN (
        (SELECT id FROM knowledge_passages
         WHERE tenant = :tenant AND search @@ to_tsquery('simple', :every)
         ORDER BY ts_rank(search, to_tsquery('simple', :every)) DESC, id LIMIT :pool)
        UNION ALL
        (SELECT near.id FROM unnest(string_to_array(:words, ' ')) AS w(word) CROSS JOIN LATERAL
            (SELECT id FROM knowledge_passages
             WHERE tenant = :tenant AND search @@ to_tsquery('simple', w.word) ORDER BY id LIMIT :per_word) AS near)
    )
    ORDER BY p.id
"""
_LANGUAGES = "JOIN knowledge_documents d ON d.tenant = p.tenant AND d.id = p.document AND d.language = :language"
_STATEMENTS = {
    (dialect, narrowed): sql(text.format(languages=_LANGUAGES if narrowed else ""))
    for dialect, text in (("sqlite", _SQLITE), ("postgresql", _POSTGRES))
    for narrowed in (True, False)
}


def candidates(connection: sa.Connection, tenant: str, wanted: Query, language: str | None) -> list[Candidate]:
    if not wanted:
        return []
    quoted = [f'"{term}"' for term in (*wanted.terms, *wanted.grams)]
    values = {
        "tenant": tenant,
        "language": language,
        "pool": POOL,
        "per_word": PER_WORD,
        "match": f'scope : "{_scope(tenant)}" AND ({" OR ".join(quoted)})',
        "every": " | ".join(f"'{term}'" for term in (*wanted.terms, *wanted.grams)),
        "words": " ".join(wanted.terms),
    }
    rows = run(connection, _STATEMENTS[connection.dialect.name, language is not None], values).fetchall()
    return [Candidate(*row) for row in rows]


def get_passages(connection: sa.Connection, tenant: str, ids: Sequence[int]) -> dict[int, PassageRow]:
    p, d = passages.c, documents.c
    text = sa.func.substr(d.text, p.first + 1, p.last - p.first)
    rows = connection.execute(
        sa.select(p.id, p.document, d.title, p.section, p.path, p.page, p.first, p.last, text)
        .join(documents, sa.and_(d.tenant == p.tenant, d.id == p.document))
        .where(p.tenant == tenant, p.id.in_(ids))
    )
    return {
        id_: PassageRow(document, title, section, tuple(path), page, TextSpan(first, last), quote)
        for id_, document, title, section, path, page, first, last, quote in rows
    }


def vectors(
    connection: sa.Connection, tenant: str, embedder: str, language: str | None = None
) -> list[tuple[int, str, bytes]]:
    """Ids, languages and vectors of what this embedder has seen."""
    p, d = passages.c, documents.c
    seen = (
        sa.select(p.id, d.language, p.vector)
        .join(documents, sa.and_(d.tenant == p.tenant, d.id == p.document))
        .where(p.tenant == tenant, p.embedder == embedder)
        .order_by(p.id)
    )
    rows = connection.execute(seen if language is None else seen.where(d.language == language))
    return [(id_, spoken, bytes(vector)) for id_, spoken, vector in rows]
