"""Calls of dead workers are settled tenant by tenant, and a tenant whose tools hang keeps no other waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.patience import wait_until
from tests.server import hanging_tools

from circumspect.clock import FixedClock
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.services import Services, open_services
from circumspect.server.sweeping import Sweeper
from circumspect.steps.sweep import AT_ONCE
from circumspect.values import ConversationId, Execution, ExecutionId, Incoming, TenantId, ToolCall, TurnId

STUCK, WELL = TenantId("stuck"), TenantId("well")


@pytest.fixture
async def services(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Services]:
    hanging_tools.gate.clear()
    settings = Settings(
        database=f"sqlite:///{tmp_path}/c.db", secret_key="a secret key for tests only which is long enough"
    )
    async with open_services(settings, clock=clock) as opened:
        for id_, does in ((STUCK, "hang_lookup"), (WELL, "find")):
            await apply_file(hanging_tools.tenant_file(tmp_path, id_, does), opened.store, settings, clock=clock)
        yield opened
        hanging_tools.gate.set()


async def leave_behind(services: Services, tenant: TenantId, number: int) -> None:
    """A call whose worker died."""
    now, name = services.clock.now(), f"{tenant}-{number}"
    died = Incoming(tenant, ConversationId(name), TurnId(f"turn-{name}"), "yes", now)
    await services.store.open_turn(died, mode="adaptive", history=5, token="dead", lease_seconds=0)
    call, until = ToolCall("cancel_order", {"order_id": str(number)}), now - timedelta(seconds=1)
    started = Execution(
        ExecutionId(f"exec-{name}"), tenant, died.conversation, died.turn, call, "destructive", "lookup", "started",
        "tok", until, now,
    )  # fmt: skip
    assert await services.store.begin_call(started, "dead")


async def states(services: Services, tenant: TenantId, number: int) -> str:
    (call,) = await services.store.executions(tenant, ConversationId(f"{tenant}-{number}"))
    return call.state


async def test_nothing_to_sweep_is_no_work(services: Services) -> None:
    async with Sweeper(services) as sweeper:
        assert await sweeper.start_due() == []


async def test_look_ups_that_hang_keep_their_own_tenants_calls_waiting_and_no_others(
    services: Services, tmp_path: Path
) -> None:
    for number in range(AT_ONCE + 1):
        await leave_behind(services, STUCK, number)
    await leave_behind(services, WELL, 0)
    inside = tmp_path / "inside-stuck"
    async with Sweeper(services) as sweeper:
        begun = await sweeper.start_due()
        assert len(begun) == 2
        await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        assert await states(services, WELL, 0) == "succeeded"
        await asyncio.to_thread(wait_until, lambda: len(list(inside.iterdir())) == AT_ONCE)

        await leave_behind(services, WELL, 1)
        (again,) = await sweeper.start_due()
        assert await again == 1
        assert await states(services, WELL, 1) == "succeeded"
        assert await states(services, STUCK, 0) == "started"

        hanging_tools.gate.set()
        assert sum(await asyncio.gather(*begun)) == AT_ONCE + 2
    assert {await states(services, STUCK, number) for number in range(AT_ONCE + 1)} == {"succeeded"}


async def test_a_sweep_that_is_broken_off_leaves_its_calls_to_the_next(services: Services, tmp_path: Path) -> None:
    await leave_behind(services, STUCK, 0)
    async with Sweeper(services) as sweeper:
        await sweeper.start_due()
        await asyncio.to_thread(wait_until, lambda: len(list((tmp_path / "inside-stuck").iterdir())) == 1)
    assert await states(services, STUCK, 0) == "started"
