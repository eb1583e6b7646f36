"""What happens next: one of five ways, chosen by a model, checked by code. ModelReply -> Decision.

Two forms are read: the fields that `properties` adds to the form of `understanding.analysis`, and lines with labels
(`DECISION: …`, `CONFIDENCE: …`), as models write them that take no schema.

The one choice that may surprise: a decision that does not hold together is not repaired. A person gets it, with
`INVALID_DECISION`, for a tool that does not exist or a confidence of 7 says that the model did not mean what it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from circumspect.policy.understanding.analysis import QUESTION, REASON, descriptions, extract_fields, text_of
from circumspect.policy.understanding.journal_events import DecisionRecord
from circumspect.reasons import ReasonCode
from circumspect.values import Json, JsonObject, ModelReply

DecisionWay = Literal["RETRIEVE", "REASON_ONLY", "USE_TOOL", "CLARIFY", "ESCALATE"]
WAYS: tuple[DecisionWay, ...] = get_args(DecisionWay)
LOW = 0.1
_LONGEST = 8_000
_LABEL = re.compile(
    r"^[\s>*#-]*(?P<label>decision|confidence|reasoning|reason|tools[ _]needed|retrieval[ _]needed|query|question)"
    r"[\s*]*[:=]\s*(?P<value>.*)$",
    re.IGNORECASE,
)
_NAMES = re.compile(r"[\w.-]+")
_NONE = frozenset(("", "none", "null", "n/a", "no", "[]", "-"))
_YES = frozenset(("yes", "true", "y", "1"))


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
    reason: ReasonCode | None = None
    """Set where code decided."""

    def to_record(self) -> DecisionRecord:
        return DecisionRecord(self.way, self.confidence, self.why, self.tools, self.retrieve, self.question)


def properties(business: str, tools: Collection[str]) -> dict[str, JsonObject]:
    """The fields to be added to the analysis, so that one call does both."""
    names: dict[str, Json] = {"type": "string", "enum": sorted(tools)} if tools else {"type": "string"}
    kinds: dict[str, dict[str, Json]] = {
        "decision": {"type": "string", "enum": list(WAYS)},
        "decision_reason": {"type": "string", "maxLength": REASON},
        "decision_confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "tools_needed": {"type": "array", "items": names, "maxItems": 5},
        "retrieval_needed": {"type": "boolean"},
    }
    told = descriptions("decide_fields", business=business)
    return {name: {**kinds[name], "description": text} for name, text in told.items()}


def read_decision(reply: ModelReply, tools: Collection[str], query: str, question: str = "") -> NextStepDecision:
    """The decision, checked. `query` and `question` stand in where the reply has none of its own."""
    fields = extract_fields(reply)
    if fields is None or not {"decision", "DECISION"} & fields.keys():
        fields = _read_labels(reply.text)
    said = {name.lower().replace(" ", "_"): value for name, value in fields.items()}
    way = said.get("decision")
    name = re.sub(r"[\s-]+", "_", way.strip(" .*`\"'[]").upper()) if isinstance(way, str) else ""
    found = next((one for one in WAYS if one == name), None)
    confidence = _number(said.get("decision_confidence", said.get("confidence")))
    if found is None:
        return invalid(f"'{str(way)[:40]}' is none of the five ways")
    if confidence is None:
        return invalid("its confidence is no number from 0 to 1")
    own = text_of(said.get("clarification_question") or said.get("question"), QUESTION)
    named = tuple(_tools(said.get("tools_needed")))
    return validate_decision(
        NextStepDecision(
            way=found,
            confidence=confidence,
            why=text_of(said.get("decision_reason") or said.get("reasoning") or said.get("reason"), REASON),
            tools=named if found == "USE_TOOL" else (),
            retrieve=found == "RETRIEVE" or (found == "USE_TOOL" and _yes(said.get("retrieval_needed"))),
            query=text_of(said.get("query"), QUESTION) or query.strip(),
            question=(own or question) if found == "CLARIFY" else "",
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


def _read_labels(text: str) -> dict[str, Json]:
    """The first value of each label. A label that comes again (in a quotation, say) does not replace it."""
    found: dict[str, Json] = {}
    for line in text[:_LONGEST].splitlines():
        if labelled := _LABEL.match(line):
            found.setdefault(labelled["label"].lower(), labelled["value"].strip().strip("*[]").strip())
    return found


def _number(value: Json) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value.strip(" []*"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _tools(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        return () if value.strip().lower() in _NONE else _NAMES.findall(value)
    if isinstance(value, list | tuple):
        names = (item.get("name") if isinstance(item, Mapping) else item for item in value)
        return (name for name in names if isinstance(name, str))
    return ()


def _yes(value: Json) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in _YES)
