"""A tenant whose tools hang is served badly. All others are served."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, wait_until
from tests.server import hanging_tools
from tests.server.house import House, say

from circumspect.server.apply_tenant import apply_file
from circumspect.stores import SqlStore
from circumspect.tools import functions
from circumspect.tools.tool_threads import MOST
from circumspect.values import ConversationId, TenantId


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[House]:
    with House(f"sqlite:///{tmp_path}/h.db") as house:
        hanging_tools.gate.clear()
        yield house
        hanging_tools.gate.set()


def furnish(house: House, folder: Path, **tenants: str) -> None:
    async def apply(store: SqlStore) -> None:
        for id_, does in tenants.items():
            await apply_file(hanging_tools.tenant_file(folder, id_, does), store, house.settings)

    house.stored(apply)


def cancel(house: House, tenant: str, order: int) -> Any:
    client = house.key(tenant)
    talk = house.conversation(client, id=f"{tenant}-{order}")
    assert say(client, talk, f"cancel order {order}")["outcome"] == "asked"
    return say(client, talk, "yes")


def test_hanging_tools_of_one_tenant_hold_up_no_other(
    opened: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "FREE_THREAD_SECONDS", 0.1)
    furnish(opened, tmp_path, stuck="hang", well="work")
    hung = [threading.Thread(target=cancel, args=(opened, "stuck", 10000 + n), daemon=True) for n in range(MOST)]
    for thread in hung:
        thread.start()
    inside = tmp_path / "inside-stuck"
    wait_until(lambda: len(list(inside.iterdir())) == MOST)

    assert cancel(opened, "well", 20000)["outcome"] == "acted"
    assert opened.read_metrics()
    assert cancel(opened, "stuck", 30000)["outcome"] == "failed"
    assert len(list(inside.iterdir())) == MOST

    async def read_call(store: SqlStore) -> Any:
        return await store.executions(TenantId("stuck"), ConversationId("stuck-30000"))

    (call,) = opened.stored(read_call)
    assert call.state == "failed"
    assert "was not called" in call.error
    hanging_tools.gate.set()
    for thread in hung:
        thread.join(PATIENCE)


@pytest.mark.parametrize("does", ["abort", "abort_later", "interrupt", "interrupt_later"])
def test_what_no_handler_expects_is_an_answer_and_not_the_end_of_the_server(
    opened: House, tmp_path: Path, does: str
) -> None:
    furnish(opened, tmp_path, odd=does, well="work")
    told = cancel(opened, "odd", 40000)
    assert told["outcome"] == "escalated", told
    assert "OUTCOME_UNKNOWN" in told["reason_codes"]
    assert cancel(opened, "well", 50000)["outcome"] == "acted"
