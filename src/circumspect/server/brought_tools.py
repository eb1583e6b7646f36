"""Tools that a client brings along with a request: can their schemas be used?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from circumspect.aside import compute_aside, weigh_tools
from circumspect.policy.validators import find_validator
from circumspect.values import ToolSpec


async def check_schemas(specs: Iterable[ToolSpec]) -> None:
    """`ConfigError` for one that cannot. Each is small; a hundred together would keep everybody else waiting, so others
    have their turn in between."""
    for spec in specs:
        await compute_aside(weigh_tools([spec]), find_validator, spec)
        await asyncio.sleep(0)
