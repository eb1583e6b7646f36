"""Tenants, plans, tools, usage and the operators' log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody, RequestBody
from circumspect.values import Effect, Language, Mode, Recovery


class PlanShown(AnswerBody):
    name: str
    mode: Mode
    multiplier: float


class PlanGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "adaptive", "multiplier": 1.5}]})

    mode: Mode
    multiplier: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0


class BusinessShown(AnswerBody):
    name: str
    description: str
    hours: str
    phone: str
    email: str


class TenantShown(AnswerBody):
    id: str
    plan: str
    mode: Mode
    language: Language
    adaptive_share: float
    enabled_tools: list[str] | None = Field(description="Null enables every tool that is registered.")
    business: BusinessShown
    revision: int


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
    cost_usd: float
    billed_usd: float = Field(description="The cost times the plan's multiplier.")


class ActionShown(AnswerBody):
    id: str
    at: datetime
    by: str
    action: str
    tenant: str | None
    subject: str
    detail: dict[str, Any]
