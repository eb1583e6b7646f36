"""Gate: may this call run, given this conversation? For agents that are somebody else's.

    gate = Gate("policy.yaml", store="sqlite:///gate.db")
    ruling = await gate.rule(call, messages=messages, conversation="c1", person="p1")
    if ruling.verdict == "ask" and ruling.intent:
        ruling = await gate.answer(ruling.intent, input(ruling.ask_user), person="p1")
    result = await gate.run(ruling, cancel_order)      # exactly once; raises CallHeld when it was not let through

The rules, the questions, the ledger and the journal are those of `Agent`; what is left out is the model. Without a
store everything lasts as long as the process. Without `tools` they are learnt from the calls, and the policy says what
each of them does: one that it does not cover is denied. With `tools`, any other tool is unknown and denied, unless the
gate `learns` those too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from circumspect.approvers import check_approver
from circumspect.aside import compute_aside
from circumspect.audit.rulebook import can_speak
from circumspect.clock import RandomIds, SystemClock
from circumspect.corrected_calls import list_words
from circumspect.errors import ConfigError, ConversationBusy
from circumspect.gating.asked import (
    check_about,
    check_conversation,
    check_messages,
    check_person,
    check_ruling,
    describe_outcome,
)
from circumspect.gating.book import Book, Decided, MemoryBook, Reach, Standing, is_void
from circumspect.gating.deciding import Decision, GateSetup, learn, read_stored, say_void
from circumspect.gating.foreign_talk import ForeignTalk
from circumspect.gating.function_runs import call_function, end, end_with_error, give_again, require_function
from circumspect.gating.proposals import UnreadableCall, read_proposal
from circumspect.gating.replies import check_words
from circumspect.gating.ruling import CallHeld as CallHeld
from circumspect.gating.ruling import ReplyCheck as ReplyCheck
from circumspect.gating.ruling import Ruling as Ruling
from circumspect.gating.taking_back import read_words
from circumspect.gating.talks import Talks
from circumspect.gating.tools_given import read_tools
from circumspect.language.detection import detect
from circumspect.language.second_thoughts import begins_with_yes, leaves_open
from circumspect.policy.arguments import materialise
from circumspect.policy.judge import Rule
from circumspect.policy.keys.call_limit import length, party_of
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.rules import RULES_FOR_BARE_CALLS, RULES_FOR_FOREIGN_CALLS
from circumspect.ports import Clock, Ids
from circumspect.profiles import ADAPTIVE
from circumspect.reasons import ReasonCode
from circumspect.schema_bounds import MOST_ARGUMENTS, measure_value
from circumspect.values import (
    LANGUAGES,
    Business,
    ConversationId,
    Execution,
    ExecutionId,
    ExecutionState,
    Incoming,
    Intent,
    IntentId,
    JsonObject,
    Language,
    Opened,
    OutsideCall,
    PersonDecision,
    Profile,
    Tenant,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
    name_principal,
)

if TYPE_CHECKING:
    from circumspect.gating.blocking import SyncGate
    from circumspect.policy.load import PolicyGiven
    from circumspect.stores import SqlStore

RUN_SECONDS = 900.0
"""How long a function may take before whoever asks again may take it for dead."""
MOST_TRACED = 100_000_000
"""Parts of a call, each of which is looked for among so many letters of the conversation: some 100 ms."""
SHORT = MOST_TRACED // MOST_ARGUMENTS
"""Letters among which all the parts that a call may have can be looked for."""
MUCH = 50_000
"""Letters that are read before the transaction of a ruling begins, not in it."""
_TOO_MUCH = "it has too many values for so long a conversation: give fewer at once"
PATIENCE = 10.0
"""Seconds that a ruling waits for a conversation which somebody else has."""


class Gate:
    """One gate for one tenant. Safe to share between tasks; make one per process."""

    def __init__(
        self,
        policy: PolicyGiven | None = None,
        *,
        tools: Iterable[Any] | Mapping[str, ToolSpec] | None = None,
        learns: bool | None = None,
        store: SqlStore | Path | str | None = None,
        tenant: str | Tenant = "gate",
        language: Language = "en",
        profile: Profile = ADAPTIVE,
        rules: Iterable[Rule] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        from circumspect.policy.load import open_policy

        if language not in LANGUAGES:
            raise ConfigError(f"There is no language {language!r}.", fix=f"Use one of {', '.join(LANGUAGES)}.")
        self.tools: Mapping[str, ToolSpec] = read_tools(tools or ())
        self._learns = tools is None if learns is None else learns
        made = tenant if isinstance(tenant, Tenant) else Tenant(TenantId(tenant), Business(tenant), language=language)
        self.policy = open_policy(policy, None if self._learns else self.tools, shared=True)
        clock, ids = clock or SystemClock(), ids or RandomIds()
        self._setup = GateSetup(made, self.policy, profile, clock, ids, journals=store is not None)
        self._extra = tuple(rules)
        self._store = str(store) if isinstance(store, Path) else store
        self._book: Book | None = MemoryBook(clock) if store is None else None
        self._owned: SqlStore | None = None
        self._opening: dict[int, asyncio.Lock] = {}
        self._learnt: dict[str, ToolSpec] = dict(self.tools)
        self.described: dict[str, Any] = {}
        """Schemas that `learn` was given, by tool."""
        self._talks = Talks(self._learnt, self._is_open_world)
        self._rules: dict[tuple[str, bool], tuple[Rule, ...]] = {}

    @property
    def tenant(self) -> TenantId:
        return self._setup.tenant.id

    def learn(self, tool: str, schema: Mapping[str, Any] | None, description: str = "") -> None:
        """What a framework says of a tool that this gate was not given: the types, the defaults and what is required.
        Tools that it was given stay as they are, and a schema that cannot be used is none."""
        if not self._learns or not schema or tool in self.tools or self.described.get(tool) == schema:
            return
        self.described[tool] = schema
        try:
            read = read_tools([{"name": tool, "description": description, "parameters": schema}])
        except ConfigError as problem:
            logging.getLogger(__name__).warning("The schema of %s is not used: %s", tool, problem)
            return
        self._learnt.update(read)
        self._rules = {key: rules for key, rules in self._rules.items() if key[0] != tool}

    # --- the doors --------------------------------------------------------------------------------------------------

    async def rule(
        self,
        call: Any,
        *,
        messages: Sequence[Any] | None = None,
        conversation: str = "default",
        person: str | None = None,
        account: str = "",
        claims: JsonObject | None = None,
        language: Language | None = None,
    ) -> Ruling:
        """Hold a call against the policy. `call` is a `ToolCall`, or what a provider's answer holds; `messages` is the
        whole conversation so far, tool results included, in whatever format the agent keeps it. `person` is your own
        id of the end user: a conversation belongs to the first it is given."""
        place, person = check_conversation(conversation), check_person(person)
        check_about(account, claims, language)
        try:
            proposed = read_proposal(call)
        except UnreadableCall as unread:
            return self._send_back(unread, place, person)
        spec = self._spec_of(proposed.tool)
        given, mendings = materialise(spec, proposed.arguments)
        if given != proposed.arguments:
            proposed = replace(proposed, arguments=given)
        check_messages(messages)
        async with self._talks.turn(place):
            talk = self._talks.follow(place, messages)
            known = messages is not None or bool(talk.utterances)
            if talk.letters > SHORT and measure_value(proposed.arguments)[0] * talk.letters > MOST_TRACED:
                many = UnreadableCall(ToolCall(proposed.tool, id=proposed.id), _TOO_MUCH)
                return self._send_back(many, place, person)
            incoming = self._incoming(place, talk, person, account, claims, language, OutsideCall(proposed, True))
            await self._read_ahead(incoming, proposed, talk, known, mendings)
            decision = await self._decide(incoming, proposed, talk, Decision.rule, known, mendings)
        return decision.ruling

    async def answer(
        self,
        intent: Intent | Ruling | str,
        words: str = "",
        *,
        approve: bool | None = None,
        person: str | None = None,
        by: str = "",
        claims: JsonObject | None = None,
        language: Language | None = None,
    ) -> Ruling:
        """What the user said to the question (`words`), or pressed (`approve`). A yes counts for exactly the call that
        was shown, once, while the question is fresh. `by` is the colleague who decides on what waits for approval."""
        if not isinstance(words, str) or not isinstance(approve, bool | None) or (approve is None) == (not words):
            raise ConfigError("An answer is words, or approve=True or False.", fix="Give one of the two.")
        check_about("", claims, language)
        asked = await self._find_question(intent)
        person = check_person(person)
        if asked.kind == "approval" and not by:
            raise ConfigError("This call waits for a colleague.", fix="Say who decides: by='dana', not the proposer.")
        if asked.kind == "confirmation" and by:
            raise ConfigError("This question is the user's own.", fix="Leave `by` out: nobody answers it for them.")
        place = asked.conversation
        talk = self._talks.follow(place, None)
        reason = ReasonCode.CONFIRMED_BY_USER if asked.kind == "confirmation" else ReasonCode.APPROVED_BY_COLLEAGUE
        if approve is None:
            said = [one.text for one in talk.utterances if one.speaker == "user"]
            read = read_words(words, asked, said)
            if read == "other":
                heard = language or detect(words, None, self._setup.tenant.language)
                values = list_words(asked.call)
                if begins_with_yes(words, heard, values) or leaves_open(words, heard, values):
                    return self._ask_once_more(asked, person)
                reason = ReasonCode.PENDING_INTENT_WITHDRAWN
            approve = read == "confirm"
        if approve and by:
            check_approver(replace(asked, proposed_by=(*asked.proposed_by, name_principal(person))), by)
        if not approve and reason is not ReasonCode.PENDING_INTENT_WITHDRAWN:
            colleague = asked.kind == "approval"
            reason = ReasonCode.DENIED_BY_COLLEAGUE if colleague else ReasonCode.DENIED_BY_USER
        errand = PersonDecision(asked.id, "approve" if approve else "deny", by or name_principal(person))
        incoming = self._incoming(place, talk, person, "", claims, language, errand)

        def settle(decision: Decision) -> None:
            stored = decision.standing.opened.intent
            decision.answer(stored or replace(asked, state="superseded"), approve, reason, words)

        async with self._talks.turn(place):
            # Without words nothing is held against them: the values were, when the question was put.
            decision = await self._decide(incoming, asked.call, talk, settle, known=bool(talk.utterances))
        return decision.ruling

    async def find(self, ruling: str, *, person: str | None = None) -> Ruling | None:
        """What a ruling has come to since: a colleague may have decided. Only a store remembers it."""
        person = check_person(person)
        stored = await (await self._open()).recall(self.tenant, TurnId(ruling))
        if stored is None or stored.person not in (None, person):
            return None
        return read_stored(stored)

    async def run(self, ruling: Ruling, function: Callable[..., Any]) -> Any:
        """Call `function(**ruling.call.arguments)`, exactly once: asked again, it gives what the first call came to.
        Also with the ruling that asked, once its question was answered with yes."""
        require_function(function)
        ruling = check_ruling(ruling)
        asked = ruling.intent.id if ruling.intent else None
        if ruling.execution is None and asked is None:
            self._require_read(ruling)
            return await self._run(self._make_read(ruling), function, reads=True)
        book = await self._open()
        token = self._setup.ids.new("tok")
        taken = await book.take(self.tenant, ruling.execution, asked, token, RUN_SECONDS)
        if taken is None:
            raise CallHeld(ruling)
        if is_void(taken.execution):
            raise CallHeld(say_void(ruling, taken.execution))
        if not taken.yours:
            return give_again(taken.execution)
        return await self._run(taken.execution, function)

    async def ran(
        self, ruling: Ruling, result: Any = None, *, error: str | BaseException | None = None, not_run: bool = False
    ) -> ExecutionState:
        """What came of a call that somebody else ran: its result, why it failed, or that it was not run after all. What
        was said first stays so; that is what comes back."""
        ruling, problem = check_ruling(ruling), describe_outcome(result, error, not_run)
        book = await self._open()
        asked = ruling.intent.id if ruling.intent else None
        if ruling.execution is None and asked is None:
            self._require_read(ruling)
            read = end(self._make_read(ruling), self._setup.clock, result, problem)
            if not not_run:
                await self._note_read(read)
            return read.state
        token = self._setup.ids.new("tok")
        taken = await book.take(self.tenant, ruling.execution, asked, token, RUN_SECONDS, reports=True)
        if taken is None:
            raise CallHeld(ruling)
        ended = taken.execution
        if taken.yours:
            ended = end(ended, self._setup.clock, result, problem)
            await book.end(ended)
            self._talks.note(ended)
        return ended.state

    def note(self, conversation: str, ran: Sequence[Execution]) -> None:
        """What a ledger knows of a conversation that this process has not seen."""
        self._talks.follow(ConversationId(conversation), None).note(ran)

    def check_reply(
        self, text: str, *, messages: Sequence[Any] | None = None, conversation: str = "default"
    ) -> ReplyCheck:
        """Hold a reply against what ran, as far as this process and the messages know it. No I/O."""
        if not isinstance(text, str):
            raise ConfigError("A reply is a text.", fix="Give it as str.")
        check_messages(messages)
        return check_words(self._setup, self._talks.follow(check_conversation(conversation), messages), text)

    def sync(self) -> SyncGate:
        """The same for scripts: `with Gate(…).sync() as gate: gate.rule(…)`."""
        from circumspect.gating.blocking import SyncGate

        return SyncGate(self)

    async def close(self) -> None:
        self._talks.clear()
        if self._owned:
            owned, self._owned, self._book = self._owned, None, None
            await owned.close()

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- deciding ---------------------------------------------------------------------------------------------------

    async def _decide(
        self,
        incoming: Incoming,
        call: ToolCall,
        talk: ForeignTalk,
        settle: Callable[[Decision], None],
        known: bool,
        mendings: Sequence[str] | None = None,
    ) -> Decision:
        book = await self._open()
        self._spec_of(call.tool)
        rules = self._rules_for(call.tool, known)
        made: list[Decision] = []

        def decide(standing: Standing) -> Decided:
            with self._talks.guard:
                talk.note(standing.ran)
                decision = Decision(self._setup, incoming, call, talk, rules, standing, mendings)
                settle(decision)
            made[:] = [decision]
            return decision.decided

        reach, tail = self._reach(call.tool), talk.told is None
        waited = 0.0
        while True:
            try:
                await book.enter(incoming, call.hash, decide, reach, tail=tail)
                break
            except ConversationBusy:
                if waited >= PATIENCE:
                    raise
                waited += 0.05
                await asyncio.sleep(0.05)
        decision = made[0]
        talk.told = len(talk.utterances)
        talk.imports.clear()
        ruling = decision.ruling
        if ruling.intent or ruling.allowed:
            talk.waiting[ruling.call.hash] = ruling.call
        else:
            talk.waiting.pop(ruling.call.hash, None)
        return decision

    async def _read_ahead(
        self, incoming: Incoming, call: ToolCall, talk: ForeignTalk, known: bool, mendings: Sequence[str] | None
    ) -> None:
        """Decide once by the messages alone, beside the event loop. What is found in a long conversation is remembered,
        so the decision that counts, during which nobody else writes to the database, is a short one."""
        if talk.letters - talk.read_ahead <= MUCH:
            return
        self._spec_of(call.tool)
        rules, blank = self._rules_for(call.tool, known), Standing(Opened("", "adaptive", None, (), 0, None))

        def decide() -> None:
            with self._talks.guard:
                Decision(self._setup, incoming, call, talk, rules, blank, mendings).rule()

        await compute_aside(talk.letters, decide)
        talk.read_ahead = talk.letters

    def _rules_for(self, tool: str, known: bool) -> tuple[Rule, ...]:
        """Those that can have anything to say about the tool; of one that nobody knows, that there is none."""
        key = (tool, known)
        if key not in self._rules:
            spec, policy = self._learnt.get(tool), self.policy.of(tool, self.tenant)
            effect, rules = effect_of(spec, policy), RULES_FOR_FOREIGN_CALLS if known else RULES_FOR_BARE_CALLS
            # What a rule of the caller's may say nobody knows before it is asked, whatever it is called.
            self._rules[key] = (*(one for one in rules if can_speak(one, spec, policy, effect)), *self._extra)
        return self._rules[key]

    def _reach(self, tool: str) -> Reach | None:
        """Calls of other conversations that the tool's limits count, as far back as they look."""
        policy = self.policy.of(tool, self.tenant)
        if not policy or not policy.limits:
            return None
        limits = [(span, party_of(one)) for one in policy.limits if (span := length(one.window))]
        spans = [span for span, party in limits if party != "conversation"]
        if not spans:
            return None
        tools = frozenset((tool, *(name for limit in policy.limits for name in limit.across)))
        parties = {party for _, party in limits}
        return Reach(tools, self._setup.clock.now() - max(spans), "person" in parties, "tenant" in parties)

    async def _find_question(self, given: Intent | Ruling | str) -> Intent:
        """The question, by its id too: whoever answers may be another process than whoever asked."""
        if isinstance(given, str):
            found = await (await self._open()).find_intent(self.tenant, IntentId(given))
            if found is None:
                raise ConfigError("There is no such question.", fix="Give the intent of a ruling of this tenant.")
            return found
        asked = given.intent if isinstance(given, Ruling) else given
        if not isinstance(asked, Intent):
            raise ConfigError("That asks for no yes.", fix="Give a ruling with an intent, the intent, or its id.")
        return asked

    def _send_back(self, unread: UnreadableCall, conversation: ConversationId, person: str | None) -> Ruling:
        """What the model wrote is no call: it is told so, and nothing is written down."""
        problem = f"The call cannot be read: {unread}. Send it again as its schema says."
        turn = TurnId(self._setup.ids.new("turn"))
        reasons = (ReasonCode.INVALID_PARAM,)
        return Ruling(turn, conversation, unread.call, "redo", reasons, problem=problem, person=person)

    def _ask_once_more(self, asked: Intent, person: str | None) -> Ruling:
        """Neither yes nor no, and nothing else either: the same question."""
        return Ruling(
            TurnId(self._setup.ids.new("turn")), asked.conversation, asked.call, "ask",
            (ReasonCode.PENDING_INTENT_MISMATCH,), asked.question, asked, person=person,
        )  # fmt: skip

    def _is_open_world(self, tool: str) -> bool:
        return self.policy.is_open_world(tool, self._learnt.get(tool), self.tenant)

    def _spec_of(self, tool: str) -> ToolSpec:
        spec = self._learnt.get(tool)
        if spec is None:
            if not self._learns:
                return ToolSpec(tool)
            spec = self._learnt[tool] = learn(self._learnt, tool)
        return spec

    def _incoming(
        self,
        conversation: ConversationId,
        talk: ForeignTalk,
        person: str | None,
        account: str,
        claims: JsonObject | None,
        language: Language | None,
        errand: OutsideCall | PersonDecision,
    ) -> Incoming:
        setup = self._setup
        return Incoming(
            setup.tenant.id, conversation, TurnId(setup.ids.new("turn")), talk.words, setup.clock.now(),
            principal=name_principal(person), person=person, account=account, claims=claims or {},
            language=language, errand=errand,
        )  # fmt: skip

    async def _open(self) -> Book:
        if self._book is not None:
            return self._book
        async with self._opening.setdefault(id(asyncio.get_running_loop()), asyncio.Lock()):
            return self._book or await self._open_store()

    async def _open_store(self) -> Book:
        from circumspect.stores import SqlStore
        from circumspect.stores.gate_book import SqlBook

        store, opened = self._store, None
        if isinstance(store, str):
            store = opened = await SqlStore.open(store)
            await store.register(self._setup.tenant)
            await store.put_tools(self.tenant, self._learnt)
        assert isinstance(store, SqlStore)
        with self._talks.guard:
            quicker, book = self._book, SqlBook(store, self._setup.ids)
            if quicker is None:
                self._book, self._owned = book, opened
        if quicker and opened:  # a loop of another thread was first
            await opened.close()
        return quicker or book

    # --- running ----------------------------------------------------------------------------------------------------

    async def _run(self, started: Execution, function: Callable[..., Any], reads: bool = False) -> Any:
        clock = self._setup.clock
        try:
            result = await call_function(function, started)
        except BaseException as error:
            ended = end_with_error(started, clock, error, reads)
            await asyncio.shield(self._note_read(ended) if reads else self._end(ended))
            raise
        ended = end(started, clock, result)
        await asyncio.shield(self._note_read(ended) if reads else self._end(ended))
        return result

    async def _end(self, ended: Execution) -> None:
        book = await self._open()
        await book.end(ended)
        self._talks.note(ended)

    async def _note_read(self, ended: Execution) -> None:
        book = await self._open()
        await book.add(ended)
        self._talks.note(ended)

    def _require_read(self, ruling: Ruling) -> None:
        """Only what reads runs without a row in the ledger, whatever a ruling says that somebody made by hand."""
        policy = self.policy.of(ruling.call.tool, self.tenant)
        if not ruling.allowed or effect_of(self._spec_of(ruling.call.tool), policy) != "read":
            raise CallHeld(ruling)

    def _make_read(self, ruling: Ruling) -> Execution:
        now = self._setup.clock.now()
        return Execution(
            ExecutionId(self._setup.ids.new("exec")), self.tenant, ruling.conversation, ruling.id, ruling.call,
            "read", "blind", "started", "", now, now, runner="client",
        )  # fmt: skip
