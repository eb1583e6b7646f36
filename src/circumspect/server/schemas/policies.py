"""Policies: their text, their versions, what is wrong with them and what changed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from circumspect.server.schemas.bodies import NO_NUL, AnswerBody, AnswerTime, OneLine, RequestBody
from circumspect.server.stores.policy_drafts import DraftState


class PolicyText(RequestBody):
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
    note: OneLine = ""


class RollBack(RequestBody):
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] = Field(description="Its text becomes a new version.")
    if_version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    note: OneLine = ""


class DraftWritten(PolicyText):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "version: 1\ntools:\n  get_order_status: {effect: read}\n",
                    "base": 3,
                    "note": "read the order's state",
                }
            ]
        }
    )

    base: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(description="The version you had before you; 0 is none.")
    note: OneLine = ""


class DraftPut(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"if_version": 3}]})

    if_version: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(
        description="The version in force that you compared it with: refused when there is another by now. 0 is none."
    )


class FindingShown(AnswerBody):
    level: Literal["error", "warning"]
    line: int
    problem: str
    fix: Annotated[str, BeforeValidator(lambda fix: fix or "")]


class PolicyCheckShown(AnswerBody):
    ok: bool
    hash: str | None
    findings: list[FindingShown]


class PolicyShown(AnswerBody):
    version: int
    hash: str
    note: str
    created_by: str
    created_at: AnswerTime


class PolicyWhole(PolicyShown):
    text: str


class ChangeShown(AnswerBody):
    where: str
    what: str
    direction: str = Field(description="`loosened`, `tightened` or `changed`.")


class DraftShown(AnswerBody):
    id: str
    tenant: str
    base: int = Field(description="The version that its author had before them; 0 is none.")
    note: str
    changes: list[ChangeShown] = Field(description="Against that version, in words.")
    created_by: str
    created_at: AnswerTime
    state: DraftState
    settled_by: str | None
    settled_at: AnswerTime | None
    version: int | None = Field(description="The version that it became.")


class DraftWhole(DraftShown):
    text: str
