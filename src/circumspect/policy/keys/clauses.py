"""The parts that a tool's section is made of: sources of values, requirements, conditions, postconditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from circumspect.policy.keys.checks import check_parameter, check_tool
from circumspect.policy.keys.findings import LintRemark, Place
from circumspect.policy.keys.meaning import (
    ClauseKey,
    Direction,
    Formula,
    LintedSection,
    PolicyKey,
    PolicySection,
    RankedValues,
    call_it_harmless,
    look_at_it,
    stay_short,
)

ArgumentSource = Literal["user", "trusted", "any"]
Consequence = Literal["confirm", "ask", "four_eyes", "escalate", "deny"]
Expression = Annotated[str, Field(min_length=1, max_length=4000)]
ReasonSentence = Annotated[str, Field(min_length=1, max_length=1000)]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])]


_SOURCES: Mapping[ArgumentSource, str] = {
    "user": "must be in the user's own words",
    "trusted": "must be in the user's words or in the result of a trusted tool",
    "any": "may come from anywhere",
}


class ParameterPolicy(PolicySection):
    source: Annotated[
        ArgumentSource | None,
        PolicyKey(
            explain=lambda source, call: (f"'{call.parameter}' {_SOURCES[source]}.",) if source else (),
            compare=RankedValues(
                {"any": 0, "trusted": 1, "user": 2}, "where '{name}' may come from: {before} → {after}"
            ),
        ),
    ] = None
    """Where a value must come from: the user's own words, those or a trusted tool's result, or anywhere."""


# --- requirements ---------------------------------------------------------------------------------------------------


def _lint_required_call(one: Requirement, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for name in one.call:
        yield from check_tool(at, name, about.book)
        other = about.book.policy.general(name)
        if name == about.tool:
            yield LintRemark("error", at, f"'{name}' requires itself", "It could never be called the first time.")
        if other and other.deny:
            yield LintRemark("error", at, f"'{name}' is switched off", "It can never have been called.")


def _lint_shared_parameters(one: Requirement, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for parameter in one.same:
        for tool in (about.tool, *one.call):
            yield from check_parameter((*at, "same"), parameter, about.book.spec(tool))


def _say_shared_parameters(one: Requirement, _tool: str = "") -> str:
    return f" with the same {' and '.join(one.same)}" if one.same else ""


class Requirement(PolicySection):
    call: Annotated[
        Names,
        Field(min_length=1),
        ClauseKey(
            explain=lambda one, _: f"Before it, {' or '.join(one.call)} must have succeeded",
            describe=lambda one: f"requires an earlier {' or '.join(one.call)}",
            compare=look_at_it,
            lint=_lint_required_call,
        ),
    ]
    """A tool that must have succeeded earlier in the conversation; of several, one is enough."""
    same: Annotated[
        Names,
        ClauseKey(
            explain=_say_shared_parameters,
            describe=_say_shared_parameters,
            compare=look_at_it,
            lint=_lint_shared_parameters,
        ),
    ] = ()
    """Only a call with the same value of these parameters counts."""
    where: Annotated[
        Expression | None,
        ClauseKey(
            explain=lambda one, _: f", where {one.where}" if one.where else "",
            describe=lambda one: f" where {one.where}" if one.where else "",
            compare=look_at_it,
            formula=Formula(also="call"),
        ),
    ] = None
    """Only a call of which this holds counts: `call.args.id == args.order_id`. Also `call.result`."""
    because: Annotated[
        ReasonSentence | None,
        ClauseKey(
            explain=lambda one, _: f". {one.because}" if one.because else ".",
            describe=stay_short,
            compare=look_at_it,
        ),
    ] = None
    """What the model is told when it is missing; without it, to call the tool first."""


# --- conditions -----------------------------------------------------------------------------------------------------

_THE_REASON = ClauseKey(
    explain=lambda one, _: f". {one.because}",
    describe=lambda one: f" ({one.because})",
    compare=call_it_harmless,
)


class Precondition(PolicySection):
    condition: Annotated[
        Expression,
        ClauseKey(
            explain=lambda one, _: f"It is denied unless {one.condition}",
            describe=lambda one: f"denied unless {one.condition}",
            compare=look_at_it,
            formula=Formula(),
        ),
    ] = Field(alias="if")
    """The call is denied unless this holds."""
    because: Annotated[ReasonSentence, _THE_REASON]
    """Why, in one sentence. The model is told, so that it can do better."""


_CONSEQUENCES: Mapping[Consequence, str] = {
    "confirm": "the user is asked to confirm",
    "ask": "the user is asked",
    "four_eyes": "a colleague must approve it",
    "escalate": "the conversation is handed to a person",
    "deny": "it is denied",
}
_SEVERITY: Mapping[Consequence, int] = {"confirm": 1, "ask": 2, "four_eyes": 2, "escalate": 3, "deny": 4}


def _compare_consequences(old: Reaction, new: Reaction) -> Direction:
    before, after = _SEVERITY[old.then], _SEVERITY[new.then]
    if old.condition != new.condition or before == after:
        return "look at it"
    return "loosened" if after < before else "tightened"


class Reaction(PolicySection):
    condition: Annotated[
        Expression,
        ClauseKey(
            explain=lambda one, _: f"When {one.condition}",
            describe=lambda one: f"{one.then} when {one.condition}",
            compare=look_at_it,
            formula=Formula(),
        ),
    ] = Field(alias="if")
    """When this holds, `then` happens."""
    then: Annotated[
        Consequence,
        ClauseKey(
            explain=lambda one, _: f", {_CONSEQUENCES[one.then]}",
            describe=stay_short,
            compare=_compare_consequences,
        ),
    ]
    """Have it confirmed, ask the user, have a colleague approve it (four_eyes), hand over (escalate), or deny."""
    because: Annotated[ReasonSentence, _THE_REASON]
    """Why, in one sentence."""


def is_rewritten_condition(old: Precondition | Reaction, new: Precondition | Reaction) -> bool:
    """Is it the same statement, under the same condition or for the same reason?"""
    return old.condition == new.condition or old.because == new.because


# --- postconditions and facts ---------------------------------------------------------------------------------------


def _lint_look(one: Verify | WholeValue, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    yield from check_tool((*at, "call"), one.call, about.book)
    if about.book.effect(one.call) in ("write", "destructive"):
        yield LintRemark("error", (*at, "call"), f"'{one.call}' changes something", "Name a tool that reads.")


def _lint_look_arguments(one: Verify | WholeValue, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    spec = about.book.spec(one.call)
    for name in one.args:
        yield from check_parameter((*at, "args", name), name, spec)
    for name in sorted(spec.required - one.args.keys()) if spec else ():
        yield LintRemark("error", (*at, "args"), f"'{one.call}' needs '{name}'", "Add it to args.")


def _make_arguments_key(compare: Callable[[Any, Any], Direction]) -> ClauseKey:
    return ClauseKey(
        explain=stay_short,
        describe=stay_short,
        compare=compare,
        lint=_lint_look_arguments,
        formula=Formula("value"),
    )


class Verify(PolicySection):
    call: Annotated[
        str,
        ClauseKey(
            explain=lambda one, _: f"Afterwards {one.call} is called",
            describe=stay_short,
            compare=look_at_it,
            lint=_lint_look,
        ),
    ]
    """A read tool that shows whether the call had its effect."""
    args: Annotated[Mapping[str, Expression], _make_arguments_key(look_at_it)] = Field(default_factory=dict)
    """Its arguments, each an expression over the call that ran: `{order_id: args.order_id}`."""
    expect: Annotated[
        Expression,
        ClauseKey(
            explain=lambda one, _: f", and must show: {one.expect}.",
            describe=stay_short,
            compare=look_at_it,
            formula=Formula(also="result"),
        ),
    ]
    """What must hold of its `result`: `result.status == 'cancelled'`."""


def _lint_whole_parameter(one: WholeValue, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    yield from check_parameter((*at, "param"), one.param, about.spec)
    if about.spec and one.param in about.spec.required:
        problem = f"'{one.param}' is required, and never left open"
        yield LintRemark("warning", (*at, "param"), problem, "Leave `whole` out.")


class WholeValue(PolicySection):
    param: Annotated[
        str,
        ClauseKey(
            explain=lambda one, _: f"Where no {one.param} is given, the question says what the whole is",
            describe=stay_short,
            compare=call_it_harmless,
            lint=_lint_whole_parameter,
        ),
    ]
    """The parameter that means everything there is where it is left open."""
    call: Annotated[
        str,
        ClauseKey(
            explain=lambda one, _: f" ({one.call} is called for it).",
            describe=stay_short,
            compare=call_it_harmless,
            lint=_lint_look,
        ),
    ]
    """A read tool that tells how much that is."""
    args: Annotated[Mapping[str, Expression], _make_arguments_key(call_it_harmless)] = Field(default_factory=dict)
    """Its arguments, each an expression over the proposed call: `{order_id: args.order_id}`."""
    value: Annotated[
        Expression,
        ClauseKey(
            explain=stay_short,
            describe=stay_short,
            compare=call_it_harmless,
            formula=Formula("value", also="result"),
        ),
    ]
    """What people read, of its `result`: `'%.2f %s'.format([result.total, result.currency])`."""


def _lint_fact_key(one: FactSource, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for tool in (about.tool, *one.updated_by) if one.key else ():
        yield from check_parameter(at, one.key or "", about.book.spec(tool))
    if one.key is None and not one.updated_by:
        yield LintRemark("warning", at, "this says nothing", "Give it a key, or leave it out.")


def _lint_updates(one: FactSource, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for name in one.updated_by:
        yield from check_tool(at, name, about.book)
    if one.updated_by and not one.key:
        yield LintRemark("error", at, "'updated_by' needs a 'key'", "Name the parameter that both tools share.")


class FactSource(PolicySection):
    key: Annotated[
        str | None, ClauseKey(explain=stay_short, describe=stay_short, compare=look_at_it, lint=_lint_fact_key)
    ] = None
    """The parameter by whose value results are kept. Else the only argument, or the only one that ends in `id`."""
    updated_by: Annotated[
        Names, ClauseKey(explain=stay_short, describe=stay_short, compare=look_at_it, lint=_lint_updates)
    ] = ()
    """Tools whose results are newer versions of the same thing, under the same parameter."""
