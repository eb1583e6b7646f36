"""run_turn: one message in, one reply out. Read this first: only this file knows the order.

    claim ─▶ screen ─▶ settle ─▶ understand ─▶ retrieve ─▶ gather ─▶ ┌ draft ─▶ enforce ─▶ critique ─▶ act ─▶ verify ┐ ─▶ record
                                                                     └────────── bounded: until answered ────────────┘

It fails closed on actions and open on talk: whatever breaks, nothing runs that was not enforced, and the user gets an
answer. The functions below are the order, the loop and the ways out; `turn.py` hands each step what this turn has.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial

from circumspect.errors import LeaseLost, ModelError, StoreError
from circumspect.journal import Journal, NoticeEvent, RemarkEvent
from circumspect.models.tempered import set_temperatures
from circumspect.policy.facts import Facts
from circumspect.ports import Listener
from circumspect.prompts import use_unchosen_prompts
from circumspect.reasons import ReasonCode
from circumspect.setup import TurnSetup
from circumspect.steps import endings
from circumspect.steps.act import describe_result
from circumspect.steps.claim import claim
from circumspect.steps.enforce import is_hard_stop
from circumspect.steps.gather import (
    with_correction,
    with_note,
    with_result,
    with_wishes,
)
from circumspect.steps.heed import describe_wish
from circumspect.steps.screen import screen
from circumspect.steps.settle import apply_edit, propose_correction
from circumspect.steps.sweep import catch_up
from circumspect.turn import TurnSteps
from circumspect.values import (
    SEVERITY,
    Abandoned,
    Allow,
    Ask,
    Confirm,
    Deny,
    Enforced,
    Gathered,
    Incoming,
    Intent,
    OutsideCall,
    PersonDecision,
    Reply,
    TurnResult,
)
from circumspect.voice import Voice
from circumspect.wording import find_odd_name

log = logging.getLogger(__name__)


async def run_turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None = None) -> TurnResult:
    if setup.temperatures:
        setup = replace(setup, ports=set_temperatures(setup.ports, setup.temperatures))
    try:
        with use_unchosen_prompts(setup.prompts):
            try:
                return await _take_turn(incoming, setup, listener)
            except LeaseLost:
                # This worker was held up until another one took the turn over: it asks for the answer as senders do.
                again = replace(incoming, again=True, at=setup.ports.clock.now())
                return await _take_turn(again, setup, None)
    except StoreError as problem:
        mode = setup.choose_mode(incoming.conversation)
        return endings.without_store(incoming, setup.tenant.language, mode, problem)


async def _take_turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None) -> TurnResult:
    tenant, ports, notes = setup.tenant, setup.ports, Journal(listener.entry if listener else None)
    mode, drawn = setup.choose_mode(incoming.conversation), setup.draws_mode
    history = setup.profiles[mode].history
    async with claim(incoming, mode, history, ports.store, ports.clock, ports.ids, drawn=drawn) as opened:
        if opened.answered:
            return opened.answered
        profile = setup.profiles[setup.choose_mode(incoming.conversation, opened.mode)]
        opened, news = await catch_up(
            opened, incoming, ports.tools, ports.store, ports.clock, ports.ids, setup.repeat_within
        )
        if setup.guide:
            setup.guide.note_results(incoming, notes)
        screened = screen(incoming, opened, tenant.language, profile, notes)
        odd = partial(find_odd_name, tools=setup.tools) if listener and not profile.passthrough else None
        voice = Voice(listener.text, odd, data_whole=profile.passthrough) if listener and not news else None
        turn = TurnSteps(setup, screened, profile, setup.tools_of(incoming), notes, news, voice)
        try:
            reply = endings.with_notices(await _reply_whatever_breaks(turn), news, turn.desk)
            reply = voice.end_with(reply) if voice else reply
        except asyncio.CancelledError:
            notes.write(NoticeEvent("interrupted"), ReasonCode.TURN_INTERRUPTED)
            with suppress(LeaseLost):
                await asyncio.shield(turn.record(Reply("failed", "")))
            raise
        return await turn.record(reply)


async def _reply_whatever_breaks(turn: TurnSteps) -> Reply:
    """Whatever breaks in here, the user gets an answer and nothing further runs."""
    notes, identity = turn.notes, {"turn": turn.incoming.turn}
    try:
        return await _reply(turn)
    except ModelError as problem:
        notes.add_usage(problem.usage)
        notes.write(NoticeEvent(problem.code, problem=problem.problem), ReasonCode.MODEL_FAILED)
        log.warning("model failed", extra={**identity, "problem": problem.code})
        return turn.report_failure("failed-model", ReasonCode.MODEL_FAILED)
    except StoreError as problem:
        notes.write(NoticeEvent(problem.code), ReasonCode.STORE_FAILED)
        return endings.report_failure(turn.desk, "failed-store", notes.ran)
    except Exception as problem:
        log.exception("turn failed", extra=identity)
        notes.write(NoticeEvent(type(problem).__name__), ReasonCode.INTERNAL_ERROR)
        return turn.report_failure("failed-internal", ReasonCode.INTERNAL_ERROR)


async def _reply(turn: TurnSteps) -> Reply:
    """A turn that was broken off, a person who has the conversation or should, nothing to read, a call from outside, a
    message too many for the plan, a yes or no, or an ordinary message."""
    errand, before = turn.incoming.errand, turn.screened.opened.before
    if before or isinstance(errand, Abandoned):
        turn.note_interruption()
        return endings.report_interrupted(before, turn.desk)
    if turn.screened.opened.paused_by and not isinstance(errand, PersonDecision):
        turn.notes.write(NoticeEvent(turn.screened.opened.paused_by), ReasonCode.WITH_A_PERSON)
        return endings.with_a_person(turn.desk)
    if turn.screened.stop:
        return endings.reject_message(turn.desk, turn.screened.stop)
    if isinstance(errand, OutsideCall):
        return await _rule_on_outside_call(turn, errand)
    if turn.wants_person():
        turn.notes.write(NoticeEvent("the user wants a person"), ReasonCode.PERSON_WANTED)
        await turn.note_quota()  # beyond it, a person is no message
        return endings.hand_over(turn.desk)
    if await turn.note_quota():
        return endings.report_quota(turn.desk)
    if await turn.declines_person():
        turn.notes.write(NoticeEvent("the user wants no person"))
        return endings.go_on_without_person(turn.desk)
    reply = await _settle(turn) or await _work_out(turn)
    if turn.profile.passthrough:
        return reply
    varied = endings.without_circles(reply, turn.desk)
    if varied is not reply:
        turn.notes.write(NoticeEvent("the same words as before"), ReasonCode.SAID_AGAIN)
    if not endings.is_apology_loop(varied, turn.desk):
        return varied
    turn.notes.write(NoticeEvent("one apology after another"), ReasonCode.APOLOGY_LOOP)
    if not turn.profile.hand_over_apologies:
        return varied
    return endings.escalate(turn.desk, ReasonCode.APOLOGY_LOOP, turn.incoming.text, acted=bool(turn.notes.ran))


async def _rule_on_outside_call(turn: TurnSteps, outside: OutsideCall) -> Reply:
    """A call that came from outside, with no draft of ours around it."""
    enforced, facts = await turn.rule_on(outside.call, None)
    if isinstance(enforced.verdict, Allow):
        return await _run_one(turn, enforced, facts)
    if isinstance(enforced.verdict, Confirm) and not outside.can_ask:
        return endings.approval(enforced, turn.desk)
    return endings.hold_without_user(enforced, turn.desk)


async def _settle(turn: TurnSteps) -> Reply | None:
    """A yes or no to what is pending; None when the message is an ordinary one."""
    desk, intent, errand = turn.desk, turn.screened.opened.intent, turn.incoming.errand
    decision, reason = turn.settle()
    if decision in ("ordinary", "withdraw"):
        return None
    if decision == "nothing" or intent is None:
        # Said once, where something was settled before; otherwise the yes answers what the model said.
        return endings.nothing_pending(desk) if errand or await turn.is_settled(intent) else None
    if decision == "drop":
        return await _go_on(turn, endings.drop_intent(intent, desk), intent)
    if decision == "correct":
        return await _ask_about_correction(turn, intent)
    if decision == "edit" and isinstance(errand, PersonDecision):
        intent = apply_edit(intent, errand)
    enforced, facts = await turn.rule_on(intent.call, None, confirmed=intent)
    if not isinstance(enforced.verdict, Allow):
        approving = intent.kind == "approval"
        return endings.hold_without_user(enforced, desk) if approving else endings.hold(enforced, desk)
    if decision == "edit":
        return endings.ask_colleagues_again(enforced, desk)
    if decision == "ask_again":
        return endings.ask_again(enforced, intent, reason, desk)
    return await _go_on(turn, await _run_one(turn, enforced, facts), intent)


async def _go_on(turn: TurnSteps, reply: Reply, settled: Intent) -> Reply:
    """With one wish settled, the next one is taken up in the same reply."""
    if settled.kind == "approval" or reply.outcome == "escalated":
        return reply
    wishes = await turn.heed()
    wish = next((one for one in wishes.every if one.is_read and not one.is_part_of(settled.call)), None)
    if wish:
        ruled = [await turn.rule_on(wish.call, turn.take_up(wish))]
    else:
        ruled = [] if reply.dropped else [await turn.rule_on(*one) for one in await turn.find_held_back(settled)]
    for enforced, facts in ruled:
        if isinstance(enforced.verdict, Allow):
            return endings.prepend(await _run_one(turn, enforced, facts), reply.text)
        if isinstance(enforced.verdict, Confirm | Ask):
            return replace(endings.prepend(endings.hold(enforced, turn.desk), reply.text), dropped=reply.dropped)
    return reply


async def _ask_about_correction(turn: TurnSteps, intent: Intent) -> Reply | None:
    """What the user meant instead is ruled on and asked about. None where the rules want more than a yes."""
    if (drafted := propose_correction(intent, turn.screened)) is None:
        return None
    enforced, _ = await turn.rule_on(drafted.calls[0], drafted)
    return endings.confirmation(enforced, turn.desk) if enforced.verdict in (Allow(), Confirm()) else None


async def _run_one(turn: TurnSteps, enforced: Enforced, facts: Facts) -> Reply:
    """One call that was let through, and nothing after it."""
    ended = await turn.act(enforced)
    if ended is None:
        return endings.nothing_pending(turn.desk)
    if ended.state == "delegated":
        return endings.hand_to_client((ended,), "")
    if not await turn.verify(ended, facts):
        return endings.not_verified(ended, turn.desk)
    return endings.report_execution(ended, await turn.phrase(ended), turn.desk)


async def _work_out(turn: TurnSteps) -> Reply:
    """Understand and look up, where the tenant's setup says so; then draft."""
    if preparation := await turn.prepare():
        if preparation.reply:
            return preparation.reply
        turn = turn.with_preparation(preparation)
        return await _draft_until_answered(turn, turn.gather())
    understood = await turn.understand()
    if understood is None:
        return await _draft_until_answered(turn, turn.gather())
    if understood.ends:
        return endings.end_with_understanding(understood, turn.desk)
    found = await turn.retrieve(understood)
    if found.verdict != "answer":
        return endings.unanswerable(found, turn.desk)
    if turn.voice and understood.response:
        turn.voice.say_first(understood.response)
    turn = turn.with_sources(understood, found)
    reply = endings.with_sources(await _draft_until_answered(turn, turn.gather(understood, found)), found)
    if endings.is_unknown(reply, turn.found, turn.desk):
        reply = turn.give_up_answer()
    reply = endings.with_suggestion(reply, turn.found)
    if not reply.intent and turn.reveals_notes(reply.text):
        turn.notes.write(NoticeEvent("the reply repeats internal notes"), ReasonCode.NOTES_GIVEN_AWAY)
        reply = endings.withhold_reply(turn.notes.ran, turn.desk)
    if endings.has_saved_search(reply, turn.found):
        turn.notes.reasons[ReasonCode.SEARCH_SAVED] = None
    return reply if turn.voice else endings.prepend(reply, understood.response)


async def _draft_until_answered(turn: TurnSteps, gathered: Gathered) -> Reply:
    """Draft, enforce, critique, act, until there is an answer or the turn has used up its steps."""
    desk, notes, profile, summary = turn.desk, turn.notes, turn.profile, turn.incoming.text
    redrafts, denied, told, chosen = profile.redrafts, None, False, False
    gathered = with_wishes(gathered, [describe_wish(one) for one in (await turn.heed()).every])
    for _ in range(profile.steps + profile.context_rounds + 1):
        drafted = await turn.draft(gathered)
        wish = await turn.find_neglected(denied)
        if drafted.wants_context and not gathered.full:
            gathered = turn.add_context(gathered, drafted.wants_context)
            continue
        if drafted.wants_context and not (wish and wish.is_read):
            notes.write(RemarkEvent("asked again with everything at hand", "context"), ReasonCode.CONTEXT_LOOP_DETECTED)
            return endings.escalate(desk, ReasonCode.CONTEXT_LOOP_DETECTED, summary, acted=bool(notes.ran))
        if not drafted.calls:
            if wish is None and not chosen and not notes.ran:
                chosen, wish = True, await turn.choose()
            elif wish and not told and turn.is_complete(wish):
                told, gathered = True, with_note(gathered, "neglected_wish", wish=describe_wish(wish))
                continue
            if not wish or not wish.is_read:
                claimed = await turn.find_false_claim(drafted.reply, gathered)
                if not claimed:
                    return turn.mark_doubt(turn.answer(drafted, denied), drafted)
                if not redrafts:
                    return await turn.correct_claim(claimed)
                redrafts, gathered = redrafts - 1, with_correction(gathered, claimed)
                continue
        elif unasked := await turn.find_unasked(drafted):
            notes.write(NoticeEvent(unasked), ReasonCode.ONLY_ASKED)
            if told:
                return await turn.answer_in_words(drafted, gathered)
            told, gathered = True, with_note(gathered, "only_asked", tool=unasked)
            continue
        if turn.wants_too_much(drafted):
            notes.write(NoticeEvent(f"{len(drafted.calls)} calls at once"), ReasonCode.TOO_MANY_CALLS)
            return endings.escalate(desk, ReasonCode.TOO_MANY_CALLS, summary, acted=bool(notes.ran))
        ruled = await turn.rule_on_draft(drafted, gathered, wish)
        worst = max((enforced for enforced, _ in ruled), key=lambda one: SEVERITY[one.verdict.kind])
        if isinstance(worst.verdict, Deny) and not is_hard_stop(worst) and redrafts:
            redrafts, denied = redrafts - 1, worst
            gathered = with_result(gathered, worst.call, f"DENIED: {worst.verdict.problem}")
            continue
        if reading := endings.find_reading(worst, notes.ran):
            return endings.report_reading(reading, await turn.phrase(reading), desk)
        if not isinstance(worst.verdict, Allow):
            return endings.hold_after_calls(notes.ran, worst, desk)
        handed = []
        for enforced, facts in ruled:
            ended = await turn.act(enforced)
            if ended and ended.state == "delegated":
                handed.append(ended)
                continue
            if ended is None or ended.state == "indeterminate":
                return endings.report_execution(ended, "", desk) if ended else endings.nothing_pending(desk)
            if endings.is_critical_failure(ended, desk):
                return endings.report_execution(ended, "", desk)
            if not await turn.verify(ended, facts):
                return endings.not_verified(ended, desk)
            gathered = with_result(gathered, enforced.call, describe_result(ended))
        if handed:
            claimed = await turn.find_false_claim(drafted.reply, gathered, [one.call for one in handed])
            return endings.hand_to_client(handed, "" if claimed else drafted.reply)
    notes.write(NoticeEvent("the turn used up its steps"), ReasonCode.TOO_MANY_STEPS)
    return endings.escalate(desk, ReasonCode.TOO_MANY_STEPS, summary, acted=bool(notes.ran))
