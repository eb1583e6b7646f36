"""act: Enforced -> Execution. Runs what was enforced, exactly that, exactly once.

A tool of the client's is not run here: the call is handed out, under the same write-ahead.
A call that changes something is written down before it runs and completed after; consuming the user's yes and writing
the first row are one transaction. A call that only reads is written down when the turn closes.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from circumspect.errors import ApproverRefused, StoreError
from circumspect.journal import ExecutionEvent, Journal, NoticeEvent, RemarkEvent
from circumspect.ports import Clock, Ids, Store, Tools
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.running import mark_not_made, run, unknown
from circumspect.values import Allow, Enforced, Execution, ExecutionId, Incoming, Json, PersonDecision, ToolSpec
from circumspect.wording import compact

SETTLING_ROUNDS, SETTLING_SECONDS = 15, 5.0
"""How long whoever took a call over may take to find out about it."""
LEASE_MARGIN = timedelta(seconds=15)
"""A call's lease outlives its timeout by this much, so that nobody takes over what may still be running."""
LONGEST_SHOWN = 100_000
"""Characters of a result that a model is shown. Whatever is compared with it is compared with all of it."""


async def act(
    enforced: Enforced,
    incoming: Incoming,
    token: str,
    notes: Journal,
    tools: Tools,
    store: Store,
    clock: Clock,
    ids: Ids,
) -> Execution | None:
    """The execution as it ended; None when the yes was no longer there to be used, or was not theirs to give, and so
    nothing ran."""
    if not isinstance(enforced.verdict, Allow) or enforced.spec is None:
        raise ValueError("act was handed a call that policy holds")
    started = make_execution(enforced, incoming, clock, ids)
    if enforced.effect == "read":
        ended = await _run_or_delegate(started, enforced.spec, incoming, tools, clock)
    else:
        try:
            begun = await store.begin_call(started, token, _name_decider(incoming))
        except ApproverRefused as refused:
            notes.write(NoticeEvent(refused.problem), ReasonCode.APPROVER_REFUSED)
            return None
        except StoreError:
            # It may have been written down all the same, and then nobody else is to make it.
            notes.unwritten.append(mark_not_made(started, clock))
            raise
        if not begun:
            notes.write(RemarkEvent(started.call.tool, "tool"), ReasonCode.PENDING_INTENT_MISSING)
            return None
        try:
            ended = await _run_or_delegate(started, enforced.spec, incoming, tools, clock)
        except asyncio.CancelledError:
            # Nobody can find out later what becomes of it, so a person is told now. Others are settled by their lease.
            if started.recovery == "blind":
                notes.unwritten.append(unknown(started, clock, "It was broken off."))
            raise
    write_down(ended, notes)
    if ended.effect != "read":
        # After it was noted: the user hears what happened even when it cannot be stored.
        try:
            finished = await store.finish_call(ended)
        except StoreError:
            notes.unwritten.append(ended)
            raise
        if not finished and ended.state != "succeeded":
            ended = notes.ran[-1] = await _read_settled(ended, store)
    return ended


async def _read_settled(ended: Execution, store: Store) -> Execution:
    """Somebody else took the call for abandoned: what comes of that is what is known."""
    for _ in range(SETTLING_ROUNDS):
        ledger = await store.executions(ended.tenant, ended.conversation)
        if settled := next((one for one in ledger if one.id == ended.id and one.state != "started"), None):
            return settled
        await asyncio.sleep(SETTLING_SECONDS)
    return ended


async def _run_or_delegate(
    started: Execution, spec: ToolSpec, incoming: Incoming, tools: Tools, clock: Clock
) -> Execution:
    """Run, or handed to the client to run: then this is all that is known until it comes back. Of an action on a scene,
    what it was like before is kept until then: that is what tells whether it had an effect."""
    if spec.client:
        scene, findings = incoming.scene, incoming.findings
        before: Json = {"before": scene.to_json(), "findings": findings} if scene else None
        return hand_out(replace(started, result=before), clock)
    return await run(started, tools, clock, spec.timeout)


def hand_out(started: Execution, clock: Clock) -> Execution:
    """Let through, and with whoever runs it."""
    return replace(started, state="delegated", finished_at=clock.now(), reason=ReasonCode.HANDED_TO_CLIENT)


def write_down(ended: Execution, notes: Journal) -> None:
    reasons = (ended.reason,) if ended.reason else ()
    event = ExecutionEvent(
        f"{ended.call.tool}: {ended.state}",
        execution=ended.id,
        tool=ended.call.tool,
        arguments=ended.call.arguments,
        state=ended.state,
        result=ended.result,
        error=ended.error,
    )
    notes.write(event, *reasons)
    notes.ran.append(ended)


def _name_decider(incoming: Incoming) -> str:
    """Whose yes it is. A decision that comes for an end user is theirs, whatever name it is signed with."""
    errand = incoming.errand
    return errand.by if isinstance(errand, PersonDecision) and incoming.person is None else incoming.principal


def describe_result(ended: Execution) -> str:
    """What the model hears about a call that ran."""
    if ended.state != "succeeded":
        return f"ERROR: {ended.error}"
    text = compact(ended.result)
    if len(text) <= LONGEST_SHOWN:
        return text
    return prompt("long_result").render(shown=text[:LONGEST_SHOWN], length=f"{len(text):,}", most=f"{LONGEST_SHOWN:,}")


def make_execution(enforced: Enforced, incoming: Incoming, clock: Clock, ids: Ids) -> Execution:
    """The row of the ledger that a call begins as."""
    assert enforced.spec is not None
    now = clock.now()
    return Execution(
        id=ExecutionId(ids.new("exec")),
        tenant=incoming.tenant,
        conversation=incoming.conversation,
        turn=incoming.turn,
        call=enforced.call,
        effect=enforced.effect,
        recovery=enforced.recovery,
        state="started",
        token=ids.new("tok"),
        lease_until=now + timedelta(seconds=2 * enforced.spec.timeout) + LEASE_MARGIN,
        started_at=now,
        intent=enforced.intent.id if enforced.intent else None,
        runner="client" if enforced.spec.client else "us",
    )
