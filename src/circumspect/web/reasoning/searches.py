"""Searches, judged and refined: what to look for -> the judgement on what was found, with every hop in the case."""

from __future__ import annotations

from circumspect.errors import CircumspectError
from circumspect.journal import RemarkEvent
from circumspect.reasons import ReasonCode
from circumspect.web.reasoning.case import ReasoningCase
from circumspect.web.reasoning.model_calls import ask_smart_model
from circumspect.web.reasoning.model_requests import judgement_request
from circumspect.web.reasoning.reason_forms import read_judgement
from circumspect.web.reasoning.reasoned import ContextAnalysis, FoundPage, Hop, SearchJudgement
from circumspect.web.reasoning.reasoning_events import HopEvent
from circumspect.web.reasoning.search_queries import keep_harmless_words, normalise_query, tidy_own_query
from circumspect.web.search.results import Hits


async def search_and_refine(case: ReasoningCase, analysis: ContextAnalysis, most: int) -> SearchJudgement | None:
    """The last judgement; None where nothing could be searched or nobody could judge."""
    query, judgement = _first_query(case, analysis), None
    while query and len(case.hops) < most:
        key = normalise_query(query)
        if key in case.asked:
            case.write(RemarkEvent("the same search is not made twice", "understanding"), ReasonCode.SEARCH_REPEATED)
            break
        case.asked.add(key)
        hits = await _find_hits(case, query)
        if hits is None:
            case.hops.append(Hop(query, failed=True))
            return None
        judgement = await _judge_hits(case, query, hits, most - len(case.hops) - 1)
        _note_hop(case, query, hits, judgement)
        if judgement is None or is_solved(case, judgement) or judgement.should_ask_user:
            break
        # A solution that nobody is sure of is none: it is searched on, too.
        query = _make_sendable(case, judgement.refined_query) if judgement.should_retry or judgement.solved else ""
    return judgement


def _first_query(case: ReasoningCase, analysis: ContextAnalysis) -> str:
    """What the model would look for. The user's own words are looked for in the tenant's documents alone."""
    query = _make_sendable(case, analysis.search_query)
    if query or case.search is None or not case.search.remote:
        return query or tidy_own_query(case.text)
    case.withheld = True
    case.write_failure("nothing is left of the query that may leave the house", ReasonCode.PRIVATE_NOT_SEARCHED)
    return ""


def _make_sendable(case: ReasoningCase, query: str) -> str:
    if case.search is None or not case.search.remote:
        return tidy_own_query(query)
    return keep_harmless_words(query, case.about.page.url if case.about.page else "", case.user_words)


def is_solved(case: ReasoningCase, judgement: SearchJudgement) -> bool:
    return judgement.solved and judgement.confidence >= case.settings.solved


async def _find_hits(case: ReasoningCase, query: str) -> Hits | None:
    if case.search is None:
        case.write_failure("there is nothing to search with", ReasonCode.SEARCH_FAILED)
        return None
    try:
        return await case.search.find(query, case.about.page.url if case.about.page else "", case.settings.widening)
    except CircumspectError as problem:
        case.write_failure(problem.code, ReasonCode.SEARCH_FAILED)
        return None


async def _judge_hits(case: ReasoningCase, query: str, hits: Hits, left: int) -> SearchJudgement | None:
    queries = (*(hop.query for hop in case.hops), query)
    reply = await ask_smart_model(
        case, judgement_request(case.about, queries, left, hits.results), ReasonCode.MODEL_FAILED
    )
    judgement = read_judgement(reply) if reply else None
    if case.search is not None:
        solved = judgement is not None and judgement.solved
        case.search.remember(hits, judgement.confidence if judgement and solved else 0.0)
    return judgement


def _note_hop(case: ReasoningCase, query: str, hits: Hits, judgement: SearchJudgement | None) -> None:
    hop = Hop(
        query=query,
        domain=hits.domain or "",
        widened=hits.widened,
        cached=hits.cached,
        results=tuple(FoundPage(one.title, one.url) for one in hits.results),
        judgement=judgement,
    )
    case.hops.append(hop)
    for result in hits.results:
        case.results.setdefault(result.url or result.title, result)
    widened = (ReasonCode.SEARCH_WIDENED,) if hits.widened else ()
    warnings = judgement.warnings if judgement else ()
    verdict = "not judged" if judgement is None else "solved" if is_solved(case, judgement) else "not solved"
    case.write(HopEvent(f"searched: {len(hits.results)} results, {verdict}", hop=hop), *widened, *warnings)
