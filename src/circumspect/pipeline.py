"""run_turn: one message in, one reply out. Read this first: only this file knows the order.

    claim ─▶ screen ─▶ settle ─▶ understand ─▶ retrieve ─▶ gather ─▶ ┌ draft ─▶ enforce ─▶ critique ─▶ act ─▶ verify ┐ ─▶ record
                                                                     └────────── bounded: until answered ────────────┘

It fails closed on actions and open on talk: whatever breaks, nothing runs that was not enforced, and the user gets an
answer. The functions below are the order, the loop and the ways out; `_Turn`, at the end, hands each step what this
turn has.
"""  # noqa: E501

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from circumspect.errors import LeaseLost, ModelError, StoreError
from circumspect.journal import Journal, NoticeEvent, RemarkEvent
from circumspect.language.wanted import asks_for_person
from circumspect.language.yes_no import classify
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.policy.understanding.open_wishes import Wish, is_for_people
from circumspect.policy.understanding.synthetic import reveals_notes
from circumspect.policy.understanding.understood import RetrievalResult, Understanding, Understood
from circumspect.ports import Listener
from circumspect.reasons import ReasonCode
from circumspect.setup import TurnSetup
from circumspect.steps import endings
from circumspect.steps.act import act, describe_result
from circumspect.steps.appraise import appraise
from circumspect.steps.choose import choose
from circumspect.steps.claim import claim
from circumspect.steps.critique import critique
from circumspect.steps.draft import draft
from circumspect.steps.endings import ReplyContext
from circumspect.steps.enforce import is_hard_stop, rule_on, wants_too_much
from circumspect.steps.false_claims import find_false_claim
from circumspect.steps.gather import (
    add_context,
    gather,
    with_correction,
    with_note,
    with_open_question,
    with_result,
    with_wishes,
)
from circumspect.steps.heed import OpenWishes, describe_wish, find_changing, find_unasked, heed, propose_wish
from circumspect.steps.held_back import find_held_back, propose_again
from circumspect.steps.phrase import phrase
from circumspect.steps.recognise import recognise
from circumspect.steps.record import record
from circumspect.steps.retrieve import retrieve, search_documents
from circumspect.steps.screen import screen
from circumspect.steps.settle import Settled, apply_edit, propose_correction, settle
from circumspect.steps.sweep import catch_up
from circumspect.steps.understand import add_understanding, read_earlier_sources, understand
from circumspect.steps.verify import verify
from circumspect.values import (
    SEVERITY,
    Abandoned,
    Allow,
    Ask,
    Assessment,
    ClientResults,
    Confirm,
    Deny,
    Draft,
    Enforced,
    Execution,
    Gathered,
    Incoming,
    Intent,
    OutsideCall,
    PersonDecision,
    Preparation,
    Profile,
    Reply,
    Screened,
    ToolCall,
    ToolSpec,
    TurnResult,
)
from circumspect.voice import Voice
from circumspect.wording import find_odd_names

log = logging.getLogger(__name__)


async def run_turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None = None) -> TurnResult:
    try:
        try:
            return await _take_turn(incoming, setup, listener)
        except LeaseLost:
            # This worker was held up until another one took the turn over: it asks for the answer as any sender does.
            again = replace(incoming, again=True, at=setup.ports.clock.now())
            return await _take_turn(again, setup, None)
    except StoreError as problem:
        mode = setup.tenant.mode_of(incoming.conversation)
        return endings.without_store(incoming, setup.tenant.language, mode, problem)


async def _take_turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None) -> TurnResult:
    tenant, ports, notes = setup.tenant, setup.ports, Journal(listener.entry if listener else None)
    mode = tenant.mode_of(incoming.conversation)
    async with claim(incoming, mode, setup.profiles[mode].history, ports.store, ports.clock, ports.ids) as opened:
        if opened.answered:
            return opened.answered
        profile = setup.profiles[mode if tenant.adaptive_share >= 1.0 else opened.mode]
        opened, news = await catch_up(
            opened, incoming, ports.tools, ports.store, ports.clock, ports.ids, setup.repeat_within
        )
        if setup.guide:
            setup.guide.note_results(incoming, notes)
        screened = screen(incoming, opened, tenant.language, profile, notes)
        odd = None if profile.passthrough else find_odd_names(setup.tools)
        voice = Voice(listener.text, odd) if listener and not news else None
        turn = _Turn(setup, screened, profile, setup.tools_of(incoming), notes, news, voice)
        try:
            reply = endings.with_notices(await _reply_whatever_breaks(turn), news, turn.desk)
            reply = voice.end_with(reply) if voice else reply
        except asyncio.CancelledError:
            notes.write(NoticeEvent("interrupted"), ReasonCode.TURN_INTERRUPTED)
            with suppress(LeaseLost):
                await asyncio.shield(turn.record(Reply("failed", "")))
            raise
        return await turn.record(reply)


async def _reply_whatever_breaks(turn: _Turn) -> Reply:
    """Whatever breaks in here, the user gets an answer and nothing further runs."""
    notes, desk, identity = turn.notes, turn.desk, {"turn": turn.incoming.turn}
    try:
        return await _reply(turn)
    except ModelError as problem:
        notes.add_usage(problem.usage)
        notes.write(NoticeEvent(problem.code, problem=problem.problem), ReasonCode.MODEL_FAILED)
        log.warning("model failed", extra={**identity, "problem": problem.code})
        return endings.report_failure(desk, "failed-model", notes.ran)
    except StoreError as problem:
        notes.write(NoticeEvent(problem.code), ReasonCode.STORE_FAILED)
        return endings.report_failure(desk, "failed-store", notes.ran)
    except Exception as problem:
        log.exception("turn failed", extra=identity)
        notes.write(NoticeEvent(type(problem).__name__), ReasonCode.INTERNAL_ERROR)
        return endings.report_failure(desk, "failed-internal", notes.ran)


async def _reply(turn: _Turn) -> Reply:
    """A turn that was broken off, a person who has the conversation or should, nothing to read, a call from outside, a
    yes or no, or an ordinary message."""
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
        return endings.hand_over(turn.desk)
    if await turn.declines_person():
        turn.notes.write(NoticeEvent("the user wants no person"))
        return endings.go_on_without_person(turn.desk)
    reply = await _settle(turn) or await _work_out(turn)
    if turn.profile.passthrough:
        return reply
    varied = endings.without_circles(reply, turn.desk)
    if varied is not reply:
        turn.notes.write(NoticeEvent("the same words as before"), ReasonCode.SAID_AGAIN)
    return varied


async def _rule_on_outside_call(turn: _Turn, outside: OutsideCall) -> Reply:
    """A call that came from outside, with no draft of ours around it."""
    enforced, facts = await turn.rule_on(outside.call, None)
    if isinstance(enforced.verdict, Allow):
        return await _run_one(turn, enforced, facts)
    if isinstance(enforced.verdict, Confirm) and not outside.can_ask:
        return endings.approval(enforced, turn.desk)
    return endings.hold_without_user(enforced, turn.desk)


async def _settle(turn: _Turn) -> Reply | None:
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


async def _go_on(turn: _Turn, reply: Reply, settled: Intent) -> Reply:
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


async def _ask_about_correction(turn: _Turn, intent: Intent) -> Reply | None:
    """What the user meant instead is ruled on and asked about. None where the rules want more than a yes."""
    if (drafted := propose_correction(intent, turn.screened)) is None:
        return None
    enforced, _ = await turn.rule_on(drafted.calls[0], drafted)
    return endings.confirmation(enforced, turn.desk) if enforced.verdict in (Allow(), Confirm()) else None


async def _run_one(turn: _Turn, enforced: Enforced, facts: Facts) -> Reply:
    """One call that was let through, and nothing after it."""
    ended = await turn.act(enforced)
    if ended is None:
        return endings.nothing_pending(turn.desk)
    if ended.state == "delegated":
        return endings.hand_to_client((ended,), "")
    if not await turn.verify(ended, facts):
        return endings.not_verified(ended, turn.desk)
    return endings.report_execution(ended, await turn.phrase(ended), turn.desk)


async def _work_out(turn: _Turn) -> Reply:
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
    reply = await _draft_until_answered(turn, turn.gather(understood, found))
    if not reply.intent and understood.analysis and reveals_notes(reply.text, understood.analysis):
        turn.notes.write(NoticeEvent("the reply repeats internal notes"), ReasonCode.NOTES_GIVEN_AWAY)
        reply = endings.withhold_reply(turn.notes.ran, turn.desk)
    return reply if turn.voice else endings.prepend(reply, understood.response)


async def _draft_until_answered(turn: _Turn, gathered: Gathered) -> Reply:
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
                    return turn.mark_doubt(endings.answer(drafted, denied, notes.ran, desk), drafted)
                if not redrafts:
                    return endings.correct_claim(claimed, await turn.list_earlier_calls(), notes.ran, desk)
                redrafts, gathered = redrafts - 1, with_correction(gathered, claimed)
                continue
        elif unasked := await turn.find_unasked(drafted):
            notes.write(NoticeEvent(unasked), ReasonCode.ONLY_ASKED)
            if told:
                return endings.answer_question(drafted, desk)
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


# --- the steps, each given what this turn has ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turn:
    setup: TurnSetup
    screened: Screened
    profile: Profile
    tools: Mapping[str, ToolSpec]
    notes: Journal
    earlier: tuple[Execution, ...] = ()
    """Calls of an interrupted turn whose outcome nobody has told the user yet."""
    voice: Voice | None = None
    """Set when the user hears the reply while it is written."""

    @property
    def incoming(self) -> Incoming:
        return self.screened.incoming

    @property
    def desk(self) -> ReplyContext:
        ports = self.setup.ports
        return ReplyContext(
            self.screened, self.setup.policy, self.tools, self.profile, ports.clock, ports.ids, self.earlier
        )

    @property
    def understanding(self) -> Understanding | None:
        """The tenant's, with the arm that this conversation drew; None where nothing is to be understood first."""
        settings = self.setup.understanding
        if settings is None or self.incoming.errand or self.profile.passthrough:
            return None
        return settings.for_conversation(self.incoming.tenant, self.incoming.conversation)

    def settle(self) -> tuple[Settled, ReasonCode | None]:
        return settle(self.screened, self.tools, self.setup.policy, self.setup.ports.clock.now(), self.notes)

    async def list_calls(self) -> Sequence[Execution]:
        """What the ledger has of this conversation."""
        return await self.setup.ports.store.executions(self.incoming.tenant, self.incoming.conversation)

    def note_interruption(self) -> None:
        """What was known when the turn was taken up again."""
        if isinstance(self.incoming.errand, Abandoned):
            self.notes.write(NoticeEvent("nobody sent it again"), ReasonCode.TURN_INTERRUPTED)
        for one in self.screened.opened.before:
            self.notes.write(NoticeEvent(f"{one.call.tool}: {one.state}"), *filter(None, [one.reason]))

    @property
    def last_said(self) -> str:
        """What the user last heard from us."""
        said = [message.content for message in self.screened.opened.history if message.role == "assistant"]
        return said[-1] if said else ""

    async def is_settled(self, intent: Intent | None) -> bool:
        """Nothing is left of what was asked, and the user has not been told so."""
        if not self.last_said:
            return True
        told = self.desk.say("nothing-to-confirm") in self.last_said
        return intent is not None and not told and not (await self.heed()).every

    @property
    def is_left_alone(self) -> bool:
        """What the user wants is for somebody else to read: a guide of the scene, or the client's own agent."""
        return self.incoming.scene is not None or self.profile.passthrough

    @property
    def changing(self) -> Mapping[str, ToolSpec]:
        return find_changing(self.tools, self.setup.policy, self.incoming.tenant)

    def wants_person(self) -> bool:
        """They say so, or they accept the offer of one. A tool that calls for a person goes its own way."""
        if self.incoming.errand or self.is_left_alone or any(map(is_for_people, self.tools)):
            return False
        agreed = endings.is_person_offered(self.desk) and classify(self.incoming.text) == "confirm"
        return agreed or asks_for_person(self.incoming.text)

    async def declines_person(self) -> bool:
        """A plain no to the offer of one, with nothing else in it and nothing else that it could answer."""
        pending, errand = self.screened.opened.intent, self.incoming.errand
        if errand or self.profile.passthrough or (pending and pending.state == "pending"):
            return False
        if not endings.is_person_offered(self.desk):
            return False
        return classify(self.incoming.text) == "deny" and not (await self.heed()).now

    async def heed(self) -> OpenWishes:
        if self.is_left_alone or isinstance(self.incoming.errand, OutsideCall | ClientResults):
            return OpenWishes()
        return await heed(
            self.screened, self.tools, self.changing, self.profile, self.notes, self.setup.ports.store
        )  # fmt: skip

    async def find_neglected(self, denied: Enforced | None) -> Wish | None:
        """The first wish of this message that nothing was done about; a call that policy denied was something."""
        wishes = (await self.heed()).now
        return next((one for one in wishes if denied is None or one.tool != denied.call.tool), None)

    async def find_unasked(self, drafted: Draft) -> str:
        """The tool of a call that nobody wished for."""
        if self.profile.passthrough:
            return ""
        if endings.is_courtesy(self.desk):
            return next((call.tool for call in drafted.calls if call.tool in self.changing), "")
        unasked = find_unasked(drafted, self.incoming.text, self.changing)
        return unasked if unasked and not (await self.heed()).every else ""

    async def find_held_back(self, settled: Intent) -> list[tuple[ToolCall, Draft]]:
        """What the draft behind this question proposed beside it, each with a draft of its own."""
        ran, store = await self.list_calls(), self.setup.ports.store
        return [(one, propose_again(one)) for one in await find_held_back(settled, self.screened, ran, store)]

    async def choose(self) -> Wish | None:
        """The wish that the model sees in words which code cannot place."""
        if self.is_left_alone or self.incoming.errand or any(map(is_for_people, self.tools)):
            return None
        business, model = self.setup.tenant.business.name, self.setup.ports.model
        return await choose(self.screened, self.changing, business, self.notes, model)

    def is_complete(self, wish: Wish) -> bool:
        return self.tools[wish.tool].required <= wish.arguments.keys()

    def take_up(self, wish: Wish) -> Draft:
        """A wish in the user's own words; the model that passed it over is not asked for its opinion."""
        self.notes.write(RemarkEvent(describe_wish(wish), "understanding"), ReasonCode.WISH_NEGLECTED)
        return propose_wish(wish)

    async def prepare(self) -> Preparation | None:
        """What the scene's guide finds out about new words of the user; None where there is no scene."""
        incoming, guide = self.incoming, self.setup.guide
        if guide is None or incoming.errand:
            return None
        # An answer to a question is about what was asked before it.
        said = " ".join([one.text for one in incoming.talk if one.role == "user"][-3:]) or incoming.text
        known = await search_documents(self.setup.searches, incoming.tenant, said, self.screened.language)
        return await guide.before_draft(self.screened, known, self.notes)

    def with_preparation(self, preparation: Preparation) -> _Turn:
        incoming = replace(self.incoming, findings=preparation.findings)
        tools = {name: spec for name, spec in self.tools.items() if name not in preparation.withheld}
        return replace(self, screened=replace(self.screened, incoming=incoming), tools=tools)

    async def understand(self) -> Understood | None:
        setup, settings = self.setup, self.understanding
        if settings is None:
            return None
        sources = await read_earlier_sources(self.screened, setup.ports.store) if settings.decide else ()
        return await understand(
            self.screened, setup.tenant.business, self.tools, self.recognise, settings, self.notes, setup.ports.model,
            setup.guardian, sources,
        )  # fmt: skip

    async def recognise(self) -> Mapping[str, str]:
        """What is known about the person whose conversation this is; nothing where the tenant has nobody to ask."""
        setup, ports, settings = self.setup, self.setup.ports, self.understanding
        if settings is None or (customer := settings.customer) is None:
            return {}
        spec, policy = self.tools.get(customer.tool), setup.policy.of(customer.tool, setup.tenant.id)
        return await recognise(self.screened, customer, spec, policy, self.notes, ports.tools, ports.clock, ports.ids)

    async def retrieve(self, understood: Understood) -> RetrievalResult:
        setup, settings = self.setup, self.understanding
        assert settings is not None
        business, known = setup.tenant.business, understood.known
        ran = await self.list_calls()
        return await retrieve(understood, business, self.tools, known, ran, settings, self.notes, setup.searches)

    def gather(self, understood: Understood | None = None, found: RetrievalResult | None = None) -> Gathered:
        incoming, guide, now = self.incoming, self.setup.guide, self.setup.ports.clock.now()
        scene = guide.show(incoming.scene, incoming.text) if guide and incoming.scene else ""
        gathered = gather(self.screened, self.setup.tenant.business, self.tools, self.profile, now, scene)
        if self.profile.passthrough:
            return gathered
        if ReasonCode.PENDING_INTENT_MISSING in self.notes.reasons:
            gathered = with_note(gathered, "yes_to_nothing", said=self.last_said)
        elif not scene and not incoming.errand:
            gathered = with_open_question(gathered)
        if understood:
            gathered = add_understanding(understood, gathered)
        return replace(gathered, blocks=(*gathered.blocks, *found.blocks)) if found else gathered

    def add_context(self, gathered: Gathered, keys: tuple[str, ...]) -> Gathered:
        return add_context(gathered, keys, self.setup.tenant.business, self.tools, self.profile, self.notes)

    async def draft(self, gathered: Gathered) -> Draft:
        """Aloud only where nothing that comes later may withdraw the words: an assessment, or a look for notes."""
        form = self.incoming.form
        alone = self.setup.understanding is None or self.profile.passthrough
        plain = self.profile.mode == "standard" and alone and form is None
        hear = self.voice.begin() if self.voice and plain else None
        business, model = self.setup.tenant.business.name, self.setup.ports.model
        drafted = await draft(gathered, business, self.profile, self.notes, model, hear)
        if form is None and not self.profile.passthrough:
            drafted = replace(drafted, reply=self.desk.name_plainly(drafted.reply))
        return self.setup.guide.limit(drafted) if self.setup.guide else drafted

    async def rule_on(
        self, call: ToolCall, drafted: Draft | None, confirmed: Intent | None = None
    ) -> tuple[Enforced, Facts]:
        enforced, facts = await rule_on(
            call, drafted, self.screened, self.profile, self.tools, self.notes, self.setup,
            confirmed=confirmed, earlier=self.earlier,
        )  # fmt: skip
        ports, notes = self.setup.ports, self.notes
        asked = appraise(enforced, facts, self.incoming, self.permits, notes, ports.tools, ports.clock, ports.ids)
        return await asked, facts

    async def permits(self, look: ToolCall) -> bool:
        """The rules would let a model make this call. Nothing of it is written down: nobody proposed it."""
        drafted = Draft("", (look,), Assessment(1.0, tool_call=look.tool, tool_params=look.arguments, by_user=True))
        enforced, _ = await rule_on(
            look, drafted, self.screened, self.profile, self.tools, Journal(), self.setup, earlier=self.earlier
        )
        return isinstance(enforced.verdict, Allow)

    def wants_too_much(self, drafted: Draft) -> bool:
        tenant, policy = self.incoming.tenant, self.setup.policy
        return wants_too_much(drafted, self.notes.ran, policy, tenant, self.tools, self.profile)

    async def rule_on_draft(
        self, drafted: Draft, gathered: Gathered, wish: Wish | None
    ) -> list[tuple[Enforced, Facts]]:
        """Rule on what the draft proposes, with a second opinion where it pays; or on the user's own wish, where the
        draft proposes nothing or would ask for what the user may have said."""
        # Each once: what is said twice in one breath would be ruled on twice before it ran once.
        calls = {call.hash: call for call in drafted.calls}.values()
        ruled = [await self.rule_and_criticise(call, drafted, gathered) for call in calls]
        worst = max((SEVERITY[enforced.verdict.kind] for enforced, _ in ruled), default=SEVERITY["ask"])
        if wish and wish.is_read and worst == SEVERITY["ask"]:
            return [await self.rule_and_criticise(wish.call, self.take_up(wish), gathered)]
        return ruled

    async def rule_and_criticise(self, call: ToolCall, drafted: Draft, gathered: Gathered) -> tuple[Enforced, Facts]:
        """An opinion follows its ruling in the journal: that is how a replay knows which call it was about."""
        enforced, facts = await self.rule_on(call, drafted)
        tools, model = tuple(self.tools.values()), self.setup.ports.model
        return await critique(enforced, gathered, tools, self.notes, model), facts

    async def act(self, enforced: Enforced) -> Execution | None:
        incoming, token, ports = self.incoming, self.screened.opened.token, self.setup.ports
        return await act(enforced, incoming, token, self.notes, ports.tools, ports.store, ports.clock, ports.ids)

    async def verify(self, ended: Execution, facts: Facts) -> bool:
        ports = self.setup.ports
        return await verify(ended, facts, self.notes, ports.tools, ports.clock, ports.ids)

    async def phrase(self, ended: Execution) -> str:
        """The model's words for what happened; empty when it has none, or claims more than that. The catalogue speaks
        where nobody said anything that words could answer."""
        if self.incoming.errand:
            return ""
        business, model = self.setup.tenant.business.name, self.setup.ports.model
        words = await phrase(ended, describe_result(ended), self.screened, business, self.notes, model)
        words = self.desk.name_plainly(words)
        return "" if await self.find_false_claim(words) else words

    async def find_false_claim(
        self, reply: str, gathered: Gathered | None = None, handed: Collection[ToolCall] = ()
    ) -> UntrueSentence | None:
        store, guide = self.setup.ports.store, self.setup.guide
        return await find_false_claim(reply, gathered, self.screened, self.tools, self.notes, store, guide, handed)

    def mark_doubt(self, answer: Reply, drafted: Draft) -> Reply:
        """With a sentence that says so, where the model is not sure of its answer."""
        if not endings.is_doubtful(answer, drafted, self.desk):
            return answer
        self.notes.write(NoticeEvent("the model is not sure of its answer"), ReasonCode.LOW_CONFIDENCE)
        return endings.mark_doubt(answer, self.desk)

    async def list_earlier_calls(self) -> list[Execution]:
        """What earlier turns of the conversation ran, or an attempt at this one that was broken off."""
        ran = {one.id for one in self.notes.ran}
        return [one for one in await self.list_calls() if one.id not in ran]

    def report_store_failure(self) -> Reply:
        failed = endings.report_failure(self.desk, "failed-store", self.notes.ran)
        return endings.with_notices(failed, self.earlier, self.desk)

    async def record(self, reply: Reply) -> TurnResult:
        ports, multiplier, mode = self.setup.ports, self.setup.tenant.plan.multiplier, self.profile.mode
        fail, notes = self.report_store_failure, self.notes
        return await record(reply, fail, self.screened, mode, multiplier, notes, ports.store, ports.clock)
