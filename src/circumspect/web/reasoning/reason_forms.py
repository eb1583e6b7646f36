"""The three forms of reasoning: what a model is to fill in, and how it is read. ModelReply -> a word of `reasoned`.

A confidence outside 0 to 1 is brought inside, one that cannot be read is .5, both with a warning. A yes that is not
plainly said is a no. None is returned where the one thing a form is about (the source, the verdict) is not there.

The one choice that may surprise: a missing piece of information of an unknown type counts as the user's own. Asking
for something that could have been searched for costs a question; the other mistake sends private matters to a stranger.
"""

from __future__ import annotations

from circumspect.forms import make_choice, make_form, make_list, make_share, make_text
from circumspect.forms.reading import FilledForm, read_form
from circumspect.forms.shares import read_share
from circumspect.reasons import ReasonCode
from circumspect.values import FormRules, Json, ModelReply
from circumspect.web.reasoning.reasoned import (
    MISSING_TYPES,
    QUALITIES,
    Completeness,
    ContextAnalysis,
    KnownValue,
    Missing,
    MissingType,
    ReasoningEvidence,
    SearchJudgement,
)
from circumspect.web.reasoning.routing import WHERES

NAMES = ("analyse_context", "judge_results", "check_completeness")
UNREADABLE = 0.5
FIELD, QUERY, QUESTION, WHY, GAP = 60, 200, 300, 600, 200
MOST_MISSING, MOST_GAPS = 8, 5

_SOURCES = {
    "rag": "KNOWLEDGE",
    "documents": "KNOWLEDGE",
    "search": "WEB_SEARCH",
    "web": "WEB_SEARCH",
    "user": "ASK_USER",
}
ANALYSIS = FormRules(("source",), {"missing_info": ("missing",)}, {"source": _SOURCES})
JUDGEMENT = FormRules(("solved",))
COMPLETENESS = FormRules(("can_proceed",), {"missing_information": ("missing", "missing_info")})


# --- the forms ------------------------------------------------------------------------------------------------------


def analysis_schema() -> dict[str, Json]:
    missing = make_form({"field": make_text(FIELD), "type": make_choice(MISSING_TYPES), "description": make_text(GAP)})
    known = make_form({"field": make_text(FIELD), "value": make_text(GAP)})
    return make_form(
        {
            "reasoning": make_text(WHY),
            "evidence": _evidence(),
            "known": make_list(known, MOST_MISSING),
            "missing_info": make_list(missing, MOST_MISSING),
            "source": make_choice(WHERES),
            "confidence": make_share(),
            "search_query": make_text(QUERY),
            "user_question": make_text(QUESTION),
            "changes_something": {"type": "boolean"},
        },
        title=NAMES[0],
    )


def judgement_schema() -> dict[str, Json]:
    return make_form(
        {
            "reasoning": make_text(WHY),
            "evidence": _evidence(),
            "solved": {"type": "boolean"},
            "confidence": make_share(),
            "should_retry": {"type": "boolean"},
            "refined_query": make_text(QUERY),
            "should_ask_user": {"type": "boolean"},
        },
        title=NAMES[1],
    )


def completeness_schema() -> dict[str, Json]:
    return make_form(
        {
            "reasoning": make_text(WHY),
            "evidence": _evidence(),
            "missing_information": make_list(make_text(FIELD), MOST_MISSING),
            "can_proceed": {"type": "boolean"},
            "confidence": make_share(),
            "user_question": make_text(QUESTION),
        },
        title=NAMES[2],
    )


def _evidence() -> dict[str, Json]:
    lines = make_list(make_text(GAP), MOST_GAPS)
    return make_form({"sources": lines, "quality": make_choice(QUALITIES), "gaps": lines})


# --- what was filled in ---------------------------------------------------------------------------------------------


def read_analysis(reply: ModelReply) -> ContextAnalysis | None:
    """None where no source is named: then nothing was decided."""
    filled = read_form(reply, analysis_schema(), ANALYSIS)
    source = next((one for one in WHERES if one == filled.get("source")), None)
    if source is None:
        return None
    confidence, warnings = _read_confidence(filled)
    return ContextAnalysis(
        source=source,
        confidence=confidence,
        missing=tuple(_missing(filled)),
        known=tuple(_read_known_values(filled)),
        search_query=filled.get_text("search_query"),
        user_question=filled.get_text("user_question"),
        reasoning=filled.get_text("reasoning"),
        evidence=_read_evidence(filled),
        changes_something=filled.get("changes_something") is not False,
        warnings=warnings,
    )


def read_judgement(reply: ModelReply) -> SearchJudgement | None:
    """None where it does not say whether the results answer."""
    filled = read_form(reply, judgement_schema(), JUDGEMENT)
    solved = filled.get("solved")
    if not isinstance(solved, bool):
        return None
    confidence, warnings = _read_confidence(filled)
    return SearchJudgement(
        solved=solved,
        confidence=confidence,
        should_retry=filled.get("should_retry") is True,
        refined_query=filled.get_text("refined_query"),
        should_ask_user=filled.get("should_ask_user") is True,
        reasoning=filled.get_text("reasoning"),
        evidence=_read_evidence(filled),
        warnings=warnings,
    )


def read_completeness(reply: ModelReply) -> Completeness | None:
    """None where it does not say whether the turn can go on."""
    filled = read_form(reply, completeness_schema(), COMPLETENESS)
    proceed = filled.get("can_proceed")
    if not isinstance(proceed, bool):
        return None
    confidence, warnings = _read_confidence(filled)
    return Completeness(
        can_proceed=proceed,
        confidence=confidence,
        missing_information=filled.get_list("missing_information"),
        user_question=filled.get_text("user_question"),
        reasoning=filled.get_text("reasoning"),
        evidence=_read_evidence(filled),
        warnings=warnings,
    )


def confidence_of(value: Json) -> tuple[float, tuple[ReasonCode, ...]]:
    """0 to 1, and a warning where that is not what was said."""
    read = read_share(value)
    if read is None:
        return UNREADABLE, (ReasonCode.CONFIDENCE_UNREADABLE,)
    said = value.strip()[:1].isdigit() if isinstance(value, str) else value == read
    return read, () if said else (ReasonCode.CONFIDENCE_UNREADABLE,)


def _read_confidence(filled: FilledForm) -> tuple[float, tuple[ReasonCode, ...]]:
    read, warnings = confidence_of(filled.get("confidence"))
    return read, (ReasonCode.CONFIDENCE_UNREADABLE,) if filled.is_mended("confidence") else warnings


def _missing(filled: FilledForm) -> list[Missing]:
    found: dict[str, Missing] = {}
    for one in filled.get_objects("missing_info"):
        kind: MissingType = next((kind for kind in MISSING_TYPES if kind == one.get("type")), "PRIVATE_DATA")
        if name := one.get_text("field"):
            found.setdefault(name, Missing(name, kind, one.get_text("description")))
    return list(found.values())


def _read_known_values(filled: FilledForm) -> list[KnownValue]:
    found: dict[str, KnownValue] = {}
    for one in filled.get_objects("known"):
        name, said = one.get_text("field"), one.get_text("value")
        if name and said:
            found.setdefault(name, KnownValue(name, said))
    return list(found.values())


def _read_evidence(filled: FilledForm) -> ReasoningEvidence:
    evidence = next(iter(filled.get_objects("evidence")), FilledForm())
    return ReasoningEvidence(
        sources=evidence.get_list("sources"),
        quality=next((one for one in QUALITIES if one == evidence.get("quality")), "low"),
        gaps=evidence.get_list("gaps"),
    )
