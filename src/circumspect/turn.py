"""What one turn has, and each step given its part of it: `pipeline.py` says when, this says with what.

A turn is a frozen value like any other. What it learns on its way is in a new one (`with_sources`) or in its journal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property, partial

from circumspect.errors import StoreError
from circumspect.journal import Journal, NoticeEvent, RemarkEvent
from circumspect.language.wanted import asks_for_person
from circumspect.language.yes_no import classify
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.policy.parsing.reply_data import read_reply_data
from circumspect.policy.understanding.open_wishes import Wish, is_for_people
from circumspect.policy.understanding.synthetic import reveals_notes
from circumspect.policy.understanding.understood import RetrievalResult, Understanding, Understood
from circumspect.reasons import ReasonCode
from circumspect.reply_context import ReplyContext
from circumspect.setup import TurnSetup
from circumspect.steps import endings
from circumspect.steps.act import act, describe_result
from circumspect.steps.appraise import appraise
from circumspect.steps.choose import choose
from circumspect.steps.critique import critique
from circumspect.steps.draft import draft
from circumspect.steps.enforce import rule_on, wants_too_much
from circumspect.steps.false_claims import find_false_claim
from circumspect.steps.gather import (
    add_context,
    gather,
    with_note,
    with_open_question,
)
from circumspect.steps.heed import (
    OpenWishes,
    describe_wish,
    find_changing,
    find_unasked,
    heed,
    keep_wishes,
    propose_wish,
)
from circumspect.steps.held_back import find_held_back, propose_again
from circumspect.steps.phrase import phrase
from circumspect.steps.recognise import recognise
from circumspect.steps.record import KeepWishes, record
from circumspect.steps.retrieve import retrieve, search_documents, speak_of_it
from circumspect.steps.settle import Settled, settle
from circumspect.steps.understand import add_understanding, read_earlier_sources, understand
from circumspect.steps.verify import verify
from circumspect.values import (
    SEVERITY,
    Abandoned,
    Allow,
    Assessment,
    ClientResults,
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


@dataclass(frozen=True)
class TurnSteps:
    """A turn from the moment its message was screened. A method is a step, or a question that the order asks."""

    setup: TurnSetup
    screened: Screened
    profile: Profile
    tools: Mapping[str, ToolSpec]
    notes: Journal
    earlier: tuple[Execution, ...] = ()
    """Calls of an interrupted turn whose outcome nobody has told the user yet."""
    voice: Voice | None = None
    """Set when the user hears the reply while it is written."""
    understood: Understood | None = None
    """Set once the message has been understood and the turn goes on."""
    found: RetrievalResult | None = None
    """What the answer is held to, where the tenant wants nothing said that has nothing behind it."""
    heard: dict[object, OpenWishes] = field(default_factory=dict)
    """The wishes, by what had run when they were read: nobody else adds to the conversation while we hold it."""

    data: list[str] = field(default_factory=list)
    """What the model of an agent that stays as it is wrote for a program to read, newest last. No words of ours
    take its place."""

    @property
    def incoming(self) -> Incoming:
        return self.screened.incoming

    @cached_property
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

    @cached_property
    def changing(self) -> Mapping[str, ToolSpec]:
        return find_changing(self.tools, self.setup.policy, self.incoming.tenant)

    def wants_person(self) -> bool:
        """They say so, or they accept the offer of one. A tool that calls for a person goes its own way."""
        if self.incoming.errand or self.is_left_alone or any(map(is_for_people, self.tools)):
            return False
        agreed = endings.is_person_offered(self.desk) and classify(self.incoming.text) == "confirm"
        return agreed or asks_for_person(self.incoming.text)

    async def note_quota(self) -> bool:
        """The tenant has had its messages of the month, which is written down: then this one does not count. A
        colleague's decision is no message. Turns that are under way are not counted yet, so that as many as run at once
        may go beyond the quota, and no more."""
        quota = self.setup.tenant.plan.quota
        if quota is None or isinstance(self.incoming.errand, PersonDecision):
            return False
        period = f"{self.setup.ports.clock.now().astimezone(UTC):%Y-%m}"
        if await self.setup.ports.store.count_messages(self.incoming.tenant, period) < quota:
            return False
        self.notes.write(NoticeEvent("the plan's messages of this month are used up"), ReasonCode.QUOTA_REACHED)
        return True

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
        ran = tuple((one.id, one.state) for one in self.notes.ran)
        if ran not in self.heard:
            self.heard[ran] = await heed(
                self.screened, self.tools, self.changing, self.profile, self.notes, self.setup.ports.store
            )
        return self.heard[ran]

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
        if self.understood and self.understood.is_looked_up:
            invented = next((call.tool for call in drafted.calls if call.tool not in self.tools), "")
            if invented:
                return invented
        unasked = find_unasked(drafted, self.incoming.text, self.changing)
        return unasked if unasked and not (await self.heed()).every else ""

    async def answer_in_words(self, drafted: Draft, gathered: Gathered) -> Reply:
        """Of a draft that insists on a call which nobody asked for: what it says, where that is true."""
        if not self.is_looked_up:
            return endings.answer_question(drafted, self.desk)
        if claimed := await self.find_false_claim(drafted.reply, gathered):
            return await self.correct_claim(claimed)
        return Reply("answered", drafted.reply) if drafted.reply else self.give_up_answer()

    def answer(self, drafted: Draft, denied: Enforced | None) -> Reply:
        """What the model says, where nothing of it is untrue. Data stay as they are."""
        said = endings.answer(drafted, denied, self.notes.ran, self.desk)
        return replace(said, text=self.data[-1]) if self.data and not self.notes.ran else said

    async def correct_claim(self, claimed: UntrueSentence) -> Reply:
        if self.data and not self.notes.ran:
            return Reply("answered", self.data[-1])  # the reason code says that something in it is not so
        earlier, looked_up, hands_over = await self.list_earlier_calls(), self.is_looked_up, self.hands_over_failures
        ran = self.notes.ran
        return endings.correct_claim(claimed, earlier, ran, self.desk, looked_up=looked_up, hands_over=hands_over)

    def give_up_answer(self) -> Reply:
        self.notes.write(NoticeEvent("the model does not know"), ReasonCode.UNSURE_OF_ANSWER)
        return endings.say_not_known(self.desk)

    async def find_held_back(self, settled: Intent) -> list[tuple[ToolCall, Draft]]:
        """What the draft behind this question proposed beside it, each with a draft of its own."""
        held_back = await find_held_back(settled, self.screened, self.setup.ports.store, self.list_calls)
        return [(one, propose_again(one)) for one in held_back]

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

    def with_preparation(self, preparation: Preparation) -> TurnSteps:
        incoming = replace(self.incoming, findings=preparation.findings)
        tools = {name: spec for name, spec in self.tools.items() if name not in preparation.withheld}
        return replace(self, screened=replace(self.screened, incoming=incoming), tools=tools, heard={})

    async def understand(self) -> Understood | None:
        setup, settings = self.setup, self.understanding
        if settings is None:
            return None
        sources = await read_earlier_sources(self.screened, setup.ports.store) if settings.decide else ()
        return await understand(
            self.screened, setup.tenant.business, self.tools, self.recognise, settings, self.notes, setup.ports.model,
            setup.guardian, sources, partial(speak_of_it, self.screened, settings, setup.searches),
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

    def with_sources(self, understood: Understood, found: RetrievalResult) -> TurnSteps:
        """An answer is held to what was found for it; where nothing was, only where it was decided to look it up."""
        settings = self.understanding
        held = found.sources or (settings and settings.decide)
        return replace(self, understood=understood, found=found if held else None)

    @property
    def is_looked_up(self) -> bool:
        """The user asked for what documents may say, and nothing else."""
        return self.found is not None and not self.found.saved and not self.notes.ran

    def reveals_notes(self, reply: str) -> bool:
        """It repeats what was noted for the model only."""
        analysis = self.understood.analysis if self.understood else None
        return analysis is not None and reveals_notes(reply, analysis)

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
        if self.profile.passthrough and not drafted.calls and read_reply_data(drafted.reply) is not None:
            self.data.append(drafted.reply)
        if form is None and not self.profile.passthrough:
            plainly = self.desk.name_plainly(drafted.reply)
            drafted = drafted if plainly == drafted.reply else replace(drafted, reply=plainly)
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
        held_to = None if self.reveals_notes(reply) else self.found
        data = read_reply_data(reply) if self.profile.passthrough else None
        return await find_false_claim(
            reply if data is None else data, gathered, self.screened, self.tools, self.notes, store, guide, handed,
            held_to, is_data=data is not None,
        )  # fmt: skip

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

    @property
    def hands_over_failures(self) -> bool:
        """A person answers for whatever the agent cannot, unless the tenant wants it otherwise."""
        settings = self.understanding
        return bool(settings and settings.decide) and self.profile.escalate_failures is not False

    def report_failure(self, key: str, reason: ReasonCode) -> Reply:
        if self.hands_over_failures:
            return endings.hand_over_failure(self.desk, reason, self.notes.ran)
        return endings.report_failure(self.desk, key, self.notes.ran)

    def report_store_failure(self) -> Reply:
        failed = endings.report_failure(self.desk, "failed-store", self.notes.ran)
        return endings.with_notices(failed, self.earlier, self.desk)

    async def record(self, reply: Reply) -> TurnResult:
        ports, plan, mode = self.setup.ports, self.setup.tenant.plan, self.profile.mode
        fail, notes = self.report_store_failure, self.notes
        keep = await self._hand_on()
        return await record(reply, fail, self.screened, mode, plan, notes, ports.store, ports.clock, keep)

    async def _hand_on(self) -> KeepWishes | None:
        """What the user still wants, for the next turn; None where this one did not look."""
        if not self.heard or self.is_left_alone or self.incoming.errand:
            return None
        try:
            heard = await self.heed()
        except StoreError:
            return None
        return partial(keep_wishes, heard, self.changing, self.notes.ran)
