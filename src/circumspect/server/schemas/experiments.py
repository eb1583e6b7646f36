"""Experiments and shadows: what is tried, how it is compared, what came of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from circumspect.lab.trials.variants import Overlay
from circumspect.server.schemas.bodies import AnswerBody, AnswerTime, OneLine, RequestBody
from circumspect.server.schemas.prompts import PromptId, PromptName

ArmNameField = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
ZeroToOne = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=2, le=10_000_000)]


class ThresholdsGiven(RequestBody):
    critique_below: ZeroToOne | None = Field(None, description="Below this confidence a second opinion is asked for.")
    spam: ZeroToOne | None = Field(None, description="From this score on a message is turned away.")
    clarity: ZeroToOne | None = Field(None, description="Below this confidence in what is wanted the user is asked.")
    answer_from: ZeroToOne | None = Field(None, description="From this confidence on an answer is given.")
    escalate_below: ZeroToOne | None = Field(None, description="Below this confidence a person is asked.")


class OverlayGiven(RequestBody):
    """What is different from what the tenant has. Model and profile can be chosen by operators only."""

    model: OneLine | None = None
    prompts: dict[PromptName, PromptId] | None = Field(None, description="Name of a prompt to the id of a version.")
    policy: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(None, description="Version of the policy.")
    thresholds: ThresholdsGiven | None = None
    profile: Literal["standard", "adaptive", "guided", "service"] | None = None
    synthetic: bool | None = Field(None, description="The analysis as the model's own words, or as a tool's result.")
    controller: Literal["react", "heuristic"] | None = Field(None, description="Who reviews cases.")


class ArmGiven(RequestBody):
    name: ArmNameField
    overlay: OverlayGiven = OverlayGiven.model_validate({})
    weight: Annotated[float, Field(gt=0, le=1000)] = Field(1.0, description="Against the other arms beside control.")


class GuardGiven(RequestBody):
    metric: OneLine
    worse_by: Annotated[float, Field(ge=0, le=1e9)] | None = None
    bound: Annotated[float, Field(ge=0, le=1e9)] | None = None
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    horizon: Count | None = None
    minimum: Count | None = None


class ExperimentPlanGiven(RequestBody):
    """What is compared and how; for a shadow what it may read and spend. Written before anything is seen."""

    metric: OneLine | None = Field(None, description="What decides: loss (the default), wrong, cost, …")
    method: Literal["sequential", "fixed"] | None = Field(None, description="sequential may be looked at any time.")
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    horizon: Count | None = Field(None, description="Conversations an arm.")
    minimum: Count | None = None
    effect: Annotated[float, Field(gt=0, le=1e9)] | None = Field(None, description="The smallest that would matter.")
    guards: Annotated[list[GuardGiven], Field(max_length=20)] | None = Field(
        None, description="What must not get worse: an arm in which it does is stopped. Without it: failed and wrong."
    )
    quiet_seconds: Annotated[float, Field(ge=0, le=86_400 * 30)] | None = Field(
        None, description="A conversation counts when nothing was said in it for so long."
    )
    climb: bool | None = Field(None, description="Go from 10 to 50 to 100 % by itself when everything speaks for it.")
    reads: Literal["recorded", "live"] | None = Field(
        None, description="Shadow: read calls are answered from what the live turn got, or really made."
    )
    budget_usd: Annotated[float, Field(gt=0, le=1e9)] | None = Field(None, description="Shadow: it stops there.")
    budget_tokens: Annotated[int, Field(gt=0, le=2**53)] | None = Field(None, description="Shadow: it stops there.")


class ExperimentGiven(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "ask more often",
                    "arms": [{"name": "careful", "overlay": {"thresholds": {"critique_below": 0.9}}}],
                    "plan": {"metric": "wrong", "horizon": 2000},
                }
            ]
        }
    )

    name: OneLine
    kind: Literal["ab", "shadow"] = "ab"
    unit: Literal["conversation", "case"] = "conversation"
    arms: Annotated[list[ArmGiven], Field(min_length=1, max_length=10)]
    plan: ExperimentPlanGiven = ExperimentPlanGiven.model_validate({})
    note: OneLine = ""


class ShareGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"share": 0.1}]})

    share: ZeroToOne = Field(description="Of the conversations that begin from now on; 0.1 is one in ten.")


class StopGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"why": "customers complain"}]})

    why: OneLine = ""


class FinishGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"winner": "careful", "roll_out": True}]})

    winner: ArmNameField
    roll_out: bool = Field(False, description="Every conversation that begins from now on gets the winner.")


class ArmShown(AnswerBody):
    name: str
    overlay: Annotated[dict[str, Any], BeforeValidator(Overlay.to_json)]
    weight: float
    stopped: str = Field(description="Why it is not served any more; empty while it is.")


class PeriodShown(AnswerBody):
    at: AnswerTime
    share: float


class ExperimentShown(AnswerBody):
    id: str
    tenant: str
    name: str
    kind: Literal["ab", "shadow"]
    unit: Literal["conversation", "case"]
    state: Literal["draft", "running", "rolled_out", "stopped", "finished"]
    share: float
    arms: list[ArmShown]
    shares: list[PeriodShown]
    plan: dict[str, Any]
    winner: str | None
    note: str
    dropped: int = Field(description="Turns that had no shadow because too many waited.")
    created_by: str
    created_at: AnswerTime
    started_at: AnswerTime | None
    ended_at: AnswerTime | None


class StepShown(AnswerBody):
    share: Annotated[float, BeforeValidator(lambda percent: percent / 100)]
    move: Literal["stopped", "down", "held", "stays", "up", "done"]
    why: str


class ResultsShown(AnswerBody):
    arms: dict[str, Any] = Field(description="Units, turns, and every metric with its limits, by arm.")
    comparisons: dict[str, Any] = Field(description="Each arm against control, the planned metric first.")
    next: dict[str, StepShown] = Field(description="What the ladder 10, 50, 100 % says, by arm.")


class SummaryShown(AnswerBody):
    turns: int
    same: int
    failed: int
    cost_usd: float
    tokens: int
    seconds: float
    differences: dict[str, int]
    outcomes: dict[str, int]


class ExperimentWhole(ExperimentShown):
    results: ResultsShown | None = Field(description="Of an experiment; a shadow has a summary instead.")
    summary: SummaryShown | None


class ShadowShown(AnswerBody):
    tenant: str
    experiment: str
    turn: str = Field(description="The turn, or the evaluation of a case.")
    conversation: str | None
    case_id: str | None
    same: bool = Field(description="The same outcome, calls and reason codes; of a case, the same verdicts.")
    differences: list[str]
    live: dict[str, Any]
    shadow: dict[str, Any]
    error: str
    cost_usd: float
    tokens: int
    seconds: float
    at: AnswerTime
