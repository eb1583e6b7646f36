"""Sentences of a reply that are not so: statements -> those that the ledger, or what was read, does not bear out.

What was done must be done by a call of that kind that succeeded, on every record that the sentence names, or be what a
result says of it; what was not done must not have been; what will be done must wait for a yes or follow from what ran.
Sums, days and times beside it must be those of the calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from circumspect.language.consent import consent
from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, packs
from circumspect.language.wanted import asks_for_person, find_mentions, is_question
from circumspect.policy.grounding.actions import actions_of, words_of
from circumspect.policy.grounding.stated_figures import find_ids, has_other_figure
from circumspect.policy.grounding.statements import ANY, Statement, admits_doubt, read_statements
from circumspect.values import Json, Language, PastCall, ToolCall, ToolSpec

UntrueReason = Literal["not_done", "was_done", "unknown", "not_promised", "figure", "secret", "source", "language"]


@dataclass(frozen=True, slots=True)
class UntrueSentence:
    sentence: str
    reason: UntrueReason


_SUPPORTS: Mapping[str, frozenset[str]] = {
    # A call of one of these kinds makes the statement true: booking sends a confirmation.
    "delete": frozenset(("delete",)),
    "close": frozenset(("delete",)),
    "pay": frozenset(("pay",)),
    "charge": frozenset(("pay", "book", "create", "change")),
    "send": frozenset(("send", "invite", "create", "delete", "change", "book", "pay")),
    "book": frozenset(("book", "create", "change")),
    "change": frozenset(("change", "create", "book")),
    "create": frozenset(("create", "book", "change", "delete", "pay", "send", "invite")),
    "invite": frozenset(("invite", "create", "send")),
}
_LEADS_TO_PAY = frozenset(("delete", "change"))
"""Where something was cancelled or changed, money may follow."""
_DENIALS = ("not_done", "bad_news", "negated")
_FIGURE = re.compile(r"\d")
_QUOTE = 30
"""So many letters in the same order are a quotation of what is known."""


def find_untrue(
    reply: str,
    language: Language | None,
    ran: Collection[PastCall],
    tools: Mapping[str, ToolSpec] | None = None,
    pending: Collection[ToolCall] = (),
    known: str = "",
    said: str = "",
) -> tuple[UntrueSentence, ...]:
    """The sentences that are not so. `pending` waits for a yes or is just being handed on; `known` is what else the
    reply may repeat: the user's words, and what was looked up. A reply is read with the words of every language whose
    letters it has; `language` is the conversation's."""
    statements = read_statements(reply, language)
    ledger = _Ledger(ran, tools or {}, pending, known, said, any(one.kind in _DENIALS for one in statements))
    found: dict[str, UntrueReason] = {}
    for one in statements:
        if one.sentence not in found and (reason := ledger.judge(one)):
            found[one.sentence] = reason
    if "unknown" in found.values() and admits_doubt(reply, language):
        found = {sentence: reason for sentence, reason in found.items() if reason != "unknown"}
    return tuple(UntrueSentence(one, reason) for one, reason in found.items() if not ledger.is_quoted(one))


class _Ledger:
    def __init__(
        self,
        ran: Collection[PastCall],
        tools: Mapping[str, ToolSpec],
        pending: Collection[ToolCall],
        known: str,
        said: str,
        denies: bool,
    ) -> None:
        self.tools, self.pending = tools, pending
        self.known = fold(known)
        self.done = [one for one in ran if one.ok]
        self.wrote = [one for one in self.done if self._does(one.call)]
        self.flat = {id(one): _flat(one) for one in ran}
        self.missed = [one for one in ran if not one.ok and not one.unknown]
        self.unknown = [one for one in ran if one.unknown]
        self.records = [(one.call, record) for one in self.done for record in _records(one)]
        self.text = " ".join(record for _, record in self.records)
        self.asked = bool(said) and is_question(said)
        moods = {each.mood for each in find_mentions(said)}
        answer = consent(said)
        figure = bool(_FIGURE.search(said))
        self.called = bool(said) and asks_for_person(said)
        self.declined = "denied" in moods or (answer == "no" and not figure)
        wishes = not said or figure or "wish" in moods or answer == "yes"
        self.wished = wishes and not (self.asked or self.declined)
        self.explains = denies and bool(self.missed or self.unknown)

    def is_quoted(self, sentence: str) -> bool:
        return bool(self.known) and len(sentence) >= _QUOTE and fold(sentence).rstrip(".!") in self.known

    def judge(self, one: Statement) -> UntrueReason | None:
        match one.kind:
            case "done":
                if not self._is_done(one):
                    return "unknown" if self.unknown else "not_done"
            case "own" | "asserted" | "hinted":
                if one.kind == "hinted" and one.clause.rstrip(".! ") in self.known:
                    return None
                if self._is_held(one) and not self._is_borne(one):
                    return "unknown" if self.unknown else "not_done"
            case "bad_news":
                return self._contradicts_bad_news(one)
            case "promised":
                if not self._is_done(one) and not self._is_waiting(one):
                    return "not_promised"
            case "not_done":
                return self._contradicts(one)
            case "negated":
                return None
            case "asks_secret":
                return None if self._takes_secret(one) else "secret"
            case "other":
                pass
        return "figure" if self._has_wrong_figure(one) else None

    def _does(self, call: ToolCall) -> frozenset[str]:
        spec = self.tools.get(call.tool)
        actions = actions_of(call.tool)
        if (spec and spec.effect == "read") or actions == {"open"} or (not spec and _reads(call.tool)):
            return frozenset()
        # A tool that changes something in a way that its name does not tell may have done any of it.
        return frozenset(actions) or (frozenset(_SUPPORTS) if spec and spec.effect else frozenset())

    def _fits(self, call: ToolCall, one: Statement) -> bool:
        """A call of the kind that the statement speaks of, done to what it speaks of."""
        does = self._does(call)
        supports = _SUPPORTS.get(one.action, does)
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
        fitting = [self.flat[id(each)] for each in self.wrote if self._fits(each.call, one)]
        said = [
            record
            for call, record in self.records
            if one.action != ANY and (_says(record, one.action) or one.action == "charge") and self._is_about(call, one)
        ]
        borne = [*fitting, *said]
        ids = find_ids(one.clause)
        if one.both and len(ids) < 2 and max(len(fitting), len(said)) < 2:
            return False
        return bool(borne) and all(any(_holds(text, each) for text in borne) for each in ids)

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
            or (one.both and bool(self.wrote))
            or (self.wished and not self.done and not self.pending)
        )

    def _is_borne(self, one: Statement) -> bool:
        """Something that ran is about what the clause names. What we say of ourselves must have changed something."""
        ran = [self.flat[id(each)] for each in (self.wrote if one.kind == "own" else self.done)]
        waits = [] if one.kind == "own" else [fold(" ".join(_leaves(dict(each.arguments)))) for each in self.pending]
        failed = [self.flat[id(each)] for each in self.missed] if self.wrote and one.kind != "own" else []
        about = [*ran, *waits, *failed]
        if one.both and len(self.wrote) == 1:
            return False
        return bool(about) and all(any(_holds(text, each) for text in about) for each in find_ids(one.clause))

    def _is_waiting(self, one: Statement) -> bool:
        """A call that is about to run does it; a deed that is not named may be any of them."""
        return any(one.action == ANY or self._fits(call, one) for call in self.pending)

    def _contradicts(self, one: Statement) -> UntrueReason | None:
        """Said not to be done, and it was; or nobody knows."""
        ids = find_ids(one.clause)

        def concerned(calls: Collection[PastCall]) -> list[PastCall]:
            return [
                each
                for each in calls
                if self._is_same_deed(each.call, one) and all(_holds(self.flat[id(each)], value) for value in ids)
            ]

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
            named = one.objects & set(words_of(each.call.tool)) & _objects() or one.action in self._does(each.call)
            if one.action != ANY and one.action not in self._does(each.call):
                continue
            if (ids and all(_holds(self.flat[id(each)], value) for value in ids)) or (not ids and named):
                return "was_done"
        return None

    def _is_same_deed(self, call: ToolCall, one: Statement) -> bool:
        does = self._does(call)
        if one.action == ANY:
            return bool(does)
        # Only a name that tells what the tool does speaks against a denial.
        near = {one.action, *(("create", "book") if one.action in ("create", "book") else ())}
        return bool(does & near & actions_of(call.tool)) and self._fits(call, one)

    def _takes_secret(self, one: Statement) -> bool:
        """A tool of ours has a parameter for it."""
        names = {word for spec in self.tools.values() for name in spec.properties for word in words_of(name)}
        return bool(names & set(re.findall(r"[a-z]+", one.clause)) & _SECRET_NAMES)

    def _has_wrong_figure(self, one: Statement) -> bool:
        """Only what ran vouches for figures of a deed; elsewhere a reply may repeat what is known."""
        waits = " ".join(leaf for call in self.pending for leaf in _leaves(dict(call.arguments)))
        return bool(self.done) and has_other_figure(
            one.clause, self.text if one.kind == "done" else f"{self.text} {self.known} {waits}"
        )


_SECRET_NAMES = frozenset(("password", "passcode", "pin", "cvv", "cvc", "card", "otp", "code"))
_READING = frozenset(
    ("get", "list", "check", "find", "search", "show", "look", "lookup", "read", "view", "fetch", "query")
)


def _reads(tool: str) -> bool:
    return words_of(tool)[:1] != () and words_of(tool)[0] in _READING


@cache
def _objects() -> frozenset[str]:
    return frozenset(name for one in packs() for name in one.statements.object)


def _holds(text: str, value: str) -> bool:
    return bool(re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", text))


def _flat(one: PastCall) -> str:
    return fold(f"{' '.join(_leaves(dict(one.call.arguments)))} {' '.join(_leaves(one.result))}")


def _records(one: PastCall) -> Iterator[str]:
    """Each innermost record of a result as text with its names, and with what the call was about."""
    about = " ".join(_leaves(dict(one.call.arguments)))
    for record in _inner(one.result):
        yield fold(f"{record} {about}" if not isinstance(one.result, list) else record)


def _inner(value: Json, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < 6:
        nested = [each for each in value.values() if isinstance(each, Mapping | list) and each]
        for each in nested:
            yield from _inner(each, depth + 1)
        yield " ".join(
            f"{name.replace('_', ' ')} {each}"
            for name, each in value.items()
            if each and not isinstance(each, Mapping | list)
        )
    elif isinstance(value, list) and depth < 6:
        for each in value:
            yield from _inner(each, depth + 1)
    elif value:
        yield str(value)


def _leaves(value: Json, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < 6:
        for each in value.values():
            yield from _leaves(each, depth + 1)
    elif isinstance(value, list) and depth < 6:
        for each in value:
            yield from _leaves(each, depth + 1)
    elif value not in (None, ""):
        yield str(value)


@cache
def _saying(action: str) -> re.Pattern[str]:
    return compile_words(
        lines
        for one in packs()
        for lists in (one.statements.done, one.statements.framed, one.statements.deed, one.statements.status)
        if (lines := lists.get(action))
    )


def _says(record: str, action: str) -> bool:
    return bool(_saying(action).search(record))
