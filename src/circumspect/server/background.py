"""What a worker does while nobody asks: settle calls and end turns whose worker died, carry notifications, write down
what turns under experiments came to and stop arms that do harm, forget what is old.

Every worker does all of it; leases in the store keep them from doing anything twice. A round that fails is logged and
the next one comes all the same.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from time import perf_counter

from circumspect.errors import CircumspectError
from circumspect.lab.trials.conducting import climb, guard
from circumspect.language.detection import detect
from circumspect.pipeline import run_turn
from circumspect.server.delivery import Courier
from circumspect.server.log_export import LogExporter, name_receivers, open_receivers
from circumspect.server.services import Services, reviewing_model
from circumspect.server.stores import privacy
from circumspect.server.sweeping import Sweeper
from circumspect.stores import log_keeping, reviews, unfinished_turns
from circumspect.stores.word_search import merge_words
from circumspect.values import Abandoned, Incoming, TenantId

log = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
FINISH_SECONDS = 5.0
FINISHED_AT_ONCE = 50
DELIVER_SECONDS = 1.0
EXPOSE_SECONDS = 1.0
GUARD_SECONDS = 10.0
TAKE_UP_SECONDS = 30.0
EMBED_SECONDS = 10.0
SIGN_SECONDS = 600.0
EXPORT_SECONDS = 1.0
TIDY_SECONDS = 3600.0
KEEP_DELIVERED = timedelta(days=7)


@asynccontextmanager
async def in_background(services: Services) -> AsyncIterator[None]:
    """The rounds run until the block is left; what is under way then is broken off, and its lease runs out."""
    courier = Courier(
        services.store, services.directory, services.vault, services.settings, services.clock, services.ids
    )
    exporter = LogExporter(services.store, open_receivers(services.settings, services.clock), services.ids)
    async with courier, Sweeper(services) as sweeper:
        rounds = [
            asyncio.create_task(_forever(SWEEP_SECONDS, sweeper.start_due)),
            asyncio.create_task(_forever(FINISH_SECONDS, lambda: finish_turns(services))),
            asyncio.create_task(_forever(DELIVER_SECONDS, lambda: _until_idle(courier))),
            asyncio.create_task(_forever(EXPOSE_SECONDS, lambda: write_exposures(services))),
            asyncio.create_task(_forever(GUARD_SECONDS, lambda: _sparingly(lambda: look_at_arms(services)))),
            asyncio.create_task(_forever(TAKE_UP_SECONDS, lambda: take_up_evaluations(services))),
            asyncio.create_task(_forever(EMBED_SECONDS, services.library.catch_up)),
            asyncio.create_task(_forever(SIGN_SECONDS, lambda: sign_log(services))),
            asyncio.create_task(_forever(EXPORT_SECONDS, exporter.export_due)),
            asyncio.create_task(_forever(TIDY_SECONDS, lambda: forget_old(services))),
            asyncio.create_task(_forever(TIDY_SECONDS, lambda: shorten_log(services))),
        ]
        try:
            yield
        finally:
            for task in rounds:
                task.cancel()
            await asyncio.gather(*rounds, return_exceptions=True)


async def _forever(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    # Workers start together; they need not knock at the database together for ever.
    await asyncio.sleep(random.uniform(0, seconds if seconds < 60 else 60))
    while True:
        try:
            await work()
        except CircumspectError as problem:
            log.warning("background round failed", extra={"problem": problem.code})
        except Exception:
            log.exception("background round failed")
        await asyncio.sleep(seconds)


async def finish_turns(services: Services) -> int:
    """Turns that a worker left behind and nobody sent again, each ended with what is known. How many there were."""
    finished = 0
    for tenant in await services.store.tx(unfinished_turns.tenants_with_unfinished):
        try:
            setup = await services.directory.setup(tenant)
        except CircumspectError as problem:
            log.warning("turns cannot be ended", extra={"tenant": tenant, "problem": problem.code})
            continue
        left = await services.store.tx(unfinished_turns.list_unfinished, tenant, FINISHED_AT_ONCE)
        for one in left:
            language = detect(one.words, one.language, setup.tenant.language) if one.words else one.language
            incoming = Incoming(
                tenant, one.conversation, one.turn, "", services.clock.now(), language=language, person=one.person,
                errand=Abandoned(), again=True,
            )  # fmt: skip
            await run_turn(incoming, setup)
        finished += len(left)
    if finished:
        log.warning("turns of dead workers ended", extra={"problem": str(finished)})
    return finished


async def take_up_evaluations(services: Services) -> int:
    """Reviews whose worker died, or that nobody has begun. How many were taken up here."""
    waiting = await services.store.tx(reviews.list_unfinished)
    for tenant, id_ in waiting:
        try:
            model = await reviewing_model(services, TenantId(tenant))
        except CircumspectError as problem:
            log.warning("an evaluation waits", extra={"tenant": tenant, "problem": problem.code})
            continue
        services.evaluations.start(tenant, id_, model)
    return len(waiting)


async def _sparingly(work: Callable[[], Awaitable[object]]) -> None:
    """Work that grows with what is stored gets a hundredth of the time, however large that is."""
    began = perf_counter()
    await work()
    await asyncio.sleep(99 * (perf_counter() - began))


async def by_and_by(some: Callable[[], Awaitable[int]]) -> int:
    """`some()` until there is nothing left, resting as long as each took, in which others write. How many in all."""
    total = 0
    while True:
        began = perf_counter()
        count = await some()
        if not count:
            return total
        total += count
        await asyncio.sleep(perf_counter() - began)


async def write_exposures(services: Services) -> None:
    await services.experimenting.flush()
    await services.shadowing.count()


async def look_at_arms(services: Services) -> int:
    """Arms that do harm are stopped, and where it was planned those that do well get more. How many changed."""
    changed = await guard(services.store, services.clock, services.ids)
    changed += await climb(services.store, services.clock, services.ids)
    if changed:
        services.experimenting.look_again()
    return changed


async def _until_idle(courier: Courier) -> None:
    while await courier.deliver_due():
        pass


async def sign_log(services: Services) -> bool:
    """A checkpoint of the operators' log, if anything was written since the last one."""
    id_, now = services.ids.new("act"), services.clock.now().timestamp()
    return await services.store.tx(log_keeping.write_checkpoint, services.vault, id_, now)


async def shorten_log(services: Services) -> int:
    """Rows of the operators' log that are older than they need be and that every receiver has had. How many."""
    days = services.settings.log_keep_days
    if days is None:
        return 0
    id_, now = services.ids.new("act"), services.clock.now()
    before, receivers = (now - timedelta(days=days)).timestamp(), name_receivers(services.settings)
    await services.store.tx(log_keeping.cut_log, services.vault, id_, now.timestamp(), before, receivers)
    return await by_and_by(partial(services.store.tx, log_keeping.delete_cut))


async def forget_old(services: Services) -> int:
    """Conversations past their tenant's retention, a few at a time. How many there were."""
    forgotten, now = 0, services.clock.now()
    for tenant in await services.store.tenants():
        try:
            days = (await services.directory.settings(tenant.id)).retention_days
        except CircumspectError as problem:
            log.warning("retention unknown", extra={"tenant": tenant.id, "problem": problem.code})
            continue
        if days is None:
            continue
        before = (now - timedelta(days=days)).timestamp()
        forgotten += await by_and_by(partial(services.store.tx, privacy.forget_older, tenant.id, before))
    arrived = (now - KEEP_DELIVERED).timestamp()
    await by_and_by(partial(services.store.tx, privacy.tidy, arrived, now.timestamp()))
    await by_and_by(partial(services.store.tx, merge_words))
    await services.store.scrub()
    return forgotten
