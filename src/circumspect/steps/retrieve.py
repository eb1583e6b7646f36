"""retrieve: Understood -> Found.

Looks up what was decided, and nothing else; then says how sure that makes us and whether the turn may go on. Searches
go over the tenant's documents and the texts of the business itself. One more round where the confidence is middling;
contradicting sources and a confidence that is low go to a person; a search that fails costs confidence, or the turn
where the question is critical. Passages that are about something else are no ground for an answer, however sure the
rest makes us: then nobody knows, and a person gets the question.

The one choice that may surprise: between the bands the user is asked only if the analysis has a question for them. A
question for its own sake ("could you tell me more?") helps nobody, so the answer is given, with its sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from circumspect.errors import CircumspectError
from circumspect.journal import Journal, NoticeEvent
from circumspect.knowledge.asked_conflicts import answers_most_of_it, find_asked_conflicts
from circumspect.knowledge.conflicts import Conflict
from circumspect.knowledge.suggested_answer import suggest_answer
from circumspect.knowledge.terms import query_terms, terms
from circumspect.knowledge.tree import TextSpan
from circumspect.policy.understanding import synthetic
from circumspect.policy.understanding.confidence import (
    RETRIEVAL_FAILED,
    Confidence,
    MessageContext,
    composite,
    context_completeness,
    query_complexity,
    slots,
    source_quality,
    tool_success_rate,
)
from circumspect.policy.understanding.journal_events import ConflictEvent, ConflictSideRecord, RetrievalEvent
from circumspect.policy.understanding.understood import CitedPassage, RetrievalResult, Understanding, Understood
from circumspect.ports import CandidatePassage, PassageSearch
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import Block, Business, Execution, Screened, ToolSpec, is_known_person

MOST_QUERIES = 5
_CLOSE = 0.3
"""A passage with less than this share of the best one's score contradicts nothing: it is about something else. One that
says it in other words has half of it or less."""


async def search_documents(searches: Sequence[PassageSearch], tenant: str, query: str, language: str | None) -> str:
    """What the tenant's own documents say on the matter, best first; a search that fails finds nothing."""
    found: list[CandidatePassage] = []
    for one in searches:
        try:
            found += await one.search(tenant, query, limit=3, language=language)
        except CircumspectError:
            continue
    best = sorted(found, key=lambda passage: -passage.score)[:3]
    return "\n\n".join(f"{one.title} › {one.section}: {' '.join(one.text.split())}" for one in best)


async def speak_of_it(screened: Screened, settings: Understanding, searches: Sequence[PassageSearch]) -> bool:
    """Do the documents have something on the user's own words? A search that fails finds nothing."""
    text, found = screened.incoming.text, list[CandidatePassage]()
    for one in searches:
        try:
            found += await one.search(screened.incoming.tenant, text, settings.passages, screened.language)
        except CircumspectError:
            continue
    return any(_is_about((text,), one, settings) for one in _merge_passages((), found, settings.passages))


@dataclass(frozen=True, slots=True)
class _Case:
    """What a verdict is made from, besides the sources."""

    understood: Understood
    business: Business
    tools: Mapping[str, ToolSpec]
    known: Mapping[str, str]
    executions: Sequence[Execution]
    settings: Understanding

    @property
    def decision_tools(self) -> list[ToolSpec]:
        names = self.understood.decision.tools if self.understood.decision else ()
        return [self.tools[name] for name in names if name in self.tools]

    @property
    def is_critical(self) -> bool:
        """A sensitive topic, or something that will be changed, is at stake."""
        return bool(self.understood.topics) or any(tool.effect != "read" for tool in self.decision_tools)


async def retrieve(
    understood: Understood,
    business: Business,
    tools: Mapping[str, ToolSpec],
    known: Mapping[str, str],
    executions: Sequence[Execution],
    settings: Understanding,
    notes: Journal,
    searches: Sequence[PassageSearch],
) -> RetrievalResult:
    """`known` is what is known about the customer, `executions` are the calls of this conversation; all of `searches`
    are asked."""
    case, queries = _Case(understood, business, tools, known, executions, settings), understood.queries
    sources: tuple[CitedPassage, ...] = ()
    if not queries:
        return _judge_sources(case, sources, notes, rounds=0, needed=False)
    rounds = 0
    for limit, asked in ((settings.passages, queries), (2 * settings.passages, _wider(understood))):
        try:
            sources = _merge_passages(sources, await _search_passages(understood, asked, limit, searches), limit)
        except CircumspectError as problem:
            return _judge_after_failure(case, problem, notes, rounds)
        rounds += 1
        # A second round where it may help: not where the first settled it, one way or the other.
        if understood.decision is None or _conflicts(case, sources) or not _may_gain(case, sources):
            break
    found = _judge_sources(case, sources, notes, rounds=rounds, needed=True)
    return replace(found, blocks=_blocks(sources, business)) if found.verdict == "answer" else found


# --- searching ------------------------------------------------------------------------------------------------------


async def _search_passages(
    understood: Understood, queries: Sequence[str], limit: int, searches: Sequence[PassageSearch]
) -> list[CandidatePassage]:
    tenant, language = understood.screened.incoming.tenant, understood.screened.language
    return [
        passage
        for search in searches
        for query in queries[:MOST_QUERIES]
        for passage in await search.search(tenant, query, limit, language)
    ]


def _wider(understood: Understood) -> tuple[str, ...]:
    """The second round: the searches that the first left out, the user's own words, and what was understood of them."""
    asked, text, analysis = understood.queries, understood.screened.incoming.text, understood.analysis
    more = (text, analysis.user_intent, analysis.topic) if analysis else (text,)
    fresh = (query for query in (*asked[MOST_QUERIES:], *more) if query and query not in asked[:MOST_QUERIES])
    return tuple(dict.fromkeys(fresh)) or (text,)


def _merge_passages(
    before: Sequence[CitedPassage], passages: Sequence[CandidatePassage], limit: int
) -> tuple[CitedPassage, ...]:
    """Each passage once with its best score, the best first, numbered from 1."""
    best: dict[tuple[str, int, int], CitedPassage] = {(one.document, *one.span): one for one in before}
    for one in passages:
        key = (one.document, one.span.start, one.span.end)
        if key not in best or best[key].score < one.score:
            span = (one.span.start, one.span.end)
            best[key] = CitedPassage(
                0, one.document, one.title, one.section, one.path, one.page, span, one.text, one.score
            )
    ranked = sorted(best.values(), key=lambda one: (-one.score, one.document, one.span))[:limit]
    return tuple(replace(one, number=number) for number, one in enumerate(ranked, 1))


def _blocks(sources: Sequence[CitedPassage], business: Business) -> tuple[Block, ...]:
    """Quotations: every line begins with a mark that no heading of ours begins with."""
    if not sources:
        return ()
    how = Block("sources", prompt("decide_sources").render(business=business.name))
    return (
        how,
        *(Block(f"source [{one.number}]", f"{_describe_source(one)}\n{_quotation(one.text)}") for one in sources),
    )


def _describe_source(source: CitedPassage) -> str:
    path = " › ".join(dict.fromkeys((source.title, *source.path)))
    return " ".join(path.split()).lstrip("# ") + (f", page {source.page}" if source.page else "")


def _quotation(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _may_gain(case: _Case, sources: Sequence[CitedPassage]) -> bool:
    """We are not sure enough, and better sources could change that."""
    confidence = _confidence(case, sources, needed=True)
    return confidence.read("source_quality") < 1.0 and case.settings.bands.of(confidence.value) != "high"


# --- judging --------------------------------------------------------------------------------------------------------


def _confidence(case: _Case, sources: Sequence[CitedPassage], *, needed: bool, penalty: float = 1.0) -> Confidence:
    screened, analysis = case.understood.screened, case.understood.analysis
    text = screened.incoming.text
    required = [{name: tool.properties.get(name, {}) for name in tool.required} for tool in case.decision_tools]
    wanted, given = slots(required, text, case.known)
    context = MessageContext(
        clarity=analysis.intent_confidence if analysis else 1.0,
        exchanges=sum(message.role == "user" for message in screened.opened.history),
        known=len(case.known) + is_known_person(screened.opened.person),
        wanted=wanted,
        given=given,
    )
    return composite(
        source_quality(sources, needed=needed, authority=case.settings.authority),
        query_complexity(text, screened.language),
        context_completeness(context),
        tool_success_rate(case.executions),
        conflict=bool(_conflicts(case, sources)),
        penalty=penalty,
    )


def _judge_sources(
    case: _Case, sources: tuple[CitedPassage, ...], notes: Journal, *, rounds: int, needed: bool, penalty: float = 1.0
) -> RetrievalResult:
    """The verdict, and everything behind it in the journal."""
    understood, conflicts = case.understood, _conflicts(case, sources)
    for conflict in conflicts:
        notes.write(_conflict_event(conflict), ReasonCode.SOURCES_CONFLICT)
    saved = not needed and penalty == 1.0
    found = RetrievalResult("answer", None, sources, queries=understood.queries, searches=rounds, saved=saved)
    if understood.decision:
        found = replace(found, confidence=_confidence(case, sources, needed=needed, penalty=penalty))
    found = _apply_bands(found, case, conflicts, needed=needed)
    if sources and not conflicts:
        passages = [(one.number, _describe_source(one), one.text) for one in sources]
        found = replace(found, suggestion=suggest_answer(understood.screened.incoming.text, passages))
    if found.verdict == "escalate":
        found = replace(found, summary=_summary(understood, conflicts, sources))
    told = found.confidence.explain() if found.confidence else f"{len(sources)} passages"
    event = RetrievalEvent(
        f"{found.verdict}, {told}",
        searches=rounds,
        saved=found.saved,
        queries=understood.queries,
        sources=tuple(one.to_record() for one in sources),
        confidence=found.confidence.to_record() if found.confidence else None,
        verdict=found.verdict,
    )
    notes.write(event, *((found.reason,) if found.reason else ()))
    return found


def _apply_bands(
    found: RetrievalResult, case: _Case, conflicts: Sequence[Conflict], *, needed: bool
) -> RetrievalResult:
    if conflicts:
        return replace(found, verdict="escalate", reason=ReasonCode.SOURCES_CONFLICT)
    understood, confidence = case.understood, found.confidence
    analysis, language = understood.analysis, understood.screened.language
    match case.settings.bands.of(confidence.value) if confidence else "high":
        case "low":
            return replace(found, verdict="escalate", reason=ReasonCode.UNSURE_OF_ANSWER)
        case "medium" if analysis and analysis.clarification_question:
            question = synthetic.response("clarify", analysis, language, case.business.name)
            return replace(found, verdict="clarify", reason=ReasonCode.CLARIFICATION_NEEDED, question=question)
    if needed and understood.is_looked_up and not any(_is_about_it(case, one) for one in found.sources):
        return replace(found, verdict="escalate", reason=ReasonCode.UNSURE_OF_ANSWER)
    return found


def _is_about_it(case: _Case, source: CitedPassage) -> bool:
    return _is_about((case.understood.screened.incoming.text, *case.understood.queries), source, case.settings)


def _is_about(asked: Sequence[str], source: CitedPassage, settings: Understanding) -> bool:
    """Search thinks well of it, or it has half of the words that were asked for: among few texts no word is rare, and
    scores are low."""
    quality, _ = source_quality([source], needed=True, authority=settings.authority)
    if quality >= settings.least_source:
        return True
    there = frozenset(terms(" ".join((source.title, *source.path, source.text))))
    return any(2 * len(there.intersection(one)) >= len(one) for one in map(query_terms, asked) if one)


def _judge_after_failure(case: _Case, problem: CircumspectError, notes: Journal, rounds: int) -> RetrievalResult:
    """Nothing could be searched. A critical question is for a person; any other is answered from what is at hand."""
    notes.write(NoticeEvent(problem.code, critical=case.is_critical), ReasonCode.RETRIEVAL_FAILED)
    if case.is_critical:
        summary = _summary(case.understood, (), ())
        return RetrievalResult("escalate", searches=rounds, reason=ReasonCode.RETRIEVAL_FAILED, summary=summary)
    found = _judge_sources(case, (), notes, rounds=rounds, needed=False, penalty=RETRIEVAL_FAILED)
    told = Block("sources", prompt("decide_sources_failed").render(business=case.business.name))
    return replace(found, blocks=(told,)) if found.verdict == "answer" else found


def _conflicts(case: _Case, sources: Sequence[CitedPassage]) -> list[Conflict]:
    """Among the passages that are about what was asked, nearly as much as the best of them or in most of its words."""
    asked, best = case.understood.screened.incoming.text, max((one.score for one in sources), default=0.0)
    about = [
        quoted
        for one, quoted in ((one, _Quoted(one)) for one in sources)
        if (one.score >= _CLOSE * best and _is_about_it(case, one)) or answers_most_of_it(asked, quoted)
    ]
    return find_asked_conflicts(asked, about)


class _Quoted:
    """A source as `find_asked_conflicts` reads it."""

    def __init__(self, source: CitedPassage) -> None:
        self.document, self.section, self.path, self.text = source.document, source.section, source.path, source.text
        self.span = TextSpan(*source.span)


def _describe_conflict(conflict: Conflict) -> str:
    left, right = conflict.left, conflict.right
    # With no word of ours: the documents, and whoever reads this, have a language of their own.
    return f"{conflict.subject}: “{left.quote}” ({left.document}) ≠ “{right.quote}” ({right.document})"


def _conflict_event(conflict: Conflict) -> ConflictEvent:
    sides = tuple(
        ConflictSideRecord(side.document, side.section, (side.span.start, side.span.end), side.quote, side.value)
        for side in (conflict.left, conflict.right)
    )
    return ConflictEvent(_describe_conflict(conflict), conflict=conflict.kind, subject=conflict.subject, sides=sides)


def _summary(understood: Understood, conflicts: Sequence[Conflict], sources: Sequence[CitedPassage]) -> str:
    """What a colleague needs: the message, what contradicts what, and the passage an answer could be made from."""
    lines = [understood.screened.incoming.text, *map(_describe_conflict, conflicts)]
    if sources and not conflicts:
        lines.append(f"{_describe_source(sources[0])}: {' '.join(sources[0].text.split())[:400]}")
    return "\n".join(lines)
