"""Running a tool: a started Execution in, what is known about it afterwards out. Used when a call is made and when one
that was interrupted is picked up again; and for a look of our own, which nobody proposed and no ledger has."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from circumspect.errors import CallUnderWay, ToolError, ToolTimeout
from circumspect.ports import Clock, Ids, Tools
from circumspect.reasons import ReasonCode
from circumspect.values import Execution, ExecutionId, ExecutionState, Incoming, Json, ToolCall

_TOO_LATE = "The tool did not answer in time."


async def look(
    call: ToolCall,
    within: Execution | Incoming,
    tools: Tools,
    clock: Clock,
    ids: Ids,
    timeout: float,
    *,
    again: bool = True,
) -> Execution:
    """A read in the turn of another call or of a message. Without `again`, one that does not answer in time is not
    asked a second time."""
    now = clock.now()
    started = Execution(
        id=ExecutionId(ids.new("exec")),
        tenant=within.tenant,
        conversation=within.conversation,
        turn=within.turn,
        call=call,
        effect="read",
        recovery="blind",
        state="started",
        token=ids.new("tok"),
        lease_until=now + timedelta(seconds=60),
        started_at=now,
    )
    return await run(started, tools, clock, timeout, again=again)


async def run(started: Execution, tools: Tools, clock: Clock, timeout: float, *, again: bool = True) -> Execution:
    """Call the tool under its timeout and say what is known afterwards. Never raises for what a tool does.

    After a timeout the tool's recovery class decides: one that honours our key is called once more with the same key,
    one that can be looked up is looked up, and any other stays unknown.
    """
    call = started.call
    try:
        async with asyncio.timeout(timeout):
            return _mark_succeeded(started, await tools.call(call.tool, call.arguments, started.key), clock)
    except (ToolTimeout, TimeoutError):
        if started.effect == "read" and not again:
            return _mark_ended(started, clock, "failed", ReasonCode.TOOL_FAILED, error=_TOO_LATE)
        return await recover(started, tools, clock, timeout)
    except ToolError as problem:
        return _mark_ended(started, clock, "failed", ReasonCode.TOOL_FAILED, error=problem.problem)


async def recover(started: Execution, tools: Tools, clock: Clock, timeout: float) -> Execution:
    """What can be found out, or safely repeated, about a call that was started and whose outcome is not known."""
    call = started.call
    try:
        async with asyncio.timeout(timeout):
            if started.effect == "read" or started.recovery in ("keyed", "local_tx"):
                return _mark_succeeded(started, await tools.call(call.tool, call.arguments, started.key), clock)
            if started.recovery == "lookup":
                found = await tools.lookup(call.tool, call.arguments, started.key)
                if found is not None:
                    return _mark_succeeded(started, found, clock)
    except (ToolTimeout, TimeoutError):
        pass
    except ToolError as problem:
        # A refusal of the second try says nothing about the first, which may have done the work.
        if started.effect == "read":
            return _mark_ended(started, clock, "failed", ReasonCode.TOOL_FAILED, error=problem.problem)
    if started.effect == "read":
        return _mark_ended(started, clock, "failed", ReasonCode.TOOL_FAILED, error=_TOO_LATE)
    return unknown(started, clock)


def call_under_way() -> CallUnderWay:
    return CallUnderWay(
        "This message was sent before, and a call that it led to has not ended yet.",
        fix="Send it again later with the same key: then it is told what became of the call.",
    )


def unknown(started: Execution, clock: Clock, why: str = "The outcome is not known.") -> Execution:
    """Started, and nobody can tell how it ended. It is not repeated, and a person is told."""
    return _mark_ended(started, clock, "indeterminate", ReasonCode.OUTCOME_UNKNOWN, error=why)


def mark_not_made(started: Execution, clock: Clock) -> Execution:
    """Written down or not, and never made."""
    return _mark_ended(started, clock, "failed", ReasonCode.STORE_FAILED, error="It was not made.")


def _mark_succeeded(started: Execution, result: Json, clock: Clock) -> Execution:
    return _mark_ended(replace(started, result=result), clock, "succeeded", ReasonCode.EXECUTED_SUCCESSFULLY)


def _mark_ended(
    started: Execution, clock: Clock, state: ExecutionState, reason: ReasonCode, error: str = ""
) -> Execution:
    return replace(started, state=state, finished_at=clock.now(), reason=reason, error=error)
