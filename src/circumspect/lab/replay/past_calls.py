"""The past as it was: a stored conversation, and the part of the store that rules may look at, at any of its moments.

In comes what is stored; out comes what was there then. A call that ended later was still under way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from circumspect.values import ConversationId, Execution, Intent, Language, Message, Mode, TenantId, TurnId


@dataclass(frozen=True, slots=True)
class Record:
    """A stored conversation: everything that a replay reads."""

    tenant: TenantId
    conversation: ConversationId
    messages: Sequence[Message]
    """Internal ones included, in order."""
    executions: Sequence[Execution]
    intents: Sequence[Intent]
    turns: Mapping[TurnId, tuple[Mode, Language]] = field(default_factory=dict)
    """How each turn was played; the mode of one that is not here is read off its journal."""
    person: str | None = None


class ExecutionLookup(Protocol):
    """Calls of these tools that began between two moments, in any of the tenant's conversations, oldest first; with
    `person` as in `Store.recent_executions`."""

    async def __call__(
        self, tools: Collection[str], since: datetime, until: datetime, person: str | None = None
    ) -> Sequence[Execution]: ...


async def find_no_executions(
    tools: Collection[str], since: datetime, until: datetime, person: str | None = None
) -> Sequence[Execution]:
    """There is only this conversation."""
    return ()


def as_of(one: Execution, at: datetime) -> Execution:
    """An execution as the ledger had it then: one that ended later was still under way."""
    if one.finished_at is None or one.finished_at <= at:
        return one
    return replace(one, state="started", finished_at=None, result=None, error="", reason=None)


@dataclass(frozen=True, slots=True)
class Past:
    """The part of the store that rules are allowed to look at, as it was when a turn was ruled on."""

    visible: Sequence[Message]
    """All of the conversation's visible messages; the first `count` were there."""
    count: int
    executions_there: tuple[Execution, ...]
    until: datetime
    elsewhere: ExecutionLookup = find_no_executions

    def with_elsewhere(self, elsewhere: ExecutionLookup) -> Past:
        return Past(self.visible, self.count, self.executions_there, self.until, elsewhere)

    async def messages(self, *_: str, after: int = -1, limit: int = 1000) -> Sequence[Message]:
        first = self.count
        while first and self.visible[first - 1].seq > after:
            first -= 1
        return self.visible[first : min(self.count, first + limit)]

    async def executions(self, *_: str) -> Sequence[Execution]:
        return [as_of(one, self.until) for one in self.executions_there]

    async def past(self, *_: str, after: int = -1, limit: int = 1000) -> tuple[Sequence[Message], Sequence[Execution]]:
        return await self.messages(after=after, limit=limit), await self.executions()

    async def recent_executions(
        self, _: str, tools: Collection[str], since: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        found = await self.elsewhere(tools, since, self.until, person)
        return [as_of(one, self.until) for one in found]
