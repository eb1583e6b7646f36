"""Sign-ins, and who is asking."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from circumspect.server.credentials import LONGEST_PASSWORD
from circumspect.server.schemas.bodies import AnswerBody, RequestBody, sort_names
from circumspect.server.stores.access import HeldRole, KeyScope


class Credentials(RequestBody):
    name: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)
    code: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Of the app, or a recovery code, where there is a second factor.",
    )
    cookie: bool = Field(False, description="Set a session cookie instead of returning the token.")


class Proof(RequestBody):
    proof: str = Field(
        min_length=1,
        max_length=LONGEST_PASSWORD,
        description="A code of the app or a recovery code; the password, where there is no second factor.",
    )


class OperatorShown(AnswerBody):
    kind: Literal["operator"] = "operator"
    id: str
    name: str
    role: HeldRole
    tenants: Annotated[list[str] | None, BeforeValidator(sort_names)] = Field(
        description="Whom the operator may see; null is everyone."
    )
    expires_at: datetime


class CallerShown(AnswerBody):
    kind: Literal["key"] = "key"
    id: str
    tenant: str
    scopes: list[KeyScope]


class SignInShown(OperatorShown):
    token: str | None = Field(description="Send it as `Authorization: Bearer …`; null when a cookie was set.")
