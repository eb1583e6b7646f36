"""Google's own CEL, as the yardstick that ours is held against. A development dependency only.

It runs in a process of its own, which is ended without ceremony: the library gives None away once too often, and a
Python that then ends in peace is aborted.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

from circumspect.policy.cel.check import check
from circumspect.policy.cel.compile import compile_tree
from circumspect.policy.cel.parse import parse
from circumspect.policy.cel.syntax import ExpressionError
from circumspect.policy.cel.values import BudgetSpentError, CelError, make_plain, read_datetime
from circumspect.policy.expressions import DECLARED

REFUSED, ERROR = "refused", "error"


@lru_cache
def _environment() -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_math, ext_strings

    kind = cel.Type
    anything, text = kind.DYN, kind.STRING
    variables = {
        "result": anything,
        **dict.fromkeys(("args", "latest", "call", "person"), kind.Map(text, anything)),
        "facts": kind.Map(text, kind.Map(anything, anything)),
        "results": kind.Map(text, kind.List(anything)),
        "calls": kind.List(kind.Map(text, anything)),
        "user": kind.List(text),
        "now": kind.TIMESTAMP,
        "tenant": text,
    }
    return cel.NewEnv(variables=variables, extensions=[ext_strings.ExtStrings(), ext_math.ExtMath()])


def ask_google(source: str, values: dict[str, Any]) -> Any:
    """The value, `REFUSED` or `ERROR`, by Google's library."""
    try:
        compiled = _environment().compile(source)
    except RuntimeError:
        return REFUSED
    try:
        answer = compiled.eval(data=values)
    except Exception:
        return ERROR
    return ERROR if answer.type().name() == "ERROR" else describe(answer.plain_value())


def ask_ours(source: str, values: dict[str, Any]) -> Any:
    """The same by our own."""
    try:
        node = parse(source)
        check(source, node, DECLARED)
    except ExpressionError:
        return REFUSED
    given = {name: read_datetime(value) if isinstance(value, datetime) else value for name, value in values.items()}
    try:
        return describe(make_plain(compile_tree(node, UTC)(given)))
    except (CelError, BudgetSpentError):
        return ERROR


def describe(value: Any) -> Any:
    """A value with its type, so that 1, 1.0 and true are told apart; a number that is none equals itself."""
    if isinstance(value, list):
        return ["list", *map(describe, value)]
    if isinstance(value, dict):
        return {"map": sorted(((describe(key), describe(item)) for key, item in value.items()), key=repr)}
    if isinstance(value, float):
        return ("float", repr(value + 0.0) if value else "0.0")
    if isinstance(value, bool | int | str | datetime) or value is None:
        return (type(value).__name__, value)
    return (str(type(value)), str(value))


class Google:
    """A process that answers for Google's library."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def ask(self, source: str, values: dict[str, Any]) -> Any:
        self._pipe.send((source, values))
        return self._pipe.recv()


def _serve(pipe: Connection) -> None:
    while True:
        pipe.send(ask_google(*pipe.recv()))


@contextmanager
def open_google() -> Iterator[Google]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Google(ours)
    finally:
        process.kill()
        process.join()
        ours.close()
