"""A tool that leaves a mark which outlives the worker, as a payment would; of each recovery class.

The mark is a file whose name is the call's key. A keyed tool finds its own mark and does nothing; the others do as they
are told, and each time adds a line. A file `hold-before` or `hold-after` holds the next call there until `inside` is gone.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.back_end import Effect
from tests.faults.points import point

from circumspect import IdempotencyKey, tool

FOLDER = "FAULTS_FOLDER"


def for_tenant(context: Any) -> list[Any]:
    recovery = str(context.options["recovery"])
    timeout, work = float(context.options["timeout"]), float(context.options["work"])
    settings: dict[str, Any] = {"lookup": found} if recovery == "lookup" else {}

    @tool(effect="destructive", recovery=recovery, timeout=timeout, **settings)
    async def cancel_order(order_id: str, key: IdempotencyKey) -> dict[str, str]:
        """Cancel an order."""
        point("in the tool, before its effect")
        await held("before")
        await asyncio.sleep(random.uniform(0, work))
        if recovery != "keyed" or found(key, {}) is None:
            mark(key, recovery, order_id)
        point("in the tool, after its effect")
        await held("after")
        await asyncio.sleep(random.uniform(0, work))
        return {"order_id": order_id, "status": "cancelled"}

    return [cancel_order]


def folder() -> Path:
    return Path(os.environ[FOLDER])


def mark(key: str, tenant: str, order: str) -> None:
    file = os.open(folder() / "effects" / key, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(file, f"{tenant} {order} {time.monotonic()}\n".encode())
    os.close(file)


def found(key: str, arguments: Mapping[str, Any]) -> dict[str, str] | None:
    return {"status": "cancelled"} if (folder() / "effects" / key).exists() else None


async def held(where: str) -> None:
    inside = folder() / "inside"
    try:
        (folder() / f"hold-{where}").rename(inside)
    except FileNotFoundError:
        return
    while inside.exists():
        await asyncio.sleep(0.01)


def read_effects(place: Path) -> list[Effect]:
    found = []
    for path in (place / "effects").iterdir():
        for line in path.read_text().splitlines():
            tenant, order, at = line.split()
            found.append(Effect(tenant, order, path.name, float(at)))
    return found
