"""Where a gate keeps what it decided: a `Book`, in this process or in a database.

Everything about one ruling is one transaction: what is known is read, the decision is made on it, and what it comes to
is written. So two rulings at the same moment never both count as the first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from circumspect.approvers import check_approver
from circumspect.errors import ApproverRefused, NotYourConversation
from circumspect.frozen_slots import fill_directly
from circumspect.ports import Clock, Closing
from circumspect.reasons import ReasonCode
from circumspect.values import (
    ConversationId,
    Execution,
    ExecutionId,
    Incoming,
    Intent,
    IntentId,
    IntentKind,
    Opened,
    TenantId,
    TurnId,
    TurnResult,
)

Words = tuple[str, str]
"""Who spoke, and what they said."""
KEPT = 10_000
"""Conversations that a process remembers. Of those that were forgotten nothing is allowed that waited for a yes."""
HEARD = 50
"""So many of the user's last messages may have taken back what they were asked."""
TAIL = 12
"""Utterances by which a conversation is recognised when it is read anew."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Calls of other conversations that a limit counts."""

    tools: frozenset[str]
    since: datetime
    by_person: bool
    by_tenant: bool


@fill_directly
@dataclass(frozen=True, slots=True)
class Standing:
    """What is known at the moment of a decision."""

    opened: Opened
    ran: Sequence[Execution] = ()
    """The conversation's ledger, oldest first."""
    elsewhere: Sequence[tuple[Execution, bool]] = ()
    """Calls of other conversations, and whether they were this person's."""
    questions: Sequence[Intent] = ()
    """About this very call, as far as they are not over, oldest first: waiting, or answered with no."""
    spoke: int = -1
    """The number of the user's newest words that are written down."""
    heard: Sequence[tuple[int, str]] = ()
    """The user's words since the oldest of these questions, each with its number."""
    later: Sequence[tuple[datetime, str]] = ()
    """The user's words since the oldest call that was handed out and has not come back."""
    put: Sequence[Intent] = ()
    """Where such calls are: the questions that they were let through by, those that wait, and those put since."""
    tail: Sequence[Words] = ()
    """The end of what is written down, where that was asked for."""


@fill_directly
@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision writes."""

    closing: Closing
    said: Sequence[Words] = ()
    """What was said in the conversation since the last ruling."""
    execution: Execution | None = None
    """The call, where it is handed out."""
    by: str = ""
    """Whose yes it is."""
    collected: IntentId | None = None
    """A question whose end has been told."""
    voided: Sequence[Execution] = ()
    """What had been let through and was taken back: since when, why and with which words."""


Decide = Callable[[Standing], Decided]


@dataclass(frozen=True, slots=True)
class Taken:
    """A call, for whoever wants to run it. `yours`: run it now, under the token that you took it with."""

    execution: Execution
    yours: bool


@dataclass(frozen=True, slots=True)
class StoredRuling:
    result: TurnResult
    person: str | None
    intent: Intent | None
    """The question as it stands now."""
    execution: Execution | None


class Book(Protocol):
    async def enter(
        self, incoming: Incoming, call_hash: str, decide: Decide, reach: Reach | None, *, tail: bool
    ) -> None:
        """One ruling: read, decide, write. `call_hash` is of the call that it is about; an answer names its intent in
        the errand. Raises `NotYourConversation` for anybody but the person whose it is."""
        ...

    async def take(
        self,
        tenant: TenantId,
        execution: ExecutionId | None,
        intent: IntentId | None,
        token: str,
        seconds: float,
        *,
        reports: bool = False,
    ) -> Taken | None:
        """The call that was handed out for a ruling, or for the yes to its question; None when there is none. It is
        taken once. One that was taken and never ended is given to the next when its tool can be called again with the
        same key, and is marked as unknown when not. One that was taken back is only for whoever `reports` what came of
        it."""
        ...

    async def end(self, ended: Execution) -> bool:
        """What is known of a call that was taken. False when somebody else has settled it."""
        ...

    async def add(self, ended: Execution) -> None:
        """A call that only read."""
        ...

    async def find_intent(self, tenant: TenantId, intent: IntentId) -> Intent | None: ...

    async def recall(self, tenant: TenantId, ruling: TurnId) -> StoredRuling | None:
        """What a ruling was and has led to; None where nobody remembers it."""
        ...


# --- in this process ------------------------------------------------------------------------------------------------


@dataclass
class _Kept:
    person: str | None
    seq: int = 0
    spoke: int = -1
    tail: list[Words] = field(default_factory=list)
    heard: list[tuple[int, str]] = field(default_factory=list)
    later: list[tuple[datetime, str]] = field(default_factory=list)
    intents: dict[IntentId, Intent] = field(default_factory=dict)
    ran: dict[ExecutionId, Execution] = field(default_factory=dict)


class MemoryBook:
    """Lasts as long as the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[TenantId, ConversationId], _Kept] = OrderedDict()
        self._homes: dict[str, tuple[TenantId, ConversationId]] = {}
        self._of_tool: dict[tuple[TenantId, str], dict[str | None, dict[ExecutionId, ConversationId]]] = {}
        """What was handed out, by its tool and by whose it was: limits count it, and most conversations have none."""
        self._alone = threading.RLock()

    async def enter(
        self, incoming: Incoming, call_hash: str, decide: Decide, reach: Reach | None, *, tail: bool
    ) -> None:
        with self._alone:
            self._enter(incoming, call_hash, decide, reach)

    def _enter(self, incoming: Incoming, call_hash: str, decide: Decide, reach: Reach | None) -> None:
        kept = self._open(incoming)
        errand = incoming.errand
        named = getattr(errand, "intent", None)
        intent = kept.intents.get(named) if named else None
        ran = tuple(kept.ran.values())
        # Of what the rules take for unsettled, none is the client's: that is in `ran`.
        opened = Opened("", "adaptive", None, (), kept.seq, intent, person=kept.person)
        questions = tuple(one for one in kept.intents.values() if one.hash == call_hash and _is_open(one))
        elsewhere = tuple(self._find_elsewhere(incoming, reach)) if reach else ()
        put = tuple(kept.intents.values()) if any(one.state == "delegated" for one in ran) else ()
        standing = Standing(
            opened, ran, elsewhere, questions, kept.spoke, tuple(kept.heard), tuple(kept.later), put, tuple(kept.tail)
        )
        decided = decide(standing)
        self._write(kept, incoming, decided)

    def _open(self, incoming: Incoming) -> _Kept:
        key = (incoming.tenant, incoming.conversation)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(incoming.person)
            if len(self._kept) > KEPT:
                _, dropped = self._kept.popitem(last=False)
                for name in (*dropped.intents, *dropped.ran):
                    self._homes.pop(name, None)
                self._forget(dropped)
        elif kept.person not in (None, incoming.person):
            raise NotYourConversation("There is no such conversation.", fix="Check the id, and say whose it is.")
        self._kept.move_to_end(key)
        if incoming.person and kept.person is None:
            self._forget(kept)
            kept.person = incoming.person
            for one in kept.ran.values():
                self._keep(kept, one)
        return kept

    def _find_elsewhere(self, incoming: Incoming, reach: Reach) -> Iterator[tuple[Execution, bool]]:
        for tool in reach.tools:
            of_tool = self._of_tool.get((incoming.tenant, tool), {})
            for person in of_tool if reach.by_tenant else (incoming.person,):
                theirs = person == incoming.person
                for execution, conversation in of_tool.get(person, {}).items():
                    one = self._kept[incoming.tenant, conversation].ran[execution]
                    if conversation != incoming.conversation and one.started_at >= reach.since:
                        yield one, theirs

    def _write(self, kept: _Kept, incoming: Incoming, decided: Decided) -> None:
        closing, home = decided.closing, (incoming.tenant, incoming.conversation)
        for speaker, text in decided.said:
            if speaker == "user":
                kept.spoke = kept.seq
                kept.heard = [*kept.heard[1 - HEARD :], (kept.seq, text)]
                kept.later = [*kept.later[1 - HEARD :], (closing.at, text)]
            kept.seq += 1
            kept.tail = [*kept.tail[1 - TAIL :], (speaker, text)]
        now = self._clock.now()
        for one in decided.voided:
            kept.ran[one.id] = one
            asked = kept.intents.get(one.intent) if one.intent else None
            if asked and asked.state == "consumed" and asked.kind == name_dropped_kind(one):
                kept.intents[asked.id] = replace(asked, state="denied")
        if decided.execution:
            if used := decided.execution.intent:
                self._consume(kept, used, now, decided.by)
            self._keep(kept, decided.execution)
            self._homes[decided.execution.id] = home
        for one in closing.executions:
            self._keep(kept, one)
        if closing.denied and closing.denied in kept.intents:
            kept.intents[closing.denied] = replace(kept.intents[closing.denied], state="denied")
        if decided.collected and decided.collected in kept.intents:
            kept.intents[decided.collected] = replace(kept.intents[decided.collected], state="collected")
        if pending := closing.result.pending:
            kept.intents[pending.id] = replace(pending, question_seq=kept.seq)
            self._homes[pending.id] = home
        kept.seq += 1

    def _keep(self, kept: _Kept, one: Execution) -> None:
        kept.ran[one.id] = one
        of_tool = self._of_tool.setdefault((one.tenant, one.call.tool), {})
        of_tool.setdefault(kept.person, {})[one.id] = one.conversation

    def _forget(self, kept: _Kept) -> None:
        """Of the calls by tool; one whose last is gone leaves nothing."""
        for one in kept.ran.values():
            of_tool = self._of_tool.get((one.tenant, one.call.tool), {})
            theirs = of_tool.get(kept.person, {})
            theirs.pop(one.id, None)
            if not theirs:
                of_tool.pop(kept.person, None)

    def _consume(self, kept: _Kept, intent: IntentId, now: datetime, by: str) -> None:
        found = kept.intents.get(intent)
        if found is None or found.state != "pending" or found.expires_at <= now:
            raise used_before()
        if found.kind == "approval":
            check_approver(found, by)
        kept.intents[intent] = replace(found, state="consumed")

    async def take(
        self,
        tenant: TenantId,
        execution: ExecutionId | None,
        intent: IntentId | None,
        token: str,
        seconds: float,
        *,
        reports: bool = False,
    ) -> Taken | None:
        with self._alone:
            return self._take(tenant, execution, intent, token, seconds, reports)

    def _take(
        self,
        tenant: TenantId,
        execution: ExecutionId | None,
        intent: IntentId | None,
        token: str,
        seconds: float,
        reports: bool,
    ) -> Taken | None:
        kept = self._kept.get(self._homes.get(execution or intent or "", (tenant, ConversationId(""))))
        found = find_handed_out(kept.ran.values(), execution, intent) if kept else None
        if kept is None or found is None:
            return None
        now = self._clock.now()
        may, left = decide_taking(found, now, reports)
        if may:
            found = replace(found, state="started", token=token, lease_until=now + timedelta(seconds=seconds))
        elif left:
            found = left
        kept.ran[found.id] = found
        return Taken(found, may)

    async def end(self, ended: Execution) -> bool:
        kept = self._kept.get((ended.tenant, ended.conversation))
        now = kept.ran.get(ended.id) if kept else None
        if kept is None or now is None or now.state != "started" or now.token != ended.token:
            return False
        kept.ran[ended.id] = ended
        return True

    async def add(self, ended: Execution) -> None:
        kept = self._kept.get((ended.tenant, ended.conversation))
        if kept is not None:
            self._keep(kept, ended)

    async def find_intent(self, tenant: TenantId, intent: IntentId) -> Intent | None:
        kept = self._kept.get(self._homes.get(intent, (tenant, ConversationId(""))))
        return kept.intents.get(intent) if kept else None

    async def recall(self, tenant: TenantId, ruling: TurnId) -> StoredRuling | None:
        return None


def used_before() -> ApproverRefused:
    return ApproverRefused("The yes was used before, or came too late.", fix="Rule on the call again.")


def _is_open(intent: Intent) -> bool:
    return intent.state in ("pending", "denied")


def find_handed_out(
    ran: Iterable[Execution], execution: ExecutionId | None, intent: IntentId | None
) -> Execution | None:
    return next((one for one in ran if one.id == execution or (intent and one.intent == intent)), None)


_VOID = frozenset((ReasonCode.WISH_TAKEN_BACK, ReasonCode.DENIED_BY_USER, ReasonCode.DENIED_BY_COLLEAGUE))


def is_void(handed: Execution) -> bool:
    """It was let through and then taken back, before anybody said what came of it."""
    return handed.state == "delegated" and handed.reason in _VOID


def name_dropped_kind(voided: Execution) -> IntentKind:
    """A no takes back the yes of whoever may say it: the user's own, or a colleague's."""
    return "approval" if voided.reason is ReasonCode.DENIED_BY_COLLEAGUE else "confirmation"


def decide_taking(found: Execution, now: datetime, reports: bool) -> tuple[bool, Execution | None]:
    """May it be run now? And what is it otherwise, where that has to be written down?"""
    if found.state == "delegated":
        return reports or not is_void(found), None
    if found.state != "started" or found.lease_until > now:
        return False, None
    if found.recovery in ("keyed", "local_tx"):
        return True, None
    unknown = "It was begun, and whoever ran it never came back."
    left = replace(found, state="indeterminate", finished_at=now, reason=ReasonCode.OUTCOME_UNKNOWN, error=unknown)
    return False, left
