"""A call that was held, and the policy in force -> the texts that would let the next one through, or always hold it.

Each is the text in force with one change. What code holds whatever a file says (an id that nobody said, an irreversible
call without a yes) no text can let through, and then there is no proposal to do so. A proposal that the file's own
checks refuse is not made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from circumspect.policy.diff import changes
from circumspect.policy.edit import add, put, rename
from circumspect.policy.keys.findings import Place
from circumspect.policy.keys.meaning import PolicyDifference
from circumspect.policy.keys.tool_policy import ToolPolicy, effect_of
from circumspect.policy.load import check
from circumspect.policy.policy_file import Policy
from circumspect.policy.rule_lines import LineFinder
from circumspect.values import Json, TenantId, ToolCall, ToolSpec

Aim = Literal["let_through", "hold"]
AmendmentKind = Literal[
    "switch_on", "ask_user", "never_ask", "except_this", "one_more", "any_source",
    "always_ask", "four_eyes", "four_eyes_from", "four_eyes_for", "deny_from", "deny_for",
]  # fmt: skip
MOST_VALUES = 3
_ID = re.compile(r"\d|@")
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class HeldCall:
    """What is known of the call: the rule that had the last word, what it said, and the values that it asked for."""

    call: ToolCall
    rule: str
    because: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Amendment:
    """One change, and what it means in words."""

    aim: Aim
    kind: AmendmentKind
    about: str
    """The value or the condition that it is about; empty when it is about every call of the tool."""
    text: str
    changes: tuple[PolicyDifference, ...]

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.about}" if self.about else self.kind


def propose(
    text: str,
    held: HeldCall,
    tenant: TenantId,
    specs: Mapping[str, ToolSpec],
    seen: Collection[str] = frozenset(),
) -> tuple[Amendment, ...]:
    """What can be done about calls like this one; first what would let it through."""
    policy, findings = check(text, specs=specs, seen=seen)
    if policy is None or any(one.level == "error" for one in findings):
        return ()
    made: list[Amendment] = []
    for aim, kind, about, amended in _Proposals(text, policy, held, tenant, specs).list():
        after, found = check(amended, specs=specs, seen=seen)
        if after is None or any(one.level == "error" for one in found):
            continue
        if differs := tuple(changes(policy, after)):
            made.append(Amendment(aim, kind, about, amended, differs))
    return tuple(made)


_Proposal = tuple[Aim, AmendmentKind, str, str]


class _Proposals:
    def __init__(
        self, text: str, policy: Policy, held: HeldCall, tenant: TenantId, specs: Mapping[str, ToolSpec]
    ) -> None:
        self.text, self.held = text, held
        self.tool = held.call.tool
        self.section = policy.of(self.tool, tenant) or ToolPolicy()
        self.effect = effect_of(specs.get(self.tool), self.section)
        sections = LineFinder(text, policy).sections(self.tool, tenant)
        self.home: Place = sections[0] if sections else ("tools", self.tool)
        self.places = sections
        self.policy = policy

    def list(self) -> Iterator[_Proposal]:
        yield from self._let_through()
        if self.effect != "read" and not self.section.deny:
            yield from self._hold()

    def _let_through(self) -> Iterator[_Proposal]:
        rule, confirm = self.held.rule, self.section.confirm
        if rule == "the_policy_leaves_the_tool_on" and (place := self._written("deny")):
            yield "let_through", "switch_on", "", rename(self.text, place, "confirm", "always")
        elif rule == "a_colleague_approved" and (place := self._written("confirm")):
            yield "let_through", "ask_user", "", put(self.text, place, "always")
        elif rule in ("a_wish_is_not_a_command", "a_change_is_not_guessed") or (
            rule == "asked_for_confirmations_are_given" and confirm == "always"
        ):
            place = self._written("confirm") or (*self.home, "confirm")
            yield "let_through", "never_ask", "", put(self.text, place, "never")
        elif rule in ("special_calls_are_approved", "special_calls_are_confirmed", "its_conditions_hold"):
            yield from self._except_this()
        elif rule == "limits_are_kept":
            yield from self._raise_limits()
        elif rule in ("every_value_has_a_source", "nothing_goes_where_strangers_say"):
            for name in self.held.missing:
                place = (*(self._written("params") or (*self.home, "params")), name, "source")
                yield "let_through", "any_source", name, put(self.text, place, "any")

    def _except_this(self) -> Iterator[_Proposal]:
        """The condition that spoke goes on holding, but not for a call with these values."""
        this = " && ".join(f"args.{name} == {_literal(value)}" for name, value in self._values())
        if not this:
            return
        wanted = {"special_calls_are_approved": ("four_eyes",), "special_calls_are_confirmed": ("confirm",)}
        thens = wanted.get(self.held.rule, ("deny",))
        if place := self._written("when"):
            for at, one in enumerate(self.section.when):
                if one.then in thens and (one.then != "deny" or one.because in self.held.because):
                    text = put(self.text, (*place, at, "if"), f"({one.condition}) && !({this})")
                    yield "let_through", "except_this", one.because, text
        if self.held.rule == "its_conditions_hold" and (place := self._written("deny_unless")):
            for at, denied in enumerate(self.section.deny_unless):
                if denied.because in self.held.because:
                    text = put(self.text, (*place, at, "if"), f"({denied.condition}) || ({this})")
                    yield "let_through", "except_this", denied.because, text

    def _raise_limits(self) -> Iterator[_Proposal]:
        if not (place := self._written("limits")):
            return
        for at, one in enumerate(self.section.limits):
            if one.count is not None:
                yield (
                    "let_through",
                    "one_more",
                    str(one.count + 1),
                    put(self.text, (*place, at, "count"), one.count + 1),
                )
            given = self.held.call.arguments.get(one.sum or "")
            if one.at_most is not None and isinstance(given, int | float) and given > 0:
                most = one.at_most + given
                yield "let_through", "one_more", f"{most:g}", put(self.text, (*place, at, "at_most"), most)

    def _hold(self) -> Iterator[_Proposal]:
        confirm = self.section.confirm
        place = self._written("confirm") or (*self.home, "confirm")
        if confirm not in ("always", "four_eyes") and self.effect != "destructive":
            yield "hold", "always_ask", "", put(self.text, place, "always")
        if confirm != "four_eyes":
            yield "hold", "four_eyes", "", put(self.text, place, "four_eyes")
        listed = self._written("when") or (*self.home, "when")
        for name, value in list(self._kinds())[:MOST_VALUES]:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            condition = f"args.{name} {'>=' if number else '=='} {_literal(value)}"
            about = f"{name} {'≥' if number else '='} {value}"
            if confirm != "four_eyes":
                item: dict[str, Json] = {
                    "if": condition,
                    "then": "four_eyes",
                    "because": f"A colleague looks at calls with {about}.",
                }
                yield "hold", "four_eyes_from" if number else "four_eyes_for", about, add(self.text, listed, item)
            item = {"if": condition, "then": "deny", "because": f"Calls with {about} are not made here."}
            yield "hold", "deny_from" if number else "deny_for", about, add(self.text, listed, item)

    def _written(self, key: str) -> Place | None:
        return next(((*place, key) for place in self.places if self._has(place, key)), None)

    def _has(self, place: Place, key: str) -> bool:
        section = self.policy.sections.get(place)
        return section is not None and key in section.model_fields_set

    def _kinds(self) -> Iterator[tuple[str, Any]]:
        """Values that other calls have as well: amounts and choices, no numbers of orders."""
        return ((name, value) for name, value in self._values() if not (isinstance(value, str) and _ID.search(value)))

    def _values(self) -> Iterator[tuple[str, Any]]:
        """Values that a condition can name."""
        for name, value in self.held.call.arguments.items():
            if isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= LONGEST_VALUE):
                yield name, value


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value)
