"""Stores around a store. `Watching` notes how a turn began, and can withdraw its end; everything else passes through.

A turn under an arm that failed is withdrawn: it is closed as one that was interrupted, with no word to the user, so
that control may run it again under the same key. Not one that has changed something: that turn stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from circumspect.journal import Journal, NoticeEvent
from circumspect.ports import Closing, OutboxItem, Store
from circumspect.reasons import ReasonCode
from circumspect.values import (
    ConversationId,
    Execution,
    Incoming,
    Intent,
    Message,
    Mode,
    Opened,
    TenantId,
    TurnId,
)

FAULTS = frozenset({ReasonCode.MODEL_FAILED, ReasonCode.INTERNAL_ERROR})
"""What may be an arm's own doing. A store or a tool that is down is down for control too."""


class Passing:
    """A store that hands everything on."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def open_turn(
        self, incoming: Incoming, *, mode: Mode, history: int, token: str, lease_seconds: float, drawn: bool = False
    ) -> Opened:
        return await self.store.open_turn(
            incoming, mode=mode, history=history, token=token, lease_seconds=lease_seconds, drawn=drawn
        )

    async def renew(self, incoming: Incoming, token: str, lease_seconds: float) -> None:
        await self.store.renew(incoming, token, lease_seconds)

    async def give_back(self, incoming: Incoming, token: str) -> None:
        await self.store.give_back(incoming, token)

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        return await self.store.begin_call(execution, token, by)

    async def finish_call(self, execution: Execution) -> bool:
        return await self.store.finish_call(execution)

    async def close_turn(self, closing: Closing) -> None:
        await self.store.close_turn(closing)

    async def claim_expired(
        self, token: str, lease_seconds: float, limit: int, tenant: TenantId | None = None
    ) -> Sequence[Execution]:
        return await self.store.claim_expired(token, lease_seconds, limit, tenant)

    async def messages(
        self,
        tenant: TenantId,
        conversation: ConversationId,
        *,
        internal: bool = False,
        after: int = -1,
        limit: int = 1000,
    ) -> Sequence[Message]:
        return await self.store.messages(tenant, conversation, internal=internal, after=after, limit=limit)

    async def executions(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Execution]:
        return await self.store.executions(tenant, conversation)

    async def past(
        self, tenant: TenantId, conversation: ConversationId, *, after: int = -1, limit: int = 1000
    ) -> tuple[Sequence[Message], Sequence[Execution]]:
        """By way of the two above, for those who let less of them be seen."""
        said = await self.messages(tenant, conversation, after=after, limit=limit)
        return said, await self.executions(tenant, conversation)

    async def recent_executions(
        self, tenant: TenantId, tools: Collection[str], since: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        return await self.store.recent_executions(tenant, tools, since, person)

    async def count_messages(self, tenant: TenantId, period: str) -> int:
        return await self.store.count_messages(tenant, period)

    async def intents(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Intent]:
        return await self.store.intents(tenant, conversation)

    async def claim_outbox(self, token: str, lease_seconds: float, limit: int) -> Sequence[OutboxItem]:
        return await self.store.claim_outbox(token, lease_seconds, limit)

    async def settle_outbox(self, item: OutboxItem, *, delivered: bool) -> None:
        await self.store.settle_outbox(item, delivered=delivered)


@dataclass
class Watch:
    """What is seen of one turn while it runs."""

    opened: Opened | None = None
    history: int = 0
    """How many earlier messages were asked for."""
    changed: bool = False
    """A call that changes something was begun."""
    withdrawn: bool = False
    may_withdraw: Callable[[], bool] | None = None
    """None: the turn stands, however it ends."""


class Watching(Passing):
    """One for all turns of a worker: a conversation's messages wait for each other only within the same store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._watches: dict[TurnId, Watch] = {}

    @contextmanager
    def watch(self, turn: TurnId, may_withdraw: Callable[[], bool] | None = None) -> Iterator[Watch]:
        before = self._watches.get(turn)
        watch = self._watches[turn] = Watch(may_withdraw=may_withdraw)
        try:
            yield watch
        finally:
            if before is None:
                self._watches.pop(turn, None)
            else:
                self._watches[turn] = before

    async def open_turn(
        self, incoming: Incoming, *, mode: Mode, history: int, token: str, lease_seconds: float, drawn: bool = False
    ) -> Opened:
        opened = await super().open_turn(
            incoming, mode=mode, history=history, token=token, lease_seconds=lease_seconds, drawn=drawn
        )
        if watch := self._watches.get(incoming.turn):
            watch.opened, watch.history = opened, history
        return opened

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        if watch := self._watches.get(execution.turn):
            watch.changed = True
        return await super().begin_call(execution, token, by)

    async def close_turn(self, closing: Closing) -> None:
        watch = self._watches.get(closing.incoming.turn)
        if watch and watch.may_withdraw and _is_arm_failure(closing) and not watch.changed and watch.may_withdraw():
            closing, watch.withdrawn = _withdraw_turn(closing), True
        await super().close_turn(closing)


def _is_arm_failure(closing: Closing) -> bool:
    return (
        closing.result.outcome == "failed" and not closing.interrupted and bool(FAULTS & {*closing.result.reason_codes})
    )


def _withdraw_turn(closing: Closing) -> Closing:
    """Its journal is kept and what it cost is counted, but nobody is billed for our experiment."""
    notes = Journal()
    notes.write(NoticeEvent("the arm of an experiment failed; control answers"), ReasonCode.TURN_INTERRUPTED)
    result = replace(closing.result, reply="", pending=None, entries=(*closing.entries, *notes.entries))
    return replace(
        closing, result=result, entries=result.entries, denied=None, escalation=None, interrupted=True, multiplier=0.0
    )
