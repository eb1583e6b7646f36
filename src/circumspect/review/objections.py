"""A proposed verdict beside its reason, its quotes and the facts that were read -> what speaks against it.

A model may quote a real sentence that is about something else, name facts that it never looked at, or give one verdict
and argue for another. Each is told to it once; a verdict that something still speaks against does not stand.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from circumspect.knowledge.terms import query_terms, terms
from circumspect.language.detection import find_language
from circumspect.language.pack import compile_words, packs
from circumspect.reasons import ReasonCode
from circumspect.review.proof import Proof, prove
from circumspect.review.shelf import Shelf
from circumspect.review.values import Citation, Criterion, CriterionStatus, ReviewCase
from circumspect.review.verdict import CheckedProposal

_NAME = re.compile(r"[._\-\s]+|(?<=[a-z])(?=[A-Z])")
_FIGURE = re.compile(r"\d")
_SAID = re.compile(r"\b(NOT[_ ]MET|MET|UNCERTAIN)\b")
_COMPARED = re.compile(
    r"(?<![\w.,/:-])(?P<left>\d+(?:\.\d+)?)(?P<unit>(?: [^\W\d_]+)??) (?:(?:is|are|was|were) )?"
    r"(?P<sign>less than|fewer than|below|under|more than|greater than|above|over|exceeds?|(?:do|does|did) not exceed|"
    r"at most|at least|<=|>=|<|>|≤|≥) "
    r"(?:the (?:limit of |maximum of |minimum of )?)?(?P<right>\d+(?:\.\d+)?)(?![\w/:-]|[.,]\d)"
    r"(?P<other>(?: [^\W\d_]+)?)",
    re.IGNORECASE,
)
"""Two plain numbers and how they stand to each other; dates, amounts with thousands and denials are none."""


@dataclass(frozen=True, slots=True)
class Objection:
    reason: ReasonCode
    said: str


def list_objections(
    checked: CheckedProposal, case: ReviewCase, criterion: Criterion, shelf: Shelf, read: Collection[str]
) -> tuple[Objection, ...]:
    """None against a verdict that is open anyway. `read` are the fields whose values were shown."""
    proposal = checked.proposal
    if proposal.status == "UNCERTAIN":
        return ()
    found: list[Objection] = []
    if not proposal.facts:
        said = "No fact is named: put the fields that the verdict rests on into evidence."
        found.append(Objection(ReasonCode.EVIDENCE_NOT_FOUND, said))
    if unread := [one.field for one in checked.evidence if one.field not in read]:
        said = f"These fields were named and never read: {', '.join(unread)}."
        found.append(Objection(ReasonCode.EVIDENCE_NOT_FOUND, said))
    if not proposal.claims:
        found.append(Objection(ReasonCode.CITATION_NOT_FOUND, "No sentence is quoted: quote the one that decides."))
    if checked.citations and not keep_bearing(checked, criterion).citations:
        said = "No quote is about what the criterion asks: quote the sentence that decides it."
        found.append(Objection(ReasonCode.CITATION_BESIDE_POINT, said))
    argued = read_verdicts(proposal.rationale)
    if argued and proposal.status not in argued:
        said = f"The status is {proposal.status}, but the rationale argues for {' and '.join(sorted(argued))}."
        found.append(Objection(ReasonCode.VERDICT_CONTRADICTED, said))
    if wrong := find_wrong_comparison(proposal.rationale):
        said = f"The rationale says {wrong!r}, which is not so: compare again."
        found.append(Objection(ReasonCode.VERDICT_CONTRADICTED, said))
    proof = prove(case, criterion, shelf)
    if isinstance(proof, Proof) and proof.status != proposal.status:
        said = f"The figures say {proof.status}: {proof.said}."
        found.append(Objection(ReasonCode.VERDICT_CONTRADICTED, said))
    return tuple(found)


def read_verdicts(rationale: str) -> frozenset[CriterionStatus]:
    """The verdicts that a reason speaks of in so many words, in any of our languages."""
    found: set[CriterionStatus] = set()
    for hit in _SAID.finditer(rationale):
        word = hit[1].replace(" ", "_")
        found.add("UNCERTAIN" if word == "UNCERTAIN" else "NOT_MET" if word == "NOT_MET" else "MET")
    rest, denials = _says_not_met().subn(" ", " ".join(rationale.casefold().split()))
    if denials:
        found.add("NOT_MET")
    if _says_met().search(rest):
        found.add("MET")
    return frozenset(found)


def find_wrong_comparison(rationale: str) -> str:
    """The first comparison of two numbers in it that is not so: "342 is less than 300"."""
    for hit in _COMPARED.finditer(rationale):
        # Grams and kilograms are not compared here, and a word behind the second number need not be a unit.
        if hit["unit"].strip() not in ("", hit["other"].strip()):
            continue
        if not _HOLDS[_sign_of(hit["sign"])](float(hit["left"]), float(hit["right"])):
            return hit[0].strip()
    return ""


def _sign_of(said: str) -> str:
    word = said.casefold()
    if word in ("<=", "≤", "at most") or word.endswith("not exceed"):
        return "<="
    if word in (">=", "≥", "at least"):
        return ">="
    return "<" if word in ("<", "less than", "fewer than", "below", "under") else ">"


_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


@cache
def _says_not_met() -> re.Pattern[str]:
    return compile_words(one.assessment.says_not_met for one in packs())


@cache
def _says_met() -> re.Pattern[str]:
    return compile_words(one.assessment.says_met for one in packs())


def keep_bearing(checked: CheckedProposal, criterion: Criterion) -> CheckedProposal:
    """Without the quotes that have nothing to do with the criterion."""
    names = " ".join(word for name in criterion.facts for word in _NAME.split(name))
    asked = " ".join((criterion.text, *criterion.hints))
    wanted = frozenset((*query_terms(asked), *query_terms(names)))
    return replace(checked, citations=tuple(one for one in checked.citations if _bears(one, asked, wanted)))


def _bears(citation: Citation, asked: str, wanted: frozenset[str]) -> bool:
    """It has a word of the criterion, or of a fact that the criterion names; or it is a figure under a heading that has
    one. Words of two languages cannot be compared: such a quote is left to whoever reads it."""
    languages = {find_language(citation.quote), find_language(asked)} - {None}
    if len(languages) > 1:
        return True
    if wanted & set(terms(citation.quote)):
        return True
    return bool(_FIGURE.search(citation.quote)) and bool(
        wanted & set(terms(" ".join(citation.path[1:] or citation.path)))
    )
