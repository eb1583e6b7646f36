"""A tool that leaves a mark which outlives the worker, as a payment would; of each recovery class.

The mark is a file whose name is the call's key. A keyed tool finds its own mark and does nothing; the others do as they
are told and count how often. A file `hold-before` or `hold-after` holds the next call there until `inside` is gone.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
            mark(key)
        point("in the tool, after its effect")
        await held("after")
        await asyncio.sleep(random.uniform(0, work))
        return {"order_id": order_id, "status": "cancelled"}

    return [cancel_order]


def folder() -> Path:
    return Path(os.environ[FOLDER])


def mark(key: str) -> None:
    file = os.open(folder() / "effects" / key, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(file, b"done\n")
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


def effects(place: Path) -> Counter[str]:
    """How often each key had its effect."""
    return Counter({path.name: path.read_text().count("done") or 1 for path in (place / "effects").iterdir()})
