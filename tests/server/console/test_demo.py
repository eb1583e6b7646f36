"""The demo data: really played, worth looking at, and gone without a trace."""

from __future__ import annotations

import sqlalchemy as sa

from circumspect.demo.demo_data import remove_demo, seed_demo
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.server.config import Settings
from circumspect.stores import SqlStore
from circumspect.stores.experiment_tables import experiments, exposures, prompt_versions, shadows
from circumspect.stores.people import create_conversation
from circumspect.stores.tables import (
    conversations,
    escalations,
    intents,
    messages,
    outbox,
    tool_executions,
    turns,
    usage,
)
from circumspect.values import ConversationId, TenantId

SECRET = "a secret key for tests only which is long enough"


async def test_the_demo_is_played_once_and_taken_away_whole(tmp_path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/demo.db", secret_key=SECRET)
    store = await SqlStore.open(settings.database)
    try:
        await apply_samples(store, settings)

        def own(connection: sa.Connection) -> None:
            from circumspect.clock import SystemClock

            now = SystemClock().now()
            create_conversation(connection, TenantId("shop"), ConversationId("demo-mine"), "adaptive", now, person="me")

        await store.tx(own)
        made = await seed_demo(store, settings, share=0.2)
        assert made > 20
        assert await seed_demo(store, settings, share=0.2) == 0

        def outcomes(connection: sa.Connection) -> tuple[set[str], set[str], set[str], int]:
            return (
                set(connection.execute(sa.select(turns.c.outcome)).scalars()),
                set(connection.execute(sa.select(escalations.c.state)).scalars()),
                set(connection.execute(sa.select(conversations.c.language)).scalars()),
                connection.execute(
                    sa.select(sa.func.count()).where(intents.c.kind == "approval", intents.c.state == "pending")
                ).scalar_one(),
            )

        said, states, languages, waiting = await store.tx(outcomes)
        assert {"answered", "asked", "acted", "escalated", "failed"} <= said
        assert {"open", "taken", "resolved"} <= states
        assert {"en", "he", "ru"} <= languages
        assert waiting == 4

        def tried(connection: sa.Connection) -> tuple[set[str], int]:
            arms = connection.execute(sa.select(exposures.c.arm)).scalars()
            different = sa.select(sa.func.count()).select_from(shadows).where(sa.not_(shadows.c.same))
            return set(arms), connection.execute(different).scalar_one()

        arms, different = await store.tx(tried)
        assert arms == {"control", "careful"}
        assert different > 0
        assert await remove_demo(store) == made

        def rest(connection: sa.Connection) -> dict[str, int]:
            played = (turns, messages, intents, tool_executions, escalations, outbox, usage)
            tables = (*played, experiments, exposures, shadows, prompt_versions)
            count = sa.func.count()
            return {one.name: connection.execute(sa.select(count).select_from(one)).scalar_one() for one in tables}

        left = await store.tx(rest)
        assert not any(left.values()), left
        assert await store.tx(lambda c: c.execute(sa.select(conversations.c.id)).scalars().all()) == ["demo-mine"]
    finally:
        await store.close()
