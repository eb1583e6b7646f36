"""Live hints: the database in, names of what changed out. A page that gets one asks for its fragment again.

One poller a worker, and only while somebody watches. What a hint is about is checked by the request that follows it;
still nobody is told of tenants they may not see. Conversations are watched by their row: a message, an answer and a
take-over all change it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from circumspect.errors import CircumspectError
from circumspect.stores.tables import conversations, escalations, intents, tenants
from circumspect.stores.work_tables import DRAFTED, policy_drafts
from circumspect.values import TenantId

log = logging.getLogger(__name__)

SECONDS = 0.4
RESTING = 20
"""Looking takes at most a twentieth of the time: with many tenants hints come less often, and nothing else suffers."""
RECENT = 50
HintTopic = str
HintTenant = str
HintStates = Mapping[tuple[HintTenant, HintTopic], object]
HintReader = Callable[[Collection[HintTopic]], Awaitable[HintStates]]


@dataclass(eq=False)
class Watcher:
    topics: frozenset[HintTopic]
    tenants: Collection[TenantId] | None
    queue: asyncio.Queue[HintTopic] = field(default_factory=asyncio.Queue)

    def hears(self, tenant: HintTenant, topic: HintTopic) -> bool:
        return topic in self.topics and (self.tenants is None or tenant in self.tenants)


class Hub:
    """One for each worker. `app.state.live`."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()
        self._poller: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(
        self, looking: HintReader, topics: Collection[HintTopic], allowed: Collection[TenantId] | None
    ) -> AsyncIterator[asyncio.Queue[HintTopic]]:
        watcher = Watcher(frozenset(topics), allowed)
        self._watchers.add(watcher)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll(looking))
        try:
            yield watcher.queue
        finally:
            self._watchers.discard(watcher)

    async def _poll(self, looking: HintReader) -> None:
        seen: HintStates | None = None
        while self._watchers:
            began = time.monotonic()
            try:
                watched = frozenset().union(*(one.topics for one in self._watchers))
                now = await looking(watched)
                for key, state in now.items() if seen is not None else ():
                    if seen is not None and seen.get(key) != state:
                        self._tell(*key)
                gone = set(seen or ()) - set(now)
                for tenant, topic in gone:
                    if topic in watched:
                        self._tell(tenant, topic)
                seen = now
            except CircumspectError as problem:
                log.warning("live hints failed", extra={"problem": problem.code})
            await asyncio.sleep(max(SECONDS, RESTING * (time.monotonic() - began)))

    def _tell(self, tenant: HintTenant, topic: HintTopic) -> None:
        for watcher in self._watchers:
            if watcher.hears(tenant, topic):
                watcher.queue.put_nowait(topic)


def read_hint_states(
    connection: sa.Connection, topics: Collection[HintTopic]
) -> dict[tuple[HintTenant, HintTopic], object]:
    """What is watched, as it is now. Two looks that differ under a key mean a hint on that topic for that tenant."""
    found: dict[tuple[HintTenant, HintTopic], object] = {}
    if "conversations" in topics:
        found |= _conversations(connection)
    if "inbox" in topics:
        found |= _inbox(connection)
    for topic in topics:
        if topic.startswith("conversation:"):
            found |= _conversation(connection, topic)
    return found


_STATE = (conversations.c.updated_at, conversations.c.next_seq, conversations.c.paused_by)


def _conversations(connection: sa.Connection) -> dict[tuple[HintTenant, HintTopic], object]:
    found: dict[tuple[HintTenant, HintTopic], object] = {}
    for tenant in connection.execute(sa.select(tenants.c.id)).scalars().all():
        rows = connection.execute(
            sa.select(conversations.c.id, *_STATE)
            .where(conversations.c.tenant == tenant)
            .order_by(conversations.c.updated_at.desc())
            .limit(RECENT)
        )
        found[tenant, "conversations"] = tuple(tuple(row) for row in rows)
    return found


def _conversation(connection: sa.Connection, topic: HintTopic) -> dict[tuple[HintTenant, HintTopic], object]:
    """`conversation:TENANT/ID`"""
    tenant, _, id_ = topic.removeprefix("conversation:").partition("/")
    query = sa.select(*_STATE).where(conversations.c.tenant == tenant, conversations.c.id == id_)
    row: Any = connection.execute(query).one_or_none()
    return {} if row is None else {(tenant, topic): tuple(row)}


def _inbox(connection: sa.Connection) -> dict[tuple[HintTenant, HintTopic], object]:
    waiting = sa.select(
        escalations.c.tenant, escalations.c.state, sa.func.count(), sa.func.max(escalations.c.created_at)
    )
    asked = sa.select(intents.c.tenant, sa.literal("approval"), sa.func.count(), sa.func.max(intents.c.created_at))
    drafted = sa.select(
        policy_drafts.c.tenant, sa.literal("draft"), sa.func.count(), sa.func.max(policy_drafts.c.created_at)
    )
    found: dict[tuple[HintTenant, HintTopic], list[object]] = {}
    for query in (
        waiting.where(escalations.c.state.in_(("open", "taken"))).group_by(escalations.c.tenant, escalations.c.state),
        drafted.where(sa.text(DRAFTED)).group_by(policy_drafts.c.tenant),
        asked.where(intents.c.kind == "approval", sa.text("state = 'pending'")).group_by(intents.c.tenant),
    ):
        for tenant, *state in connection.execute(query.order_by(sa.text("1, 2"))):
            found.setdefault((tenant, "inbox"), []).append(tuple(state))
    return {key: tuple(states) for key, states in found.items()}
