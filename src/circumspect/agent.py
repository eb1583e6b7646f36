"""Agent: the spine behind one object, for people who write Python.

    agent = Agent("support", tools=[cancel_order], policy="policy.yaml", model="openai:gpt-4o")
    turn = await agent.turn("cancel my order", conversation="c1")

Nothing is opened before the first turn. Without a model setting the offline demo model answers; without a database
setting everything is kept in `.circumspect/circumspect.db` below the working directory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, get_args

from circumspect.clock import RandomIds, SystemClock
from circumspect.errors import ConfigError
from circumspect.pipeline import run_turn
from circumspect.policy.judge import Rule
from circumspect.policy.rules import RULES
from circumspect.policy.validators import find_validator
from circumspect.ports import Clock, Ids, Listener, Model, Ports, Store, Tools
from circumspect.profiles import PROFILES
from circumspect.setup import TurnSetup
from circumspect.values import (
    LANGUAGES,
    Business,
    ConversationId,
    Incoming,
    IntentId,
    JsonObject,
    Language,
    Mode,
    PersonDecision,
    Plan,
    Profile,
    Tenant,
    TenantId,
    TurnId,
    TurnResult,
    name_principal,
)

if TYPE_CHECKING:
    from circumspect.guardian import Guardian
    from circumspect.knowledge.tree import KnowledgeDocument
    from circumspect.policy.load import PolicyGiven
    from circumspect.policy.understanding.understood import Understanding
    from circumspect.ports import PassageSearch
    from circumspect.stores import SqlStore
    from circumspect.tools import Tool

DEFAULT_DATABASE = "sqlite:///.circumspect/circumspect.db"
MODES: tuple[Mode, ...] = get_args(Mode)


class Agent:
    """An agent for one tenant. Safe to share between tasks; make one per process and tenant."""

    def __init__(
        self,
        tenant: str | Tenant,
        *,
        tools: Tools | Iterable[Tool] = (),
        policy: PolicyGiven | None = None,
        model: Model | str | None = None,
        database: Store | Path | str = DEFAULT_DATABASE,
        business: Business | None = None,
        mode: Mode | None = None,
        language: Language | None = None,
        profiles: dict[Mode, Profile] | None = None,
        rules: Iterable[Rule] = (),
        understanding: Understanding | Literal["guided", "service"] | None = None,
        guardian: Guardian | None = None,
        documents: Iterable[KnowledgeDocument] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        from circumspect.models import open_model
        from circumspect.policy.load import open_policy

        self.tenant = _tenant(tenant, business, mode, language)
        self._toolset = _toolset(tools)
        for spec in self._toolset.specs().values():
            find_validator(spec)
        self.policy = open_policy(policy, self._toolset.specs())
        self._model = open_model(model)
        self._rules = (*RULES, *_rules(rules))
        self._profiles = {**PROFILES, **(profiles or {})}
        self._understanding = _understanding(understanding)
        self._guardian, self._documents = guardian, tuple(documents)
        self._clock, self._ids = clock or SystemClock(), ids or RandomIds()
        self._database = str(database) if isinstance(database, Path) else database
        self._setup: TurnSetup | None = None
        self._opening = asyncio.Lock()
        self._owned: SqlStore | None = None

    @property
    def model(self) -> Model:
        return self._model

    async def turn(
        self,
        text: str,
        *,
        conversation: str = "default",
        key: str | None = None,
        principal: str | None = None,
        language: Language | None = None,
        person: str | None = None,
        account: str = "",
        answers: str | None = None,
        seen: str | None = None,
        listener: Listener | None = None,
    ) -> TurnResult:
        """Answer one message. With a `key`, the same message sent again gets the stored answer and runs nothing. A
        `listener` hears the reply while it is written, and every line of the journal. `person` is your own id of the
        end user. A conversation belongs to the first it is given, and then every message has to name them. `account` is
        the colleague who speaks for them, if one does, and who therefore cannot approve what comes of it. Where
        several windows show one conversation, say which question these words answer (`answers`: `turn.pending.id`), or
        the last turn whose reply was seen (`seen`)."""
        if not isinstance(text, str) or not isinstance(conversation, str):
            raise ConfigError("A message and the id of a conversation are texts.", fix="Give both as str.")
        _check_choice("language", language, LANGUAGES)
        incoming = Incoming(
            self.tenant.id,
            ConversationId(conversation),
            TurnId(self._ids.new("turn")),
            text,
            self._clock.now(),
            key=key,
            principal=principal or name_principal(person),
            language=language,
            person=person,
            account=account,
            answers=IntentId(answers) if answers else None,
            seen=TurnId(seen) if seen else None,
        )
        return await run_turn(incoming, self._setup or await self.open(), listener)

    async def decide(
        self,
        intent: str,
        decision: Literal["approve", "deny", "edit"],
        *,
        by: str,
        conversation: str = "default",
        arguments: JsonObject | None = None,
        principal: str | None = None,
        person: str | None = None,
    ) -> TurnResult:
        """A person's decision on a call that waits: `turn.pending.id` of an earlier turn. What was approved runs now;
        what was edited is ruled on again and waits anew."""
        errand = PersonDecision(IntentId(intent), decision, by, arguments or {})
        who, turn = principal or name_principal(person), TurnId(self._ids.new("turn"))
        where = ConversationId(conversation)
        incoming = Incoming(
            self.tenant.id, where, turn, "", self._clock.now(), principal=who, person=person, errand=errand
        )
        return await run_turn(incoming, self._setup or await self.open())

    def turn_sync(self, text: str, *, conversation: str = "default", key: str | None = None) -> TurnResult:
        """The one door for code that is not async."""
        if _is_running():
            raise ConfigError("turn_sync was called from async code.", fix="Use `await agent.turn(...)` there.")

        async def once() -> TurnResult:
            try:
                return await self.turn(text, conversation=conversation, key=key)
            finally:
                await self.close()

        return asyncio.run(once())

    async def open(self) -> TurnSetup:
        """Open the database (made and brought up to date on first use). `turn` does it by itself."""
        async with self._opening:
            if self._setup is None:
                ports = Ports(self._model, self._toolset, await self._store(), self._clock, self._ids)
                setup = TurnSetup(self.tenant, self.policy, self._profiles, ports, self._rules)
                self._setup = await self._with_understanding(setup)
            return self._setup

    async def _with_understanding(self, setup: TurnSetup) -> TurnSetup:
        """Without a guardian of their own, those who want to be understood get the offline rules."""
        if self._understanding is None:
            return setup
        from circumspect.guardian import RuleGuardian
        from circumspect.knowledge.business_texts import BusinessTexts
        from circumspect.knowledge.search import Library

        searches: tuple[PassageSearch, ...] = (BusinessTexts(self.tenant.business),)
        if self._owned:
            library = Library(self._owned)
            for document in self._documents:
                await library.put(self.tenant.id, document)
            searches = (library, *searches)
        guardian = self._guardian or RuleGuardian()
        return replace(setup, understanding=self._understanding, guardian=guardian, searches=searches)

    async def _store(self) -> Store:
        if not isinstance(self._database, str):
            return self._database
        from circumspect.stores import SqlStore

        self._owned = await SqlStore.open(self._database)
        await self._owned.register(self.tenant)
        await self._owned.put_tools(self.tenant.id, self._toolset.specs())
        return self._owned

    async def close(self) -> None:
        from circumspect.models import close_model

        self._setup = None
        self._opening = asyncio.Lock()
        await close_model(self._model)
        if self._owned:
            owned, self._owned = self._owned, None
            await owned.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _tenant(tenant: str | Tenant, business: Business | None, mode: Mode | None, language: Language | None) -> Tenant:
    made = tenant if isinstance(tenant, Tenant) else Tenant(TenantId(tenant), Business(tenant))
    if not made.id:
        raise ConfigError("The tenant has no id.", fix='Give it one: Agent("support", …).')
    _check_choice("mode", mode or made.plan.mode, MODES)
    _check_choice("language", language or made.language, LANGUAGES)
    if business:
        made = replace(made, business=business)
    if mode and mode != made.plan.mode:
        made = replace(made, plan=Plan("free" if mode == "standard" else "pro", mode))
    return replace(made, language=language) if language else made


def _understanding(wanted: Understanding | Literal["guided", "service"] | None) -> Understanding | None:
    if wanted is None or not isinstance(wanted, str):
        return wanted
    from circumspect.policy.understanding.understood import GUIDED, SERVICE

    _check_choice("understanding", wanted, ("guided", "service"))
    return SERVICE if wanted == "service" else GUIDED


def _check_choice(name: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in known:
        raise ConfigError(f"There is no {name} {value!r}.", fix=f"Use {' or '.join(map(repr, known))}.")


def _toolset(tools: Tools | Iterable[Tool]) -> Tools:
    from circumspect.tools import Toolset

    if isinstance(tools, Iterable):
        return Toolset(tools)
    if not hasattr(tools, "specs"):
        raise ConfigError(f"{tools!r} is not a list of tools.", fix="Put it into brackets: tools=[…].")
    return tools


def _rules(rules: Iterable[object]) -> Iterator[Rule]:
    for one in rules:
        if not isinstance(one, Rule):
            name = getattr(one, "__name__", repr(one))
            raise ConfigError(f"{name} is not a rule.", fix="Decorate the function with @rule(ReasonCode.…).")
        yield one
