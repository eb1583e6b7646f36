"""What people say about the verdict of a review."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field

from circumspect.review.values import CriterionStatus
from circumspect.server.schemas.bodies import NO_NUL, AnswerBody, AnswerTime, RequestBody


class CorrectionGiven(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"criterion": "K-1", "status": "NOT_MET", "why": "The 30 days count from the last day of the trip."}
            ]
        }
    )

    criterion: Annotated[str, Field(min_length=1, max_length=1_000, pattern=NO_NUL)] = Field(
        description="The id of a criterion that has a result."
    )
    status: CriterionStatus = Field(description="What the verdict should have been. The same as it is confirms it.")
    why: Annotated[str, Field(min_length=1, max_length=20_000, pattern=NO_NUL)] | None = Field(
        None, description="What decides. A prompt that is optimised on it learns from these words."
    )


class CorrectionShown(AnswerBody):
    tenant: str
    evaluation_id: str = Field(validation_alias="evaluation")
    criterion: str
    verdict: CriterionStatus = Field(description="The verdict that was judged.")
    status: CriterionStatus = Field(description="What it should have been, as whoever spoke last says.")
    why: Annotated[str | None, BeforeValidator(lambda why: why or None)]
    at: AnswerTime
