"""Long texts are read beside the event loop: how long they are and what reads them in, what it found out.

    found = await compute_aside(len(text), find_wishes, text, tools)

Reading twenty thousand letters takes a few tenths of a second, in which a loop would serve nobody else. So what is
long goes to one of two threads, which let the loop through every few milliseconds; what is short, as nearly everything
is, is computed where it stands. More threads would only keep the loop waiting longer for its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import ParamSpec, TypeVar

from circumspect.schema_bounds import measure_value
from circumspect.values import Json, ToolSpec

P = ParamSpec("P")
T = TypeVar("T")

LONG = 2_000
"""Letters that are read within a few hundredths of a second, whatever they say."""
_THREADS = 2
_LETTERS_PER_NAME = 10


async def compute_aside(letters: int, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns. It must be pure: somebody who stops waiting does not stop it."""
    if letters <= LONG:
        return work(*args, **kwargs)
    there = partial(copy_context().run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_threads(), there)


def weigh_tools(tools: Iterable[ToolSpec]) -> int:
    """As many letters as take as long to read as the names of these tools' parameters."""
    return sum(len(spec.properties) for spec in tools) * _LETTERS_PER_NAME


def weigh_value(value: Json) -> int:
    """As many letters as take as long to read as all parts of this."""
    parts, letters, _ = measure_value(value)
    return parts * _LETTERS_PER_NAME + letters


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="circumspect-aside")
