"""A case, a criterion and a shelf -> a verdict with its proof, or the gap that nothing was proved across.

The world is closed. A verdict needs the whole of what was given to be read: the criterion, every sentence and heading
of the documents, every word of the rule that decides, and the one fact that each of its ends means. One sentence that
the grammar of `plain_rules` does not read, one fact that the rule speaks of and nobody looked at, one free text: each
may turn the answer round, and there is no verdict.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from circumspect.knowledge.passages import sentences
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, TextSpan
from circumspect.reasons import ReasonCode
from circumspect.review.citations import citation
from circumspect.review.linking import CaseFact, find_meant, list_facts
from circumspect.review.plain_rules import BoundRelation, PlainQuestion, PlainRule, find_stems, read_question, read_rule
from circumspect.review.shelf import Shelf
from circumspect.review.units import DAY, MONTH
from circumspect.review.values import Citation, Criterion, CriterionStatus, ReviewCase

_NUMBERED = re.compile(r"^\d+(?:\.\d+)*\.?\s+")
_NEUTRAL = find_stems("limit rule requirement policy handbook general time")
"""Of headings: they say that there are rules, not for whom."""
_DAYS = find_stems("day date")
_AGE = find_stems("age")


@dataclass(frozen=True, slots=True)
class PolicySentence:
    document: KnowledgeDocument
    section: DocumentSection
    span: TextSpan
    text: str
    rule: PlainRule | None

    @property
    def citation(self) -> Citation:
        return citation(self.document, self.span)


@dataclass(frozen=True, slots=True)
class Proof:
    status: CriterionStatus
    said: str
    sentences: tuple[PolicySentence, ...]
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProofGap:
    """Why there is no verdict, with the sentences that have a say and the facts that were found."""

    said: str
    reason: ReasonCode
    sentences: tuple[PolicySentence, ...] = ()
    fields: tuple[str, ...] = ()


def list_sentences(shelf: Shelf) -> tuple[PolicySentence, ...]:
    """Everything that the documents say below their headings; read once for each shelf."""
    return shelf.once(("sentences",), lambda: tuple(_walk(shelf)))


def _walk(shelf: Shelf) -> Iterator[PolicySentence]:
    for document in shelf.documents.values():
        for section in document.sections():
            own = document.quote(section.own)
            start = own.find("\n") + 1 if section.id else 0
            if section.id and not start:
                continue
            for span in sentences(own[start:], section.own.start + start):
                text = document.quote(span)
                yield PolicySentence(document, section, span, text, read_rule(text))


def prove(case: ReviewCase, criterion: Criterion, shelf: Shelf) -> Proof | ProofGap:
    everything = list_sentences(shelf)
    question = read_question(criterion.text)
    if question is None:
        return ProofGap("The criterion asks for more than whether a plain bound is kept.", ReasonCode.ABSTAINED)
    facts = list_facts(case)
    read = [(one, _link(one.rule, facts, question)) for one in everything if one.rule]
    asked = [(one, link) for one, link in read if link.is_asked]
    if not asked:
        missing = [one for one, link in read if question.about & link.rule.about]
        if missing and len(missing) == len(everything):
            said = "The rule was found, but the case does not name the fact that it measures."
            return ProofGap(said, ReasonCode.FACT_ABSENT, tuple(missing))
        return ProofGap("No sentence is a plain bound on what the criterion asks about.", ReasonCode.ABSTAINED)
    rules, fields = tuple(one for one, _ in asked), tuple(name for _, link in asked for name in link.fields)

    def leave_open(said: str, reason: ReasonCode, *others: PolicySentence) -> ProofGap:
        return ProofGap(said, reason, (*rules, *others), fields)

    if unread := [one for one in everything if one.rule is None]:
        said = f"A plain bound was found, but code cannot read everything beside it (sentences left: {len(unread)})."
        return leave_open(said, ReasonCode.EXCEPTION_POSSIBLE, *_put_nearest_first(unread, asked[0][0]))
    measured = {link.rule.unit.measures for _, link in asked}
    if rivals := [one for one, link in read if not link.fields and link.rule.unit.measures in measured]:
        said = "Another rule is in the same unit, and the case does not say what it measures."
        return leave_open(said, ReasonCode.FACT_ABSENT, *rivals)
    links = [link for _, link in asked]
    kinds = _find_kinds(facts, links)
    if gap := _find_unexplained(shelf, question, links, kinds):
        said = f"A plain bound was found, but nothing in the case speaks of: {gap}."
        return leave_open(said, ReasonCode.FACT_ABSENT)
    if fact := _find_unweighed(case, criterion, facts, links, kinds):
        said = f"A plain bound was found, but code cannot weigh this part of the case: {fact}."
        return leave_open(said, ReasonCode.ABSTAINED)
    if question.asks_most and any(how in ("at_least", "above") for link in links for how, _ in link.rule.limits):
        return leave_open("Whether something is exceeded was asked, and there is a least.", ReasonCode.ABSTAINED)
    answers = {link.holds for link in links}
    if len(answers) > 1 or None in answers:
        return leave_open("; ".join(link.said for link in links), ReasonCode.ABSTAINED)
    return Proof("MET" if True in answers else "NOT_MET", "; ".join(link.said for link in links), rules, fields)


# --- linking a rule to the case -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Link:
    rule: PlainRule
    used: tuple[CaseFact, ...] = ()
    """Empty where the case does not have what the rule measures."""
    is_asked: bool = False
    holds: bool | None = None
    said: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(fact.name for fact in self.used)

    @property
    def explained(self) -> frozenset[str]:
        return frozenset[str]().union(*(fact.path for fact in self.used), _DAYS if self.rule.way else ())


def _link(rule: PlainRule, facts: tuple[CaseFact, ...], question: PlainQuestion) -> _Link:
    if rule.way:
        return _link_period(rule, facts, question)
    fact = find_meant(facts, rule.about | {rule.counted}, "number")
    if fact is None:
        return _Link(rule)
    asked = bool(fact.own) and fact.own <= question.about
    beside = [one for one in facts if one is not fact and one.parent == fact.parent and one.unit == fact.unit]
    if fact.amount is None or (fact.unit and any(one.kind == "number" for one in beside)):
        return _Link(rule, (fact,), asked, None, f"{fact.name} cannot be told from what stands beside it")
    value = _convert(fact, rule)
    if value is None or (value < 0 and rule.unit.measures != "temperature"):
        return _Link(rule, (fact,), asked, None, f"{fact.name} is not in the unit of the rule")
    holds = all(_keeps(value, relation, limit * rule.unit.factor) for relation, limit in rule.limits)
    return _Link(rule, (fact,), asked, holds, f"{fact.name} against {_describe_limits(rule)}")


def _convert(fact: CaseFact, rule: PlainRule) -> Fraction | None:
    assert fact.amount is not None
    if fact.unit is None:
        counts = rule.counted in fact.own
        years = fact.own & _AGE and rule.unit.measures == "months" and rule.unit.factor == 12
        return fact.amount * rule.unit.factor if counts or years else None
    return fact.amount * fact.unit.factor if fact.unit.measures == rule.unit.measures else None


def _link_period(rule: PlainRule, facts: tuple[CaseFact, ...], question: PlainQuestion) -> _Link:
    anchor = find_meant(facts, rule.anchor, "date")
    subject = find_meant(facts, rule.about, "date")
    if anchor is None or subject is None or anchor is subject:
        return _Link(rule)
    assert anchor.on is not None
    assert subject.on is not None
    asked = bool(subject.own) and subject.own <= question.about
    earlier, later = (subject.on, anchor.on) if rule.way == "before" else (anchor.on, subject.on)
    said = f"{subject.name} and {anchor.name} against {_describe_limits(rule)} {rule.way}"
    return _Link(rule, (subject, anchor), asked, _lies_within(earlier, later, rule), said)


def _lies_within(earlier: date, later: date, rule: PlainRule) -> bool | None:
    """None where it is on the other side of the anchor, or where the calendar leaves the last day open."""
    if later < earlier or any(limit.denominator != 1 or limit > 10_000 for _, limit in rule.limits):
        return None
    days = (later - earlier).days
    if rule.unit.measures == "business days":
        return _bound_business_days(days, rule)
    if rule.unit.measures == MONTH.measures:
        ends = [(relation, _add_months(earlier, int(limit * rule.unit.factor))) for relation, limit in rule.limits]
        if any(end is None for _, end in ends):
            return None
        return all(_keeps(Fraction(days), how, Fraction((end - earlier).days)) for how, end in ends if end)
    if rule.unit.measures != DAY.measures or rule.unit.factor < 1:
        return None
    return all(_keeps(Fraction(days), how, limit * rule.unit.factor) for how, limit in rule.limits)


def _bound_business_days(days: int, rule: PlainRule) -> bool | None:
    """There are never more business days than days; how many fewer, no calendar here says."""
    (relation, limit), *more = rule.limits
    if more or days >= limit:
        return None
    return {"at_most": True, "below": True, "at_least": False, "above": False}[relation]


def _add_months(start: date, months: int) -> date | None:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if year > date.max.year or start.day > calendar.monthrange(year, month + 1)[1]:
        return None
    return start.replace(year=year, month=month + 1)


def _keeps(value: Fraction, relation: BoundRelation, limit: Fraction) -> bool:
    match relation:
        case "at_most":
            return value <= limit
        case "at_least":
            return value >= limit
        case "below":
            return value < limit
        case "above":
            return value > limit


def _describe_limits(rule: PlainRule) -> str:
    unit = rule.counted or rule.unit.measures
    return " and ".join(f"{relation.replace('_', ' ')} {float(limit):g} ({unit})" for relation, limit in rule.limits)


# --- what was left unread -------------------------------------------------------------------------------------------


def _find_unexplained(shelf: Shelf, question: PlainQuestion, links: list[_Link], kinds: tuple[CaseFact, ...]) -> str:
    """Words of the rules, the criterion or a heading that neither the case nor the others account for."""
    named = frozenset[str]().union(*(link.explained for link in links))
    known = named.union(question.about, *(fact.texts for fact in kinds))
    said = frozenset[str]().union(*(link.rule.said for link in links))
    gaps = (said - known) | (question.about - said - named)
    for title, below in shelf.once(("headings",), lambda: _read_headings(shelf)):
        gaps |= title - _NEUTRAL - known - said - below
    return ", ".join(sorted(gaps))


def _read_headings(shelf: Shelf) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """The words of every heading, and those of the rules right below it."""
    said: dict[tuple[str, str], frozenset[str]] = {}
    for one in list_sentences(shelf):
        key = one.document.id, one.section.id
        said[key] = said.get(key, frozenset()) | (one.rule.said if one.rule else frozenset())
    return tuple(
        (find_stems(_NUMBERED.sub("", section.title)), said.get((document.id, section.id), frozenset()))
        for document in shelf.documents.values()
        for section in document.sections()
        if section.id
    )


def _find_kinds(facts: tuple[CaseFact, ...], links: list[_Link]) -> tuple[CaseFact, ...]:
    """The facts that say what the case is of (`claim.kind: trip`), where the rules speak of that thing and kind."""
    said = frozenset[str]().union(*(link.rule.said for link in links))
    kinds = [fact for fact in facts if fact.says_kind and fact.texts <= said]
    return tuple(fact for fact in kinds if not fact.parent or (fact.path - fact.own) & said)


def _find_unweighed(
    case: ReviewCase, criterion: Criterion, facts: tuple[CaseFact, ...], links: list[_Link], kinds: tuple[CaseFact, ...]
) -> str:
    """A part of the case that may bear on the answer and that no rule used."""
    if case.notes:
        return "its free texts"
    said = frozenset[str]().union(*(link.rule.said for link in links))
    used = {name for link in links for name in link.fields} | {fact.name for fact in kinds}
    wanted = {name for path in criterion.facts for name in case.under(path)}
    for fact in facts:
        if fact.name in used:
            continue
        spoken_of = bool(fact.own) and fact.own <= said and not fact.is_true
        if fact.is_long or spoken_of or fact.name in wanted:
            return fact.name
    return ""


def _put_nearest_first(unread: Sequence[PolicySentence], rule: PolicySentence) -> list[PolicySentence]:
    """Those of the rule's own section before the others."""
    return sorted(unread, key=lambda one: (one.document is not rule.document, one.section is not rule.section))
