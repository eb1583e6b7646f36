"""Sign-ins, and who is asking."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from circumspect.server.credentials import LONGEST_PASSWORD
from circumspect.server.schemas.bodies import Given, Shown
from circumspect.server.stores.access import Role, Scope


class Credentials(Given):
    name: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=LONGEST_PASSWORD)
    cookie: bool = Field(False, description="Set a session cookie instead of returning the token.")


class OperatorShown(Shown):
    kind: Literal["operator"] = "operator"
    id: str
    name: str
    role: Role
    tenants: list[str] | None = Field(description="Whom the operator may see; null is everyone.")
    expires_at: datetime


class CallerShown(Shown):
    kind: Literal["key"] = "key"
    id: str
    tenant: str
    scopes: list[Scope]


class Session(OperatorShown):
    token: str | None = Field(description="Send it as `Authorization: Bearer …`; null when a cookie was set.")
