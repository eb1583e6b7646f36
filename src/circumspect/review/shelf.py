"""Shelf: the documents of a review, with everything that is looked up in them more than once.

Search is by words (SQLite FTS5, BM25, in memory): each section's own text is cut into pieces, reduced to the terms of
`knowledge.terms` and found again by those. A shelf is made once for a run and shared by all of its evaluations; it is
used from one thread at a time.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from circumspect.hashing import digest
from circumspect.knowledge.passages import cut, sentences
from circumspect.knowledge.terms import query_terms, terms
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, TextSpan
from circumspect.review.citations import Searchable, searchable

T = TypeVar("T")
_PRINTED = re.compile(r"(?:[A-Za-z]+\s+)?(\d+(?:\.\d+)*)\b")

MOST_TERMS = 48
TITLE_WEIGHT = 3.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A piece of a section. `score` is BM25's, greater is better."""

    document: KnowledgeDocument
    section: DocumentSection
    span: TextSpan
    score: float

    @property
    def text(self) -> str:
        return self.document.quote(self.span)


def mark_section(section: DocumentSection) -> str:
    """What a section is called where a model reads it. "s1.2" is the second part of the first heading, whatever number
    is printed before its title; a bare "1.2" always means the printed one."""
    return f"s{section.id}"


def _list_names(section: DocumentSection) -> tuple[str, ...]:
    printed = _PRINTED.match(section.title)
    return (mark_section(section), section.title.casefold(), *((printed[1],) if printed else ()))


class Shelf:
    def __init__(self, documents: Iterable[KnowledgeDocument]) -> None:
        self.documents: dict[str, KnowledgeDocument] = {document.id: document for document in documents}
        self._narrowed: dict[str, Shelf] = {}
        self._made: dict[tuple[str, ...], Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.documents)

    @cached_property
    def hash(self) -> str:
        return digest(sorted([document.id, document.hash] for document in self.documents.values()))

    @cached_property
    def searchable(self) -> dict[str, Searchable]:
        return {name: searchable(document) for name, document in self.documents.items()}

    def only(self, document: str | None) -> Shelf:
        """The same shelf with one document on it; made once for each."""
        if document is None or len(self.documents) == 1:
            return self
        if document not in self._narrowed:
            self._narrowed[document] = Shelf([self.documents[document]])
        return self._narrowed[document]

    def once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """What was made of these documents under that key, made now if it was not: thousands of cases ask for it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def find(self, reference: str) -> tuple[KnowledgeDocument, DocumentSection] | None:
        """A section by `document#section`, or by what only one section is called: its mark, its title, its number."""
        name, _, rest = reference.rpartition("#")
        documents = [self.documents[name]] if name in self.documents else list(self.documents.values())
        wanted = rest.strip().casefold()
        found = [
            (document, section)
            for document in documents
            for section in document.sections()
            if section.id and wanted in _list_names(section)
        ]
        return found[0] if len(found) == 1 else None

    def search(self, query: str, limit: int = 6) -> Sequence[Hit]:
        """The pieces that have most of the query's words, the best first."""
        wanted = query_terms(query)[:MOST_TERMS]
        if not wanted:
            return ()
        asked = " OR ".join(f'"{term}"' for term in wanted)
        rows = self._index.execute(
            "SELECT rowid, -bm25(pieces, ?, 1.0) FROM pieces WHERE pieces MATCH ? ORDER BY 2 DESC, 1 LIMIT ?",
            (TITLE_WEIGHT, asked, limit),
        )
        return tuple(Hit(*self._pieces[row], score) for row, score in rows)

    def tighten(
        self, section: DocumentSection, document: KnowledgeDocument, query: str, limit: int = 4
    ) -> Sequence[TextSpan]:
        """The sentences of a section that have most of the query's words, in reading order."""
        wanted = set(query_terms(query))
        spans = list(sentences(document.quote(section.span), section.span.start))
        scored = [(len(wanted & set(terms(document.quote(span)))), -index) for index, span in enumerate(spans)]
        best = sorted(((score, index) for score, index in scored if score), reverse=True)[:limit]
        return [spans[index] for index in sorted(-index for _, index in best)]

    @cached_property
    def _pieces(self) -> dict[int, tuple[KnowledgeDocument, DocumentSection, TextSpan]]:
        pieces = ((document, piece) for document in self.documents.values() for piece in cut(document))
        return {row: (document, piece.section, piece.span) for row, (document, piece) in enumerate(pieces, 1)}

    @cached_property
    def _index(self) -> sqlite3.Connection:
        index = sqlite3.connect(":memory:", check_same_thread=False)
        index.execute("CREATE VIRTUAL TABLE pieces USING fts5(head, body, tokenize='unicode61 remove_diacritics 0')")
        index.executemany(
            "INSERT INTO pieces (rowid, head, body) VALUES (?, ?, ?)",
            (
                (row, " ".join(terms(" ".join(section.path))), " ".join(terms(document.quote(span))))
                for row, (document, section, span) in self._pieces.items()
            ),
        )
        return index
