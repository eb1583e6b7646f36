"""heuristic: a case, a criterion and a shelf -> a Result, with no model. Search, read, prove or abstain.

It decides what `proof` proves and nothing else. Everything else is UNCERTAIN, with the gap in the proof and the
sentences that a person should read. It is the offline default and the baseline to beat.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from circumspect.knowledge.terms import query_terms, terms
from circumspect.review.proof import PolicySentence, Proof, list_sentences, prove
from circumspect.review.shelf import Shelf, mark_section
from circumspect.review.values import Criterion, CriterionResult, ReviewCase, TraceStep
from circumspect.review.verdict import FLOOR, UNSAID, QuoteClaim, VerdictProposal, check, rule

RETRIEVED = 8
SHOWN = 3
_PROVED, _OPEN = 0.9, 0.3


def heuristic(
    case: ReviewCase,
    criterion: Criterion,
    shelf: Shelf,
    *,
    floor: float = FLOOR,
    watch: Callable[[TraceStep], None] | None = None,
) -> CriterionResult:
    began = time.monotonic()
    trace: list[TraceStep] = []

    def note(step: TraceStep) -> None:
        trace.append(step)
        if watch:
            watch(step)

    found = find_passages(criterion, shelf, note)
    proposal = _propose(case, criterion, shelf, found)
    note(TraceStep("thought", proposal.rationale))
    checked = check(proposal, case, shelf)
    verdict = rule(checked, floor)
    return CriterionResult(
        case.id, criterion.id, verdict.status, verdict.confidence, proposal.rationale, "heuristic",
        checked.citations, checked.evidence, verdict.reason, "", tuple(trace), (), time.monotonic() - began,
    )  # fmt: skip


def find_passages(criterion: Criterion, shelf: Shelf, note: Callable[[TraceStep], None]) -> Sequence[PolicySentence]:
    """The sentences that have most of the criterion's words, of the sections that a search by words finds."""
    queries = [criterion.text, *([" ".join(criterion.hints)] if criterion.hints else [])]
    for query in queries:
        note(TraceStep("action", "", "policy_search", {"query": query}))
    hits = [hit for query in queries for hit in shelf.search(query, RETRIEVED)]
    sections = {(hit.document.id, hit.section.id) for hit in hits}
    read = [one for one in list_sentences(shelf) if (one.document.id, one.section.id) in sections]
    titles = ", ".join(dict.fromkeys(one.section.title for one in read))
    note(TraceStep("observation", f"{len(read)} sentences in: {titles}", "policy_search"))
    rarity = shelf.once(("rarity",), lambda: _measure_rarity(shelf))
    wanted = query_terms(" ".join(queries))
    scored = [(_score(wanted, rarity, one), one) for one in read]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0])[:SHOWN] if score > 0]


def claim(one: PolicySentence) -> QuoteClaim:
    return QuoteClaim(one.text, one.document.id, mark_section(one.section), one.span.start)


def _propose(
    case: ReviewCase, criterion: Criterion, shelf: Shelf, passages: Sequence[PolicySentence]
) -> VerdictProposal:
    found = prove(case, criterion, shelf)
    facts = tuple((name, UNSAID) for name in found.fields)
    if isinstance(found, Proof):
        claims = tuple(claim(one) for one in found.sentences)
        return VerdictProposal(found.status, _PROVED, f"{found.status}: {found.said}.", claims, facts)
    shown = list(dict.fromkeys((*found.sentences[:SHOWN], *passages)))[: SHOWN + 1]
    return VerdictProposal("UNCERTAIN", _OPEN, found.said, tuple(claim(one) for one in shown), facts, found.reason)


def _score(wanted: Sequence[str], rarity: Mapping[str, float], one: PolicySentence) -> float:
    said = frozenset(terms(f"{' '.join(one.section.path[1:])} {one.text}"))
    return sum(rarity.get(term, 0.0) for term in wanted if term in said)


def _measure_rarity(shelf: Shelf) -> dict[str, float]:
    """By term, over all sections."""
    sections = [
        frozenset(terms(f"{section.title} {document.quote(section.own)}"))
        for document in shelf.documents.values()
        for section in document.sections()
    ]
    counted = Counter(term for section in sections for term in section)
    return {term: math.log(1 + len(sections) / count) for term, count in counted.items()}
