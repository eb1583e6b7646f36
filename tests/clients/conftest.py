import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.upstream import Upstream
from tests.server.house import House

from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.stores import SqlStore

TENANT = {
    "business": {"name": "Kestrel & Kettle", "description": "Sells kettles."},
    "plan": "pro",
    "tools": [{"python": "circumspect.demo.samples.shop_tools:for_tenant"}],
    "policy": {
        "version": 1,
        "tools": {
            "get_order_status": {"effect": "read"},
            "add_note": {"effect": "write"},
            "cancel_order": {"effect": "destructive"},
            "delete_account": {"effect": "destructive", "deny": "Accounts are closed by letter only."},
        },
    },
}


@pytest.fixture(scope="package")
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


@pytest.fixture(scope="package")
def house(upstream: Upstream, tmp_path_factory: Any) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("clients")
    with House(f"sqlite:///{folder}/house.db", model=upstream.model) as running:
        for name, clients, more in (
            ("plain", {"models": {"fast": upstream.model.replace("gpt-test", "gpt-fast")}}, {}),
            ("brief", {}, {"plan": {"name": "brief", "mode": "standard"}}),
            ("open", {"passthrough": "always"}, {}),
            ("careful", {}, {"understanding": {"profile": "service"}}),
        ):
            path = folder / f"{name}.yaml"
            path.write_text(json.dumps({"id": name, "clients": clients, **TENANT, **more}))
            running.stored(functools.partial(_apply, path, running.settings))
        yield running


async def _apply(path: Path, settings: Settings, store: SqlStore) -> None:
    await apply_file(path, store, settings)
