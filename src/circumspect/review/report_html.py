"""Results -> one HTML page: the verdicts, the texts of the cases, and the documents with every quote highlighted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.reports import render
from circumspect.review.report_text import summary
from circumspect.review.values import Citation, Criterion, CriterionResult, ReviewCase


def page(
    results: Sequence[CriterionResult],
    criteria: Mapping[str, Criterion],
    documents: Mapping[str, KnowledgeDocument],
    cases: Sequence[ReviewCase] = (),
) -> str:
    """`cases` for the free texts that came with them."""
    quoted = [citation for result in results for citation in result.citations]
    return render(
        "review",
        title=f"Review of {', '.join(dict.fromkeys(result.case for result in results)) or 'nothing'}",
        subtitle=summary(results),
        results=results,
        criteria=criteria,
        documents=[(document, list(_cut_at_quotes(document, quoted))) for document in documents.values()],
        notes=[(case.id, name, text) for case in cases for name, text in case.notes],
        make_id=_make_id,
        find_place=_find_place,
    )


def _cut_at_quotes(document: KnowledgeDocument, quoted: Sequence[Citation]) -> Iterator[tuple[str, list[str], str]]:
    """The text in order: what comes before a quote, the places of the quote, the quote."""
    at = 0
    for start, end, places in _merge_citations([one for one in quoted if one.document == document.id]):
        yield document.text[at:start], places, document.text[start:end]
        at = end
    yield document.text[at:], [], ""


def _merge_citations(citations: Sequence[Citation]) -> list[tuple[int, int, list[str]]]:
    """Quotes that overlap are marked as one, with the places of all of them."""
    merged: list[tuple[int, int, list[str]]] = []
    for citation in sorted(citations, key=lambda one: (one.start, one.end)):
        place = _find_place(citation)
        if merged and citation.start <= merged[-1][1]:
            start, end, places = merged[-1]
            merged[-1] = (start, max(end, citation.end), places if place in places else [*places, place])
        else:
            merged.append((citation.start, citation.end, [place]))
    return merged


def _find_place(citation: Citation) -> str:
    return _make_id("quote", citation.document, str(citation.start), str(citation.end))


def _make_id(*parts: str) -> str:
    return f"x{hashlib.sha256(chr(0).join(parts).encode('utf-8', 'replace')).hexdigest()[:16]}"
