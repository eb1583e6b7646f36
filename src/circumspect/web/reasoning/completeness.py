"""Is everything there? What is known and was found -> an end: the turn goes on, or the user is asked for what lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from circumspect.language import catalogue
from circumspect.reasons import ReasonCode
from circumspect.web.reasoning.case import ReasoningCase
from circumspect.web.reasoning.model_calls import ask_smart_model
from circumspect.web.reasoning.model_requests import completeness_request
from circumspect.web.reasoning.reason_forms import read_completeness
from circumspect.web.reasoning.reasoned import Completeness, ContextAnalysis, Missing, merge_missing
from circumspect.web.reasoning.reasoning_events import CompletenessEvent
from circumspect.web.reasoning.routing import ACTS, Where
from circumspect.wording import label


@dataclass(frozen=True, slots=True)
class End:
    """How it comes out."""

    source: Where
    confidence: float
    completeness: Completeness | None = None
    asks: bool = False
    question: str = ""
    missing: tuple[Missing, ...] = ()
    unverified: bool = False


async def complete(case: ReasoningCase, analysis: ContextAnalysis, source: Where, *, must_ask: bool = False) -> End:
    found = await _check_completeness(case, analysis)
    if found is None:
        # Unchecked, it may read. It may not change anything, nor go on from a guess or without what is known to lack.
        if must_ask or analysis.changes_something or analysis.confidence < ACTS or analysis.private:
            end = question(case, analysis.missing, analysis.user_question, analysis.confidence)
            return replace(end, unverified=True)
        return End(source, analysis.confidence, unverified=True)
    if found.can_proceed and found.confidence >= max(case.settings.complete, ACTS) and not must_ask:
        return End(source, found.confidence, found)
    missing = merge_missing(analysis.missing, found.missing_information)
    end = question(case, missing, found.user_question or analysis.user_question, found.confidence)
    return replace(end, completeness=found)


def question(case: ReasoningCase, missing: Iterable[Missing], words: str, confidence: float) -> End:
    """The model's own words for it, or the catalogue's."""
    missing, language = tuple(missing), case.screened.language
    if not words and missing:
        named = ", ".join(dict.fromkeys(one.description or label(one.field, language) for one in missing))
        words = catalogue.say(language, "reason-ask", fields=named)
    words = words or catalogue.say(language, "reason-ask-unsure")
    code = ReasonCode.INFORMATION_MISSING if missing else ReasonCode.CLARIFICATION_NEEDED
    case.reasons[code] = None
    return End("ASK_USER", confidence, asks=True, question=words, missing=missing)


def ask_without_search(case: ReasoningCase, analysis: ContextAnalysis) -> End:
    """Says that nothing was searched for, and why, in place of a search that would have told a stranger too much."""
    words = catalogue.say(case.screened.language, "reason-not-searched")
    return question(case, analysis.private, words, analysis.confidence)


async def _check_completeness(case: ReasoningCase, analysis: ContextAnalysis) -> Completeness | None:
    request = completeness_request(case.about, analysis.missing, tuple(case.results.values()))
    reply = await ask_smart_model(case, request, ReasonCode.VERIFICATION_UNAVAILABLE)
    found = read_completeness(reply) if reply else None
    if reply and found is None:
        case.write_failure("the last check cannot be read", ReasonCode.VERIFICATION_UNAVAILABLE)
    if found:
        verdict = "complete" if found.can_proceed else "incomplete"
        told = f"{verdict} ({found.confidence:.2f}): {found.reasoning}"
        case.write(CompletenessEvent(told, completeness=found), *found.warnings)
    return found
