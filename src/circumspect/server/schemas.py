"""What goes over the wire, for the edge only: request bodies are checked by these, answers are described by them.

Answers are built as plain dictionaries from our own values and written by orjson; a test holds them against what is
described here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from circumspect.reasons import ReasonCode
from circumspect.turn import Effect, IntentState, Kind, Language, Mode, Outcome, Recovery, Role

T = TypeVar("T")

ID = r"^[A-Za-z0-9+@_][A-Za-z0-9._:@+=~-]*$"
TENANT = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
NO_NUL = r"^[^\x00]*$"
Id = Annotated[str, Field(min_length=1, max_length=128, pattern=ID)]
Text = Annotated[str, Field(pattern=NO_NUL)]
Line = Annotated[str, Field(max_length=1_000, pattern=r"^[^\x00\r\n]*$")]


class Given(BaseModel):
    """A request body. A field that we do not know is refused, by name."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Shown(BaseModel):
    """An answer."""


class Problem(Shown):
    """What is wrong and what to do about it. The same for every error."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "code": "not_found",
                    "problem": "There is no such conversation.",
                    "fix": "Check the id, and whose key you use.",
                }
            ]
        },
    )

    code: str = Field(description="For programs: it stays the same when the words change.")
    problem: str
    fix: str


class Page(Shown, Generic[T]):
    items: list[T]
    next: str | None = Field(description="Pass it as `after` for the next page; null when this is the last.")


# --- conversations --------------------------------------------------------------------------------------------------


class NewConversation(Given):
    model_config = ConfigDict(json_schema_extra={"examples": [{"person": "customer-17", "language": "en"}]})

    id: Id | None = Field(None, description="Your own id for it; without one we make one.")
    person: Id | None = Field(
        None, description="Your id of the end user, by which their data can be exported and deleted."
    )
    language: Language | None = Field(None, description="Without it the first message tells.")


class ConversationShown(Shown):
    id: str
    tenant: str
    mode: Mode
    language: Language | None
    person: str | None
    paused_by: str | None = Field(description="The person who took over; the agent is silent until they hand back.")
    created_at: datetime
    updated_at: datetime


class NewMessage(Given):
    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "cancel order 12345"}]})

    content: Text = Field(description="What the user says. Too long or empty is answered, not refused.")
    person: Id | None = Field(None, description="Your id of the end user, where the conversation has none yet.")
    language: Language | None = Field(None, description="Answer in this language instead of the message's.")


class Pending(Shown):
    intent_id: str
    kind: Literal["confirmation", "approval"]
    tool: str
    arguments: dict[str, Any]
    hash: str
    expires_at: datetime


class UsageShown(Shown):
    mode: Mode
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    estimated: bool
    critiques: int
    context_rounds: int


class TurnShown(Shown):
    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "turn_id": "turn_5c0f9a1d2b",
                    "outcome": "asked",
                    "reply": "Should I cancel order 12345? Please answer yes or no.",
                    "reason_codes": ["DESTRUCTIVE_NO_CONFIRM"],
                    "pending": {
                        "intent_id": "intent_77ab02",
                        "kind": "confirmation",
                        "tool": "cancel_order",
                        "arguments": {"order_id": "12345"},
                        "hash": "9f2c",
                        "expires_at": "2026-03-31T12:05:00+00:00",
                    },
                    "usage": {
                        "mode": "adaptive",
                        "model_calls": 2,
                        "input_tokens": 1130,
                        "output_tokens": 92,
                        "cost_usd": 0.0,
                        "estimated": True,
                        "critiques": 1,
                        "context_rounds": 0,
                    },
                }
            ]
        },
    )

    turn_id: str
    outcome: Outcome
    reply: str
    reason_codes: list[ReasonCode]
    pending: Pending | None = Field(description="A call that waits for a yes: exactly this, and for how long.")
    usage: UsageShown


class MessageShown(Shown):
    seq: int
    turn_id: str
    role: Role
    kind: Kind
    content: str
    at: datetime
    by: Literal["user", "agent", "person", "system"] = Field(description="Who said it.")
    reason_code: ReasonCode | None = Field(None, description="Internal messages only.")
    meta: dict[str, Any] | None = Field(None, description="Internal messages only.")


# --- people ---------------------------------------------------------------------------------------------------------


class EscalationShown(Shown):
    id: str
    tenant: str
    conversation_id: str
    turn_id: str
    execution_id: str | None = Field(description="The call whose outcome nobody knows, if that is what it is about.")
    reason_code: ReasonCode | None
    summary: str
    suggestion: str | None
    state: Literal["open", "taken", "resolved"]
    created_at: datetime
    taken_by: str | None
    taken_at: datetime | None
    resolved_by: str | None
    resolved_at: datetime | None


class PersonsReply(Given):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"content": "Hello, this is Noa. I am looking into it."}]}
    )

    content: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NO_NUL)]


class Said(Shown):
    seq: int
    conversation_id: str


class ApprovalShown(Shown):
    """A call that waits for a colleague: exactly what will run."""

    id: str
    tenant: str
    conversation_id: str
    tool: str
    arguments: dict[str, Any]
    question: str = Field(description="The words that ask for the approval.")
    hash: str = Field(description="Of tool and arguments. Send it with the decision: it is refused if they changed.")
    tool_version: str
    policy_version: str
    asked_by: str
    state: IntentState | Literal["collected", "expired"]
    created_at: datetime
    expires_at: datetime
    settled_by: str | None
    settled_at: datetime | None


class Decision(Given):
    hash: Annotated[str, Field(max_length=128)] = Field(description="The `hash` of what you were shown.")


class Edit(Given):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"hash": "9f2c", "arguments": {"order_id": "12345", "amount": 20}}]}
    )

    hash: Annotated[str, Field(max_length=128)] = Field(description="The `hash` of what you were shown.")
    arguments: dict[str, Any] = Field(description="All of the arguments, as they should be. Ruled on anew.")


class Decided(Shown):
    approval: ApprovalShown
    turn: TurnShown = Field(description="What became of it; an edit makes a new approval, named in `pending`.")


# --- administration -------------------------------------------------------------------------------------------------


class PlanShown(Shown):
    name: str
    mode: Mode
    multiplier: float


class PlanGiven(Given):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "adaptive", "multiplier": 1.5}]})

    mode: Mode
    multiplier: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0


class BusinessShown(Shown):
    name: str
    description: str
    hours: str
    phone: str
    email: str


class TenantShown(Shown):
    id: str
    plan: str
    mode: Mode
    language: Language
    adaptive_share: float
    enabled_tools: list[str] | None = Field(description="Null enables every tool that is registered.")
    business: BusinessShown
    revision: int


class TenantChange(Given):
    """What can be changed by hand; the rest is in the tenant's file (`circumspect apply`)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"plan": "pro", "adaptive_share": 0.25}]})

    plan: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    language: Language | None = None
    adaptive_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class ToolShown(Shown):
    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect | None
    recovery: Recovery
    enabled: bool
    configured: bool
    open_world: bool
    explanation: list[str] = Field(description="What the policy in force does to a call of it, in words.")


class PolicyText(Given):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "version: 1\ntools:\n  get_order_status: {effect: read}\n"}]}
    )

    text: Annotated[str, Field(max_length=500_000, pattern=NO_NUL)]


class PolicyPut(PolicyText):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "version: 1\ntools:\n  get_order_status: {effect: read}\n",
                    "if_version": 3,
                    "note": "read the order's state",
                }
            ]
        }
    )

    if_version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="The version you had before you: refused when somebody put another one since. 0 is none."
    )
    note: Line = ""


class RollBack(Given):
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(description="Its text becomes a new version.")
    if_version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    note: Line = ""


class FindingShown(Shown):
    level: Literal["error", "warning"]
    line: int
    problem: str
    fix: str


class Checked(Shown):
    ok: bool
    hash: str | None
    findings: list[FindingShown]


class PolicyShown(Shown):
    version: int
    hash: str
    note: str
    created_by: str
    created_at: datetime


class PolicyWhole(PolicyShown):
    text: str


class ChangeShown(Shown):
    where: str
    what: str
    direction: str = Field(description="`loosened`, `tightened` or `changed`.")


class UsageRowShown(Shown):
    tenant: str
    period: str = Field(description="YYYY-MM, UTC.")
    mode: Mode
    model: str
    messages: int
    critiques: int
    context_fetches: int
    escalations: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    billed_usd: float = Field(description="The cost times the plan's multiplier.")


KeyScope = Literal["chat", "read", "manage", "admin", "widget"]


class NewKey(Given):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "shop backend", "scopes": ["chat"]}]})

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00\r\n]*$")]
    scopes: Annotated[list[KeyScope], Field(min_length=1, max_length=4)] = ["chat"]
    expires_in_days: Annotated[float, Field(gt=0, le=3_650, allow_inf_nan=False)] | None = None
    tenant: Annotated[str, Field(pattern=TENANT)] | None = Field(
        None, description="Operators name it; a key is its own."
    )


class KeyShown(Shown):
    id: str
    tenant: str
    name: str
    scopes: list[KeyScope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None = Field(description="To the minute.")


class KeyMade(KeyShown):
    key: str = Field(description="Shown this once, and stored nowhere.")


class Rotation(Given):
    overlap_hours: Annotated[float, Field(ge=0, le=24 * 30, allow_inf_nan=False)] = Field(
        24, description="How long the old key goes on working."
    )


class ActionShown(Shown):
    id: str
    at: datetime
    by: str
    action: str
    tenant: str | None
    subject: str
    detail: dict[str, Any]


class PersonExport(Shown):
    model_config = ConfigDict(extra="allow")

    person: str
    conversations: list[dict[str, Any]]


class Forgotten(Shown):
    conversations: int = Field(description="How many were deleted.")


# --- audit, health --------------------------------------------------------------------------------------------------


class AuditGiven(Given):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "transcripts": [
                        {
                            "id": "c1",
                            "messages": [
                                {"role": "user", "content": "cancel order 12345"},
                                {
                                    "role": "assistant",
                                    "content": None,
                                    "tool_calls": [
                                        {
                                            "id": "1",
                                            "type": "function",
                                            "function": {
                                                "name": "cancel_order",
                                                "arguments": '{"order_id": "12345"}',
                                            },
                                        }
                                    ],
                                },
                            ],
                        }
                    ]
                }
            ]
        }
    )

    transcripts: list[dict[str, Any]]
    policy: Annotated[str, Field(max_length=500_000, pattern=NO_NUL)] | None = Field(
        None, description="A policy file's text. Without it the tenant's own; `guess` guesses effects from names."
    )


class Health(Shown):
    status: Literal["ok"]


class Readiness(Shown):
    status: Literal["ready", "not_ready"]
    database: str
    redis: str = Field(description="Reported; never makes a worker unready.")
    model: str = Field(description="Reported; never makes a worker unready.")
    turns_in_flight: int
