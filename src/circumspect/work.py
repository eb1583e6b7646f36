"""Work: one turn under way. Each method is one step, bound to the ports and the journal of this turn.

`Setup` is what no message can change; `Work` adds the message. The order of the steps is `pipeline.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from circumspect.guardian.port import Guardian
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.claims import find_unsupported_claims, find_unsupported_on_page
from circumspect.policy.judge import Rule
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import RULES
from circumspect.policy.understanding.synthetic import reveals_notes
from circumspect.policy.understanding.understood import RetrievalResult, Understanding, Understood
from circumspect.ports import Ports
from circumspect.reasons import ReasonCode
from circumspect.steps.act import act, describe_result
from circumspect.steps.critique import critique
from circumspect.steps.draft import draft
from circumspect.steps.endings import ReplyContext
from circumspect.steps.enforce import enforce, look_at, write_down
from circumspect.steps.gather import add_all_context, add_context, gather
from circumspect.steps.phrase import phrase
from circumspect.steps.recall import needs_more, recall, recall_from_turn
from circumspect.steps.recognise import recognise
from circumspect.steps.record import record
from circumspect.steps.retrieve import PassageSearch, retrieve, search_documents
from circumspect.steps.settle import Settled, settle
from circumspect.steps.sweep import sweep
from circumspect.steps.understand import add_understanding, earlier_sources, understand
from circumspect.steps.verify import verify
from circumspect.values import (
    Draft,
    Enforced,
    Execution,
    Gathered,
    Intent,
    Journal,
    Mode,
    Opened,
    PersonDecision,
    Profile,
    Reply,
    Screened,
    Tenant,
    ToolCall,
    ToolSpec,
    TurnResult,
    stable_share,
)
from circumspect.voice import Voice
from circumspect.web.page import Page
from circumspect.web.reasoning.reason import Models, reason
from circumspect.web.reasoning.reason import SiteSearch as WebSearch
from circumspect.web.reasoning.reasoned import Reasoned, Reasoning

REACH = 200
"""How many messages back the sources of earlier answers are looked for."""


@dataclass(frozen=True, slots=True)
class OnPages:
    """What a turn on a web page does differently."""

    resolve: Callable[[ToolCall, Page], ToolCall]
    """What the model proposed -> what it amounts to on this page."""
    view: Callable[[Page, str], Page]
    """The part of a page that matters for the user's words: what the model gets to see."""
    models: Models
    search: WebSearch | None = None
    reasoning: Reasoning = field(default_factory=Reasoning)


@dataclass(frozen=True)
class TurnSetup:
    """Everything about a tenant that a turn needs and that no message can change."""

    tenant: Tenant
    policy: Policy
    profiles: Mapping[Mode, Profile]
    ports: Ports
    rules: tuple[Rule, ...] = RULES
    understanding: Understanding | None = None
    """How messages are understood before anything is drafted; None leaves that out."""
    guardian: Guardian | None = None
    searches: tuple[PassageSearch, ...] = ()
    on_pages: OnPages | None = None
    """How web pages are dealt with, where the agent is there to act on them."""

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """Enabled for this tenant."""
        specs, enabled = self.ports.tools.specs(), self.tenant.tools
        return specs if enabled is None else {name: spec for name, spec in specs.items() if name in enabled}


@dataclass(frozen=True)
class Work:
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
    def desk(self) -> ReplyContext:
        ports = self.setup.ports
        return ReplyContext(self.screened, self.setup.policy, self.tools, self.profile, ports.clock, ports.ids)

    def settle(self) -> tuple[Settled, ReasonCode | None]:
        decision, reason = settle(self.screened, self.tools, self.setup.policy, self.setup.ports.clock.now())
        intent = self.screened.opened.intent
        if reason:
            self.notes.write("intent", decision, reason, meta={"intent": intent.id if intent else None})
        return decision, reason

    def done_before(self) -> Execution | None:
        """What an earlier attempt at this very turn did before it was broken off: the same yes, sent again."""
        own = [one for one in self.earlier if one.turn == self.screened.incoming.turn and one.effect != "read"]
        return own[-1] if own else None

    def edited(self, intent: Intent) -> Intent:
        """The intent as a colleague would have it; nothing is bound to it before the rules have seen it."""
        errand = self.screened.incoming.errand
        assert isinstance(errand, PersonDecision)
        call = ToolCall(intent.call.tool, errand.arguments)
        return replace(intent, call=call, hash=call.hash)

    async def understand(self) -> Understood | None:
        """What the user wants and which way the turn goes; None where the tenant has no such profile."""
        incoming, setup = self.screened.incoming, self.setup
        settings = self._understanding
        if settings is None or incoming.errand:
            return None
        earlier: tuple[str, ...] = ()
        if settings.decide:
            first = max(-1, self.screened.opened.next_seq - REACH)
            said = await setup.ports.store.messages(
                incoming.tenant, incoming.conversation, internal=True, after=first, limit=REACH
            )
            earlier = earlier_sources(said)
        return await understand(
            self.screened, setup.tenant.business, self.tools, self.recognise, settings, self.notes, setup.ports.model,
            setup.guardian, earlier,
        )  # fmt: skip

    async def recognise(self) -> Mapping[str, str]:
        """What is known about the person whose conversation this is; nothing where the tenant has nobody to ask."""
        setup, ports, settings = self.setup, self.setup.ports, self._understanding
        if settings is None or (customer := settings.customer) is None:
            return {}
        spec, policy = self.tools.get(customer.tool), setup.policy.of(customer.tool, setup.tenant.id)
        return await recognise(self.screened, customer, spec, policy, self.notes, ports.tools, ports.clock, ports.ids)

    @property
    def _understanding(self) -> Understanding | None:
        """The tenant's, with the arm that this conversation drew."""
        settings, incoming = self.setup.understanding, self.screened.incoming
        if settings is None or settings.synthetic_share >= 1.0:
            return settings
        drawn = stable_share(incoming.tenant, incoming.conversation, "synthetic") < settings.synthetic_share
        return replace(settings, synthetic=settings.synthetic and drawn)

    async def retrieve(self, understood: Understood) -> RetrievalResult:
        incoming, setup, settings = self.screened.incoming, self.setup, self._understanding
        assert settings is not None
        ran = await setup.ports.store.executions(incoming.tenant, incoming.conversation)
        business, known = setup.tenant.business, understood.known
        return await retrieve(understood, business, self.tools, known, ran, settings, self.notes, setup.searches)

    async def reason(self) -> Reasoned | None:
        """On a page, before anything is done about new words of the user: is what it takes known? None elsewhere."""
        incoming, setup, on_pages = self.screened.incoming, self.setup, self.setup.on_pages
        if on_pages is None or incoming.errand:
            return None
        # An answer to a question is about what was asked before it.
        said = " ".join([one.text for one in incoming.talk if one.role == "user"][-3:]) or incoming.text
        known = await search_documents(setup.searches, incoming.tenant, said, self.screened.language)
        models, search = on_pages.models, on_pages.search
        return await reason(self.screened, self._page, known, on_pages.reasoning, self.notes, models, search)

    def knowing(self, reasoned: Reasoned) -> Work:
        """The same turn with what was found. What nobody could check is good enough to look around, and no more."""
        incoming = replace(self.screened.incoming, findings=reasoned.findings)
        looking = {name: spec for name, spec in self.tools.items() if name not in ("submit", "type", "select")}
        tools = looking if reasoned.unverified else self.tools
        return replace(self, screened=replace(self.screened, incoming=incoming), tools=tools)

    def gather(self, understood: Understood | None = None, found: RetrievalResult | None = None) -> Gathered:
        business, now = self.setup.tenant.business, self.setup.ports.clock.now()
        gathered = gather(self.screened, business, self.tools, self.profile, now, self._page)
        if understood:
            gathered = add_understanding(understood, gathered)
        return replace(gathered, blocks=(*gathered.blocks, *found.blocks)) if found else gathered

    @property
    def _page(self) -> Page | None:
        """As the model sees it."""
        incoming, on_pages = self.screened.incoming, self.setup.on_pages
        return on_pages.view(incoming.page, incoming.text) if incoming.page and on_pages else None

    def gave_away(self, reply: Reply, understood: Understood) -> bool:
        """The model's words repeat its own notes. Our questions are the catalogue's and cannot."""
        if reply.intent or not understood.analysis or not reveals_notes(reply.text, understood.analysis):
            return False
        self.notes.write("notice", "the reply repeats internal notes", ReasonCode.NOTES_GIVEN_AWAY)
        return True

    def announce(self, words: str) -> None:
        if words and self.voice:
            self.voice.first(words)

    def gather_more(self, gathered: Gathered, keys: tuple[str, ...]) -> Gathered:
        """What was asked for, by key; after the last context round, everything."""
        business = self.setup.tenant.business
        if gathered.rounds < self.profile.context_rounds:
            return add_context(gathered, keys, business, self.tools, self.notes)
        return add_all_context(gathered, business, self.tools, self.notes)

    async def draft(self, gathered: Gathered) -> Draft:
        """Aloud only where nothing that comes later may withdraw the words: an assessment, or a look for notes."""
        plain = self.profile.mode == "standard" and self.setup.understanding is None
        hear = self.voice.begin() if self.voice and plain else None
        business, model = self.setup.tenant.business.name, self.setup.ports.model
        return await draft(gathered, business, self.profile, self.notes, model, hear)

    async def rule(
        self, call: ToolCall, drafted: Draft | None, confirmed: Intent | None = None
    ) -> tuple[Enforced, Facts]:
        """Hold a call against the rules, with no more of the past than they turn out to need."""
        setup, screened, tools, notes = self.setup, self.screened, self.tools, self.notes
        page = screened.incoming.page
        if page and setup.on_pages and not confirmed:  # what was confirmed stays what it was when it was shown
            call = setup.on_pages.resolve(call, page)
        policy = setup.policy.of(call.tool, screened.incoming.tenant)
        session = recall_from_turn(screened, tools, notes)
        done = frozenset(one.call.hash for one in (*self.earlier, *notes.ran) if one.state == "succeeded")
        whole = page is not None or needs_more(policy, tools)
        while True:
            if whole:
                session = await recall(screened, call.tool, policy, tools, notes, setup.ports.store)
            facts = look_at(
                call, screened, drafted, setup.policy, tools, self.profile.mode, setup.ports.clock.now(), session,
                confirmed=confirmed, done=done,
            )  # fmt: skip
            enforced = enforce(facts, setup.rules, setup.policy.hash, self.profile)
            if whole or ReasonCode.UNGROUNDED_PARAM not in enforced.reasons:
                write_down(enforced, facts, notes)
                return enforced, facts
            whole = True

    async def weigh(self, call: ToolCall, drafted: Draft, gathered: Gathered) -> tuple[Enforced, Facts]:
        """Rule on a proposed call, and have a second opinion where it pays."""
        enforced, facts = await self.rule(call, drafted)
        tools, model = tuple(self.tools.values()), self.setup.ports.model
        return await critique(enforced, gathered, tools, self.notes, model), facts

    async def act(self, enforced: Enforced) -> Execution | None:
        incoming, token, ports = self.screened.incoming, self.screened.opened.token, self.setup.ports
        return await act(enforced, incoming, token, self.notes, ports.tools, ports.store, ports.clock, ports.ids)

    async def verify(self, ended: Execution, facts: Facts) -> bool:
        ports = self.setup.ports
        return await verify(ended, facts, self.notes, ports.tools, ports.clock, ports.ids)

    async def phrase(self, ended: Execution) -> str:
        """The model's words for what happened; empty when it has none, or claims more than that. The catalogue speaks
        where nobody said anything that words could answer."""
        if self.screened.incoming.errand:
            return ""
        business, model = self.setup.tenant.business.name, self.setup.ports.model
        words = await phrase(ended, describe_result(ended), self.screened, business, self.notes, model)
        return "" if await self.claimed(words) else words

    async def claimed(self, reply: str) -> str:
        """The sentence in which a reply claims what nothing in the conversation did; empty when there is none."""
        screened, tools, notes, store = self.screened, self.tools, self.notes, self.setup.ports.store
        page = screened.incoming.page
        unsupported = partial(find_unsupported_on_page, shown=page.listing) if page else find_unsupported_claims
        at_once = () if page else recall_from_turn(screened, tools, notes).past_calls
        if not unsupported(reply, screened.language, at_once, tools):
            return ""
        session = await recall(screened, "", None, tools, notes, store)
        claims = unsupported(reply, screened.language, session.past_calls, tools)
        if claims:
            notes.write("notice", claims[0].sentence, ReasonCode.UNSUPPORTED_CLAIM)
        return claims[0].sentence if claims else ""

    async def record(self, reply: Reply) -> TurnResult:
        ports, multiplier = self.setup.ports, self.setup.tenant.plan.multiplier
        return await record(reply, self.screened, self.profile.mode, multiplier, self.notes, ports.store, ports.clock)


async def catch_up(opened: Opened, setup: TurnSetup) -> tuple[Opened, tuple[Execution, ...]]:
    """If an earlier turn died with a call under way, settle that call first, and say what is now known about it."""
    if not opened.unsettled:
        return opened, ()
    ports, now, known = setup.ports, setup.ports.clock.now(), {}
    if any(one.state == "started" and one.lease_until <= now for one in opened.unsettled):
        known = {one.id: one for one in await sweep(setup.tenant.id, ports.tools, ports.store, ports.clock, ports.ids)}
    current = tuple(known.get(one.id, one) for one in opened.unsettled)
    news = tuple(one for one in current if one.id in known or one.state == "succeeded")
    return replace(opened, unsettled=tuple(one for one in current if one.state in ("started", "indeterminate"))), news
