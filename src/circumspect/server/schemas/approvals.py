"""Calls that wait for a colleague, and what the colleague decides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import AnswerBody, RequestBody
from circumspect.server.schemas.conversations import TurnShown
from circumspect.values import IntentState


class ApprovalShown(AnswerBody):
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
    turn: TurnShown = Field(description="What became of it; an edit makes a new approval, named in `pending`.")
