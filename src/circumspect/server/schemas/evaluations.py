"""Cases to be reviewed against criteria, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from circumspect.reasons import ReasonCode
from circumspect.review.values import ControllerName, CriterionStatus, shorten
from circumspect.server.schemas.bodies import AnswerBody, AnswerTime, RequestBody
from circumspect.server.schemas.corrections import CorrectionShown
from circumspect.stores.corrections import Correction
from circumspect.stores.reviews import EvaluationState


class DocumentGiven(RequestBody):
    """A document: `text`, a file in `data` (base64), or the name of one that is stored for the tenant."""

    name: str = Field("", max_length=200, pattern=r"^[^\x00]*$")
    text: str | None = Field(None, pattern=r"^[^\x00]*$")
    data: str | None = Field(None, pattern=r"^[A-Za-z0-9+/]*={0,2}$")
    media_type: str | None = Field(None, max_length=100)
    stored: str | None = Field(None, min_length=1, max_length=200, pattern=r"^[^\x00]*$")

    @model_validator(mode="after")
    def one_of_three(self) -> DocumentGiven:
        if sum(one is not None for one in (self.text, self.data, self.stored)) != 1:
            raise ValueError("give one of text, data and stored")
        if self.stored is None and not self.name:
            raise ValueError("name the document")
        return self


class LimitsGiven(RequestBody):
    tokens: int | None = Field(None, ge=500, le=1_000_000, description="Budget of one criterion.")
    budget: Literal["soft", "hard"] | None = None


class NewEvaluation(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "case": {
                        "id": "C-1",
                        "facts": {"claim": {"submitted": "2026-04-05"}, "trip": {"ended": "2026-03-06"}},
                    },
                    "criteria": [{"id": "K-1", "text": "The claim was submitted in time."}],
                    "documents": [{"name": "policy.md", "text": "# Claims\n\nA claim shall be submitted within …"}],
                }
            ]
        }
    )

    case: dict[str, Any] = Field(
        description="`id` and `facts` (nested, plain) or `fields` (value, confidence, source)."
    )
    criteria: list[dict[str, Any]] = Field(min_length=1, max_length=200, description="Each with `id` and `text`.")
    documents: list[DocumentGiven] = Field(min_length=1, max_length=50)
    controller: Literal["auto", "react", "heuristic"] = Field(
        "auto",
        description="`react`: the tenant's model drives. `heuristic`: no model. `auto`: what an experiment on cases "
        "says; else what the tenant's file says; else react if there is a model.",
    )
    fallback: bool = Field(True, description="When the model fails, UNCERTAIN shows the passages that words find.")
    limits: LimitsGiven | None = None


class CitationShown(AnswerBody):
    document: str
    path: list[str]
    page: int | None
    quote: str = Field(description="The document's own text from `start` to `end`.")
    start: int
    end: int


class EvidenceShown(AnswerBody):
    field: str
    value: Any


class ResultShown(AnswerBody):
    case: str
    criterion: str
    status: CriterionStatus
    confidence: float
    rationale: str
    citations: list[CitationShown]
    evidence: list[EvidenceShown]
    reason_code: ReasonCode | None
    controller: ControllerName
    prompt_id: str
    usage: dict[str, Any]
    trace: list[dict[str, Any]] | None = None
    correction: CorrectionShown | None = Field(None, description="What a person said that it should have been.")

    @classmethod
    def of_result(cls, row: Mapping[str, Any], *, trace: bool = False, correction: Correction | None = None) -> Self:
        """Of what the store has of one, which is `Result.to_json`."""
        shown = {name: value for name, value in row.items() if name != "trace"}
        if correction is not None:
            shown["correction"] = correction
        if trace:
            shown["trace"] = [{**step, "text": shorten(step["text"])} for step in row.get("trace", ())]
        return cls.model_validate(shown)


class EvaluationShown(AnswerBody):
    id: str
    tenant: str
    case: str = Field(validation_alias="case_id")
    state: EvaluationState
    controller: ControllerName
    total: int
    done: int
    error: str | None
    created_at: AnswerTime
    finished_at: AnswerTime | None
    results: list[ResultShown] | None = None
