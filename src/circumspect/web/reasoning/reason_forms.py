"""The three forms of reasoning: what a model is to fill in, and how it is read. ModelReply -> a word of `reasoned`.

A confidence outside 0 to 1 is brought inside, one that cannot be read is .5, both with a warning. A yes that is not
plainly said is a no. None is returned where the one thing a form is about (the source, the verdict) is not there.

The one choice that may surprise: a missing piece of information of an unknown type counts as the user's own. Asking
for something that could have been searched for costs a question; the other mistake sends private matters to a stranger.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from circumspect.forms import make_choice, make_form, make_list, make_share, make_text
from circumspect.policy.parsing.loose_json import parse_exact, parse_intact, repair_json
from circumspect.policy.understanding.analysis import list_of, number_of, text_of
from circumspect.reasons import ReasonCode
from circumspect.values import Json, JsonObject, ModelReply
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

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_YES = frozenset(("true", "yes", "y", "1"))
_NO = frozenset(("false", "no", "n", "0"))
_SOURCES = {
    "RAG": "KNOWLEDGE",
    "DOCUMENTS": "KNOWLEDGE",
    "SEARCH": "WEB_SEARCH",
    "WEB": "WEB_SEARCH",
    "USER": "ASK_USER",
}


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
    fields = _extract_fields(reply)
    said = text_of(fields.get("source"), FIELD).strip(" .*`\"'[]").upper().replace(" ", "_").replace("-", "_")
    source = next((one for one in WHERES if one == _SOURCES.get(said, said)), None)
    if source is None:
        return None
    confidence, warnings = confidence_of(fields.get("confidence"))
    changes = _read_yes_no(fields.get("changes_something"))
    return ContextAnalysis(
        source=source,
        confidence=confidence,
        missing=tuple(_missing(fields.get("missing_info", fields.get("missing")))),
        known=tuple(_read_known_values(fields.get("known"))),
        search_query=text_of(fields.get("search_query"), QUERY),
        user_question=text_of(fields.get("user_question"), QUESTION),
        reasoning=text_of(fields.get("reasoning"), WHY),
        evidence=_read_evidence(fields.get("evidence")),
        changes_something=True if changes is None else changes,
        warnings=warnings,
    )


def read_judgement(reply: ModelReply) -> SearchJudgement | None:
    """None where it does not say whether the results answer."""
    fields = _extract_fields(reply)
    solved = _read_yes_no(fields.get("solved"))
    if solved is None:
        return None
    confidence, warnings = confidence_of(fields.get("confidence"))
    return SearchJudgement(
        solved=solved,
        confidence=confidence,
        should_retry=_read_yes_no(fields.get("should_retry")) is True,
        refined_query=text_of(fields.get("refined_query"), QUERY),
        should_ask_user=_read_yes_no(fields.get("should_ask_user")) is True,
        reasoning=text_of(fields.get("reasoning"), WHY),
        evidence=_read_evidence(fields.get("evidence")),
        warnings=warnings,
    )


def read_completeness(reply: ModelReply) -> Completeness | None:
    """None where it does not say whether the turn can go on."""
    fields = _extract_fields(reply)
    proceed = _read_yes_no(fields.get("can_proceed"))
    if proceed is None:
        return None
    confidence, warnings = confidence_of(fields.get("confidence"))
    return Completeness(
        can_proceed=proceed,
        confidence=confidence,
        missing_information=tuple(one[:FIELD] for one in list_of(fields.get("missing_information"), MOST_MISSING)),
        user_question=text_of(fields.get("user_question"), QUESTION),
        reasoning=text_of(fields.get("reasoning"), WHY),
        evidence=_read_evidence(fields.get("evidence")),
        warnings=warnings,
    )


def confidence_of(value: Json) -> tuple[float, tuple[ReasonCode, ...]]:
    """0 to 1, and a warning where that is not what was said."""
    read = number_of(value, math.nan)
    if math.isnan(read) and isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
        read = number_of(value, math.nan)
    if math.isnan(read):
        return UNREADABLE, (ReasonCode.CONFIDENCE_UNREADABLE,)
    outside = isinstance(value, int | float) and not 0 <= value <= 1
    return read, (ReasonCode.CONFIDENCE_UNREADABLE,) if outside else ()


def _extract_fields(reply: ModelReply) -> dict[str, Json]:
    """The object in a reply: the arguments of a forced call, or the JSON of the text, mended where it is broken."""
    for call in reply.calls:
        if call.tool in NAMES:
            return _snake(call.arguments)
    text = reply.text
    start, stop = text.find("{"), text.rfind("}")
    whole = parse_exact(text) or (parse_exact(text[start : stop + 1]) if 0 <= start < stop else None)
    if whole is None and start >= 0:
        whole = {**(repair_json(text) or {}), **parse_intact(text).members}
    inner = next((one for name in NAMES if isinstance(one := (whole or {}).get(name), Mapping)), whole or {})
    return _snake(inner)


def _snake(fields: JsonObject) -> dict[str, Json]:
    """`missingInfo`, `missing-info` and `missing info` are all `missing_info`. The first of several counts."""
    found: dict[str, Json] = {}
    for name, value in fields.items():
        found.setdefault(_CAMEL.sub("_", str(name)).lower().replace("-", "_").replace(" ", "_"), value)
    return found


def _read_yes_no(value: Json) -> bool | None:
    """Yes, no, or neither."""
    word = value.strip().lower() if isinstance(value, str) else value
    if word is True or (isinstance(word, str) and word in _YES):
        return True
    return False if word is False or (isinstance(word, str) and word in _NO) else None


def _missing(value: Json) -> list[Missing]:
    found: dict[str, Missing] = {}
    for item in value[:100] if isinstance(value, list | tuple) else ():
        fields = _snake(item) if isinstance(item, Mapping) else {"field": item}
        name = text_of(fields.get("field", fields.get("name")), FIELD)
        said = text_of(fields.get("type"), FIELD).upper().replace(" ", "_")
        kind: MissingType = next((one for one in MISSING_TYPES if one == said), "PRIVATE_DATA")
        if name:
            found.setdefault(name, Missing(name, kind, text_of(fields.get("description"), GAP)))
    return list(found.values())[:MOST_MISSING]


def _read_known_values(value: Json) -> list[KnownValue]:
    if isinstance(value, Mapping):
        value = [{"field": name, "value": said} for name, said in value.items()]
    found: dict[str, KnownValue] = {}
    for item in value[:100] if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            name, said = text_of(item.get("field"), FIELD), text_of(item.get("value"), GAP)
            if name and said:
                found.setdefault(name, KnownValue(name, said))
    return list(found.values())[:MOST_MISSING]


def _read_evidence(value: Json) -> ReasoningEvidence:
    fields = _snake(value) if isinstance(value, Mapping) else {}
    said = text_of(fields.get("quality"), FIELD).lower()
    return ReasoningEvidence(
        sources=list_of(fields.get("sources"), MOST_GAPS),
        quality=next((one for one in QUALITIES if one == said), "low"),
        gaps=list_of(fields.get("gaps"), MOST_GAPS),
    )
