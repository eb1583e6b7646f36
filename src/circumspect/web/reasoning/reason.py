"""reason: Screened -> Reasoned.

Before anything is done on a page: is what it takes already known, to be searched for, or to be asked? Four steps. The
smart model says where the information is; code sends it there (`reasoning.ways`, by the table in
`policy.reasoning.routing`); searches are judged and, up to three times, refined (`reasoning.searches`); the smart model
checks whether everything is there (`reasoning.completeness`). Then the turn goes on with what was found, or ends with a
question. Nothing here has effects.

Nothing that fails here raises: without an analysis the tenant's own documents are searched for the user's words (never
anything outside, where the user is asked instead), without a search the turn goes on with no results, and without the
last check it goes on for reading only.

The one choice that may surprise: how sure the model was of a place that is not there (a page, documents) counts for
nothing. It is then searched for once, and checked.
"""

from __future__ import annotations

from dataclasses import replace

from circumspect.journal import Journal
from circumspect.language.pack import pack
from circumspect.language.wishes import asks_outright, implies_destruction
from circumspect.reasons import ReasonCode
from circumspect.values import ModelRequest, Screened
from circumspect.web.page import Page
from circumspect.web.reasoning.analysis_cache import AnalysisCache, find_analysis_key
from circumspect.web.reasoning.case import Models, ReasoningCase, SiteSearch
from circumspect.web.reasoning.completeness import End
from circumspect.web.reasoning.model_calls import ask_smart_model, summarise_results
from circumspect.web.reasoning.model_requests import analysis_request, findings, make_reasoning_context, titles
from circumspect.web.reasoning.page_check import keep_seen_values
from circumspect.web.reasoning.reason_forms import read_analysis
from circumspect.web.reasoning.reasoned import ContextAnalysis, Reasoned, Reasoning
from circumspect.web.reasoning.reasoning_events import ContextAnalysisEvent, describe_reasoned
from circumspect.web.reasoning.routes import choose_route, follow_route
from circumspect.web.reasoning.routing import ACTS

__all__ = ["Models", "SiteSearch", "reason"]


async def reason(
    screened: Screened,
    page: Page | None,
    knowledge: str,
    settings: Reasoning,
    notes: Journal,
    models: Models,
    search: SiteSearch | None,
    analyses: AnalysisCache | None = None,
) -> Reasoned:
    """`knowledge` is what the organisation's own documents say on the matter; `page` is cut down to what is shown.
    What `analyses` remembers is not asked again."""
    about = make_reasoning_context(screened, page, knowledge, settings.history, pack(screened.language).name)
    case = ReasoningCase(screened, about, settings, notes, models, search)
    analysis = await _analyse(case, analyses)
    end = await follow_route(case, analysis, choose_route(case, analysis))
    if not case.hops and not end.asks:
        case.reasons[ReasonCode.SEARCH_SAVED] = None
    summary = await summarise_results(case) if end.asks else titles(case.results.values())
    return _conclude_reasoning(case, analysis, end, summary)


async def _analyse(case: ReasoningCase, analyses: AnalysisCache | None) -> ContextAnalysis:
    """Where the information is, by the smart model's word."""
    request = analysis_request(case.about)
    key = find_analysis_key(case.screened.incoming, request)
    known = analyses.get(key) if analyses is not None else None
    analysis = known or await _ask_for_analysis(case, request)
    if analysis is None:
        return ContextAnalysis("WEB_SEARCH", ACTS)
    if analyses is not None and not known and not case.degraded:
        analyses.keep(key, analysis)
    told = f"{analysis.source} ({analysis.confidence:.2f}{', as before' if known else ''}): {analysis.reasoning}"
    case.write(ContextAnalysisEvent(told, analysis=analysis), *analysis.warnings)
    if implies_destruction(case.text) or asks_outright(case.text):
        analysis = replace(analysis, changes_something=True)
    return analysis


async def _ask_for_analysis(case: ReasoningCase, request: ModelRequest) -> ContextAnalysis | None:
    reply = await ask_smart_model(case, request, ReasonCode.ANALYSIS_FAILED)
    analysis = read_analysis(reply) if reply else None
    if reply and analysis is None:
        case.write_failure("the analysis cannot be read", ReasonCode.ANALYSIS_UNREADABLE)
    return analysis


def _conclude_reasoning(case: ReasoningCase, analysis: ContextAnalysis, end: End, summary: str) -> Reasoned:
    """The value whole, and all of it in the journal."""
    known = keep_seen_values(analysis.known, case.about.page, case.user_words)
    reasoning = (end.completeness.reasoning if end.completeness else "") or analysis.reasoning
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
        thought=reasoning,
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
    case.notes.write(describe_reasoned(told, reasoned), *case.reasons)
    return reasoned
