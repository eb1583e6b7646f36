"""A loop of one's own around a model: one call in, the text of its result out, ruled on in between."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import as_json, as_text, settle, waits_for_user
from circumspect.errors import CircumspectError, ConfigError

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.values import Json

Functions = Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]]
AskPerson = Callable[["Ruling"], "Awaitable[str | bool] | str | bool"]
"""Puts `ruling.ask_user` to somebody and returns their words, or true or false."""


@dataclass(frozen=True)
class CallOutcome:
    """What the model is told about one call. `failed`: it was held, or the function raised."""

    text: str
    failed: bool = False


async def run_call(
    gate: Gate,
    call: Mapping[str, Any],
    *,
    messages: Sequence[Mapping[str, Any]],
    functions: Functions,
    conversation: str,
    person: str | None = None,
    ask: AskPerson | None = None,
) -> CallOutcome:
    """Rules on the call and runs it where it may run; asks first where it needs a yes and there is somebody to ask.

    Without `ask` the model is told what to ask, and the user's next message counts.
    """
    teach(gate, functions)
    ruling = await gate.rule(dict(call), messages=list(messages), conversation=conversation, person=person)
    if ask is not None and waits_for_user(ruling):
        ruling = await put_question(gate, ruling, ask, person)
    if ruling.verdict != "allow":
        return CallOutcome(ruling.tell_model, failed=True)
    function = find_function(functions, ruling.call.tool)
    raised: list[Exception] = []

    async def run_function(**arguments: Json) -> Json:
        try:
            result = function(**arguments)
            return as_json(await result if inspect.isawaitable(result) else result)
        except Exception as error:
            raised.append(error)
            raise

    try:
        return CallOutcome(as_text(await gate.run(ruling, run_function)))
    except Exception:
        # What the function says is for the model; a gate that cannot do its work is for whoever runs the loop.
        if not raised:
            raise
        return CallOutcome(f"{type(raised[0]).__name__}: {raised[0]}", failed=True)


def teach(gate: Gate, functions: Functions) -> None:
    """What the functions' signatures say. One that takes anything says nothing."""
    from circumspect.tools import tool

    known = functions if isinstance(functions, Mapping) else {one.__name__: one for one in functions}
    for name, function in known.items():
        if name not in gate.described:
            kinds = [one.kind for one in inspect.signature(function).parameters.values()] if callable(function) else []
            if any(kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL) for kind in kinds):
                continue
            try:
                spec = tool(function).spec
            except (CircumspectError, TypeError, ValueError):
                continue
            gate.learn(name, spec.parameters, spec.description)


async def put_question(gate: Gate, ruling: Ruling, ask: AskPerson, person: str | None) -> Ruling:
    """The ruling after somebody answered."""
    answer = ask(ruling)
    return await settle(gate, ruling, await answer if inspect.isawaitable(answer) else answer, person=person)


def find_function(functions: Functions, name: str) -> Callable[..., Any]:
    known = functions if isinstance(functions, Mapping) else {one.__name__: one for one in functions}
    if name not in known:
        raise ConfigError(f"The policy lets '{name}' run, and there is no such function.", fix="Add it to functions=….")
    return known[name]
