"""A limit on the calls of a tool: how often, or how much, within which time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Literal, cast

from pydantic import Field

from circumspect.policy.keys.checks import check_parameter, check_tool
from circumspect.policy.keys.clauses import Names, ReasonSentence
from circumspect.policy.keys.findings import LintRemark, Place
from circumspect.policy.keys.meaning import (
    ClauseKey,
    Direction,
    LintedSection,
    PolicySection,
    call_it_harmless,
    look_at_it,
    stay_short,
)

Window = Annotated[str, Field(pattern=r"^(turn|conversation|[1-9][0-9]{0,4}[smhdw])$")]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


Party = Literal["tenant", "person", "conversation"]
PARTIES: Mapping[str, str] = {"tenant": "of everybody", "person": "of one person", "conversation": "in a conversation"}


def party_of(limit: CallLimit) -> Party:
    """Whose calls count together: the narrowest that `per` names. Without one, everybody's in a window of time."""
    named = [one for one in ("conversation", "person") if one in limit.per]
    return cast(Party, named[0]) if named else "tenant"


def parameters_of(limit: CallLimit) -> tuple[str, ...]:
    """The parameters among `per`; `args.person` is the one of that name."""
    return tuple(name.removeprefix("args.") for name in limit.per if name not in PARTIES)


def say_window(window: str) -> str:
    """A window of time in a sentence: `within 24 hours`."""
    if window == "turn":
        return "before the user speaks again"
    if window == "conversation":
        return "in a conversation"
    number, unit = int(window[:-1]), _UNITS[window[-1]]
    return f"within {number} {unit[:-1] if number == 1 else unit}"


def length(window: str) -> timedelta | None:
    """The span of a window such as `24h`; None for a turn or a conversation."""
    return None if window in ("turn", "conversation") else timedelta(**{_UNITS[window[-1]]: int(window[:-1])})


def _explain_count(one: CallLimit, tool: str) -> str:
    if one.count is None:
        return ""
    return f"{' and '.join((tool, *one.across))}: at most {one.count} {'call' if one.count == 1 else 'calls'}"


def _explain_sum(one: CallLimit, tool: str) -> str:
    return f"{' and '.join((tool, *one.across))}: '{one.sum}' may add up to" if one.sum else ""


def _compare_numbers(name: str) -> Callable[[CallLimit, CallLimit], Direction]:
    def compare(old: CallLimit, new: CallLimit) -> Direction:
        return "loosened" if (getattr(new, name) or 0) > (getattr(old, name) or 0) else "tightened"

    return compare


def _compare_windows(old: CallLimit, new: CallLimit) -> Direction:
    before, after = length(old.window), length(new.window)
    return "loosened" if before and after and after < before else "look at it"


def _compare_shared_limits(old: CallLimit, new: CallLimit) -> Direction:
    return "loosened" if set(old.across) - set(new.across) else "look at it"


def _lint_count(one: CallLimit, at: Place, _about: LintedSection) -> Iterator[LintRemark]:
    if (one.count is None) == (one.sum is None):
        yield LintRemark("error", at, "a limit is either on the count or on a sum", "Give count, or sum with at_most.")
    elif (one.sum is None) != (one.at_most is None):
        yield LintRemark("error", at, "'sum' and 'at_most' belong together", "Give both, or a count.")


def _lint_sum(one: CallLimit, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for tool in (about.tool, *one.across):
        spec = about.book.spec(tool)
        if not one.sum or not spec:
            continue
        yield from check_parameter(at, one.sum, spec)
        if spec.properties.get(one.sum, {}).get("type", "number") not in ("number", "integer"):
            yield LintRemark("error", (*at, "sum"), f"'{one.sum}' of '{tool}' is no number", "Sum a number.")


def _lint_per(one: CallLimit, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    parties = [name for name in one.per if name in PARTIES]
    for tool in (about.tool, *one.across):
        spec = about.book.spec(tool)
        for name in parameters_of(one):
            yield from check_parameter(at, name, spec)
        for name in parties:
            if spec and name in spec.properties:
                problem = f"'per: {name}' is about who speaks, not about the parameter '{name}' of '{tool}'"
                yield LintRemark("warning", at, problem, f"Write args.{name} if the parameter is meant.")
    if len(parties) > 1:
        yield LintRemark("error", at, f"'per' names {' and '.join(parties)}", "Keep one of them.")
    elif length(one.window) is None and parties and parties != ["conversation"]:
        problem = f"within a {one.window} there is nobody else to count apart"
        yield LintRemark("error", at, problem, "Give a window of time such as 24h, or leave `per` out.")
    elif length(one.window) and not one.per:
        problem = "the calls of all people count together"
        yield LintRemark("warning", at, problem, "Say `per: person`, or `per: tenant` if that is meant.")


def _explain_per(one: CallLimit) -> str:
    same = f" for the same {' and '.join(parameters_of(one))}" if parameters_of(one) else ""
    return same + "".join(f" {PARTIES[name]}" for name in one.per if name in PARTIES)


def _lint_across(one: CallLimit, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for name in one.across:
        yield from check_tool((*at, "across"), name, about.book)


class CallLimit(PolicySection):
    count: Annotated[
        Annotated[int, Field(ge=1)] | None,
        ClauseKey(
            explain=_explain_count,
            describe=lambda one: "" if one.count is None else f"{one.count} calls",
            compare=_compare_numbers("count"),
            lint=_lint_count,
        ),
    ] = None
    """At most this many successful calls."""
    sum: Annotated[
        str | None,
        ClauseKey(
            explain=_explain_sum,
            describe=lambda one: f"sum of {one.sum}" if one.sum else "",
            compare=look_at_it,
            lint=_lint_sum,
        ),
    ] = None
    """A number parameter that is added up over successful calls; with `at_most`."""
    at_most: Annotated[
        Annotated[float, Field(gt=0)] | None,
        ClauseKey(
            explain=lambda one, _: "" if one.at_most is None else f" at most {one.at_most:g}",
            describe=lambda one: "" if one.at_most is None else f" {one.at_most:g}",
            compare=_compare_numbers("at_most"),
        ),
    ] = None
    """The most that `sum` may come to, this call included."""
    per: Annotated[
        Names,
        ClauseKey(
            explain=lambda one, _: _explain_per(one),
            describe=lambda one: f" per {', '.join(one.per)}" if one.per else "",
            compare=look_at_it,
            lint=_lint_per,
        ),
    ] = ()
    """Counted apart for each value of these parameters, or for each person or conversation; `tenant`: all together."""
    window: Annotated[
        Window,
        ClauseKey(
            explain=lambda one, _: f" {say_window(one.window)}",
            describe=lambda one: f" {say_window(one.window)}",
            compare=_compare_windows,
        ),
    ] = "conversation"
    """Since the user's last message (turn), in the conversation, or within 90m, 24h, 7d, 2w."""
    across: Annotated[
        Names,
        ClauseKey(
            explain=stay_short,
            describe=lambda one: f", together with {', '.join(one.across)}" if one.across else "",
            compare=_compare_shared_limits,
            lint=_lint_across,
        ),
    ] = ()
    """Other tools whose calls count together with this one's."""
    because: Annotated[
        ReasonSentence | None,
        ClauseKey(
            explain=lambda one, _: f". {one.because}" if one.because else ".",
            describe=stay_short,
            compare=call_it_harmless,
        ),
    ] = None
    """What the model is told; without it, which limit was reached."""
