"""How often search finds the section that answers: recall@5 and mean reciprocal rank, by language and method.

    python -m bench.retrieval [--embeddings openai:NAME@URL]

51 questions in each of three languages over the sample documents, worded as a customer would, not as the text is. The
methods before the last are what was tried: FTS5's own word, prefix and trigram search, and each half of ours alone.
With --embeddings two more are measured: that endpoint's cosines alone, and ours with its score added.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from circumspect.knowledge import ranking
from circumspect.knowledge.passages import cut
from circumspect.knowledge.ranking import Candidate, Query
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.search import Library
from circumspect.knowledge.semantic import Embedder, cosine, open_embedder
from circumspect.knowledge.terms import telling_words, terms
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.stores import SqlStore

LANGUAGES = ("en", "ru", "he")
SAMPLES = Path(__file__).parents[1] / "src/circumspect/demo/samples/documents"
QUESTIONS = Path(__file__).with_name("retrieval_questions.yaml")
DEPTH = 10

Find = Callable[[str], Awaitable[Sequence[str]]]
"""A question -> the sections found, as "terms 1.3", the best first."""


@dataclass(frozen=True, slots=True)
class Figures:
    recall: float
    mrr: float
    first: float
    milliseconds: float


def sample(language: str) -> list[KnowledgeDocument]:
    return [read_document(path.read_bytes(), path.name) for path in sorted((SAMPLES / language).glob("*.md"))]


def questions() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    return loaded


def _key(document: str, section: str) -> str:
    return f"{document.removesuffix('.md')} {section}"


def _pieces(documents: Sequence[KnowledgeDocument]) -> list[tuple[str, str, str]]:
    return [
        (_key(one.id, piece.section.id), " ".join((one.title, *piece.section.path)), one.quote(piece.span))
        for one in documents
        for piece in cut(one)
    ]


# --- methods --------------------------------------------------------------------------------------------------------


def fts(documents: Sequence[KnowledgeDocument], tokenizer: str, match: Callable[[str], list[str]]) -> Find:
    """FTS5 as it comes, with its own BM25."""
    base = sqlite3.connect(":memory:")
    base.execute(f'CREATE VIRTUAL TABLE t USING fts5(k UNINDEXED, head, body, tokenize="{tokenizer}")')
    base.executemany("INSERT INTO t VALUES (?, ?, ?)", _pieces(documents))

    async def find(question: str) -> Sequence[str]:
        wanted = " OR ".join(dict.fromkeys(match(question)))
        rows = base.execute("SELECT k FROM t WHERE t MATCH ? ORDER BY bm25(t, 0, 1, 1) LIMIT 30", (wanted,))
        return list(dict.fromkeys(key for (key,) in rows))

    return find


def _tokens(question: str) -> list[str]:
    """As the text would have them: no ending taken off, final letters as written."""
    telling = set(telling_words(question))
    return [word for word in re.findall(r"[^\W_]+", question.lower()) if set(telling_words(word)) & telling]


def whole(question: str) -> list[str]:
    return [f'"{word}"' for word in _tokens(question)]


def prefixes(question: str) -> list[str]:
    return [f'"{word[: max(4, len(word) - 2)]}"*' if len(word) >= 4 else f'"{word}"' for word in _tokens(question)]


def trigrams(question: str) -> list[str]:
    return [f'"{word[at : at + 3]}"' for word in _tokens(question) for at in range(len(word) - 2)]


def half(documents: Sequence[KnowledgeDocument], part: str) -> Find:
    """One of the two scores that ours adds up."""
    pieces = _pieces(documents)
    candidates = [
        Candidate(number, " ".join(terms(head)), " ".join(terms(body)), " ".join(ranking.grams(f"{head} {body}")))
        for number, (_, head, body) in enumerate(pieces)
    ]

    async def find(question: str) -> Sequence[str]:
        wanted = ranking.query(question)
        wanted = Query(wanted.terms, ()) if part == "terms" else Query((), wanted.grams)
        scored = zip(ranking.scores(wanted, candidates), pieces, strict=True)
        ranked = sorted(((score, key) for score, (key, _, _) in scored if score), key=lambda pair: -pair[0])
        return list(dict.fromkeys(key for _, key in ranked))

    return find


async def meaning(documents: Sequence[KnowledgeDocument], embedder: Embedder) -> Find:
    """The embeddings' order alone."""
    pieces = _pieces(documents)
    vectors = await embedder.embed([f"{head}\n{body}" for _, head, body in pieces])

    async def find(question: str) -> Sequence[str]:
        (wanted,) = await embedder.embed([question])
        near = [cosine(wanted, vector) for vector in vectors]
        ranked = sorted(range(len(pieces)), key=lambda number: -near[number])
        return list(dict.fromkeys(pieces[number][0] for number in ranked))

    return find


async def ours(
    documents: Sequence[KnowledgeDocument], store: SqlStore, tenant: str, *, embedder: Embedder | None = None
) -> Find:
    library = Library(store, embedder=embedder)
    for document in documents:
        await library.put(tenant, document)

    async def find(question: str) -> Sequence[str]:
        found = await library.search(tenant, question, limit=30)
        return list(dict.fromkeys(_key(passage.document, passage.section) for passage in found))

    return find


# --- figures --------------------------------------------------------------------------------------------------------


async def measured(find: Find, language: str) -> Figures:
    asked = questions()
    places: list[int | None] = []
    started = time.perf_counter()
    for question in asked:
        found = (await find(question[language]))[:DEPTH]
        places.append(next((place for place, key in enumerate(found, 1) if key in question["gold"]), None))
    spent = time.perf_counter() - started
    hits = [place for place in places if place]
    count = len(asked)
    return Figures(
        sum(place <= 5 for place in hits) / count,
        sum(1 / place for place in hits) / count,
        sum(place == 1 for place in hits) / count,
        1000 * spent / count,
    )


async def table(url: str, embedder: Embedder | None = None) -> dict[str, dict[str, Figures]]:
    """By method, by language."""
    store = await SqlStore.open(url)
    found: dict[str, dict[str, Figures]] = {}
    try:
        for language in LANGUAGES:
            documents = sample(language)
            words = "unicode61 remove_diacritics 2"
            methods: dict[str, Find] = {
                "FTS5 words": fts(documents, words, whole),
                "FTS5 words, porter": fts(documents, f"porter {words}", whole),
                "FTS5 prefixes": fts(documents, words, prefixes),
                "FTS5 trigrams": fts(documents, "trigram", trigrams),
                "reduced words alone": half(documents, "terms"),
                "pieces of words alone": half(documents, "grams"),
                "ours: both (default)": await ours(documents, store, language),
            }
            if embedder:
                methods["meaning alone"] = await meaning(documents, embedder)
                methods["ours with meaning"] = await ours(documents, store, f"{language} by meaning", embedder=embedder)
            for name, find in methods.items():
                found.setdefault(name, {})[language] = await measured(find, language)
    finally:
        await store.close()
    return found


def printed(found: dict[str, dict[str, Figures]]) -> str:
    lines = [
        "| method | "
        + " | ".join(f"{language} recall@5 | {language} MRR" for language in LANGUAGES)
        + " | ms a query |",
        "| --- |" + " ---: |" * (2 * len(LANGUAGES) + 1),
    ]
    for name, by_language in found.items():
        cells = [f"{figures.recall:.2f} | {figures.mrr:.2f}" for figures in by_language.values()]
        slowest = max(figures.milliseconds for figures in by_language.values())
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {slowest:.1f} |")
    return "\n".join(lines)


async def main(embedder: Embedder | None) -> None:
    passages = {language: len(_pieces(sample(language))) for language in LANGUAGES}
    print(f"{len(questions())} questions a language; passages: {passages}\n")
    with tempfile.TemporaryDirectory() as folder:
        print(printed(await table(f"sqlite:///{folder}/bench.db", embedder)))


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--embeddings", metavar="openai:NAME@URL", type=open_embedder)
    asyncio.run(main(given.parse_args().embeddings))
