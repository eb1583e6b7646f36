"""Tenants, plans, tools, usage and the operators' log."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody, AnswerTime, RequestBody, sort_names
from circumspect.stores.action_log import ActionResult
from circumspect.values import Effect, Language, Mode, Recovery


class PlanShown(AnswerBody):
    name: str
    mode: Mode
    multiplier: float
    quota: int | None = Field(description="Messages a month (UTC); null is as many as a tenant likes.")
    message_price_usd: float = Field(validation_alias="message_price")


class PlanGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "adaptive", "multiplier": 1.5}]})

    mode: Mode
    multiplier: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    quota: Annotated[int, Field(ge=0, le=999_999_999)] | None = None
    message_price_usd: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 0.0


class BusinessShown(AnswerBody):
    name: str
    description: str
    hours: str
    phone: str
    email: str


class TenantShown(AnswerBody):
    id: str = Field(validation_alias=AliasPath("tenant", "id"))
    plan: str = Field(validation_alias=AliasPath("tenant", "plan", "name"))
    mode: Mode = Field(validation_alias=AliasPath("tenant", "plan", "mode"))
    language: Language = Field(validation_alias=AliasPath("tenant", "language"))
    adaptive_share: float = Field(validation_alias=AliasPath("tenant", "adaptive_share"))
    enabled_tools: Annotated[list[str] | None, BeforeValidator(sort_names)] = Field(
        validation_alias=AliasPath("tenant", "tools"), description="Null enables every tool that is registered."
    )
    business: BusinessShown = Field(validation_alias=AliasPath("tenant", "business"))
    revision: int


class TenantListed(TenantShown):
    """With whether the server serves it: not one without a configuration, whose program brings its own tools."""

    served: bool


class TenantChange(RequestBody):
    """What can be changed by hand; the rest is in the tenant's file (`circumspect apply`)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"plan": "pro", "adaptive_share": 0.25}]})

    plan: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    language: Language | None = None
    adaptive_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class ToolShown(AnswerBody):
    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect | None
    recovery: Recovery
    enabled: bool
    configured: bool
    open_world: bool
    client: bool = Field(description="Clients run it, and we do not.")
    returns: dict[str, Any] = Field(description="JSON schema of its results; empty when nobody says.")
    reviewed: bool = Field(description="A client brought along what is not, and the tenant declares the rest.")
    explanation: list[str] = Field(description="What the policy in force does to a call of it, in words.")


class UsageRowShown(AnswerBody):
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
    cost_usd: float = Field(validation_alias="cost")
    billed_usd: float = Field(
        validation_alias="billed",
        description="The cost times the plan's multiplier, and its price by the message.",
    )


class QuotaShown(AnswerBody):
    tenant: str
    period: str = Field(description="The month that runs: YYYY-MM, UTC.")
    plan: str
    quota: int | None = Field(description="Null is as many as the tenant likes.")
    used: int
    left: int | None
    message_price_usd: float = Field(validation_alias="message_price")


class MeasuresShown(AnswerBody):
    tenant: str
    period: str = Field(description="YYYY-MM, UTC.")
    thumbs_up: int
    thumbs_down: int
    satisfaction: float | None = Field(description="The share of thumbs that point up; null where nobody said.")
    apology_loops: int = Field(description="Turns that ended a row of replies which were sorry or did not know.")
    searches_saved: int = Field(description="Turns on a page that needed no search.")


class EvaluationUsageShown(AnswerBody):
    tenant: str
    period: str = Field(description="YYYY-MM, UTC.")
    controller: str
    model: str
    verdicts: int
    met: int
    not_met: int
    uncertain: int
    abstention: float = Field(description="The share of the verdicts that are UNCERTAIN.")
    model_calls: int
    input_tokens: int
    output_tokens: int
    seconds_each: float = Field(description="How long a verdict took, on average.")
    cost_usd: float = Field(validation_alias="cost")
    billed_usd: float = Field(validation_alias="billed", description="The cost times the plan's multiplier.")


class ActionShown(AnswerBody):
    id: str
    seq: int = Field(description="Rows are numbered without a gap, over all tenants.")
    at: AnswerTime
    by: str = Field(validation_alias="operator")
    action: str
    tenant: str | None
    subject: str
    detail: dict[str, Any]
    origin: str = Field(description="The address that it came from; empty for what the server did by itself.")
    result: ActionResult
    hash: str = Field(description="Over this row and the hash of the one before it.")
