"""Words to columns and back: JSON, text, times, and the frozen values of a turn.

JSON is exact. orjson writes what it can carry; the rest (lone surrogates, integers beyond 64 bits) is written by the
standard library and marked with a leading blank, which JSON allows and both databases keep, so that reading knows
which of the two to ask. Text columns cannot be exact, because PostgreSQL has no NUL and UTF-8 no lone surrogates:
there NUL becomes U+2400 and a lone surrogate U+FFFD. In both, two halves of a pair become the character they make,
and numbers that are not numbers (NaN, infinity) become null. Identifiers are never altered, since two of them could
become one; they are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from circumspect.errors import StoreError
from circumspect.reasons import ReasonCode
from circumspect.values import (
    AnswerSource,
    Business,
    EstablishedFact,
    Execution,
    Faq,
    Intent,
    Json,
    JsonObject,
    Message,
    ModelUsage,
    Plan,
    Tenant,
    ToolCall,
    ToolSpec,
    TurnResult,
    Usage,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def dumps(value: object) -> str:
    try:
        return orjson.dumps(value, default=_to_jsonable).decode()
    except orjson.JSONEncodeError:
        return " " + json.dumps(_plain(value), separators=(",", ":"))


def loads(raw: str | bytes) -> Json:
    # One character decides, whichever of the two types a driver hands over.
    if raw[:1] in (" ", b" "):
        return cast(Json, json.loads(raw))
    return cast(Json, orjson.loads(raw))


def loads_object(raw: str) -> JsonObject:
    return cast(JsonObject, loads(raw))


def _to_jsonable(value: object) -> object:
    """Any Mapping or Sequence is a JSON value to us; orjson knows only dict, list and tuple. The rest becomes text:
    a journal with an odd value in it is worth more than none."""
    match value:
        case Mapping():
            return dict(value)
        case Sequence() | Set():
            return list(value)
    return str(value)


def _plain(value: object) -> object:
    """What orjson would have written, for `json` to write: no number that is not a number, keys as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Sequence() | Set():
            return [_plain(item) for item in value]
    return str(value)


def clean(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "\u2400")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def check_identifiers(*identifiers: str | None) -> None:
    for identifier in identifiers:
        if identifier is not None and clean(identifier) != identifier:
            raise StoreError(
                "An identifier contains a character that cannot be stored.",
                fix="Use ids, names and keys without NUL characters and without lone surrogates.",
            )


def epoch(at: datetime) -> float:
    return at.timestamp()


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def reason(code: str | None) -> ReasonCode | None:
    """None for a code this version does not know: an old conversation must still open."""
    return None if code is None else cast("ReasonCode | None", ReasonCode._value2member_map_.get(code))


def moment_of(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)


def read_row(kind: type[T], row: Any, **others: object) -> T:
    """A value of a dataclass whose fields are named like the row's columns; columns that end in `_at` are moments.

    For what is read off the path of a turn: the readers below name every column because they are called in each.
    """
    for field in fields(kind):
        if field.name not in others:
            value = getattr(row, field.name)
            others[field.name] = moment_of(value) if field.name.endswith("_at") else value
    return kind(**others)


# --- rows -----------------------------------------------------------------------------------------------------------
# `Any` here is a row of the database: SQLAlchemy does not type what it returns.


MESSAGE_COLUMNS = "seq, turn, role, kind, content, at, reason_code, CAST(meta AS TEXT)"
"""What `message_of` reads, in that order."""


def message_of(row: Any) -> Message:
    """The same as `message`, of a row as the driver has it."""
    seq, turn, role, kind, content, at, code, meta = row
    return Message(
        seq,
        turn,
        role,
        kind,
        content,
        datetime.fromtimestamp(at, UTC),
        None if code is None else reason(code),
        loads_object(meta) if meta else {},
    )


def message(row: Any) -> Message:
    return Message(
        seq=row.seq,
        turn=row.turn,
        role=row.role,
        kind=row.kind,
        content=row.content,
        at=moment(row.at),
        reason=reason(row.reason_code),
        meta=row.meta or {},
    )


def intent(row: Any) -> Intent:
    return Intent(
        id=row.id,
        tenant=row.tenant,
        conversation=row.conversation,
        kind=row.kind,
        call=ToolCall(**row.call),
        hash=row.hash,
        tool_version=row.tool_version,
        policy_version=row.policy_version,
        principal=row.principal,
        nonce=row.nonce,
        question=row.question,
        created_at=moment(row.created_at),
        expires_at=moment(row.expires_at),
        question_seq=row.question_seq,
        state=row.state,
        proposed_by=tuple(row.proposed_by),
        edited_by=tuple(row.edited_by),
        keys_approve=row.keys_approve,
        facts=tuple(EstablishedFact(**one) for one in row.facts),
    )


def execution(row: Any) -> Execution:
    return Execution(
        id=row.id,
        tenant=row.tenant,
        conversation=row.conversation,
        turn=row.turn,
        call=ToolCall(row.tool, row.arguments, row.call_id),
        effect=row.effect,
        recovery=row.recovery,
        state=row.state,
        token=row.token,
        lease_until=moment(row.lease_until),
        started_at=moment(row.started_at),
        finished_at=moment_of(row.finished_at),
        intent=row.intent,
        result=row.result,
        error=row.error,
        reason=reason(row.reason_code),
        runner=row.runner,
    )


# --- documents ------------------------------------------------------------------------------------------------------

_INTENT = tuple(field.name for field in fields(Intent))
_MODEL_USAGE = tuple(field.name for field in fields(ModelUsage))
_SOURCE = ("number", "document", "title", "section", "page", "quote", "score")


def call_document(call: ToolCall) -> dict[str, Json]:
    return {"tool": call.tool, "arguments": call.arguments, "id": call.id}


def result_document(result: TurnResult) -> dict[str, Json]:
    """All of a result but the journal, which is stored message by message."""
    return {
        "turn": result.turn,
        "conversation": result.conversation,
        "outcome": result.outcome,
        "reply": result.reply,
        "reason_codes": [str(code) for code in result.reason_codes],
        "pending": None if result.pending is None else _intent_document(result.pending),
        "usage": _usage_document(result.usage),
        "language": result.language,
        "calls": [call_document(call) for call in result.calls],
        "sources": [{name: getattr(one, name) for name in _SOURCE} for one in result.sources],
    }


def _intent_document(value: Intent) -> dict[str, Json]:
    return {
        **{name: getattr(value, name) for name in _INTENT},
        "call": call_document(value.call),
        "created_at": value.created_at.isoformat(),
        "expires_at": value.expires_at.isoformat(),
        "facts": fact_documents(value.facts),
    }


def fact_documents(facts: Sequence[EstablishedFact]) -> list[Json]:
    return [{"place": one.place, "value": one.value} for one in facts]


def _usage_document(value: Usage) -> dict[str, Json]:
    calls = [{name: getattr(call, name) for name in _MODEL_USAGE} for call in value.calls]
    return {
        "mode": value.mode,
        "calls": calls,
        "critiques": value.critiques,
        "context_rounds": value.context_rounds,
    }


def result(document: Any) -> TurnResult:
    pending, usage = document["pending"], document["usage"]
    return TurnResult(
        turn=document["turn"],
        conversation=document["conversation"],
        outcome=document["outcome"],
        reply=document["reply"],
        reason_codes=tuple(code for code in map(reason, document["reason_codes"]) if code),
        pending=None if pending is None else _intent_of(pending),
        usage=Usage(
            usage["mode"],
            tuple(ModelUsage(**call) for call in usage["calls"]),
            usage["critiques"],
            usage["context_rounds"],
        ),
        language=document["language"],
        calls=tuple(ToolCall(**call) for call in document.get("calls", ())),
        sources=tuple(AnswerSource(**one) for one in document.get("sources", ())),
    )


def _intent_of(document: Any) -> Intent:
    return Intent(
        **{
            **document,
            "call": ToolCall(**document["call"]),
            "created_at": datetime.fromisoformat(document["created_at"]),
            "expires_at": datetime.fromisoformat(document["expires_at"]),
            "proposed_by": tuple(document.get("proposed_by", ())),
            "edited_by": tuple(document.get("edited_by", ())),
            "facts": tuple(EstablishedFact(**one) for one in document.get("facts", ())),
        }
    )


def tenant_document(tenant: Tenant) -> dict[str, Json]:
    return {
        "business": {**asdict(tenant.business), "policies": dict(tenant.business.policies)},
        "tools": None if tenant.tools is None else sorted(tenant.tools),
        "adaptive_share": tenant.adaptive_share,
    }


def spec_document(spec: ToolSpec) -> dict[str, Json]:
    return {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "effect": spec.effect,
        "recovery": spec.recovery,
        "timeout": spec.timeout,
        "configured": spec.configured,
        "open_world": spec.open_world,
        "client": spec.client,
        "returns": spec.returns,
        "phrases": dict(spec.phrases),
        "titles": dict(spec.titles),
    }


def spec(document: Any) -> ToolSpec:
    return ToolSpec(**document)


def tenant(row: Any) -> Tenant:
    config = row.config
    business = config["business"]
    return Tenant(
        id=row.id,
        business=Business(**{**business, "faqs": tuple(Faq(**faq) for faq in business["faqs"])}),
        plan=Plan(row.plan, row.mode, row.multiplier, row.quota, row.message_price),
        language=row.language,
        tools=None if config["tools"] is None else frozenset(config["tools"]),
        adaptive_share=config["adaptive_share"],
    )
