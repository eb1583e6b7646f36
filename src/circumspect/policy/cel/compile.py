"""Checked syntax tree -> one Python closure, made once. Nothing is ever given to `eval`.

A closure takes the names and their values, and gives a value or raises `CelError`. Errors are CEL's: `||` needs only
the side that is true, `&&` only the one that is false, and the loops `all` and `exists` are chains of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from functools import partial
from typing import Any, Final, TypeAlias

from circumspect.policy.cel.standard_functions import OF_ZONE, find_runners
from circumspect.policy.cel.syntax import SyntaxNode
from circumspect.policy.cel.values import TYPE_NAMES, CelError, Meter, name_type

Environment: TypeAlias = dict[str, Any]
Evaluator: TypeAlias = Callable[[Environment], Any]
METER: Final = ""
"""Under this name, which no expression can write, the environment holds the meter."""
_TYPES: Final = {name: kind for kind, name in TYPE_NAMES.items()}


def compile_tree(node: SyntaxNode, zone: tzinfo) -> Callable[[Mapping[str, Any]], Any]:
    """What the expression comes to, by the values of its names."""
    run = _Compiler(zone).compile(node)
    return lambda values: run({**values, METER: Meter()})


class _Compiler:
    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._loops: list[str] = []

    def compile(self, node: SyntaxNode) -> Evaluator:
        match node.kind:
            case "const":
                value = node.constant
                return lambda _: value
            case "ident":
                return self._name(node.name)
            case "select":
                return _select(self.compile(node.parts[0]), node.name)
            case "has":
                return _has(self.compile(node.parts[0]), node.name)
            case "list":
                return _keep_constant(node, _list([self.compile(part) for part in node.parts]))
            case "map":
                keys, values = node.parts[::2], node.parts[1::2]
                return _keep_constant(node, _map([*map(self.compile, keys)], [*map(self.compile, values)]))
            case "loop":
                return self._loop(node)
        return self._call(node)

    def _name(self, name: str) -> Evaluator:
        known = _TYPES.get(name)

        def run(env: Environment) -> Any:
            try:
                return env[name]
            except KeyError:
                if known is not None:
                    return known
                raise CelError(f"{name} is not known") from None

        return run

    def _loop(self, node: SyntaxNode) -> Evaluator:
        over = self.compile(node.parts[0])
        self._loops.append(node.bound)
        body = [self.compile(part) for part in node.parts[1:]]
        self._loops.pop()
        match node.name:
            case "all":
                return _chain(over, node.bound, body[0], ends=False)
            case "exists":
                return _chain(over, node.bound, body[0], ends=True)
            case "exists_one":
                chosen = _collect(over, node.bound, body[0], None)
                return lambda env: len(chosen(env)) == 1
            case "filter":
                return _collect(over, node.bound, body[0], None)
        return _collect(over, node.bound, body[0] if len(body) == 2 else None, body[-1])

    def _call(self, node: SyntaxNode) -> Evaluator:
        parts = [self.compile(part) for part in node.parts]
        match node.name:
            case "_||_":
                return _either(*parts, ends=True)
            case "_&&_":
                return _either(*parts, ends=False)
            case "_?_:_":
                return _choose(*parts)
        if self._loops:
            parts = [_charge(part) for part in parts]
        if node.name == "_==_" and type(node.parts[1].constant) is str:
            left, text = parts[0], node.parts[1].constant
            return lambda env: left(env) == text  # only a text equals a text, to Python as well
        runners = find_runners(node.name, len(parts), node.member)
        if node.name == OF_ZONE and isinstance(runners, dict):
            runners = {kinds: partial(run, self._zone) for kinds, run in runners.items()}
        return _apply(node.name, runners, parts)


def _keep_constant(node: SyntaxNode, run: Evaluator) -> Evaluator:
    """A list or map that is written out is made once; nothing changes it."""
    if any(one.kind not in ("const", "list", "map") for one in node.walk()):
        return run
    made = run({})
    return lambda _: made


# --- operators -------------------------------------------------------------------------------------------------------


def _apply(name: str, runners: Any, parts: list[Evaluator]) -> Evaluator:
    if len(parts) == 2:
        first, second = parts
        if not isinstance(runners, dict):
            return lambda env: runners(first(env), second(env))

        def run_two(env: Environment) -> Any:
            one, other = first(env), second(env)
            found = runners.get((type(one), type(other)))
            if found is None:
                raise _misfit(name, one, other)
            return found(one, other)

        return run_two
    if not isinstance(runners, dict):
        return lambda env: runners(*[part(env) for part in parts])

    def run(env: Environment) -> Any:
        values = [part(env) for part in parts]
        found = runners.get(tuple(map(type, values)))
        if found is None:
            raise _misfit(name, *values)
        return found(*values)

    return run


def _misfit(name: str, *values: Any) -> CelError:
    return CelError(f"{name} cannot take {', '.join(map(name_type, values))}")


def _charge(part: Evaluator) -> Evaluator:
    """Inside a loop, what is looked at is paid for."""

    def run(env: Environment) -> Any:
        value = part(env)
        kind = type(value)
        if kind is str or kind is list or kind is dict:
            env[METER].charge(value)
        return value

    return run


def _either(left: Evaluator, right: Evaluator, *, ends: bool) -> Evaluator:
    """`||` where True ends it, `&&` where False does."""

    def run(env: Environment) -> Any:
        return _decide(((left, env), (right, env)), ends=ends)

    return run


def _decide(sides: Iterable[tuple[Evaluator, Environment]], *, ends: bool) -> Any:
    """The first side that answers `ends` decides, whatever the others would be; without one, a side that fails does."""
    problem: tuple[Any, ...] | None = None
    for side, env in sides:
        try:
            answer = side(env)
        except CelError as found:
            problem = problem or found.args
            continue
        if answer is ends:
            return ends
        if type(answer) is not bool:
            problem = problem or _misfit("||" if ends else "&&", answer).args
    if problem:
        raise CelError(*problem)
    return not ends


def _choose(condition: Evaluator, then: Evaluator, otherwise: Evaluator) -> Evaluator:
    def run(env: Environment) -> Any:
        answer = condition(env)
        if answer is True:
            return then(env)
        if answer is False:
            return otherwise(env)
        raise _misfit("?:", answer)

    return run


def _select(operand: Evaluator, name: str) -> Evaluator:
    def run(env: Environment) -> Any:
        value = operand(env)
        if type(value) is not dict:
            raise CelError(f"{name_type(value)} has no fields")
        try:
            return value[name]
        except KeyError:
            raise CelError("there is no such key", name) from None

    return run


def _has(operand: Evaluator, name: str) -> Evaluator:
    def run(env: Environment) -> bool:
        value = operand(env)
        if type(value) is not dict:
            raise CelError(f"{name_type(value)} has no fields")
        return name in value

    return run


# --- lists and maps --------------------------------------------------------------------------------------------------


def _list(parts: list[Evaluator]) -> Evaluator:
    return lambda env: [part(env) for part in parts]


def _map(keys: list[Evaluator], values: list[Evaluator]) -> Evaluator:
    def run(env: Environment) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for make_key, make_value in zip(keys, values, strict=True):
            key, value = make_key(env), make_value(env)
            if type(key) is not str and type(key) is not int:
                raise CelError(f"{name_type(key)} is no key of a map")
            if key in found:
                raise CelError("a key of a map is there twice")
            found[key] = value
        return found

    return run


# --- loops -----------------------------------------------------------------------------------------------------------


def _list_elements(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    if type(value) is dict:
        return list(value)
    raise CelError(f"{name_type(value)} cannot be gone through")


def _chain(over: Evaluator, name: str, body: Evaluator, *, ends: bool) -> Evaluator:
    """`exists` where True ends it, `all` where False does."""

    def run(env: Environment) -> Any:
        elements, inner = _list_elements(over(env)), dict(env)

        def bind() -> Iterator[tuple[Evaluator, Environment]]:
            for element in elements:
                env[METER].take_round()
                inner[name] = element
                yield body, inner

        return _decide(bind(), ends=ends)

    return run


def _collect(over: Evaluator, name: str, condition: Evaluator | None, make: Evaluator | None) -> Evaluator:
    """The elements for which the condition holds, or what is made of them."""

    def run(env: Environment) -> list[Any]:
        elements = _list_elements(over(env))
        inner, meter = dict(env), env[METER]
        found = []
        for element in elements:
            meter.take_round()
            inner[name] = element
            if condition is not None:
                answer = condition(inner)
                if answer is False:
                    continue
                if answer is not True:
                    raise _misfit("a loop", answer)
            value = element if make is None else make(inner)
            meter.charge(value)
            found.append(value)
        return found

    return run
