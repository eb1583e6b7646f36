"""A user's yes or no, given by a button."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import PERSON, PersonId, RequestBody, ResourceId


class ConfirmationGiven(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"intent_id": "intent_77ab02", "decision": "approve"}]})

    intent_id: ResourceId = Field(description="`pending.intent_id` of the turn that asked.")
    decision: Literal["approve", "deny"] = Field(description="The user's yes or no.")


class Confirmation(ConfirmationGiven):
    """What a tenant's program sends, which also says whose decision it is."""

    person: PersonId | None = Field(None, description=PERSON)
