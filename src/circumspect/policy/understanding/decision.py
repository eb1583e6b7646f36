"""What happens next: one of five ways, chosen by a model, checked by code. A form that is filled in -> Decision.

Its fields are those that `properties` adds to the form of `understanding.analysis`; `forms.reading` reads them from
JSON and from lines with labels (`DECISION: …`), as models write them that take no schema.

The one choice that may surprise: a decision that does not hold together is not repaired. A person gets it, with
`INVALID_DECISION`, for a tool that does not exist says that the model did not mean what it wrote. How sure it is
decides nothing, so a confidence that cannot be read is only a low one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from circumspect.forms import make_choice, make_list, make_share, make_text
from circumspect.forms.reading import FilledForm
from circumspect.language.wanted import is_question
from circumspect.policy.understanding.analysis import QUESTION, REASON, descriptions
from circumspect.policy.understanding.journal_events import DecisionRecord
from circumspect.reasons import ReasonCode
from circumspect.values import Json, JsonObject

DecisionWay = Literal["RETRIEVE", "REASON_ONLY", "USE_TOOL", "CLARIFY", "ESCALATE"]
WAYS: tuple[DecisionWay, ...] = get_args(DecisionWay)
LOW = 0.1
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "decision_reason": ("reasoning", "reason", "rationale"),
    "decision_confidence": ("confidence",),
    "tools_needed": ("tools", "tool", "tool_needed"),
    "retrieval_needed": ("needs_retrieval", "retrieval"),
}


@dataclass(frozen=True, slots=True)
class NextStepDecision:
    way: DecisionWay
    confidence: float
    """The model's own, which decides nothing: `policy.understanding.confidence` computes ours."""
    why: str = ""
    tools: tuple[str, ...] = ()
    retrieve: bool = False
    """The documents are to be searched; a tool may need that too."""
    query: str = ""
    question: str = ""
    own_words: bool = False
    """Search by the user's words alone: what the model made of them led elsewhere."""
    reason: ReasonCode | None = None
    """Set where code decided."""

    def to_record(self) -> DecisionRecord:
        return DecisionRecord(self.way, self.confidence, self.why, self.tools, self.retrieve, self.question)


def properties(business: str, tools: Collection[str]) -> dict[str, JsonObject]:
    """The fields to be added to the analysis, so that one call does both."""
    names: dict[str, Json] = {"type": "string", "enum": sorted(tools)} if tools else {"type": "string"}
    kinds: dict[str, dict[str, Json]] = {
        "decision": make_choice(WAYS),
        "decision_reason": make_text(REASON),
        "decision_confidence": make_share(),
        "tools_needed": make_list(names, 5),
        "retrieval_needed": {"type": "boolean"},
    }
    told = descriptions("decide_fields", business=business)
    return {name: {**kinds[name], "description": text} for name, text in told.items()}


def read_decision(filled: FilledForm, tools: Collection[str], query: str, question: str = "") -> NextStepDecision:
    """The decision, checked. `query` and `question` stand in where the form has none of its own."""
    way = next((one for one in WAYS if one == filled.get("decision")), None)
    if way is None:
        return invalid("it is none of the five ways")
    own = filled.get_text("clarification_question")
    return validate_decision(
        NextStepDecision(
            way=way,
            confidence=filled.get_number("decision_confidence", LOW),
            why=filled.get_text("decision_reason"),
            tools=filled.get_list("tools_needed") if way == "USE_TOOL" else (),
            retrieve=way == "RETRIEVE" or (way == "USE_TOOL" and filled.get("retrieval_needed") is True),
            query=query.strip()[:QUESTION],
            question=(own or question) if way == "CLARIFY" else "",
        ),
        tools,
    )


def validate_decision(decision: NextStepDecision, tools: Collection[str]) -> NextStepDecision:
    """The decision if it holds together. Tools that do not exist are left out; one at least has to."""
    known = tuple(dict.fromkeys(name for name in decision.tools if name in tools))
    match decision.way:
        case "USE_TOOL" if not known:
            return invalid("it names no tool that exists")
        case "RETRIEVE" if not decision.query:
            return invalid("there is nothing to search for")
        case "CLARIFY" if not decision.question:
            return invalid("it asks no question")
        case "ESCALATE" if not decision.why and decision.reason is None:
            return invalid("it gives no reason")
    return replace(decision, tools=known)


def invalid(problem: str) -> NextStepDecision:
    return NextStepDecision(
        "ESCALATE", LOW, f"The decision cannot be used: {problem}.", reason=ReasonCode.INVALID_DECISION
    )


def by_code(way: DecisionWay, confidence: float, why: str, reason: ReasonCode | None = None) -> NextStepDecision:
    """A decision that needed no model."""
    return NextStepDecision(way, confidence, why, reason=reason)


def is_left_to_itself(decision: NextStepDecision, text: str) -> bool:
    """The model would answer a question from its own head."""
    return decision.way == "REASON_ONLY" and is_question(text)


def look_up_instead(decision: NextStepDecision) -> NextStepDecision:
    """By the user's own words: they are what the documents speak of."""
    return replace(decision, way="RETRIEVE", retrieve=True, question="", own_words=True)
