"""run_turn: one message in, one reply out. Read this first.

    claim ─▶ screen ─▶ settle a yes/no ─▶ understand ─▶ gather ─▶ ┌ draft ─▶ enforce ─▶ critique ─▶ act ─▶ verify ┐
                                                       record ◀─ └────────── bounded: until answered ────────────┘

Only this file knows the order. It fails closed on actions and open on talk: whatever breaks, nothing runs that was not
enforced, and the user gets an answer.
"""

from __future__ import annotations

import asyncio
import logging

from circumspect.errors import ModelError, StoreError
from circumspect.policy.facts import Facts
from circumspect.ports import Listener
from circumspect.reasons import ReasonCode
from circumspect.steps import endings as ending
from circumspect.steps.act import describe_result
from circumspect.steps.claim import claim
from circumspect.steps.enforce import is_hard_stop
from circumspect.steps.gather import with_correction, with_result
from circumspect.steps.screen import screen
from circumspect.values import (
    SEVERITY,
    Allow,
    Confirm,
    Deny,
    Enforced,
    Gathered,
    Incoming,
    Journal,
    OutsideCall,
    PersonDecision,
    Reply,
    TurnResult,
)
from circumspect.voice import Voice
from circumspect.work import TurnSetup, Work, catch_up

log = logging.getLogger(__name__)


async def run_turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None = None) -> TurnResult:
    tenant, ports, notes = setup.tenant, setup.ports, Journal(listener.entry if listener else None)
    mode = tenant.mode_of(incoming.conversation)
    try:
        async with claim(incoming, mode, setup.profiles[mode].history, ports.store, ports.clock, ports.ids) as opened:
            if opened.answered:
                return opened.answered
            profile = setup.profiles[mode if tenant.adaptive_share >= 1.0 else opened.mode]
            opened, news = await catch_up(opened, setup)
            screened = screen(incoming, opened, tenant.language, profile, notes)
            voice = Voice(listener.text) if listener and not news else None
            work = Work(setup, screened, profile, setup.tools, notes, news, voice)
            try:
                reply = ending.with_notices(await _answer(work), news, work.desk)
                reply = voice.ending(reply) if voice else reply
            except asyncio.CancelledError:
                notes.write("notice", "interrupted", ReasonCode.TURN_INTERRUPTED)
                await asyncio.shield(work.record(Reply("failed", "")))
                raise
            return await work.record(reply)
    except StoreError as problem:
        return ending.without_store(incoming, tenant.language, mode, problem)


async def _answer(work: Work) -> Reply:
    """Whatever breaks in here, the user gets an answer and nothing further runs."""
    notes, desk = work.notes, work.desk
    try:
        errand = work.screened.incoming.errand
        if work.screened.opened.paused_by and not isinstance(errand, PersonDecision):
            notes.write("notice", work.screened.opened.paused_by, ReasonCode.WITH_A_PERSON)
            return ending.with_a_person(desk)
        if work.screened.stop:
            return ending.reject_message(desk, work.screened.stop)
        if isinstance(errand, OutsideCall):
            return await _rule_on_outside_call(work, errand)
        return await _settle_pending(work) or await _understand_and_draft(work)
    except ModelError as problem:
        notes.add_usage(problem.usage)
        notes.write("notice", problem.code, ReasonCode.MODEL_FAILED, meta={"problem": problem.problem})
        log.warning("model failed", extra={"turn": work.screened.incoming.turn, "problem": problem.code})
        return ending.report_failure(desk, "failed-model", notes.ran)
    except StoreError as problem:
        notes.write("notice", problem.code, ReasonCode.STORE_FAILED)
        return ending.report_failure(desk, "failed-store", notes.ran)
    except Exception as problem:
        log.exception("turn failed", extra={"turn": work.screened.incoming.turn})
        notes.write("notice", type(problem).__name__, ReasonCode.INTERNAL_ERROR)
        return ending.report_failure(desk, "failed-internal", notes.ran)


async def _settle_pending(work: Work) -> Reply | None:
    """A yes or no to what is pending; None when the message is an ordinary one."""
    desk, intent = work.desk, work.screened.opened.intent
    decision, reason = work.settle()
    if decision == "ordinary":
        return None
    if decision == "nothing" or intent is None:
        before = work.done_before()
        return ending.report_execution(before, "", desk) if before else ending.nothing_pending(desk)
    if decision == "drop":
        return ending.drop_intent(intent, desk)
    intent = work.edited(intent) if decision == "edit" else intent
    enforced, facts = await work.rule(intent.call, None, confirmed=intent)
    if not isinstance(enforced.verdict, Allow):
        return (
            ending.hold_without_user(enforced, desk) if intent.kind == "approval" else ending.hold(enforced, None, desk)
        )
    if decision == "edit":
        return ending.ask_colleagues_again(enforced, desk)
    if decision == "ask_again":
        return ending.ask_again(enforced, intent, reason, desk)
    return await _run_one_call(work, enforced, facts)


async def _run_one_call(work: Work, enforced: Enforced, facts: Facts) -> Reply:
    """One call that was let through, and nothing after it."""
    ended = await work.act(enforced)
    if ended is None:
        return ending.nothing_pending(work.desk)
    if ended.state == "delegated":
        return ending.hand_to_client((ended,), "")
    if not await work.verify(ended, facts):
        return ending.not_verified(ended, work.desk)
    return ending.report_execution(ended, await work.phrase(ended), work.desk)


async def _rule_on_outside_call(work: Work, proposed: OutsideCall) -> Reply:
    """A call that came from outside, with no draft of ours around it."""
    enforced, facts = await work.rule(proposed.call, None)
    if isinstance(enforced.verdict, Allow):
        return await _run_one_call(work, enforced, facts)
    if isinstance(enforced.verdict, Confirm) and not proposed.can_ask:
        return ending.approval(enforced, work.desk)
    return ending.hold_without_user(enforced, work.desk)


async def _understand_and_draft(work: Work) -> Reply:
    """Understand and look up, where the tenant's profile says so; then draft."""
    reasoned = await work.reason()
    if reasoned and reasoned.ends:
        return ending.ask_for_missing(reasoned)
    if reasoned:
        work = work.knowing(reasoned)
        return await _draft_until_answered(work, work.gather())
    understood = await work.understand()
    if understood is None:
        return await _draft_until_answered(work, work.gather())
    if understood.ends:
        return ending.end_with_understanding(understood, work.desk)
    found = await work.retrieve(understood)
    if found.verdict != "answer":
        return ending.unanswerable(found, work.desk)
    work.announce(understood.response)
    reply = await _draft_until_answered(work, work.gather(understood, found))
    if work.gave_away(reply, understood):
        reply = ending.withhold_reply(work.notes.ran, work.desk)
    return reply if work.voice else ending.prepend(reply, understood.response)


async def _draft_until_answered(work: Work, gathered: Gathered) -> Reply:
    """Draft, enforce, critique, act, until there is an answer or the turn has used up its steps."""
    desk, notes, summary = work.desk, work.notes, work.screened.incoming.text
    redrafts = work.profile.redrafts
    for _ in range(work.profile.steps + work.profile.context_rounds + 1):
        drafted = await work.draft(gathered)
        if drafted.wants_context:
            if gathered.full:
                notes.write("context", "asked again with everything at hand", ReasonCode.CONTEXT_LOOP_DETECTED)
                return ending.escalate(desk, ReasonCode.CONTEXT_LOOP_DETECTED, summary, acted=bool(notes.ran))
            gathered = work.gather_more(gathered, drafted.wants_context)
            continue
        if not drafted.calls:
            claimed = await work.claimed(drafted.reply)
            if not claimed:
                return ending.answer(drafted, notes.ran, desk)
            if not redrafts:
                return ending.correct_claim(notes.ran, desk)
            redrafts, gathered = redrafts - 1, with_correction(gathered, claimed)
            continue
        ruled = [await work.weigh(call, drafted, gathered) for call in drafted.calls]
        worst = max((enforced for enforced, _ in ruled), key=lambda one: SEVERITY[one.verdict.kind])
        if isinstance(worst.verdict, Deny) and not is_hard_stop(worst) and redrafts:
            redrafts, gathered = redrafts - 1, with_result(gathered, worst.call, f"DENIED: {worst.verdict.problem}")
            continue
        if not isinstance(worst.verdict, Allow):
            return ending.hold_after_calls(notes.ran, worst, drafted, desk)
        handed = []
        for enforced, facts in ruled:
            ended = await work.act(enforced)
            if ended and ended.state == "delegated":
                handed.append(ended)
                continue
            if ended is None or ended.state == "indeterminate":
                return ending.report_execution(ended, "", desk) if ended else ending.nothing_pending(desk)
            if ending.is_critical_failure(ended, desk):
                return ending.report_execution(ended, "", desk)
            if not await work.verify(ended, facts):
                return ending.not_verified(ended, desk)
            gathered = with_result(gathered, enforced.call, describe_result(ended))
        if handed:
            return ending.hand_to_client(handed, drafted.reply)
    notes.write("notice", "the turn used up its steps", ReasonCode.TOO_MANY_STEPS)
    return ending.escalate(desk, ReasonCode.TOO_MANY_STEPS, summary, acted=bool(notes.ran))
