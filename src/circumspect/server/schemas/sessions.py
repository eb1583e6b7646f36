"""Where an operator is signed in."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from circumspect.server.schemas.bodies import AnswerBody
from circumspect.server.stores.sessions import SessionRow, SignInMethod
from circumspect.stores.codec import moment


class SessionShown(AnswerBody):
    id: str
    current: bool = Field(description="The one that this request came with.")
    method: SignInMethod = Field(description="How the person proved who they are.")
    created_at: datetime
    authenticated_at: datetime = Field(description="When they last did so.")
    seen_at: datetime = Field(description="When it was last used, to the minute.")
    expires_at: datetime
    address: str
    client: str = Field(description="What the browser or program calls itself.")

    @classmethod
    def of_row(cls, row: SessionRow, *, current: bool) -> SessionShown:
        return cls(
            id=row.id,
            current=current,
            method=row.method,
            created_at=moment(row.created_at),
            authenticated_at=moment(row.authenticated_at),
            seen_at=moment(row.seen_at),
            expires_at=moment(row.expires_at),
            address=row.address,
            client=row.client,
        )


class SessionsShown(AnswerBody):
    items: list[SessionShown]


class EndedShown(AnswerBody):
    ended: int = Field(description="How many sign-ins there were.")
