"""The worked example is applied as it stands, and its three kinds of tools can be called."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from circumspect.clock import RandomIds
from circumspect.server.apply_tenant import apply_file
from circumspect.server.directory import Directory
from circumspect.server.vault import open_vault
from circumspect.stores import tables
from circumspect.values import TenantId

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "tenant"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, so that nothing is left in the repository; `python` is the one that runs this test."""
    copy = Path(shutil.copytree(EXAMPLE, tmp_path / "tenant"))
    named = copy / "tenant.yaml"
    named.write_text(named.read_text("utf-8").replace("command: python\n", f"command: {sys.executable}\n"), "utf-8")
    monkeypatch.chdir(copy)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("CRM_TOKEN", "HOOK_SECRET"):
        monkeypatch.setenv(name, f"the {name}")
    return copy


@pytest.mark.slow
async def test_the_example_can_be_applied_and_served(folder, store, settings, clock):
    from circumspect.stores import knowledge_tables

    made = [knowledge_tables.documents, knowledge_tables.passages]
    await store.tx(lambda connection: tables.metadata.create_all(connection, tables=made))
    applied = await apply_file(folder / "tenant.yaml", store, settings, clock=clock)
    assert applied.warnings == ()
    assert "+ document documents/care.md" in [str(one) for one in applied.changes]
    assert (await apply_file(folder / "tenant.yaml", store, settings, clock=clock)).changes == ()
    directory = Directory(store, settings, open_vault(settings), clock, RandomIds())
    try:
        setup = await directory.setup(TenantId("spoke"))
        assert set(setup.tools) == {"free_stands", "book_stand", "cancel_booking", "find_customer", "stock_of"}
        call = setup.ports.tools.call
        assert await call("stock_of", {"part": "chain"}, "k0") == {"chain": 12}
        booking = {"day": "2026-04-02", "phone": "054-1234567"}
        for key in ("k1", "k1"):
            await call("book_stand", booking, key)
        assert await call("free_stands", {"day": "2026-04-02"}, "k2") == {"day": "2026-04-02", "free": 1}
        assert setup.tools["find_customer"].configured
        assert (await directory.settings(TenantId("spoke"))).notify.webhooks[0].topics == ("escalation", "approval")
    finally:
        await directory.close()
