"""Chooses the route from where the analysis says the information is, and follows it to the end of the turn."""

from __future__ import annotations

from circumspect.reasons import ReasonCode
from circumspect.web.reasoning.case import ReasoningCase
from circumspect.web.reasoning.completeness import End, ask_without_search, complete, question
from circumspect.web.reasoning.page_check import page_agrees
from circumspect.web.reasoning.reasoned import ContextAnalysis
from circumspect.web.reasoning.routing import ACTS, DEGRADED_GO, GO, LEADS_TO, Route, Where, route
from circumspect.web.reasoning.searches import is_solved, search_and_refine


def choose_route(case: ReasoningCase, analysis: ContextAnalysis) -> Route:
    """The table's word on where the information is, which has to be a place that is there."""
    source, confidence = analysis.source, analysis.confidence
    if (source == "PAGE" and case.about.page is None) or (source == "KNOWLEDGE" and not case.about.knowledge):
        case.switch(source, "WEB_SEARCH", confidence, ReasonCode.SOURCE_SWITCHED)
        source, confidence = "WEB_SEARCH", min(confidence, ACTS)
    if source == "ASK_USER" and analysis.external and not analysis.private and confidence >= ACTS:
        case.switch(source, "WEB_SEARCH", confidence, ReasonCode.SEARCHED_BEFORE_ASKING)
        source = "WEB_SEARCH"
    return _restrict_route(
        case, analysis, source, confidence, route(source, confidence, DEGRADED_GO if case.degraded else GO)
    )


def _restrict_route(
    case: ReasoningCase, analysis: ContextAnalysis, source: Where, confidence: float, taken: Route
) -> Route:
    """What holds whatever model and table say: what only the user knows is not searched for."""
    searches = taken.move in ("search", "search_once", "verify_by_search")
    if searches and analysis.private and not analysis.external:
        case.switch(source, "ASK_USER", confidence, ReasonCode.PRIVATE_NOT_SEARCHED)
        return Route("ask", "ASK_USER")
    if taken.source != source:
        case.switch(source, taken.source, confidence, ReasonCode.SOURCE_SWITCHED)
    return taken


async def follow_route(case: ReasoningCase, analysis: ContextAnalysis, taken: Route) -> End:
    match taken.move:
        case "go":
            return await _use_known(case, analysis)
        case "check_page":
            if page_agrees(analysis.known, case.about.page, case.user_words):
                return await _use_known(case, analysis)
            return await _otherwise(case, analysis, taken, analysis.confidence)
        case "verify_by_search":
            judgement = await search_and_refine(case, analysis, 1)
            if case.withheld:
                return ask_without_search(case, analysis)
            if judgement is None:
                return await complete(case, analysis, analysis.source)
            if is_solved(case, judgement):
                return await _use_known(case, analysis)
            return await _otherwise(case, analysis, taken, judgement.confidence)
        case "search":
            return await _search_and_complete(case, analysis, case.most)
        case "search_once":
            return await _search_and_complete(case, analysis, min(1, case.most))
        case "ask":
            # What could be looked up is not the user's to tell, as long as there is something that is.
            missing = analysis.private or analysis.missing
            words = "" if analysis.private and analysis.external else analysis.user_question
            return question(case, missing, words, analysis.confidence)


async def _otherwise(case: ReasoningCase, analysis: ContextAnalysis, taken: Route, confidence: float) -> End:
    """The check did not pass."""
    move = taken.otherwise or "ask"
    other = _restrict_route(case, analysis, taken.source, confidence, Route(move, LEADS_TO[move]))
    return await follow_route(case, analysis, other)


async def _use_known(case: ReasoningCase, analysis: ContextAnalysis) -> End:
    """The information is there. The last check is made only where the model itself names something that is not, or
    where its confidence had to be set right: a 7 that was meant on another scale is no certainty."""
    if not analysis.missing and not analysis.warnings:
        return End(analysis.source, analysis.confidence)
    end = await complete(case, analysis, analysis.source)
    if end.asks and analysis.external and not case.hops:
        case.switch(analysis.source, "WEB_SEARCH", end.confidence, ReasonCode.SEARCHED_BEFORE_ASKING)
        return await _search_and_complete(case, analysis, case.most)
    return end


async def _search_and_complete(case: ReasoningCase, analysis: ContextAnalysis, most: int) -> End:
    judgement = await search_and_refine(case, analysis, most)
    if case.withheld:
        return ask_without_search(case, analysis)
    asks = judgement is not None and judgement.should_ask_user and not is_solved(case, judgement)
    return await complete(case, analysis, "WEB_SEARCH", must_ask=asks)
