"""Calls that wait for a colleague, and what the colleague decides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AliasPath, ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody, AnswerTime, RequestBody
from circumspect.server.stores.approvals import Approval
from circumspect.values import IntentState, TurnJson


class FactShown(AnswerBody):
    """What an earlier result said that a condition of the policy reads."""

    place: str = Field(description="As the policy's conditions write it: `facts.get_order['12345'].status`.")
    value: Any


class ApprovalShown(AnswerBody):
    """A call that waits for a colleague: exactly what will run."""

    id: str
    tenant: str
    conversation_id: str = Field(validation_alias="conversation")
    tool: str = Field(validation_alias=AliasPath("call", "tool"))
    arguments: dict[str, Any] = Field(validation_alias=AliasPath("call", "arguments"))
    question: str = Field(description="The words that ask for the approval.")
    hash: str = Field(description="Of tool and arguments. Send it with the decision: it is refused if they changed.")
    tool_version: str
    policy_version: str
    asked_by: str = Field(validation_alias="principal")
    proposed_by: list[str] = Field(description="Who took part in the conversation. None of them may approve it.")
    edited_by: list[str] = Field(description="Who changed the call, version by version. Nor may any of these.")
    keys_approve: bool = Field(description="The policy lets API keys approve it, too.")
    facts: list[FactShown] = Field(
        description="What it rests on: what the policy's conditions read of earlier results."
    )
    state: IntentState | Literal["expired"]
    created_at: AnswerTime
    expires_at: AnswerTime
    settled_by: str | None
    settled_at: AnswerTime | None

    @classmethod
    def at(cls, row: Approval, now: datetime) -> Self:
        """As it stands now: what waited too long has expired, whatever the row says."""
        intent = row.intent
        state = "expired" if intent.state == "pending" and intent.expires_at <= now else intent.state
        return cls.of(intent, state=state, settled_by=row.settled_by, settled_at=row.settled_at)


class DecisionGiven(RequestBody):
    hash: Annotated[str, Field(max_length=128)] = Field(description="The `hash` of what you were shown.")


class Edit(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"hash": "9f2c", "arguments": {"order_id": "12345", "amount": 20}}]}
    )

    hash: Annotated[str, Field(max_length=128)] = Field(description="The `hash` of what you were shown.")
    arguments: dict[str, Any] = Field(description="All of the arguments, as they should be. Ruled on anew.")


class DecisionShown(AnswerBody):
    approval: ApprovalShown
    turn: TurnJson = Field(description="What became of it; an edit makes a new approval, named in `pending`.")
