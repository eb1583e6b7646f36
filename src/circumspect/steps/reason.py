"""reason: Screened -> Reasoned.

Before anything is done on a page: is what it takes already known, to be searched for, or to be asked? Four steps. The
smart model says where the information is; code sends it there (`policy.reasoning.routing`); searches are judged and, up
to three times, refined; the smart model checks whether everything is there. Then the turn goes on with what was found,
or ends with a question. Nothing here has effects.

Nothing that fails here raises: without an analysis the user's own words are searched for, without a search the turn
goes on with no results, and without the last check it goes on for reading only.

The one choice that may surprise: how sure the model was of a place that is not there (a page, documents) counts for
nothing. It is then searched for once, and checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from circumspect import locales
from circumspect.errors import CircumspectError, ModelError
from circumspect.knowledge.web.results import Hits, WebResult
from circumspect.page import Page
from circumspect.policy.reading.wishes import asks_outright, implies_destruction
from circumspect.policy.reasoning.forms import read_analysis, read_completeness, read_judgement
from circumspect.policy.reasoning.page_check import page_agrees, seen_somewhere
from circumspect.policy.reasoning.queries import normalised, public
from circumspect.policy.reasoning.reasoned import (
    Completeness,
    ContextAnalysis,
    Effort,
    Hop,
    Missing,
    Reasoned,
    Reasoning,
    SearchJudgement,
    Switch,
    merged,
)
from circumspect.policy.reasoning.requests import (
    About,
    about_of,
    analysis_request,
    completeness_request,
    findings,
    judgement_request,
    summary_request,
    titles,
)
from circumspect.policy.reasoning.routing import ACTS, DEGRADED_GO, GO, LEADS_TO, Route, Where, route
from circumspect.reasons import ReasonCode
from circumspect.turn import Json, JsonObject, ModelReply, ModelRequest, Notes, Screened
from circumspect.wording import LANGUAGE_NAMES, label

MOST_SEARCHES = 3
_QUERY = 200


class Answer(Protocol):
    """A reply, and how far down the list of models it was found."""

    @property
    def reply(self) -> ModelReply: ...
    @property
    def degraded(self) -> bool: ...
    @property
    def fallbacks(self) -> int: ...


class Models(Protocol):
    """A smart model to think with and a fast one for the rest. Both raise `ModelError` when nobody can answer."""

    async def think(self, request: ModelRequest) -> Answer: ...
    async def do(self, request: ModelRequest) -> Answer: ...


class Search(Protocol):
    """A search that begins with the page's own site. Raises from `circumspect.errors` and nothing else."""

    async def find(self, query: str, page_url: str = "", allow_widening: bool = True) -> Hits: ...

    def remember(self, hits: Hits, confidence: float) -> None:
        """How sure the judgement was that these results answer."""
        ...


@dataclass
class _Case:
    """The turn's reasoning as far as it has come."""

    screened: Screened
    about: About
    settings: Reasoning
    notes: Notes
    models: Models
    search: Search | None
    hops: list[Hop] = field(default_factory=list)
    asked: set[tuple[str, ...]] = field(default_factory=set)
    results: dict[str, WebResult] = field(default_factory=dict)
    switches: list[Switch] = field(default_factory=list)
    reasons: dict[ReasonCode, None] = field(default_factory=dict)
    degraded: bool = False
    smart: Effort = field(default_factory=Effort)
    fast: Effort = field(default_factory=Effort)

    @property
    def text(self) -> str:
        return self.screened.incoming.text

    @property
    def most(self) -> int:
        return max(0, min(self.settings.searches, MOST_SEARCHES))

    def write(self, content: str, *reasons: ReasonCode, meta: JsonObject | None = None) -> None:
        self.reasons |= dict.fromkeys(reasons)
        self.notes.write("understanding", content, *reasons, meta=meta)

    def failed(self, content: str, reason: ReasonCode) -> None:
        self.reasons[reason] = None
        self.notes.write("notice", content, reason)

    def switch(self, before: Where, after: Where, confidence: float, reason: ReasonCode) -> None:
        made = Switch(before, after, confidence, reason)
        self.switches.append(made)
        self.write(f"{before} → {after}", reason, meta={"switch": made.to_json()})


@dataclass(frozen=True, slots=True)
class _End:
    """How it comes out."""

    source: Where
    confidence: float
    completeness: Completeness | None = None
    asks: bool = False
    question: str = ""
    missing: tuple[Missing, ...] = ()
    unverified: bool = False


async def reason(
    screened: Screened,
    page: Page | None,
    knowledge: str,
    settings: Reasoning,
    notes: Notes,
    models: Models,
    search: Search | None,
) -> Reasoned:
    """`knowledge` is what the organisation's own documents say on the matter; `page` is cut down to what is shown."""
    about = about_of(screened, page, knowledge, settings.history, LANGUAGE_NAMES[screened.language])
    case = _Case(screened, about, settings, notes, models, search)
    analysis = await _analysed(case)
    end = await _carried_out(case, analysis, _routed(case, analysis))
    if not case.hops and not end.asks:
        case.reasons[ReasonCode.SEARCH_SAVED] = None
    summary = await _summary(case) if end.asks else titles(case.results.values())
    return _written(case, analysis, end, summary)


# --- step 1: where is the information? ------------------------------------------------------------------------------


async def _analysed(case: _Case) -> ContextAnalysis:
    reply = await _thought(case, analysis_request(case.about), ReasonCode.ANALYSIS_FAILED)
    analysis = read_analysis(reply) if reply else None
    if reply and analysis is None:
        case.failed("the analysis cannot be read", ReasonCode.ANALYSIS_UNREADABLE)
    if analysis is None:
        return ContextAnalysis("WEB_SEARCH", ACTS, search_query=case.text[:_QUERY])
    case.write(
        f"{analysis.source} ({analysis.confidence:.2f}): {analysis.reasoning}",
        *analysis.warnings,
        meta={"analysis": analysis.to_json()},
    )
    if implies_destruction(case.text) or asks_outright(case.text):
        analysis = replace(analysis, changes_something=True)
    return analysis


# --- step 2: which way? ---------------------------------------------------------------------------------------------


def _routed(case: _Case, analysis: ContextAnalysis) -> Route:
    """The table's word on where the information is, which has to be a place that is there."""
    source, confidence = analysis.source, analysis.confidence
    if (source == "PAGE" and case.about.page is None) or (source == "KNOWLEDGE" and not case.about.knowledge):
        case.switch(source, "WEB_SEARCH", confidence, ReasonCode.SOURCE_SWITCHED)
        source, confidence = "WEB_SEARCH", min(confidence, ACTS)
    if source == "ASK_USER" and analysis.external and not analysis.private and confidence >= ACTS:
        case.switch(source, "WEB_SEARCH", confidence, ReasonCode.SEARCHED_BEFORE_ASKING)
        source = "WEB_SEARCH"
    return _allowed(case, analysis, source, confidence, route(source, confidence, DEGRADED_GO if case.degraded else GO))


def _allowed(case: _Case, analysis: ContextAnalysis, source: Where, confidence: float, taken: Route) -> Route:
    """What holds whatever model and table say: what only the user knows is not searched for."""
    searches = taken.move in ("search", "search_once", "verify_by_search")
    if searches and analysis.private and not analysis.external:
        case.switch(source, "ASK_USER", confidence, ReasonCode.PRIVATE_NOT_SEARCHED)
        return Route("ask", "ASK_USER")
    if taken.source != source:
        case.switch(source, taken.source, confidence, ReasonCode.SOURCE_SWITCHED)
    return taken


async def _carried_out(case: _Case, analysis: ContextAnalysis, taken: Route) -> _End:
    match taken.move:
        case "go":
            return await _at_hand(case, analysis)
        case "check_page":
            if page_agrees(analysis.known, case.about.page, _talk(case)):
                return await _at_hand(case, analysis)
            return await _otherwise(case, analysis, taken, analysis.confidence)
        case "verify_by_search":
            judgement = await _searched(case, analysis, 1)
            if judgement is None:
                return await _complete(case, analysis, analysis.source)
            if _is_solved(case, judgement):
                return await _at_hand(case, analysis)
            return await _otherwise(case, analysis, taken, judgement.confidence)
        case "search":
            return await _looked_up(case, analysis, case.most)
        case "search_once":
            return await _looked_up(case, analysis, min(1, case.most))
        case "ask":
            # What could be looked up is not the user's to tell, as long as there is something that is.
            missing = analysis.private or analysis.missing
            words = "" if analysis.private and analysis.external else analysis.user_question
            return _question(case, missing, words, analysis.confidence)


async def _otherwise(case: _Case, analysis: ContextAnalysis, taken: Route, confidence: float) -> _End:
    """The check did not pass."""
    move = taken.otherwise or "ask"
    other = _allowed(case, analysis, taken.source, confidence, Route(move, LEADS_TO[move]))
    return await _carried_out(case, analysis, other)


async def _at_hand(case: _Case, analysis: ContextAnalysis) -> _End:
    """The information is there. The last check is made only where the model itself names something that is not, or
    where its confidence had to be set right: a 7 that was meant on another scale is no certainty."""
    if not analysis.missing and not analysis.warnings:
        return _End(analysis.source, analysis.confidence)
    end = await _complete(case, analysis, analysis.source)
    if end.asks and analysis.external and not case.hops:
        case.switch(analysis.source, "WEB_SEARCH", end.confidence, ReasonCode.SEARCHED_BEFORE_ASKING)
        return await _looked_up(case, analysis, case.most)
    return end


async def _looked_up(case: _Case, analysis: ContextAnalysis, most: int) -> _End:
    judgement = await _searched(case, analysis, most)
    asks = judgement is not None and judgement.should_ask_user and not _is_solved(case, judgement)
    return await _complete(case, analysis, "WEB_SEARCH", must_ask=asks)


# --- step 3: searches, judged and refined ---------------------------------------------------------------------------


async def _searched(case: _Case, analysis: ContextAnalysis, most: int) -> SearchJudgement | None:
    """The last judgement; None where nothing could be searched or nobody could judge."""
    query, judgement = public(analysis.search_query) or public(case.text), None
    while query and len(case.hops) < most:
        key = normalised(query)
        if key in case.asked:
            case.write("the same search is not made twice", ReasonCode.SEARCH_REPEATED)
            break
        case.asked.add(key)
        hits = await _found(case, query)
        if hits is None:
            case.hops.append(Hop(query, failed=True))
            return None
        judgement = await _judged(case, query, hits, most - len(case.hops) - 1)
        _note_hop(case, query, hits, judgement)
        if judgement is None or _is_solved(case, judgement) or judgement.should_ask_user:
            break
        # A solution that nobody is sure of is none: it is searched on, too.
        query = public(judgement.refined_query) if judgement.should_retry or judgement.solved else ""
    return judgement


async def _found(case: _Case, query: str) -> Hits | None:
    if case.search is None:
        case.failed("there is nothing to search with", ReasonCode.SEARCH_FAILED)
        return None
    try:
        return await case.search.find(query, case.about.page.url if case.about.page else "", case.settings.widening)
    except CircumspectError as problem:
        case.failed(problem.code, ReasonCode.SEARCH_FAILED)
        return None


async def _judged(case: _Case, query: str, hits: Hits, left: int) -> SearchJudgement | None:
    queries = (*(hop.query for hop in case.hops), query)
    reply = await _thought(case, judgement_request(case.about, queries, left, hits.results), ReasonCode.MODEL_FAILED)
    judgement = read_judgement(reply) if reply else None
    if case.search is not None:
        solved = judgement is not None and judgement.solved
        case.search.remember(hits, judgement.confidence if judgement and solved else 0.0)
    return judgement


def _note_hop(case: _Case, query: str, hits: Hits, judgement: SearchJudgement | None) -> None:
    hop = Hop(
        query=query,
        domain=hits.domain or "",
        widened=hits.widened,
        cached=hits.cached,
        results=tuple((one.title, one.url) for one in hits.results),
        judgement=judgement,
    )
    case.hops.append(hop)
    for result in hits.results:
        case.results.setdefault(result.url or result.title, result)
    widened = (ReasonCode.SEARCH_WIDENED,) if hits.widened else ()
    warnings = judgement.warnings if judgement else ()
    verdict = "not judged" if judgement is None else "solved" if _is_solved(case, judgement) else "not solved"
    case.write(f"searched: {len(hits.results)} results, {verdict}", *widened, *warnings, meta={"hop": hop.to_json()})


def _is_solved(case: _Case, judgement: SearchJudgement) -> bool:
    return judgement.solved and judgement.confidence >= case.settings.solved


# --- step 4: is everything there? -----------------------------------------------------------------------------------


async def _complete(case: _Case, analysis: ContextAnalysis, source: Where, *, must_ask: bool = False) -> _End:
    found = await _checked(case, analysis)
    if found is None:
        # Unchecked, it may read. It may not change anything, nor go on from a guess or without what is known to lack.
        if must_ask or analysis.changes_something or analysis.confidence < ACTS or analysis.private:
            end = _question(case, analysis.missing, analysis.user_question, analysis.confidence)
            return replace(end, unverified=True)
        return _End(source, analysis.confidence, unverified=True)
    if found.can_proceed and found.confidence >= max(case.settings.complete, ACTS) and not must_ask:
        return _End(source, found.confidence, found)
    missing = merged(analysis.missing, found.missing_information)
    end = _question(case, missing, found.user_question or analysis.user_question, found.confidence)
    return replace(end, completeness=found)


async def _checked(case: _Case, analysis: ContextAnalysis) -> Completeness | None:
    request = completeness_request(case.about, analysis.missing, tuple(case.results.values()))
    reply = await _thought(case, request, ReasonCode.VERIFICATION_UNAVAILABLE)
    found = read_completeness(reply) if reply else None
    if reply and found is None:
        case.failed("the last check cannot be read", ReasonCode.VERIFICATION_UNAVAILABLE)
    if found:
        verdict = "complete" if found.can_proceed else "incomplete"
        told = f"{verdict} ({found.confidence:.2f}): {found.reasoning}"
        case.write(told, *found.warnings, meta={"completeness": found.to_json()})
    return found


def _question(case: _Case, missing: Iterable[Missing], words: str, confidence: float) -> _End:
    """The model's own words for it, or the catalogue's."""
    missing, language = tuple(missing), case.screened.language
    if not words and missing:
        named = ", ".join(dict.fromkeys(one.description or label(one.field, language) for one in missing))
        words = locales.say(language, "reason-ask", fields=named)
    words = words or locales.say(language, "reason-ask-unsure")
    code = ReasonCode.INFORMATION_MISSING if missing else ReasonCode.CLARIFICATION_NEEDED
    case.reasons[code] = None
    return _End("ASK_USER", confidence, asks=True, question=words, missing=missing)


# --- asking the models ----------------------------------------------------------------------------------------------


async def _thought(case: _Case, request: ModelRequest, otherwise: ReasonCode) -> ModelReply | None:
    """The smart model's reply; None where no model has one."""
    try:
        answer = await case.models.think(request)
    except ModelError as problem:
        case.notes.spent(problem.usage)
        case.smart = replace(case.smart, calls=case.smart.calls + 1, fallbacks=case.smart.fallbacks + 1)
        case.failed(f"{request.purpose}: {problem.code}", otherwise)
        return None
    case.smart = _counted(case, request, answer, case.smart, "smart")
    if answer.degraded and not case.degraded:
        case.degraded = True
        case.failed("the fast model thinks for the smart one", ReasonCode.REASONING_DEGRADED)
    return answer.reply


async def _summary(case: _Case) -> str:
    """In the fast model's words; without it, the titles."""
    if not case.results:
        return ""
    request = summary_request(case.about, tuple(case.results.values()))
    try:
        answer = await case.models.do(request)
    except ModelError as problem:
        case.notes.spent(problem.usage)
        case.fast = replace(case.fast, calls=case.fast.calls + 1, fallbacks=case.fast.fallbacks + 1)
        return titles(case.results.values())
    case.fast = _counted(case, request, answer, case.fast, "fast")
    return " ".join(answer.reply.text.split())[:600] or titles(case.results.values())


def _counted(case: _Case, request: ModelRequest, answer: Answer, effort: Effort, role: str) -> Effort:
    usage = answer.reply.usage
    meta: dict[str, Json] = {
        "prompt": request.prompt_id,
        "purpose": request.purpose,
        "role": role,
        "model": usage.model,
        "seconds": round(usage.seconds, 4),
        "fallbacks": answer.fallbacks,
        "degraded": answer.degraded,
    }
    case.notes.spent(usage)
    case.notes.write("model", answer.reply.text, meta=meta)
    return Effort(effort.calls + 1, effort.seconds + usage.seconds, effort.fallbacks + answer.fallbacks)


def _talk(case: _Case) -> str:
    """What the user said, as one text."""
    return "\n".join(one.text for one in case.about.said if one.role == "user")


# --- what goes on ---------------------------------------------------------------------------------------------------


def _written(case: _Case, analysis: ContextAnalysis, end: _End, summary: str) -> Reasoned:
    """The value whole, and all of it in the journal."""
    known = seen_somewhere(analysis.known, case.about.page, _talk(case))
    thought = (end.completeness.reasoning if end.completeness else "") or analysis.reasoning
    reasoned = Reasoned(
        analysis=analysis,
        source=end.source,
        confidence=end.confidence,
        changes_something=analysis.changes_something,
        hops=tuple(case.hops),
        switches=tuple(case.switches),
        completeness=end.completeness,
        ends="asked" if end.asks else None,
        question=end.question,
        thought=thought,
        missing=end.missing,
        findings="" if end.asks else findings(known, case.results.values()),
        summary=summary,
        degraded=case.degraded,
        unverified=end.unverified,
        reasons=tuple(case.reasons),
        smart=case.smart,
        fast=case.fast,
    )
    way = "asks" if end.asks else "goes on"
    told = f"{way}: {end.source} ({end.confidence:.2f}), {len(case.hops)} searches"
    case.notes.write("understanding", told, *case.reasons, meta=reasoned.to_json())
    return reasoned
