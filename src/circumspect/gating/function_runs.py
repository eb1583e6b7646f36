"""A call that was let through and a function -> what came of it, as the ledger keeps it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any

from circumspect.errors import CallUnderWay, ConfigError, ToolError, ToolTimeout
from circumspect.gating.proposals import copy_arguments
from circumspect.ports import Clock
from circumspect.reasons import ReasonCode
from circumspect.tools.tool_errors import brief, failure
from circumspect.tools.tool_threads import carry_out
from circumspect.values import Execution, Json

LONGEST_RESULT = 2_000_000
"""Bytes of a result that are kept. The caller gets all of it."""


def require_function(function: Any) -> None:
    """Said before the call is taken: afterwards nobody could tell whether it happened."""
    if not callable(function):
        raise ConfigError(f"A {type(function).__name__} cannot be called.", fix="Give the function that does it.")
    inner = function.func if isinstance(function, partial) else function
    kinds = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_one(it) for is_one in kinds for it in (inner, _find_call(inner))):
        raise ConfigError(
            "A generator does nothing until somebody reads it, so when it ran could not be written down.",
            fix="Give a function that returns its result.",
        )


async def call_function(function: Callable[..., Any], started: Execution) -> Any:
    arguments = copy_arguments(started.call)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_find_call(function)):
        result = await function(**arguments)
    else:
        result = await asyncio.to_thread(carry_out, partial(function, **arguments))
        result = await result if isinstance(result, Awaitable) else result
    return await _read_to_its_end(result)


async def _read_to_its_end(result: Any) -> Any:
    """A generator that comes back has done nothing yet, and can be read once: by the ledger or by the caller."""
    if isinstance(result, AsyncGenerator):
        return [one async for one in result]
    return await asyncio.to_thread(list, result) if isinstance(result, Generator) else result


def _find_call(function: Any) -> Any:
    """What an object that is no function does when it is called."""
    return getattr(function, "__call__", None)  # noqa: B004


def end(started: Execution, clock: Clock, result: Any, error: str = "") -> Execution:
    if error:
        return replace(started, state="failed", finished_at=clock.now(), reason=ReasonCode.TOOL_FAILED, error=error)
    ended = replace(started, state="succeeded", finished_at=clock.now(), reason=ReasonCode.EXECUTED_SUCCESSFULLY)
    return replace(ended, result=_to_json(result), error="")


def end_with_error(started: Execution, clock: Clock, error: BaseException, reads: bool) -> Execution:
    """What changes something and was cut off may have happened; what only reads has failed."""
    problem = failure(started.call.tool, error)
    unknown = isinstance(problem, ToolTimeout) and not reads
    return replace(
        started,
        state="indeterminate" if unknown else "failed",
        finished_at=clock.now(),
        reason=ReasonCode.OUTCOME_UNKNOWN if unknown else ReasonCode.TOOL_FAILED,
        error=problem.problem if isinstance(error, ToolError) else brief(error),
    )


def give_again(ended: Execution) -> Json:
    """What became of a call that was run before."""
    match ended.state:
        case "succeeded":
            return ended.result
        case "failed":
            raise ToolError(ended.error)
        case "started":
            raise CallUnderWay("This call is being run.", fix="Ask again when it has ended.")
        case _:
            said = f"It was cut off ({ended.error})." if ended.error else ""
            raise ToolTimeout(f"Nobody knows whether it happened. {said}".strip(), fix="A person has to find out.")


def _to_json(result: Any) -> Json:
    if result is None or isinstance(result, str | bool | int | float):
        return result
    import orjson
    from pydantic_core import to_jsonable_python

    try:
        packed = orjson.dumps(to_jsonable_python(result, fallback=str))
    except Exception as error:  # it ran, whatever it returned
        return f"(a {type(result).__name__} that JSON cannot carry: {brief(error)})"
    made: Json = orjson.loads(packed) if len(packed) <= LONGEST_RESULT else f"(a result of {len(packed):,} bytes)"
    return made
