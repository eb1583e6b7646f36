"""A proposed verdict -> the verdict that stands. The one place where a status is allowed or taken back.

Whoever proposes, a model or our own rules, the same holds: MET and NOT_MET need a quote that is in the document, rest
on facts that are in the case with the values they have there, and are at least so sure. Confidence is never more than
that of the least sure field it rests on. Nothing here makes a verdict stronger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from circumspect.reasons import ReasonCode
from circumspect.review.citations import cite
from circumspect.review.shelf import Shelf
from circumspect.review.values import CaseEvidence, Citation, CriterionStatus, ReviewCase, flatten
from circumspect.values import Json

FLOOR = 0.65


class Unsaid:
    """A field was named without a value."""


UNSAID: Final = Unsaid()


@dataclass(frozen=True, slots=True)
class QuoteClaim:
    """Words that somebody says stand in a document."""

    quote: str
    document: str = ""
    section: str = ""
    """As `Shelf.find` reads it."""
    start: int | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class VerdictProposal:
    status: CriterionStatus
    confidence: float
    rationale: str
    claims: tuple[QuoteClaim, ...] = ()
    facts: tuple[tuple[str, Json | Unsaid], ...] = ()
    reason: ReasonCode | None = None
    """Why it abstains, where it does."""


@dataclass(frozen=True, slots=True)
class CheckedProposal:
    """A proposal next to what is really there."""

    proposal: VerdictProposal
    citations: tuple[Citation, ...]
    evidence: tuple[CaseEvidence, ...]
    lost_quotes: tuple[str, ...]
    lost_facts: tuple[str, ...]
    surest: float
    """No verdict can be surer than this: the least confidence of the fields it rests on."""

    @property
    def complaint(self) -> str:
        """What to tell the proposer; empty where everything was found."""
        said = [f"This quote is in no document: {quote[:200]!r}." for quote in self.lost_quotes]
        said += [f"The case has no field {name!r} with that value." for name in self.lost_facts]
        return " ".join(said)


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    status: CriterionStatus
    confidence: float
    reason: ReasonCode | None


def check(proposal: VerdictProposal, case: ReviewCase, shelf: Shelf) -> CheckedProposal:
    citations: dict[tuple[str, int, int], Citation] = {}
    lost_quotes: list[str] = []
    for claim in proposal.claims:
        named = shelf.find(f"{claim.document}#{claim.section.rpartition('#')[2]}") if claim.section else None
        section = named[1].id if named else ""
        found = cite(
            claim.quote, shelf.searchable, document=claim.document, section=section, start=claim.start, page=claim.page
        )
        if found is None:
            lost_quotes.append(claim.quote)
        else:
            citations.setdefault((found.document, found.start, found.end), found)
    evidence: dict[str, CaseEvidence] = {}
    lost_facts: list[str] = []
    for name, value in proposal.facts:
        found_fields = _fields(case, name, value)
        if not found_fields:
            lost_facts.append(name)
        evidence |= {one: CaseEvidence(one, case.fields[one].value) for one in found_fields}
    surest = min((case.fields[name].confidence for name in evidence), default=1.0)
    return CheckedProposal(
        proposal, tuple(citations.values()), tuple(evidence.values()), tuple(lost_quotes), tuple(lost_facts), surest
    )


def rule(checked: CheckedProposal, floor: float = FLOOR, objection: ReasonCode | None = None) -> CriterionVerdict:
    """The strictest reading of what was proposed and found; `objection` is what still speaks against it."""
    proposal = checked.proposal
    confidence = max(0.0, min(proposal.confidence, checked.surest, 1.0))
    if proposal.status == "UNCERTAIN":
        return CriterionVerdict("UNCERTAIN", confidence, proposal.reason or ReasonCode.ABSTAINED)
    if checked.lost_facts:
        return CriterionVerdict("UNCERTAIN", confidence, ReasonCode.EVIDENCE_NOT_FOUND)
    if objection is not None:
        return CriterionVerdict("UNCERTAIN", confidence, objection)
    if not checked.citations:
        return CriterionVerdict("UNCERTAIN", confidence, ReasonCode.CITATION_NOT_FOUND)
    if confidence < floor:
        return CriterionVerdict("UNCERTAIN", confidence, ReasonCode.LOW_CONFIDENCE)
    return CriterionVerdict(proposal.status, confidence, None)


def _fields(case: ReviewCase, name: str, value: Json | Unsaid) -> tuple[str, ...]:
    """The fields that are meant, if each is there and has that value; a name may stand for everything below it."""
    fields = case.under(name)
    if isinstance(value, Unsaid):
        return tuple(fields)
    if name in fields:
        return (name,) if _same(fields[name].value, value) else ()
    said = flatten(value, name)
    if not said or not all(one in fields and _same(fields[one].value, it) for one, it in said.items()):
        return ()
    return tuple(said)


def _same(real: Json, said: Json) -> bool:
    """Equal but for how it is written: 10 and "10.0", "Yes " and "yes"; never true and 1."""
    if isinstance(real, bool) or isinstance(said, bool):
        return str(real).casefold() == str(said).strip().casefold()
    if isinstance(real, Mapping) or isinstance(said, Mapping):
        return real == said
    if isinstance(real, list | tuple) and isinstance(said, list | tuple):
        return len(real) == len(said) and all(_same(one, two) for one, two in zip(real, said, strict=True))
    left, right = _number(real), _number(said)
    if left is not None and right is not None:
        return left == right
    return " ".join(str(real).split()).casefold() == " ".join(str(said).split()).casefold()


def _number(value: Json) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(str(value))
    except ValueError:
        return None
