"""heuristic: a case, a criterion and a shelf -> a Result, with no model. Think, retrieve, read, link, decide.

It decides only what is plainly there: a bound that the text states in digits, facts that the case names in the same
words, and no exception in sight that could turn the answer round. Everything else is UNCERTAIN, with the sentences that
a person should read. It is the offline default, the fallback when a model fails, and the baseline to beat.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from circumspect.knowledge.passages import sentences
from circumspect.knowledge.terms import query_terms, stem_word, telling_words, terms, words
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, TextSpan
from circumspect.reasons import ReasonCode
from circumspect.review.bounds import Period, Quantity, StatedBound, bounds
from circumspect.review.comparisons import Compared, Holds, compare
from circumspect.review.linking import CaseFacts, facts_of, is_said, mentions, name_tokens, stems
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, CriterionResult, CriterionStatus, ReviewCase, TraceStep
from circumspect.review.verdict import FLOOR, UNSAID, QuoteClaim, Unsaid, VerdictProposal, check, rule

RETRIEVED = 8
_RIVAL = 0.8
"""A rule whose words fit the criterion nearly as well as the best one's has a say."""
_FITTING = 0.35
_DUTY = re.compile(
    r"\b(?:shall|must|may|cannot|only if|is (?:accepted|reimbursed|required|authorised)|applies)\b", re.I
)
_IF = re.compile(r"(?<!only )\b(?:if|where|provided|unless|when|who|that)\b", re.IGNORECASE)
_EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|exempt|unless|instead|need not|not needed|(?:does|do) not (?:apply|extend)"
    r"|even if|whatever|replaces?|is sufficient|satisfies|is accepted if"
    r"|may be (?:authorised|given|submitted|returned|approved|booked))\b",
    re.IGNORECASE,
)
_RESTRICTION = re.compile(
    r"\b(?:(?:does|do) not (?:apply|count|cover|extend|replace)|instead of|cannot|not counted)\b",
    re.IGNORECASE,
)
_NOT_RULES = re.compile(
    r"\b(?:examples?|checklist|history|contents|glossary|foreword|preface|revision|change log)\b", re.IGNORECASE
)
_PLAIN = frozenset(
    words(
        "shall must may day days calendar business week weeks month months year years hour hours within least more than"
        " most fewer less made given kg km mg per cent euro following applies apply allowed accepted every each include"
        " includes including contain contains recorded old older age"
    )
)
"""They say how something binds or is counted, not what."""
_SECTION = re.compile(
    r"\b(?:sections?|chapters?|clauses?|articles?)\s+((?:\d+(?:\.\d+)*)(?:\s*(?:,|and|or|to)\s*\d+(?:\.\d+)*)*)"
)
_OR = re.compile(r"\bor\b(?!\s+(?:more|less|older|fewer|lower|above|below))", re.IGNORECASE)
_EITHER = re.compile(r"(?<!\w)(\w+) or (\w+)")
_NEGATIVE = re.compile(r"\b(?:not|nothing|never|neither|nor|none|without|fails?|failed)\b|n't\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^(?:[A-Za-z]+\s+)?(\d+(?:\.\d+)*)\b")


@dataclass(frozen=True, slots=True)
class BindingSentence:
    """A sentence that binds somebody."""

    document: KnowledgeDocument
    section: DocumentSection
    span: TextSpan
    text: str
    bounds: tuple[StatedBound, ...]
    """Those that have to hold."""
    conditions: tuple[StatedBound, ...]
    """Those that say when the sentence applies."""
    terms: frozenset[str]
    """Of the sentence and its headings."""
    stems: frozenset[str]
    head: tuple[str, ...]
    """The telling words before the verb that binds: whom the sentence is about."""
    body: tuple[str, ...]
    """All of its telling words."""

    @property
    def claim(self) -> QuoteClaim:
        return QuoteClaim(self.text, self.document.id, self.section.id, self.span.start)


@dataclass(frozen=True, slots=True)
class _Weighed:
    rule: BindingSentence
    score: float
    holds: Holds
    compared: tuple[Compared, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.compared for name in (*one.subject, *one.anchor)))

    @property
    def subject(self) -> frozenset[str]:
        return frozenset(name for one in self.compared for name in one.subject)

    @property
    def explanation(self) -> str:
        return "; ".join(dict.fromkeys(one.said for one in self.compared))


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

    facts = facts_of(case, criterion)
    queries = _queries(criterion, facts)
    read = _read(shelf, queries)
    for query in queries:
        note(TraceStep("action", "", "policy_search", {"query": query}))
    seen = ", ".join(dict.fromkeys(one.section.title for one in read))
    note(TraceStep("observation", f"{len(read)} sentences in: {seen}", "policy_search"))
    proposal = _decide(criterion, read, facts, shelf)
    note(TraceStep("thought", proposal.rationale))
    checked = check(proposal, case, shelf)
    verdict = rule(checked, floor)
    return CriterionResult(
        case.id, criterion.id, verdict.status, verdict.confidence, proposal.rationale, "heuristic",
        checked.citations, checked.evidence, verdict.reason, "", tuple(trace), (), time.monotonic() - began,
    )  # fmt: skip


# --- think, retrieve, read ------------------------------------------------------------------------------------------


def _queries(criterion: Criterion, facts: CaseFacts) -> tuple[str, ...]:
    """The criterion's own words with what the case is of (a medicine, a kind), and then its hints."""
    own = " ".join((criterion.text, *_kinds(facts)))
    return (own, " ".join(criterion.hints)) if criterion.hints else (own,)


def _kinds(facts: CaseFacts) -> list[str]:
    found = [str(value) for fact in facts.pick_wanted("text") for value in fact.values]
    return [value for value in found if len(value.split()) <= 3 and value.lower() not in ("none", "open", "unknown")]


def _read(shelf: Shelf, queries: Sequence[str]) -> list[BindingSentence]:
    """The sentences of the sections that were found, in the order of the search."""
    hits = [hit for query in queries for hit in shelf.search(query, RETRIEVED)]
    sections = {(hit.document.id, hit.section.id): (hit.document, hit.section) for hit in hits}
    return [rule for document, section in sections.values() for rule in _get_rules(shelf, document, section)]


def _get_rules(shelf: Shelf, document: KnowledgeDocument, section: DocumentSection) -> tuple[BindingSentence, ...]:
    def make() -> tuple[BindingSentence, ...]:
        if _NOT_RULES.search(" ".join(section.path[1:] or section.path)):
            return ()
        return _parse_rules(document, section)

    return shelf.once(("rules", document.id, section.id), make)


def _exceptions(shelf: Shelf) -> tuple[BindingSentence, ...]:
    """Every sentence of the documents that takes something back, wherever it stands."""
    return tuple(
        rule
        for document in shelf.documents.values()
        for section in document.sections()
        for rule in _get_rules(shelf, document, section)
        if _EXCEPTION.search(rule.text) or _RESTRICTION.search(rule.text)
    )


def _parse_rules(document: KnowledgeDocument, section: DocumentSection) -> tuple[BindingSentence, ...]:
    """What a section says, sentence by sentence."""
    found = []
    for span in sentences(document.quote(section.own), section.own.start):
        text = document.quote(span)
        if span.start == section.own.start and section.id:
            continue
        duty = _DUTY.search(text)
        needed, conditions = _split_bounds(text, duty)
        headed = frozenset(terms(f"{' '.join(section.path[1:])} {text}"))
        head = _telling(text[: duty.start()] if duty else text)
        found.append(
            BindingSentence(
                document, section, span, text, needed, conditions, headed, stems(text), head, _telling(text)
            )
        )
    return tuple(found)


def _telling(text: str) -> tuple[str, ...]:
    return tuple(word for word in dict.fromkeys(telling_words(text)) if word not in _PLAIN and not word.isdigit())


def _split_bounds(text: str, duty: re.Match[str] | None) -> tuple[tuple[StatedBound, ...], tuple[StatedBound, ...]]:
    """A bound behind the verb that binds has to hold; one before it, or behind an "if", says when the rest applies."""
    needed: list[StatedBound] = []
    conditions: list[StatedBound] = []
    for bound in bounds(text):
        at = text.find(bound.subject) + len(bound.subject)
        behind = duty is not None and duty.start() < at
        between = text[duty.end() if duty and behind else 0 : at]
        # "This edition applies to requests that are received after" binds by what it applies to.
        conditional = bool(_IF.search(between)) and not (duty and duty[0].lower() == "applies")
        (needed if behind and not conditional else conditions).append(bound)
    return tuple(needed), tuple(conditions)


# --- link, decide ---------------------------------------------------------------------------------------------------


def _decide(criterion: Criterion, read: Sequence[BindingSentence], facts: CaseFacts, shelf: Shelf) -> VerdictProposal:
    rarity = shelf.once(("rarity",), lambda: _rarity(shelf))
    rarest = max(rarity.values(), default=1.0)
    wanted = {term: rarity.get(term, rarest) for term in query_terms(" ".join((criterion.text, *criterion.hints)))}
    scored = sorted(((_score(wanted, one), one) for one in read), key=lambda pair: -pair[0])
    if _NEGATIVE.search(criterion.text):
        why = "The criterion says what is not to be; which way a bound cuts then is for a reader."
        return VerdictProposal("UNCERTAIN", 0.3, why, _claims(scored))
    applying = [(score, one) for score, one in scored if one.bounds and _applies(one, facts)]
    weighed = [_weigh(score, one, facts) for score, one in applying]
    weighed = [one for one in weighed if _is_meant(one, criterion, facts)]
    if not weighed or weighed[0].score < scored[0][0] * _RIVAL:
        return VerdictProposal("UNCERTAIN", 0.3, "No sentence states plainly what code can compare.", _claims(scored))
    weighed = _of_this_kind(weighed, facts)
    if told := [one.score for one in weighed if one.holds in ("yes", "no")]:
        # What the case does not say matters where the sentence about it fits at least as well as one that decides.
        weighed = [one for one in weighed if one.holds != "absent" or (one.subject and one.score >= max(told))]
    weighed = [one for one in weighed if one.score >= weighed[0].score * _RIVAL]
    best = weighed[0]
    claims = tuple(one.rule.claim for one in weighed[:3])
    if missing := [one for one in weighed if one.holds == "absent"]:
        why = f"The sentence that decides was found, but {missing[0].explanation}."
        return VerdictProposal("UNCERTAIN", 0.5, why, claims, _list_facts(*weighed), ReasonCode.FACT_ABSENT)
    answers = {one.holds for one in weighed}
    if len(answers) > 1:
        reasons = "; ".join(one.explanation for one in weighed)
        why = f"Sentences that fit equally well lead to different answers: {reasons}."
        return VerdictProposal("UNCERTAIN", 0.4, why, claims, _list_facts(*weighed), ReasonCode.EXCEPTION_POSSIBLE)
    if best.holds == "open":
        return VerdictProposal(
            "UNCERTAIN", 0.3, f"Code cannot compare this: {best.explanation}.", claims, _list_facts(best)
        )
    status: CriterionStatus = "MET" if best.holds == "yes" else "NOT_MET"
    known = _find_known_words(criterion, facts, best.fields)
    if unread := _unread(best.rule, status, known):
        gaps = ", ".join(unread)
        why = f"The bound would give {status} ({best.explanation}), but nothing in the case speaks of: {gaps}."
        return VerdictProposal("UNCERTAIN", 0.5, why, claims, _list_facts(best), ReasonCode.FACT_ABSENT)
    others = shelf.once(("exceptions",), lambda: _exceptions(shelf))
    turning = [one for one in others if one is not best.rule and _turns(one, best, status, facts)]
    if turning:
        why = f"By the rule it would be {status} ({best.explanation}), but another sentence may change that."
        also = tuple(one.claim for one in turning[:2])
        return VerdictProposal(
            "UNCERTAIN", 0.5, why, (best.rule.claim, *also), _list_facts(best), ReasonCode.EXCEPTION_POSSIBLE
        )
    confidence = min(0.9, 0.7 + 0.3 * best.score)
    return VerdictProposal(status, confidence, f"{status}: {best.explanation}.", (best.rule.claim,), _list_facts(best))


def _is_meant(one: _Weighed, criterion: Criterion, facts: CaseFacts) -> bool:
    """It compares what the criterion asks about. Where that names no facts, the words have to be close."""
    if not criterion.facts:
        return one.score >= _FITTING
    wanted = {name for fact in facts.items if fact.wanted for name in fact.fields}
    used = set(one.fields)
    if one.holds == "absent" and any(_is_missing_fact(path, one.rule, facts) for path in criterion.facts):
        return True
    return len(used & wanted) * 2 > len(used)


def _is_missing_fact(path: str, one: BindingSentence, facts: CaseFacts) -> bool:
    """The criterion names a fact, the case does not have it, and the sentence is about it."""
    if any(fact.name == path or fact.name.startswith(f"{path}.") for fact in facts.items):
        return False
    tokens = name_tokens(path)
    return bool(tokens) and all(is_said(token, stems(one.text)) for token in tokens)


def _find_known_words(criterion: Criterion, facts: CaseFacts, used: Collection[str] = ()) -> frozenset[str]:
    """What the case and the criterion speak of. A flag that is off speaks of nothing."""
    known = set(stems(" ".join((criterion.text, *criterion.hints))))
    for fact in facts.items:
        known |= name_tokens(fact.name.partition(".")[0])
        if fact.kind == "text":
            known.update(*(stems(str(value)) for value in fact.values if len(str(value).split()) <= 4))
        if (fact.wanted or any(name in used for name in fact.fields)) and (fact.kind != "flag" or any(fact.values)):
            known |= stems(fact.name.replace("_", " ").replace(".", " "))
        elif fact.kind == "flag" and any(fact.values):
            known |= fact.own
    return frozenset(known)


def _unread(one: BindingSentence, status: CriterionStatus, known: frozenset[str]) -> tuple[str, ...]:
    """Words that nothing explains: each may be a condition that nobody has looked at. For NOT_MET those that say whom
    the sentence binds, since one bound that fails is enough; for MET all of them. Of "A or B" one has to be known."""
    joined = {word for pair in _EITHER.findall(one.text) if _any_known(pair, known) for word in words(" ".join(pair))}
    telling = one.body if status == "MET" else one.head
    unread = tuple(word for word in telling if word not in joined and not is_said(stem_word(word), known))
    return unread if status == "MET" or len(unread) > len(telling) // 6 else ()


def _any_known(pair: tuple[str, str], known: frozenset[str]) -> bool:
    return any(is_said(stem_word(word), known) for one in pair for word in words(one))


def _score(wanted: Mapping[str, float], one: BindingSentence) -> float:
    """The share of the criterion's words that the sentence and its headings have, rare ones counting more."""
    return sum(rarity for term, rarity in wanted.items() if term in one.terms) / (sum(wanted.values()) or 1.0)


def _rarity(shelf: Shelf) -> dict[str, float]:
    """By term, over all sections."""
    sections = [
        frozenset(terms(f"{section.title} {document.quote(section.own)}"))
        for document in shelf.documents.values()
        for section in document.sections()
    ]
    counted = Counter(term for section in sections for term in section)
    return {term: math.log(1 + len(sections) / count) for term, count in counted.items()}


def _applies(one: BindingSentence, facts: CaseFacts) -> bool:
    """Not when a condition that code can compare does not hold, or when it binds what the case says it is not."""
    if any(compare(each, one.text, facts).holds == "no" for each in one.conditions):
        return False
    head = frozenset(map(stem_word, one.head))
    denied = [fact.own for fact in facts.items if fact.kind == "flag" and not any(fact.values) and fact.own]
    return not any(own <= head for own in denied)


def _of_this_kind(weighed: list[_Weighed], facts: CaseFacts) -> list[_Weighed]:
    """Where some rules name what the case is of, a kind or a product, the others are about something else."""
    everything = [str(value) for fact in facts.items if fact.kind == "text" for value in fact.values]
    for value in dict.fromkeys(one for one in everything if len(one.split()) <= 3 and len(one) > 3):
        weighed = [one for one in weighed if mentions(one.rule.section.title, value)] or weighed
    for value in _kinds(facts):
        weighed = [one for one in weighed if mentions(f"{one.rule.section.title} {one.rule.text}", value)] or weighed
    return weighed


def _weigh(score: float, one: BindingSentence, facts: CaseFacts) -> _Weighed:
    """All bounds have to hold; of quantities with an "or" between them one is enough, with its own dates."""
    compared: list[Compared] = []
    ways: list[list[Compared]] = [[]]
    for index, bound in enumerate(one.bounds):
        if index and isinstance(bound, Quantity) and _OR.search(bound.subject):
            ways.append([])
        measured = ways[-1][-1].subject if ways[-1] and isinstance(bound, Period) else ()
        if isinstance(bound, Period) and len(ways) > 1:
            for way in ways:
                way.append(compare(bound, one.text, facts, way[-1].subject if way else ()))
                compared.append(way[-1])
            continue
        ways[-1].append(compare(bound, one.text, facts, measured))
        compared.append(ways[-1][-1])
    results = [_all(way) for way in ways]
    holds: Holds = "yes" if "yes" in results else next((each for each in results if each != "no"), "no")
    decided = [each for way, result in zip(ways, results, strict=True) if result == holds for each in way]
    return _Weighed(one, score, holds, tuple(decided or compared))


def _all(way: Sequence[Compared]) -> Holds:
    results = [each.holds for each in way]
    return "no" if "no" in results else next((each for each in results if each != "yes"), "yes")


def _turns(one: BindingSentence, best: _Weighed, status: CriterionStatus, facts: CaseFacts) -> bool:
    """Whether a sentence may turn the verdict round: it makes an exception, and it is about the same."""
    pattern = _EXCEPTION if status == "NOT_MET" else _RESTRICTION
    if not pattern.search(one.text):
        return False
    if one.section is best.rule.section:
        return True
    number = _NUMBERED.match(best.rule.section.title)
    named = {part for found in _SECTION.finditer(one.text) for part in re.findall(r"\d+(?:\.\d+)*", found[1])}
    if number and number[1] in named:
        return True
    used = [fact for fact in facts.items if any(name in best.subject for name in fact.fields)]
    if not any(fact.tokens and all(is_said(token, one.stems) for token in fact.tokens) for fact in used):
        return False
    shared = sum(is_said(stem_word(word), one.stems) for word in best.rule.body)
    return shared * 2 >= len(best.rule.body)


def _list_facts(*weighed: _Weighed) -> tuple[tuple[str, Unsaid], ...]:
    return tuple((name, UNSAID) for one in weighed for name in one.fields)


def _claims(scored: Iterable[tuple[float, BindingSentence]]) -> tuple[QuoteClaim, ...]:
    return tuple(one.claim for score, one in list(scored)[:2] if score > 0)
