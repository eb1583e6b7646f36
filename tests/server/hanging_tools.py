"""A shop whose tools do what no tool should: hang, swallow their cancellation, raise what no handler expects.

Options of the tenant file: `does` says what. How many calls are inside is seen in the files of `inside`, a folder, so
that another process can look; in this process they hang until `gate` is set."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

from circumspect import tool
from circumspect.tools import ToolContext

gate = threading.Event()

POLICY = "{tools: {cancel_order: {effect: destructive, confirm: always}}}"
TENANT = """
version: 1
id: {id}
business: {{name: Shop}}
tools: [{{python: "tests.server.hanging_tools:make_tools", options: {{does: {does}, inside: "{inside}"}}}}]
policy: {policy}
"""


def tenant_file(folder: Path, id_: str, does: str) -> Path:
    path, inside = folder / f"{id_}.yaml", folder / f"inside-{id_}"
    inside.mkdir(exist_ok=True)
    path.write_text(TENANT.format(id=id_, does=does, inside=inside, policy=POLICY))
    return path


class Abort(BaseException):
    """What a library might raise to get past every handler."""


def make_tools(context: ToolContext) -> list[Any]:
    does, inside = str(context.options["does"]), Path(str(context.options["inside"]))

    def enter() -> None:
        (inside / secrets.token_hex(8)).touch()

    def plain(order_id: str) -> dict[str, str]:
        """Cancel an order."""
        enter()
        if does == "hang":
            gate.wait()
        if does == "abort":
            raise Abort("no further")
        if does == "interrupt":
            raise KeyboardInterrupt
        return {"order_id": order_id, "status": "cancelled"}

    async def later(order_id: str) -> dict[str, str]:
        """Cancel an order."""
        enter()
        if does == "sleep":
            await asyncio.sleep(PATIENCE)
        while does == "swallow":
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                continue
        raise Abort("no further") if does == "abort_later" else KeyboardInterrupt

    def find(key: str, arguments: Mapping[str, Any]) -> dict[str, str]:
        enter()
        if does == "hang_lookup":
            gate.wait()
        return {"status": "cancelled"}

    settings: dict[str, Any] = {"effect": "destructive", "name": "cancel_order", "timeout": PATIENCE}
    if does in ("hang_lookup", "find"):
        return [tool(**settings, lookup=find)(plain)]
    return [tool(**settings)(later if does in ("sleep", "swallow", "abort_later", "interrupt_later") else plain)]
