"""`Library`: a tenant's documents, and the passages in them that answer a query.

    library = Library(store)
    await library.put(tenant, read_document(path.read_bytes(), path.name))
    passages = await library.search(tenant, "can I get my money back?")

Search is by words and pieces of words, which needs nothing but the database. With an `embedder` the score by
meaning is added to the score by words; when the embedder fails, words alone answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from circumspect.errors import ModelError, ModelRefused
from circumspect.knowledge import ranking
from circumspect.knowledge.semantic import AT_ONCE, Embedder, nearest, pack_vector
from circumspect.knowledge.tree import KnowledgeDocument, TextSpan
from circumspect.language.detection import find_language
from circumspect.stores import knowledge as rows
from circumspect.stores.engine import Transactions
from circumspect.stores.knowledge import DocumentRow, PassageRow

log = logging.getLogger(__name__)

SearchMethod = Literal["words", "meaning", "both"]

_DEPTH = 30
LONGEST_QUERY = 2_000


@dataclass(frozen=True, slots=True)
class LibraryPassage:
    """`document` and `section` are ids; `text` is the document's text at `span`. `score` is between 0 and 1."""

    document: str
    title: str
    section: str
    path: tuple[str, ...]
    page: int | None
    span: TextSpan
    text: str
    score: float
    method: SearchMethod


class Library:
    def __init__(self, store: Transactions, *, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder

    async def put(self, tenant: str, document: KnowledgeDocument) -> None:
        """Make it findable. A document of the same id is replaced, at once and whole."""
        ids = await self._store.tx(rows.put, tenant, document, language_of(document.text))
        if self._embedder is None:
            return
        await self._embed(self._embedder, tenant, ids)

    async def catch_up(self) -> int:
        """Embed what was put in without this embedder, for all tenants. How many passages there were. Raises
        `ModelError`, with what was done until then kept."""
        done = 0
        if self._embedder is None:
            return done
        while waiting := await self._store.tx(rows.without_vectors, self._embedder.name, AT_ONCE):
            for tenant, ids in waiting.items():
                await self._embed(self._embedder, tenant, ids)
                done += len(ids)
        return done

    async def _embed(self, embedder: Embedder, tenant: str, ids: Sequence[int]) -> None:
        found = await self._store.tx(rows.get_passages, tenant, ids)
        texts = {id_: " › ".join((*one.path, one.text)) for id_, one in found.items()}
        try:
            stored = [
                (id_, pack_vector(vector))
                for id_, vector in zip(texts, await embedder.embed([*texts.values()]), strict=True)
            ]
        except ModelRefused:
            if len(ids) > 1:
                for id_ in ids:
                    await self._embed(embedder, tenant, [id_])
                return
            # An endpoint that takes no text at all has the wrong key or name: that says nothing about this one.
            await embedder.embed(["a"])
            # This one it will never take. Nothing is near to an empty vector.
            log.warning("a passage has no embedding; words find it", extra={"tenant": tenant})
            stored = [(id_, b"") for id_ in ids]
        await self._store.tx(rows.set_vectors, tenant, embedder.name, stored)

    async def remove(self, tenant: str, document: str) -> bool:
        """Whether there was one."""
        return await self._store.tx(rows.remove, tenant, document)

    async def documents(self, tenant: str) -> Sequence[DocumentRow]:
        return await self._store.tx(rows.list_documents, tenant)

    async def document(self, tenant: str, document: str) -> KnowledgeDocument | None:
        return await self._store.tx(rows.get, tenant, document)

    async def search(
        self, tenant: str, query: str, limit: int = 5, language: str | None = None
    ) -> Sequence[LibraryPassage]:
        """The best passages, the best first; none where nothing like the query's words occurs.

        `language` prefers documents in it: others are asked only where those have none of the words."""
        query = query[:LONGEST_QUERY]
        meant = await self._embed_query(query)
        ordered = await self._store.tx(_rank_pieces, tenant, query, meant, language)
        if language is not None and all(method == "meaning" for _, _, method in ordered):
            ordered = await self._store.tx(_rank_pieces, tenant, query, meant, None)
        ordered = ordered[:limit]
        found = await self._store.tx(rows.get_passages, tenant, [id_ for id_, _, _ in ordered])
        # One that was replaced between the two transactions is not there any more.
        return [_passage(found[id_], score, method) for id_, score, method in ordered if id_ in found]

    async def _embed_query(self, query: str) -> _Meant | None:
        if self._embedder is None or not query.strip():
            return None
        try:
            (vector,) = await self._embedder.embed([query])
        except ModelError as error:
            log.warning("search by meaning failed (%s); words alone answer", error.code)
            return None
        return _Meant(self._embedder.name, vector)


@dataclass(frozen=True, slots=True)
class _Meant:
    """A query as an embedder reads it."""

    embedder: str
    vector: Sequence[float]


def language_of(text: str) -> str:
    """The language that most of the letters are of; empty where there are none."""
    return find_language(text[:20_000]) or ""


def _by_words(connection: sa.Connection, tenant: str, query: str, language: str | None) -> list[tuple[int, float]]:
    wanted = ranking.query(query)
    candidates = rows.candidates(connection, tenant, wanted, language)
    scored = zip(candidates, ranking.scores(wanted, candidates), strict=True)
    ranked = sorted(((one.id, score) for one, score in scored if score), key=lambda pair: (-pair[1], pair[0]))
    return ranked[:_DEPTH]


def _rank_pieces(
    connection: sa.Connection, tenant: str, query: str, meant: _Meant | None, language: str | None
) -> list[tuple[int, float, SearchMethod]]:
    """By the sum of both scores, which are on one scale. In the store's thread, because comparing with thousands of
    vectors takes its time."""
    words = dict(_by_words(connection, tenant, query, language))
    meaning: dict[int, float] = {}
    if meant is not None:
        stored = rows.vectors(connection, tenant, meant.embedder, language)
        meaning = dict(nearest(meant.vector, stored, _DEPTH))

    scores = {id_: words.get(id_, 0.0) + meaning.get(id_, 0.0) for id_ in (*words, *meaning)}

    def method(id_: int) -> SearchMethod:
        return "both" if id_ in words and id_ in meaning else "words" if id_ in words else "meaning"

    ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [(id_, min(1.0, scores[id_]), method(id_)) for id_ in ranked]


def _passage(found: PassageRow, score: float, method: SearchMethod) -> LibraryPassage:
    return LibraryPassage(
        found.document, found.title, found.section, found.path, found.page, found.span, found.text, score, method
    )
