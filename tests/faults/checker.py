"""What everybody was told, held against what really happened and what is stored: the harm that was done.

    told that it is done          it had happened by then
    told that it is not done      it had not happened, and does not happen later without another yes
    told that nobody knows        a colleague has been told of that very call
    told that a colleague has it  that is stored: an escalation and, where one is asked for, the approval
    one key                       one answer, however often and wherever it is asked for

The effects come from the other side's own book (`back_end.py`, `tools.py`), never from our ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from tests.faults.back_end import Effect
from tests.faults.history import History, Said, Told
from tests.faults.sayings import Saying, read

HarmKind = Literal["twice", "unconfirmed", "untrue", "lost", "stuck", "other tenants"]
KINDS: tuple[HarmKind, ...] = get_args(HarmKind)


@dataclass(frozen=True)
class Harm:
    kind: HarmKind
    what: str


@dataclass(frozen=True)
class StoredTurn:
    tenant: str
    conversation: str
    id: str
    key: str | None
    status: str


@dataclass(frozen=True)
class StoredCall:
    tenant: str
    conversation: str
    id: str
    order: str
    state: str


@dataclass(frozen=True)
class StoredEscalation:
    tenant: str
    conversation: str
    turn: str
    execution: str | None


@dataclass(frozen=True)
class Stored:
    """What the database says when everything has calmed down."""

    turns: Sequence[StoredTurn] = ()
    calls: Sequence[StoredCall] = ()
    escalations: Sequence[StoredEscalation] = ()
    approvals: frozenset[tuple[str, str]] = frozenset()
    """Tenants and orders about which a colleague was asked."""


@dataclass
class Report:
    harms: list[Harm] = field(default_factory=list)
    answers: int = 0
    claims: Counter[str] = field(default_factory=Counter)
    """How many sentences of each kind were held against what happened."""

    def count(self, kind: HarmKind) -> int:
        return sum(one.kind == kind for one in self.harms)

    @property
    def faults(self) -> dict[str, list[str]]:
        """Everything that must not be; empty when all is well."""
        return {kind: [one.what for one in self.harms if one.kind == kind] for kind in KINDS if self.count(kind)}


def check(history: History, effects: Iterable[Effect], stored: Stored) -> Report:
    return _Checking(history, list(effects), stored).report()


class _Checking:
    def __init__(self, history: History, effects: list[Effect], stored: Stored) -> None:
        self.history, self.stored = history, stored
        self.effects: dict[tuple[str, str], list[Effect]] = defaultdict(list)
        for effect in effects:
            self.effects[effect.tenant, effect.order].append(effect)
        self.made = Report()

    def report(self) -> Report:
        self.made.answers = len(self.history.told)
        for told in self._first_told():
            for saying in sorted(read(told), key=str):
                self.made.claims[saying.claim] += 1
                if problem := self._find_untruth(told, saying):
                    self._add("untrue", f"{_name(told.said)} was told {told.status} {told.reply!r}: {problem}")
        for harm in (*self._check_effects(), *self._check_answers(), *self._check_rest()):
            self.made.harms.append(harm)
        return self.made

    def _add(self, kind: HarmKind, what: str) -> None:
        self.made.harms.append(Harm(kind, what))

    def _first_told(self) -> Iterator[Told]:
        """An answer that is given again says nothing new: it is held against the time when it was first given."""
        seen = set()
        for told in sorted(self.history.told, key=lambda one: one.at):
            same = (told.said, told.final, told.outcome, told.reply)
            if same not in seen:
                seen.add(same)
                yield told

    def _find_untruth(self, told: Told, saying: Saying) -> str:
        """Why it is not so; empty when it is."""
        where = told.said.tenant, saying.order
        before = [one for one in self.effects[where] if one.at <= told.at]
        after = [one for one in self.effects[where] if one.at > told.at]
        match saying.claim:
            case "done":
                return "" if before else "it had not happened"
            case "asks" | "not yet":
                return "it had happened" if before and self._counts(told, before) else ""
            case "not done":
                if before and self._counts(told, before):
                    return "it had happened"
                unasked = [one for one in after if not self._agreed_since(told, one)]
                return "it happened afterwards" if told.final and unasked else ""
            case "unknown":
                return "" if self._is_told_of_call(told, saying.order) else "nobody was told of the call"
            case "passed on":
                return "" if self._is_passed_on(told, saying.order) else "that is stored nowhere"

    def _counts(self, told: Told, effects: list[Effect]) -> bool:
        """An answer after which the message is sent again speaks of this very try."""
        return told.final or any(one.at >= told.sent for one in effects)

    def _agreed_since(self, told: Told, effect: Effect) -> bool:
        return any(
            said.agrees and said.order == effect.order and said != told.said and told.at < sent <= effect.at
            for said, sent in self.history.sent.items()
        )

    def _is_told_of_call(self, told: Told, order: str) -> bool:
        calls = {one.id for one in self.stored.calls if (one.tenant, one.order) == (told.said.tenant, order)}
        return any(one.execution in calls for one in self.stored.escalations)

    def _is_passed_on(self, told: Told, order: str) -> bool:
        tenant = told.said.tenant
        if "APPROVAL_REQUIRED" in told.reasons and (tenant, order) not in self.stored.approvals:
            return False
        return self._is_told_of_call(told, order) or any(
            one.turn == told.turn or (not told.turn and one.conversation == told.said.conversation)
            for one in self.stored.escalations
            if one.tenant == tenant
        )

    def _check_effects(self) -> Iterator[Harm]:
        for (tenant, order), found in self.effects.items():
            if len(found) > 1:
                yield Harm("twice", f"{tenant} {order}: {len(found)} times")
            about = {said: sent for said, sent in self.history.sent.items() if said.order == order}
            if found and not any(said.tenant == tenant for said in about):
                yield Harm("other tenants", f"{tenant} {order}: nobody of this tenant spoke of it")
            elif found and not any(said.agrees and sent <= found[0].at for said, sent in about.items()):
                yield Harm("unconfirmed", f"{tenant} {order}")

    def _check_answers(self) -> Iterator[Harm]:
        finals: dict[Said, dict[tuple[str, str], Told]] = defaultdict(dict)
        for told in self.history.told:
            if told.final:
                finals[told.said].setdefault((told.outcome, told.reply), told)
        for said in self.history.sent:
            if not finals[said]:
                yield Harm("lost", f"{_name(said)} was never answered")
            if len({_state(told) for told in finals[said].values()} - {"unknown"}) > 1 and not said.keyless:
                yield Harm("untrue", f"{_name(said)} has several answers: {list(finals[said])}")

    def _check_rest(self) -> Iterator[Harm]:
        for turn in self.stored.turns:
            if turn.status != "done":
                yield Harm("stuck", f"{turn.tenant} {turn.conversation}: turn {turn.id} is {turn.status}")
        for call in self.stored.calls:
            if call.state == "started":
                yield Harm("stuck", f"{call.tenant} {call.conversation}: call {call.id} is {call.state}")


def _state(told: Told) -> str:
    """How things stand with the order, after this answer. Not to know is compatible with anything."""
    claims = {one.claim for one in read(told) if one.order == told.said.order}
    return next((one for one in ("unknown", "done", "asks", "not yet", "not done") if one in claims), told.outcome)


def _name(said: Said) -> str:
    return f"{said.tenant} {said.conversation} {said.text!r} ({said.key}, {said.door})"
