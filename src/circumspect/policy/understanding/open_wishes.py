"""What the user wants done: their words and the tools -> wishes, followed through a conversation to their end.

`read_wishes` reads one message; `follow_wishes` a whole conversation, with what ran in it. A wish is open until a call
fulfils it, a tool refuses it or the user drops it. The words and the ledger say it all; what they came to is handed
from turn to turn, so that not every turn reads them again.

What may surprise: this errs towards seeing no wish. A message that it cannot place leaves everything to the model; one
that it reads as a wish is held against the model, so it must be the user's plain word. Values are never guessed:
`is_read` says that no number of the clause and no required value was left over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from circumspect.bounded_cache import BoundedCache
from circumspect.language.second_thoughts import leaves_open
from circumspect.language.wanted import (
    LONGEST,
    Mention,
    WantedAct,
    adds_to,
    begins_as_question,
    even_out,
    find_mentions,
    find_things,
    goes_elsewhere,
    is_question,
    leave_out_denied,
    talks_of,
)
from circumspect.language.yes_no import classify
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.understanding.wished_values import find_readable, find_values, read_answer
from circumspect.values import LANGUAGES, History, JsonObject, PastCall, ToolCall, ToolSpec, Utterance

WishState = Literal["open", "fulfilled", "refused", "dropped"]

_ACTS: Mapping[str, WantedAct] = {
    **dict.fromkeys(("cancel", "delete", "remove", "close", "erase", "terminate", "revoke", "deactivate"), "away"),
    **dict.fromkeys(("refund", "reimburse"), "refund"),
    **dict.fromkeys(("update", "change", "modify", "edit", "set"), "change"),
    **dict.fromkeys(("book", "reserve", "schedule"), "book"),
    **dict.fromkeys(("exchange", "swap"), "exchange"),
}
_FOR_PEOPLE = frozenset(("human", "humans", "escalate", "handoff", "handover"))
MOST_LETTERS = 40_000
"""Of a conversation that is longer only the end is read: what is further back than that has had its answers."""
_SHORT = 12
"""So many words may be an answer to a question of ours; more are a message of their own."""


@dataclass(frozen=True)
class Wish:
    """Something the user wants done."""

    tool: str
    arguments: JsonObject
    """The values that the user gave for it, in their own words."""
    said: str
    is_read: bool
    """Nothing that was said for it is left over: what is missing can be asked for, and what is there is meant."""
    touched: int = 0
    """Index of the message that said it, or said more about it; below 0 where that was in an earlier turn."""
    state: WishState = "open"

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.tool, self.arguments)

    def is_part_of(self, call: ToolCall) -> bool:
        """The call is this wish with what the tool fills in by itself."""
        same = all(call.arguments.get(name) == value for name, value in self.arguments.items())
        return self.tool == call.tool and same


def is_for_people(tool: str) -> bool:
    """The tool hands the conversation to a person by itself: `transfer_to_human_agents`."""
    return not _FOR_PEOPLE.isdisjoint(words_of(tool))


def is_only_asked(tool: str, text: str, tools: Mapping[str, ToolSpec]) -> bool:
    """The message is a question about what the tool does, and names nothing of the user's that it should be done to."""
    mentions, reader = find_mentions(text), _Reader(text, tools)
    if not is_question(text) or any(one.mood in ("wish", "unclear") for one in mentions):
        return False
    if any(reader.find_chosen_values(one) for one in mentions if one.mood == "asked"):
        return False
    return any(talks_of(text, act) for act in acts_of(tool))


def read_wishes(text: str, tools: Mapping[str, ToolSpec]) -> tuple[Wish, ...]:
    """What one message asks for, of the tools that change something."""
    return _read_message(text, tools).wishes


@dataclass(frozen=True, slots=True)
class _MessageReading:
    """What one message says about the tools that change something."""

    wishes: tuple[Wish, ...]
    denied: frozenset[str]
    """Tools that the user does not want after all."""


_READ = BoundedCache[_MessageReading](4_096, 4_000_000)
"""By the text and the versions of the tools: every turn reads the messages before it again."""


def _read_message(text: str, tools: Mapping[str, ToolSpec]) -> _MessageReading:
    if not (mentions := find_mentions(text)):
        return _SAYS_NOTHING
    key = (text, *(spec.version for spec in tools.values()))
    found = _READ.get(key)
    if found is None:
        found = _read_mentions(mentions, _Reader(text, tools))
        _READ.put(key, found, len(text))
    return found


_SAYS_NOTHING = _MessageReading((), frozenset())


def _read_mentions(mentions: Sequence[Mention], reader: _Reader) -> _MessageReading:
    found: list[Wish] = []
    for mention in mentions:
        if mention.mood == "wish" and (spec := reader.choose(mention)):
            found += _wishes_of(mention, spec)
    taken: Set[object] = {value for one in found for value in one.arguments.values()}
    wishes = (filled for one in found for filled in _fill_from_rest(one, taken, reader.find_values(one.tool)))
    denied = (spec.name for one in mentions if one.mood == "denied" and (spec := reader.choose(one)))
    return _MessageReading(tuple(wishes), frozenset(denied))


def find_candidates(text: str, tools: Mapping[str, ToolSpec]) -> tuple[Wish, ...]:
    """What a message may be asking for that speaks of no act plainly, and names something that tools do things to."""
    placed = any(one.mood != "unclear" for one in find_mentions(text))
    if placed or (is_question(text) and begins_as_question(text)):
        return ()
    told = leave_out_denied(text)
    return tuple(
        Wish(name, {key: values[0] for key, values in given.items()}, text, is_read=True)
        for name, spec in tools.items()
        if (given := {key: values for key, values in find_values(spec, told, text).items() if values})
        and all(len(values) == 1 for values in given.values())
        and spec.required <= given.keys() | find_readable(spec)
    )


def find_wished_words(said: Sequence[str], tool: str) -> frozenset[str]:
    """The verbs in which a user asked for what the tool does: they may repeat them with a yes."""
    mentions = (mention for text in said for mention in find_mentions(text) if mention.mood == "wish")
    return frozenset(one.verb for one in mentions if one.act in acts_of(tool))


def follow_wishes(
    history: History, tools: Mapping[str, ToolSpec], before: Sequence[Wish] = (), said: str = ""
) -> tuple[Wish, ...]:
    """All wishes of a conversation, each in the state in which it is now. `before` are those of what came before this
    history, and `said` is what we had said last."""
    wishes = list(before)
    unread = sum(len(one.text[:LONGEST]) for one in history.utterances if one.speaker == "user") - MOST_LETTERS
    for event in history.events:
        if isinstance(event, PastCall):
            wishes = _note_call(wishes, event) if event.call.tool in tools else wishes
        elif event.speaker == "assistant":
            said = event.text
        elif unread > 0:
            unread -= len(event.text[:LONGEST])
        else:
            wishes = _hear(wishes, event, said, tools)
    return tuple(wishes)


# --- one message ------------------------------------------------------------------------------------------------------


class _Reader:
    """A message and the tools. What is read from the whole of it, or from a tool's names, is read once, however many
    acts the message speaks of."""

    def __init__(self, text: str, tools: Mapping[str, ToolSpec]) -> None:
        self._text, self._tools = text[:LONGEST], tools
        self._values: dict[str, Mapping[str, Sequence[str]]] = {}
        self._names: dict[str, _ToolNames] = {}

    def choose(self, mention: Mention) -> ToolSpec | None:
        """The one tool that the words ask for; None where several fit as well, or none does."""
        scored = sorted(((self._score(mention, spec), name) for name, spec in self._tools.items()), reverse=True)
        if not scored or scored[0][0] <= 0 or (len(scored) > 1 and scored[1][0] == scored[0][0]):
            return None
        return self._tools[scored[0][1]]

    def find_chosen_values(self, mention: Mention) -> Mapping[str, Sequence[str]]:
        """What the clause gives for the tool that its words ask for."""
        spec = self.choose(mention)
        return _find_given(mention, spec) if spec else {}

    def find_values(self, tool: str) -> Mapping[str, Sequence[str]]:
        """What stands anywhere in the message for a tool."""
        if tool not in self._values:
            self._values[tool] = find_values(self._tools[tool], self._told, "")
        return self._values[tool]

    def _score(self, mention: Mention, spec: ToolSpec) -> int:
        """What the clause of the act says counts before what stands elsewhere in the message."""
        names = self._names.get(spec.name) or self._names.setdefault(spec.name, _read_names(spec))
        if mention.act not in names.acts or mention.things - names.own - names.parameters:
            return 0
        given = _find_given(mention, spec)
        about_place = "address" in given or (mention.act == "send" and self._goes_elsewhere)
        if mention.act in ("change", "send") and not ((mention.things | self._things) & names.own or about_place):
            return 0
        spelled = any(mention.verb.startswith(word[:5]) for word in names.words if word in _ACTS)
        unnamed = 1 if not names.own and mention.things else 0
        here = 2 * bool(mention.things & names.own) + bool(given) + spelled + unnamed
        elsewhere = bool(self._things & names.own) + any(self.find_values(spec.name).values())
        return 1 + 4 * here + elsewhere

    @cached_property
    def _told(self) -> str:
        return leave_out_denied(self._text)

    @cached_property
    def _things(self) -> frozenset[str]:
        return find_things(even_out(self._text))

    @cached_property
    def _goes_elsewhere(self) -> bool:
        return goes_elsewhere(self._text)


@dataclass(frozen=True, slots=True)
class _ToolNames:
    """What a tool's names say that it does, and to what."""

    words: Sequence[str]
    acts: frozenset[WantedAct]
    own: frozenset[str]
    parameters: frozenset[str]


def _read_names(spec: ToolSpec) -> _ToolNames:
    words, acts = words_of(spec.name), acts_of(spec.name)
    own = find_things(" ".join(words))
    parameters = find_things(" ".join(word for name in spec.properties for word in words_of(name)))
    if "change" in acts and "address" in own | parameters:
        acts.add("send")
    return _ToolNames(tuple(words), frozenset(acts), own, parameters)


def acts_of(tool: str) -> set[WantedAct]:
    """What the tool's name says that it does."""
    return {_ACTS[word] for word in words_of(tool) if word in _ACTS}


def _find_given(mention: Mention, spec: ToolSpec) -> Mapping[str, Sequence[str]]:
    clause, rest = leave_out_denied(mention.clause), leave_out_denied(mention.rest)
    return {name: found for name, found in find_values(spec, clause, rest).items() if found}


def _wishes_of(mention: Mention, spec: ToolSpec) -> list[Wish]:
    given = _find_given(mention, spec)
    known = frozenset(given) | find_readable(spec)
    read = _accounts_for_numbers(leave_out_denied(mention.clause), given) and spec.required <= known
    wish = Wish(spec.name, {}, mention.clause.strip(), read)
    return _spread(wish, given)


def _spread(wish: Wish, given: Mapping[str, Sequence[str]]) -> list[Wish]:
    """One for each value of a list: "cancel 12345 and 12346" are two."""
    single = {name: found[0] for name, found in given.items() if len(found) == 1}
    several = {name: found for name, found in given.items() if len(found) > 1}
    wish = replace(wish, arguments={**wish.arguments, **single}, is_read=wish.is_read and len(several) <= 1)
    if not several:
        return [wish]
    name, values = next(iter(several.items()))
    return [replace(wish, arguments={**wish.arguments, name: value}) for value in values]


def _accounts_for_numbers(clause: str, given: Mapping[str, Sequence[str]]) -> bool:
    for value in sorted((value for found in given.values() for value in found), key=len, reverse=True):
        clause = clause.replace(value, " ")
    return not re.search(r"\d", clause)


def _fill_from_rest(wish: Wish, taken: Set[object], elsewhere: Mapping[str, Sequence[str]]) -> list[Wish]:
    """Values that stand in another sentence: "Order 12330 was broken. I want a refund." """
    more = {
        name: values
        for name, values in elsewhere.items()
        if name not in wish.arguments and values and taken.isdisjoint(values)
    }
    return _spread(wish, more)


# --- a conversation ---------------------------------------------------------------------------------------------------


def _hear(wishes: list[Wish], event: Utterance, asked: str, tools: Mapping[str, ToolSpec]) -> list[Wish]:
    new = [_carry_over(one, wishes, asked, tools) for one in read_wishes(event.text, tools)]
    wishes = _drop_denied(wishes, event.text, tools)
    if new:
        wishes = _supersede(wishes, new, asked, adds=adds_to(event.text))
        for one in new:
            wishes = _add(wishes, replace(one, touched=event.index))
        return wishes
    at_hand = _find_at_hand(wishes, asked)
    if at_hand is None:
        return wishes
    wish, about_it = wishes[at_hand], _is_about(wishes[at_hand], asked)
    values = {wish.tool, *map(str, wish.arguments.values())}
    answer = classify(event.text, values=values)
    if answer == "deny" and about_it:
        return _put(wishes, at_hand, replace(wish, state="dropped"))
    if answer == "confirm":
        return _put(wishes, at_hand, replace(wish, touched=event.index))
    answers = "?" not in event.text and len(event.text.split()) <= _SHORT
    told = leave_out_denied(event.text)
    if answers and (listed := _read_list(wish, told, tools[wish.tool])):
        first, *rest = (replace(one, touched=event.index) for one in listed)
        return [*_put(wishes, at_hand, first), *rest]
    given = read_answer(tools[wish.tool], told, wish.arguments, replaces=about_it) if answers else None
    if not given:
        # Asked about it, the user said something else: it is no longer certain that they want it.
        withdrawn = about_it and wish.arguments and not leaves_open(event.text, LANGUAGES[0], values)
        return _put(wishes, at_hand, replace(wish, state="dropped")) if withdrawn else wishes
    return _put(wishes, at_hand, replace(wish, arguments={**wish.arguments, **given}, touched=event.index))


def _read_list(wish: Wish, told: str, spec: ToolSpec) -> list[Wish]:
    """The answer names several of what was asked for: "12344 and 12345"."""
    found = find_values(spec, told, "")
    several = {name: values for name, values in found.items() if len(values) > 1 and name not in wish.arguments}
    return _spread(wish, several) if len(several) == 1 else []


def _carry_over(wish: Wish, wishes: Sequence[Wish], asked: str, tools: Mapping[str, ToolSpec]) -> Wish:
    """ "Don't cancel it, send it to …": what it should be done to is what was being asked about."""
    at = _find_at_hand(wishes, asked)
    if at is None or wishes[at].tool == wish.tool or not _is_about(wishes[at], asked):
        return wish
    spec, said = tools[wish.tool], wishes[at].arguments
    same = {name: said[name] for name in spec.required if name in said and name not in wish.arguments}
    return replace(wish, arguments={**same, **wish.arguments})


def _find_at_hand(wishes: Sequence[Wish], asked: str) -> int | None:
    """The open wish that our last words were about; else the first one."""
    open_ones = [at for at, one in enumerate(wishes) if one.state == "open"]
    named = [at for at in open_ones if wishes[at].arguments and _is_about(wishes[at], asked)]
    return next(iter((*named[-1:], *open_ones)), None)


def _is_about(wish: Wish, asked: str) -> bool:
    if "?" not in asked:
        return False
    return not wish.arguments or any(str(value) in asked for value in wish.arguments.values())


def _add(wishes: list[Wish], new: Wish) -> list[Wish]:
    """A wish that was said before is the same one; one that was fulfilled is not had twice."""
    for at, one in enumerate(wishes):
        if one.tool != new.tool or one.state == "dropped":
            continue
        shared = one.arguments.keys() & new.arguments.keys()
        same = all(one.arguments[name] == new.arguments[name] for name in shared)
        if one.state == "fulfilled" and same and shared:
            return wishes
        if one.state != "fulfilled" and same:
            return _put(wishes, at, replace(new, arguments={**one.arguments, **new.arguments}))
    return [*wishes, new]


def _supersede(wishes: list[Wish], new: Sequence[Wish], asked: str, *, adds: bool) -> list[Wish]:
    """Whoever answers a question about one thing by wishing another has moved on, unless they say that it is one
    more. The same of another is always instead."""
    tools = {one.tool for one in new}
    return [
        replace(one, state="dropped")
        if one.state == "open"
        and (one.tool in tools or not adds)
        and one.arguments
        and _is_about(one, asked)
        and all((one.tool, one.arguments) != (other.tool, other.arguments) for other in new)
        else one
        for one in wishes
    ]


def _drop_denied(wishes: list[Wish], text: str, tools: Mapping[str, ToolSpec]) -> list[Wish]:
    denied = _read_message(text, tools).denied
    if not denied:
        return wishes
    return [replace(one, state="dropped") if one.tool in denied and one.state == "open" else one for one in wishes]


def _note_call(wishes: list[Wish], event: PastCall) -> list[Wish]:
    """A call of the tool ends the wish that it was made for: the one with its values, else the last one said."""
    own = [at for at, one in enumerate(wishes) if one.tool == event.call.tool and one.state == "open"]
    if not own:
        return wishes
    ran = event.call.arguments
    exact = [at for at in own if all(ran.get(name) == value for name, value in wishes[at].arguments.items())]
    at = exact[0] if exact else max(own, key=lambda one: wishes[one].touched)
    return _put(wishes, at, replace(wishes[at], state="fulfilled" if event.ok else "refused"))


def _put(wishes: Sequence[Wish], at: int, one: Wish) -> list[Wish]:
    return [*wishes[:at], one, *wishes[at + 1 :]]
