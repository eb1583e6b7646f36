"""Tree search: a query and a shelf -> sections, picked by a model from titles and summaries. It never sees chunks.

Summaries are made once for each document and kept by its content's hash, so that a batch of thousands pays for them
once. A large outline is shown from the top: chapters first, then what is below the chosen ones. Where the model fails,
the caller searches by words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from circumspect.errors import ModelError
from circumspect.forms import make_form, make_list
from circumspect.knowledge.passages import sentences
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument
from circumspect.ports import Model
from circumspect.private_files import make_folder, write
from circumspect.prompts import prompt
from circumspect.review.shelf import Shelf, mark_section
from circumspect.review.values import read_spent
from circumspect.values import ChatMessage, ModelRequest, ModelUsage

AT_ONCE = 60
"""A larger outline is shown level by level."""
MOST_PICKED = 4
_BATCH = 25
_SHOWN = 700
_LEAD = 160

Summaries = Mapping[str, str]
"""By section id."""


class SummaryCache(Protocol):
    """Where summaries are kept, by a key that names the document's content, the model and the prompt."""

    async def get(self, key: str) -> Summaries | None: ...

    async def put(self, key: str, summaries: Summaries) -> None: ...


class MemoryCache:
    def __init__(self) -> None:
        self._kept: dict[str, Summaries] = {}

    async def get(self, key: str) -> Summaries | None:
        return self._kept.get(key)

    async def put(self, key: str, summaries: Summaries) -> None:
        self._kept[key] = summaries


class FileCache:
    """One small file for each document. One that cannot be read or written is as good as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    async def get(self, key: str) -> Summaries | None:
        try:
            kept = json.loads(self._file(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and all(isinstance(one, str) for one in kept.values()) else None

    async def put(self, key: str, summaries: Summaries) -> None:
        try:
            make_folder(self._folder)
            write(self._file(key), json.dumps(dict(summaries), ensure_ascii=False).encode())
        except OSError:
            return


@dataclass(frozen=True, slots=True)
class Picked:
    """`failed` says that the model could not be asked; what was paid for is in `calls` all the same."""

    sections: tuple[tuple[KnowledgeDocument, DocumentSection], ...]
    calls: tuple[ModelUsage, ...]
    failed: str = ""


# --- summaries ------------------------------------------------------------------------------------------------------


def leading(document: KnowledgeDocument, section: DocumentSection) -> str:
    """What a section is about with no model: how its own text begins."""
    own = document.quote(section.own)
    body = own.partition("\n")[2] if section.id else own
    first = next((" ".join(body[span.start : span.end].split()) for span in sentences(body)), "")
    return first if len(first) <= _LEAD else f"{first[:_LEAD]}…"


async def summarise(
    document: KnowledgeDocument, model: Model, cache: SummaryCache
) -> tuple[Summaries, tuple[ModelUsage, ...]]:
    """From the cache, or made now and put there. Sections that the model leaves out get their first words."""
    words = prompt("review_summary")
    key = f"{document.hash[:32]}-{_name(model)}-{words.id.rpartition('@')[2]}"
    kept = await cache.get(key)
    if kept is not None:
        return kept, ()
    sections = [section for section in document.sections() if section.id]
    made: dict[str, str] = {section.id: leading(document, section) for section in sections}
    calls: list[ModelUsage] = []
    try:
        for first in range(0, len(sections), _BATCH):
            batch = sections[first : first + _BATCH]
            reply = await model.complete(_summary_request(document, batch, words.id, words.text))
            calls.append(reply.usage)
            said = json.loads(reply.text).get("summaries", [])
            told = {one["id"]: " ".join(one["summary"].split()) for one in said}
            made |= {one.id: told[mark_section(one)] for one in batch if told.get(mark_section(one))}
    except ModelError as problem:
        calls.append(read_spent(problem, model.name))
        return made, tuple(calls)
    except (ValueError, TypeError, KeyError, AttributeError):
        return made, tuple(calls)
    await cache.put(key, made)
    return made, tuple(calls)


def _name(model: Model) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in model.name)[:80]


def _summary_request(
    document: KnowledgeDocument, batch: Sequence[DocumentSection], prompt_id: str, words: str
) -> ModelRequest:
    texts = "\n\n".join(
        f"[{mark_section(one)}] {' › '.join(one.path)}\n{document.quote(one.own)[:_SHOWN]}" for one in batch
    )
    item = make_form({"id": {"type": "string"}, "summary": {"type": "string"}})
    schema = make_form({"summaries": make_list(item)})
    said = (ChatMessage("user", f"Document: {document.title}\n\n{texts}"),)
    return ModelRequest("summarise", prompt_id, words, said, schema=schema, max_tokens=2000, temperature=0.0)


# --- picking --------------------------------------------------------------------------------------------------------


async def pick(query: str, shelf: Shelf, summaries: Mapping[str, Summaries], model: Model) -> Picked:
    """Sections that the model chose, likeliest first; chapters are gone into where they have parts."""
    calls: list[ModelUsage] = []
    whole = [(document, one) for document in shelf.documents.values() for one in document.sections() if one.id]
    shown = (
        whole if len(whole) <= AT_ONCE else [(document, one) for document, one in whole if one.level <= _depth(whole)]
    )
    try:
        chosen = await _choose(query, shown, summaries, model, calls)
        known = {(document.id, section.id) for document, section in shown}
        below = [(document, part) for document, one in chosen for part in one.walk()]
        deeper = [(document, part) for document, part in below if (document.id, part.id) not in known]
        if deeper:
            # A chapter whose parts are looked at now has said what it is for.
            leaves = [pair for pair in chosen if not pair[1].children]
            chosen = [*leaves, *await _choose(query, deeper, summaries, model, calls)] or chosen
    except ModelError as problem:
        calls.append(read_spent(problem, model.name))
        return Picked((), tuple(calls), problem.code)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        return Picked((), tuple(calls), type(problem).__name__)
    once = {(document.id, section.id): (document, section) for document, section in chosen}
    return Picked(tuple(once.values())[:MOST_PICKED], tuple(calls))


def _depth(pairs: Sequence[tuple[KnowledgeDocument, DocumentSection]]) -> int:
    """As deep as an outline of AT_ONCE lines goes, and one level at least."""
    depth = 1
    while sum(section.level <= depth + 1 for _, section in pairs) <= AT_ONCE:
        depth += 1
    return depth


async def _choose(
    query: str,
    shown: Sequence[tuple[KnowledgeDocument, DocumentSection]],
    summaries: Mapping[str, Summaries],
    model: Model,
    calls: list[ModelUsage],
) -> list[tuple[KnowledgeDocument, DocumentSection]]:
    words = prompt("review_search")
    several = len({document.id for document, _ in shown}) > 1
    lines: list[str] = []
    by_id: dict[str, tuple[KnowledgeDocument, DocumentSection]] = {}
    for document, section in shown:
        id_ = f"{document.id}#{mark_section(section)}" if several else mark_section(section)
        by_id[id_] = (document, section)
        page = f" (page {section.page})" if section.page else ""
        about = summaries.get(document.id, {}).get(section.id, "")
        lines.append(f"{'  ' * (section.level - 1)}[{id_}] {section.title}{page}{': ' if about else ''}{about}")
    schema = make_form({"sections": make_list({"type": "string"})})
    request = ModelRequest(
        "analyse", words.id, words.render(most=str(MOST_PICKED)),
        (ChatMessage("user", "\n".join(("Outline:", *lines, "", f"Looked for: {query}"))),),
        schema=schema, max_tokens=300, temperature=0.0,
    )  # fmt: skip
    reply = await model.complete(request)
    calls.append(reply.usage)
    named = json.loads(reply.text)["sections"]
    return [by_id[one] for one in named[:MOST_PICKED] if isinstance(one, str) and one in by_id]
