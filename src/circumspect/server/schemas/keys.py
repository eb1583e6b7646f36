"""API keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import ONE_LINE, TENANT, AnswerBody, AnswerTime, RequestBody
from circumspect.server.stores.access import SCOPES, KeyScope, KeyState


class NewKey(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "shop backend", "scopes": ["chat"]}]})

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=ONE_LINE)]
    scopes: list[KeyScope] = Field(
        ["chat"], min_length=1, max_length=len(SCOPES), description="`widget` only alone: anybody can read such a key."
    )
    expires_in_days: Annotated[float, Field(gt=0, le=3_650, allow_inf_nan=False)] | None = None
    tenant: Annotated[str, Field(pattern=TENANT)] | None = Field(
        None, description="Operators name it; a key is its own."
    )


class KeyShown(AnswerBody):
    id: str
    tenant: str
    name: str
    scopes: list[KeyScope]
    created_at: AnswerTime
    expires_at: AnswerTime | None
    revoked_at: AnswerTime | None
    used_at: AnswerTime | None = Field(description="To the minute.")


class KeyListed(KeyShown):
    """With whether it works now."""

    state: KeyState


class KeyMade(KeyShown):
    key: str = Field(description="Shown this once, and stored nowhere.")


class Rotation(RequestBody):
    overlap_hours: Annotated[float, Field(ge=0, le=24 * 30, allow_inf_nan=False)] = Field(
        24, description="How long the old key goes on working."
    )
