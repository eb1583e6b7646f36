"""record: a Reply and the journal -> TurnResult, stored in one transaction that also gives the conversation back.

A store that is gone never costs the user the answer. But a question that is not stored is not asked, because a yes
would be bound to an older one, and nobody hears of a colleague who was never told: such a turn failed, and its message
has to be sent again. A worker whose conversation was taken over says nothing at all: whoever took it over answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from circumspect.errors import LeaseLost, StoreError
from circumspect.journal import Journal, NoticeEvent
from circumspect.ports import Clock, Closing, Store
from circumspect.reasons import ReasonCode
from circumspect.running import call_under_way
from circumspect.values import Abandoned, JsonObject, Mode, Plan, Reply, Screened, TurnResult

log = logging.getLogger("circumspect.turn")

LET_GO_SECONDS = 1.0


class KeepWishes(Protocol):
    def __call__(self, next_seq: int, *, speaks: bool) -> JsonObject | None: ...


async def record(
    reply: Reply,
    fail: Callable[[], Reply],
    screened: Screened,
    mode: Mode,
    plan: Plan,
    notes: Journal,
    store: Store,
    clock: Clock,
    keep: KeepWishes | None = None,
) -> TurnResult:
    """`fail` makes the reply for when what this one promises could not be written down; `keep` says what the next turn
    is to know of the user's wishes. Raises `LeaseLost`."""
    incoming, opened, abandoned = screened.incoming, screened.opened, isinstance(screened.incoming.errand, Abandoned)
    if reply.escalation:
        notes.reasons.update({reply.escalation.reason: None, ReasonCode.ESCALATED_TO_HUMAN: None})
    result = _result(reply, screened, mode, notes)
    interrupted = ReasonCode.TURN_INTERRUPTED in notes.reasons and not abandoned
    silent = abandoned and (opened.overtaken or bool(opened.paused_by))
    wishes = None
    if keep and not interrupted and not silent:
        speaks = bool(result.reply)
        wishes = keep(opened.next_seq + len(result.entries) + speaks, speaks=speaks)
    closing = Closing(
        incoming=incoming,
        token=opened.token,
        language=screened.language,
        result=result,
        entries=result.entries,
        at=clock.now(),
        denied=reply.dropped or notes.withdrawn,
        escalation=reply.escalation,
        interrupted=interrupted,
        silent=silent,
        executions=tuple(ran for ran in notes.ran if ran.effect == "read"),
        unwritten=tuple(notes.unwritten),
        multiplier=plan.multiplier,
        message_price=plan.message_price,
        wishes=wishes,
    )
    try:
        await store.close_turn(closing)
    except LeaseLost:
        raise
    except StoreError as problem:
        log.error("turn not recorded", extra={"turn": incoming.turn, "problem": problem.code})
        if any(one.state != "succeeded" for one in notes.unwritten):
            # Whoever finds the call open may make it after all, so nothing that could be said of it now would last.
            raise call_under_way() from problem
        notes.write(NoticeEvent("not recorded"), ReasonCode.STORE_FAILED)
        await _let_go(screened, store)
        if not await _is_asked_all_the_same(reply, screened, store):
            promises = reply.intent or reply.escalation or reply.dropped
            said = fail() if promises else reply
            result = _result(Reply(said.outcome, said.text, calls=said.calls), screened, mode, notes)
            changed = any(one.effect != "read" and one.state != "failed" for one in notes.ran)
            # A failure that is stored nowhere is no answer either: the same key is going to get another one.
            result = replace(result, lost=bool(promises or said.outcome == "failed") and not changed)
    log.info(
        "turn",
        extra={
            "tenant": incoming.tenant,
            "conversation": incoming.conversation,
            "turn": incoming.turn,
            "outcome": result.outcome,
            "reason_codes": [str(code) for code in result.reason_codes],
            "usage": result.usage.to_json() if log.isEnabledFor(logging.INFO) else {},
        },
    )
    return result


async def _let_go(screened: Screened, store: Store) -> None:
    """Or the next message would wait until the lease has run out. A store that does not answer is not waited for: the
    user is."""
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(LET_GO_SECONDS):
            await store.give_back(screened.incoming, screened.opened.token)


async def _is_asked_all_the_same(reply: Reply, screened: Screened, store: Store) -> bool:
    """A store that did not answer may have stored it. Then the question has to be put: a yes would be bound to it."""
    asked, incoming = reply.intent, screened.incoming
    if asked is None:
        return False
    with suppress(StoreError):
        return any(one.id == asked.id for one in await store.intents(incoming.tenant, incoming.conversation))
    return False


def _result(reply: Reply, screened: Screened, mode: Mode, notes: Journal) -> TurnResult:
    return TurnResult(
        turn=screened.incoming.turn,
        conversation=screened.incoming.conversation,
        outcome=reply.outcome,
        reply=reply.text,
        reason_codes=tuple(notes.reasons),
        pending=reply.intent,
        usage=notes.usage(mode),
        language=screened.language,
        entries=tuple(notes.entries),
        calls=reply.calls,
        sources=reply.sources,
    )
