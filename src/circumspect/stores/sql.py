"""`SqlStore`: the `Store` port over SQLite or PostgreSQL, and what administrators ask of it.

    store = await SqlStore.open("sqlite:///circumspect.db")   # or postgresql://...; a bare path is SQLite
    opened = await store.open_turn(incoming, mode="adaptive", history=5, token=token, lease_seconds=60)
    await store.close()

Each method is one transaction, run by a thread so that the event loop never waits for a disk. Two clocks: leases go by
the database's (`database_time.py`), whatever a worker's says. Whether a question still waits for its answer is checked
in the statement that consumes it, against the time that comes with the call, because a turn must be repeatable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from datetime import UTC, datetime
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from circumspect.ports import Closing, OutboxItem
from circumspect.stores import admin, ledger, people, quotas
from circumspect.stores.admin import UsageRow
from circumspect.stores.bounds import LOCK_SECONDS
from circumspect.stores.codec import epoch
from circumspect.stores.engine import Database, connect
from circumspect.stores.lasting_files import MIN_FREE_BYTES
from circumspect.stores.people import EscalationRow, EscalationState, StoredConversation
from circumspect.stores.schema import prepare
from circumspect.stores.turn_closing import close_turn, give_back, renew
from circumspect.stores.turn_opening import open_turn
from circumspect.values import (
    ConversationId,
    Execution,
    Incoming,
    Intent,
    Message,
    Mode,
    Opened,
    Plan,
    Tenant,
    TenantId,
    ToldOutcome,
    ToolSpec,
    TurnId,
    TurnResult,
)

P = ParamSpec("P")
T = TypeVar("T")


class SqlStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        migrate: bool = True,
        restored: bool = False,
        min_free_bytes: int = MIN_FREE_BYTES,
        lock_seconds: float = LOCK_SECONDS,
    ) -> SqlStore:
        """Connect, and bring the schema up to date (`migrate=False` refuses an old one instead). With less room on the
        disk of an SQLite file nothing new is begun."""
        database = connect(url, min_free_bytes, lock_seconds)
        try:
            await database.threads.run(partial(prepare, database, migrate, restored))
        except BaseException:
            await asyncio.to_thread(database.close)
            raise
        return cls(database)

    async def close(self) -> None:
        """Waits for what is under way. Closing twice does no harm."""
        await asyncio.to_thread(self._database.close)

    async def tx(self, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `body(connection, ...)` as one transaction, in the caller's context. Once begun it is carried through,
        even if nobody waits for the answer any more."""
        work = partial(self._database.transaction, body, *args, **kwargs)
        return await self._database.threads.run(partial(copy_context().run, work))

    async def scrub(self) -> bool:
        """Call it after a deletion: what was deleted is then in none of the database's files. False when somebody else
        was reading; it can be called again at any time."""
        return await self._database.threads.run(self._database.scrub)

    # --- the port ---------------------------------------------------------------------------------------------------

    async def open_turn(
        self, incoming: Incoming, *, mode: Mode, history: int, token: str, lease_seconds: float, drawn: bool = False
    ) -> Opened:
        return await self.tx(open_turn, incoming, mode, history, token, lease_seconds, drawn=drawn)

    async def renew(self, incoming: Incoming, token: str, lease_seconds: float) -> None:
        await self.tx(renew, incoming, token, lease_seconds)

    async def give_back(self, incoming: Incoming, token: str) -> None:
        await self.tx(give_back, incoming, token)

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        return await self.tx(ledger.begin_call, execution, token, by)

    async def finish_call(self, execution: Execution) -> bool:
        return await self.tx(ledger.finish_call, execution)

    async def close_turn(self, closing: Closing) -> None:
        await self.tx(close_turn, closing)

    async def claim_expired(
        self, token: str, lease_seconds: float, limit: int, tenant: TenantId | None = None
    ) -> Sequence[Execution]:
        return await self.tx(ledger.claim_expired, token, lease_seconds, limit, tenant)

    async def messages(
        self,
        tenant: TenantId,
        conversation: ConversationId,
        *,
        internal: bool = False,
        after: int = -1,
        limit: int = 1000,
    ) -> Sequence[Message]:
        return await self.tx(admin.get_messages, tenant, conversation, internal, after, limit)

    async def executions(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Execution]:
        return await self.tx(admin.get_executions, tenant, conversation)

    async def past(
        self, tenant: TenantId, conversation: ConversationId, *, after: int = -1, limit: int = 1000
    ) -> tuple[Sequence[Message], Sequence[Execution]]:
        return await self.tx(admin.get_past, tenant, conversation, after, limit)

    async def recent_executions(
        self, tenant: TenantId, tools: Collection[str], since: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        return await self.tx(admin.get_recent_executions, tenant, tools, epoch(since), person)

    async def intents(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Intent]:
        return await self.tx(admin.get_intents, tenant, conversation)

    async def claim_outbox(self, token: str, lease_seconds: float, limit: int) -> Sequence[OutboxItem]:
        return await self.tx(ledger.claim_outbox, token, lease_seconds, limit)

    async def settle_outbox(self, item: OutboxItem, *, delivered: bool) -> None:
        await self.tx(ledger.settle_outbox, item, delivered)

    # --- administration ---------------------------------------------------------------------------------------------

    async def put_plan(self, plan: Plan) -> None:
        await self.tx(admin.put_plan, plan)

    async def get_plan(self, name: str) -> Plan | None:
        return await self.tx(admin.get_plan, name)

    async def plans(self) -> Sequence[Plan]:
        return await self.tx(admin.get_plans)

    async def put_tenant(self, tenant: Tenant) -> None:
        """Its plan is referred to by name, and made only if there is none of that name; `put_plan` changes plans."""
        await self.tx(admin.put_tenant, tenant)

    async def register(self, tenant: Tenant) -> None:
        """As `put_tenant`, except that a tenant which a server serves stays as it was applied."""
        await self.tx(admin.register, tenant)

    async def put_tools(self, tenant: TenantId, specs: Mapping[str, ToolSpec]) -> None:
        """Remember what the tools are, for replays. A tool that is gone stays known."""
        await self.tx(admin.put_tools, tenant, specs)

    async def tool_specs(self, tenant: TenantId) -> Mapping[str, ToolSpec]:
        return await self.tx(admin.get_tools, tenant)

    async def get_tenant(self, tenant: TenantId) -> Tenant | None:
        return await self.tx(admin.get_tenant, tenant)

    async def tenants(self) -> Sequence[Tenant]:
        return await self.tx(admin.get_tenants)

    async def usage(self, tenant: TenantId, period: str | None = None) -> Sequence[UsageRow]:
        """By month (`YYYY-MM`, UTC), mode and model; all months when none is named."""
        return await self.tx(admin.get_usage, tenant, period)

    async def count_messages(self, tenant: TenantId, period: str) -> int:
        return await self.tx(quotas.count_messages, tenant, period)

    async def escalations(
        self, tenant: TenantId | None = None, state: EscalationState | None = None, limit: int = 1000
    ) -> Sequence[EscalationRow]:
        """The newest first. What else people do with them is in `stores.people`."""
        tenants = None if tenant is None else (tenant,)
        return await self.tx(people.list_escalations, tenants, state, None, limit)

    async def resolve(
        self, escalation: str, *, by: str, outcome: ToldOutcome | None = None, at: datetime | None = None
    ) -> EscalationRow:
        """Somebody looked into it. Of a call whose outcome was unknown they say what became of it."""
        return await self.tx(people.resolve, None, escalation, by, at or datetime.now(UTC), outcome)

    async def conversations(self, tenant: TenantId, limit: int = 100) -> Sequence[StoredConversation]:
        """The most recently used first."""
        return await self.tx(people.list_conversations, (tenant,), None, limit)

    async def result_of(self, turn: TurnId, *, tenant: TenantId | None = None) -> TurnResult | None:
        """What that turn answered; None while it runs, when it never ended, or when it is another tenant's."""
        return await self.tx(admin.result_of, turn, tenant)
