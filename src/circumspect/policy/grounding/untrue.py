"""Sentences of a reply that are not so: statements -> those that the ledger, or what was read, does not bear out.

What was done must be done by a call of that kind that succeeded, on every record that the sentence names, or be what a
result says of it; what was not done must not have been; what will be done must wait for a yes or follow from what ran.
Sums, days and times beside it must be those of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, get_args

from circumspect.language.consent import consent
from circumspect.language.folding import fold
from circumspect.language.pack import packs
from circumspect.language.wanted import asks_for_person, find_mentions, is_question
from circumspect.policy.grounding.actions import actions_of, words_of
from circumspect.policy.grounding.call_texts import list_leaves
from circumspect.policy.grounding.ran_calls import (
    SUPPORTS,
    GrowingText,
    RanCalls,
    SameCalls,
    is_deed_by_name,
    is_named_by,
    may_change,
)
from circumspect.policy.grounding.record_states import find_contradicted_states
from circumspect.policy.grounding.stated_figures import FigureSource, find_ids, has_other_figure
from circumspect.policy.grounding.statements import ANY, Statement, admits_doubt, find_objects, read_statements
from circumspect.values import Language, PastCall, ToolCall, ToolSpec

UntrueReason = Literal["not_done", "was_done", "unknown", "not_promised", "figure", "secret", "source", "language"]
REASONS: frozenset[UntrueReason] = frozenset(get_args(UntrueReason))


@dataclass(frozen=True, slots=True)
class UntrueSentence:
    sentence: str
    reason: UntrueReason


_LEADS_TO_PAY = frozenset(("delete", "change"))
"""Where something was cancelled or changed, money may follow."""
_DENIALS = ("not_done", "bad_news", "negated")
_WITHOUT_FIGURES = frozenset((*_DENIALS, "asks_secret"))
_FIGURE = re.compile(r"\d")
_VALUE = r"(?:'[^'\n]{0,40}'|\"[^\"\n]{0,40}\"|\[[^\]\n]{0,80}\]|[^\s,;='\"\[][^\s,;=]{0,80})"
_SETTINGS = re.compile(rf"\s*(?:[\w.-]{{1,40}}={_VALUE}(?:[\s,;]+|$))+")
"""Nothing but names with their values, as programs print them: a sentence about nobody's case."""
_QUOTE = 30
"""So many letters in the same order are a quotation of what is known."""
_BETWEEN = re.compile(r"(?:\[\d{1,3}\]|[^\w@+.:/–-])+")
"""What a quotation may write otherwise: its number, the ends of lines, marks of lists and quotations."""


def find_untrue(
    reply: str,
    language: Language | None,
    ran: Iterable[PastCall] | RanCalls,
    tools: Mapping[str, ToolSpec] | None = None,
    pending: Collection[ToolCall] = (),
    known: str = "",
    said: str = "",
    reasons: Collection[UntrueReason] = REASONS,
) -> tuple[UntrueSentence, ...]:
    """The sentences that are not so, for one of `reasons`. `pending` waits for a yes or is just being handed on;
    `known` is what else the reply may repeat: the user's words, and what was looked up. A reply is read with the words
    of every language whose letters it has; `language` is the conversation's. `tools` belong to `ran` where that was
    counted up before."""
    statements = read_statements(reply, language)
    calls = ran if isinstance(ran, RanCalls) else RanCalls(ran, tools)
    ledger = _Ledger(calls, pending, known, said, any(one.kind in _DENIALS for one in statements))
    found: dict[str, UntrueReason] = {}
    unread: dict[str, list[Statement]] = {}
    for one in statements:
        if one.sentence in found:
            continue
        before = unread.setdefault(one.sentence, [])
        reason = ledger.judge(one)
        if reason is None:
            before.append(one)
        if reason or "figure" in reasons:
            # A sentence is known for the first thing that is wrong with it: figures that stand before it count.
            if any(map(ledger.has_wrong_figure, before)):
                reason = "figure"
            before.clear()
        if reason:
            found[one.sentence] = reason
    for sentence in find_contradicted_states(reply, calls):
        found.setdefault(sentence, "not_done")
    if "unknown" in found.values() and admits_doubt(reply, language):
        found = {sentence: reason for sentence, reason in found.items() if reason != "unknown"}
    wanted = ((one, reason) for one, reason in found.items() if reason in reasons)
    return tuple(UntrueSentence(one, reason) for one, reason in wanted if not ledger.is_quoted(one))


def _in_a_row(text: str) -> str:
    return _BETWEEN.sub(" ", fold(text)).strip(" .!")


class _Ledger:
    """What ran and what was said, as a reply is held against it. Most replies need little of it."""

    def __init__(
        self,
        ran: RanCalls,
        pending: Collection[ToolCall],
        known: str,
        said: str,
        denies: bool,
    ) -> None:
        self.ran, self.pending, self.said = ran, pending, said
        self.known = fold(known)
        self.done, self.missed, self.unknown = ran.done, ran.missed, ran.unknown
        self.wrote = [one for one in ran.done if one.does]
        self.unsorted = [one for one in ran.done if not one.does and not ran.is_only_read(one.call)]
        """Of which no kind of deed is known."""
        self.explains = denies and bool(self.missed or self.unknown)

    @cached_property
    def asked(self) -> bool:
        return bool(self.said) and is_question(self.said)

    @cached_property
    def called(self) -> bool:
        return bool(self.said) and asks_for_person(self.said)

    @cached_property
    def declined(self) -> bool:
        return "denied" in self._moods or (self._answer == "no" and not self._names_figure)

    @cached_property
    def wished(self) -> bool:
        wishes = not self.said or self._names_figure or "wish" in self._moods or self._answer == "yes"
        return wishes and not (self.asked or self.declined)

    @cached_property
    def _moods(self) -> frozenset[str]:
        return frozenset(each.mood for each in find_mentions(self.said))

    @cached_property
    def _answer(self) -> str:
        return consent(self.said)

    @property
    def _names_figure(self) -> bool:
        return bool(_FIGURE.search(self.said))

    @cached_property
    def done_figures(self) -> FigureSource:
        return FigureSource(self._text)

    @cached_property
    def all_figures(self) -> FigureSource:
        waits = " ".join(leaf for call in self.pending for leaf in list_leaves(dict(call.arguments)))
        return FigureSource(f"{self._text} {self.known} {waits}")

    @cached_property
    def _text(self) -> str:
        return " ".join(record for one in self.ran.succeeded for record in one.records)

    def is_quoted(self, sentence: str) -> bool:
        return bool(self.known) and len(sentence) >= _QUOTE and _in_a_row(sentence) in self.known_in_a_row

    @cached_property
    def known_in_a_row(self) -> str:
        return _in_a_row(self.known)

    def judge(self, one: Statement) -> UntrueReason | None:
        """What is wrong with it, figures aside."""
        match one.kind:
            case "done":
                if not self._is_done(one):
                    return "unknown" if self.unknown else "not_done"
            case "asserted" | "hinted" if _SETTINGS.fullmatch(one.sentence):
                return None
            case "own" | "asserted" | "hinted":
                if not self._is_repeated(one) and self._is_held(one) and not self._is_borne(one):
                    return "unknown" if self.unknown else "not_done"
            case "bad_news":
                return self._contradicts_bad_news(one)
            case "promised":
                if not self._is_done(one) and not self._is_waiting(one):
                    return "not_promised"
            case "not_done":
                return self._contradicts(one)
            case "asks_secret":
                return None if self._takes_secret(one) else "secret"
            case "negated" | "other":
                pass
        return None

    def has_wrong_figure(self, one: Statement) -> bool:
        """Only what ran vouches for figures of a deed; elsewhere a reply may repeat what is known."""
        if not self.done or one.kind in _WITHOUT_FIGURES or self._is_repeated(one):
            return False
        return has_other_figure(one.clause, self.done_figures if one.kind == "done" else self.all_figures)

    def _is_repeated(self, one: Statement) -> bool:
        return one.kind == "hinted" and one.clause.rstrip(".! ") in self.known

    def _fits(self, call: ToolCall, does: frozenset[str], one: Statement) -> bool:
        """A call of the kind that the statement speaks of, done to what it speaks of."""
        supports = SUPPORTS.get(one.action, does)
        if one.kind == "promised" and one.action == "pay":
            supports |= _LEADS_TO_PAY
        if not does & supports:
            return False
        return self._is_about(call, one)

    def _is_about(self, call: ToolCall, one: Statement) -> bool:
        about = set(words_of(call.tool)) | {word for name in call.arguments for word in words_of(name)}
        named = about & _objects()
        return (
            one.action not in ("delete", "close", "change", "book")
            or not one.objects
            or not named
            or bool(named & one.objects)
        )

    def _is_done(self, one: Statement) -> bool:
        fitting = [each.read() for each in self.wrote if self._fits(each.call, each.does, one)]
        fitting += [each.read() for each in self.unsorted if self._is_its_name(each.call, one)]
        told = self.done if one.action != ANY else ()
        said = [each.read_saying(one.action) for each in told if self._is_about(each.call, one)]
        ids = find_ids(one.clause)
        if one.both and len(ids) < 2 and max(_count(fitting), _count(said)) < 2:
            return False
        return _bear([*fitting, *said], ids)

    def _is_held(self, one: Statement) -> bool:
        """Whether a verb that nobody listed has to be accounted for. What answers a question and names no value is how
        things are in general; what goes beside a denial, where a call has failed, says why. Where a wish is answered
        and nothing has been done, every sentence that is tied to the case counts."""
        if one.kind == "own":
            return True
        if self.explains or self.declined or self.called or (self.asked and not find_ids(one.clause)):
            return False
        return (
            one.kind == "asserted"
            or (one.both and bool(self.ran.wrote))
            or (self.wished and not self.done and not self.pending)
        )

    def _is_borne(self, one: Statement) -> bool:
        """Something that ran is about what the clause names. What we say of ourselves must have changed something."""
        if one.both and self.ran.wrote == 1:
            return False
        if one.kind == "own":
            ids = find_ids(one.clause)
            near = (
                each
                for each in self.unsorted
                if (ids and may_change(each.call.tool)) or self._is_its_name(each.call, one)
            )
            return _bear([each.read() for each in (*self.wrote, *near)], ids)
        waits = GrowingText()
        waits.pieces.extend(fold(" ".join(list_leaves(dict(each.arguments)))) for each in self.pending)
        ran = [*self.done, *(self.missed if self.wrote else ())]
        return _bear([*(each.read() for each in ran), waits], find_ids(one.clause))

    def _is_its_name(self, call: ToolCall, one: Statement) -> bool:
        """The clause says of it what its name says, and of no other kind of thing."""
        if one.objects and not one.objects & find_objects(" ".join(words_of(call.tool))):
            return False
        if one.kind == "done":
            return is_deed_by_name(call.tool) if one.action == ANY else is_named_by(call.tool, one.clause, one.action)
        return is_named_by(call.tool, one.clause, None)

    def _is_waiting(self, one: Statement) -> bool:
        """A call that is about to run does it; a deed that is not named may be any of them."""
        return any(one.action == ANY or self._fits(call, self.ran.tell_deeds(call), one) for call in self.pending)

    def _contradicts(self, one: Statement) -> UntrueReason | None:
        """Said not to be done, and it was; or nobody knows."""
        ids = find_ids(one.clause)

        def concerned(calls: Collection[SameCalls]) -> bool:
            return any(self._is_same_deed(each, one) and each.any_holds(ids) for each in calls)

        if concerned(self.missed):
            return None
        if concerned(self.wrote):
            return "was_done"
        return "unknown" if concerned(self.unknown) else None

    def _contradicts_bad_news(self, one: Statement) -> UntrueReason | None:
        """It is said not to have worked, and everything did."""
        if self.missed or self.unknown:
            return None
        ids = find_ids(one.clause)
        for each in self.wrote:
            named = one.objects & set(words_of(each.call.tool)) & _objects() or one.action in each.does
            if one.action != ANY and one.action not in each.does:
                continue
            if (ids and each.any_holds(ids)) or (not ids and named):
                return "was_done"
        return None

    def _is_same_deed(self, same: SameCalls, one: Statement) -> bool:
        call, does = same.call, same.does
        if one.action == ANY:
            return bool(does)
        # Only a name that tells what the tool does speaks against a denial.
        near = {one.action, *(("create", "book") if one.action in ("create", "book") else ())}
        return bool(does & near & actions_of(call.tool)) and self._fits(call, does, one)

    def _takes_secret(self, one: Statement) -> bool:
        """A tool of ours has a parameter for it."""
        names = {word for spec in self.ran.tools.values() for name in spec.properties for word in words_of(name)}
        return bool(names & set(re.findall(r"[a-z]+", one.clause)) & _SECRET_NAMES)


_SECRET_NAMES = frozenset(("password", "passcode", "pin", "cvv", "cvc", "card", "otp", "code"))


@cache
def _objects() -> frozenset[str]:
    return frozenset(name for one in packs() for name in one.statements.object)


def _count(texts: Sequence[GrowingText]) -> int:
    return sum(len(one.pieces) for one in texts)


def _bear(texts: Sequence[GrowingText], values: Sequence[str]) -> bool:
    """There is something, and each of the values stands somewhere in it."""
    return _count(texts) > 0 and all(any(one.hold_all((each,)) for one in texts) for each in values)
