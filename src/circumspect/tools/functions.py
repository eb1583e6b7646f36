"""tool: a Python function -> a `FunctionTool`.

The JSON schema comes from the signature and the docstring. The arguments of a call were checked against it before they
arrive here; they are converted to the types that the function asks for. The tool can still be called like the function
it was made of. An effect that nobody declares stays undeclared, and a policy then refuses the tool until it covers it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import string
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, get_args, overload

from circumspect.errors import ConfigError, ToolError, ToolTimeout
from circumspect.tools.signatures import IdempotencyKey, Signature, signature_of
from circumspect.tools.tool_errors import brief, failure
from circumspect.tools.tool_threads import carry_out, find_threads
from circumspect.values import LANGUAGES, Effect, Json, JsonObject, Recovery, ToolSpec

__all__ = ["FunctionTool", "IdempotencyKey", "tool"]

GRACE = 1.0
"""Seconds that a function has to clean up after its time is over."""
MAX_BYTES = 2_000_000
"""The longest result, as JSON. It is stored and may be shown to a model; what comes over HTTP may be no longer."""
FREE_THREAD_SECONDS = 5.0
"""How long a plain function waits for a thread; half of its time if that is less, so that it has time to run."""

P = ParamSpec("P")
R = TypeVar("R")
Lookup = Callable[[str, Mapping[str, Json]], Any]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the providers accept as the name of a function."""


class FunctionTool(Generic[P, R]):
    """A function as a tool. Made by `@tool`."""

    def __init__(
        self,
        function: Callable[P, R],
        spec: ToolSpec,
        signature: Signature,
        configured: Callable[[], bool] | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        self._function = function
        self._signature = signature
        self._configured = configured
        self._lookup = lookup
        self._ready = spec
        self._unready = replace(spec, configured=False)
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self._ready.signature}>"

    @property
    def spec(self) -> ToolSpec:
        if self._configured is None:
            return self._ready
        try:
            return self._ready if self._configured() else self._unready
        except BaseException:
            return self._unready

    async def call(self, arguments: JsonObject, key: str) -> Json:
        """Run the function and return its result as JSON, or raise `ToolError` or `ToolTimeout`."""
        values = self._signature.convert(arguments)
        values.update(dict.fromkeys(self._signature.keys, IdempotencyKey(key)))
        return self._as_json(await self._run(partial(self._function, **values)))

    async def lookup(self, arguments: JsonObject, key: str) -> Json | None:
        """Ask the tool's own `lookup(key, arguments)` whether the call happened: its result, or None."""
        if self._lookup is None:
            raise ToolError(f"{self._ready.name} cannot be looked up.", fix="Give it one: @tool(lookup=...).")
        return self._as_json(await self._run(partial(self._lookup, key, arguments)))

    async def _run(self, function: Callable[[], Any]) -> Any:
        name, seconds = self._ready.name, self._ready.timeout
        running = asyncio.create_task(_call_function(function, name, min(FREE_THREAD_SECONDS, seconds / 2)))
        try:
            await asyncio.wait({running}, timeout=seconds)
            in_time = running.done()
        finally:
            if not running.done():
                # Not for ever: a function that catches its cancellation would keep the user waiting.
                running.cancel()
                await asyncio.wait({running}, timeout=GRACE)
        if not in_time or running.cancelled():
            raise ToolTimeout(f"{name} did not answer within {seconds:g} s." if not in_time else f"{name} broke off.")
        ended = running.result()
        if isinstance(ended, _Raised):
            raise failure(name, ended.error) from ended.error
        return ended

    def _as_json(self, result: Any) -> Json:
        import orjson
        from pydantic_core import to_jsonable_python

        name = self._ready.name
        too_long = f"{name} returned more than {MAX_BYTES / 1e6:g} MB, which is not read: ask for less at once."
        if _is_surely_longer(result, MAX_BYTES):
            raise self._to_unreadable(too_long, fix="Let the tool return a part, a page or a summary.")
        try:
            packed = orjson.dumps(to_jsonable_python(result, fallback=_mapping))
        except Exception as error:
            raise self._to_unreadable(
                f"{name} returned a {type(result).__name__} that JSON cannot carry ({brief(error)}).",
                fix="Return a dict, a list, text, a number, a dataclass or a pydantic model.",
            ) from error
        if len(packed) > MAX_BYTES:
            raise self._to_unreadable(too_long, fix="Let the tool return a part, a page or a summary.")
        plain: Json = orjson.loads(packed)
        return plain

    def _to_unreadable(self, problem: str, fix: str) -> ToolError:
        """The function has run. To report a mere failure would tell everyone that nothing happened."""
        kind = ToolError if self._ready.effect == "read" else ToolTimeout
        return kind(problem, fix=fix)


def _is_surely_longer(value: Any, most: int) -> bool:
    """Whether the JSON of it must have more bytes than that. Found out before any is made: making it holds up everyone,
    for seconds where a list has a million entries."""
    found, left = 0, [value]
    while left:
        one = left.pop()
        kind, inside = type(one), ()
        if kind is dict:
            found, inside = found + len('"":0,') * len(one), one.values()
        elif kind is list or kind is tuple:
            found, inside = found + len("0,") * len(one), one
        elif kind is str or kind is bytes:
            found += len(one)
        if found > most:
            return True
        left += inside
    return False


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"unknown type {type(value).__name__}")


@dataclass(frozen=True)
class _Raised:
    error: BaseException


async def _call_function(function: Callable[[], Any], name: str, patience: float) -> Any:
    """What it returned or raised. A SystemExit or KeyboardInterrupt that left its task would end the whole process."""
    try:
        if inspect.iscoroutinefunction(function.func if isinstance(function, partial) else function):
            return await function()
        result = await _call_in_thread(function, name, patience)
        return await result if inspect.isawaitable(result) else result
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        return _Raised(error)


async def _call_in_thread(function: Callable[[], Any], name: str, patience: float) -> Any:
    """Raises `ToolError` when no thread gets free in time: it has not been called then, and will not be."""
    try:
        submitted = find_threads().submit(partial(contextvars.copy_context().run, carry_out, function))
    except RuntimeError as error:
        raise ToolError(f"{name} was not called: no thread can be started ({brief(error)}).") from error
    ending = asyncio.wrap_future(submitted)
    try:
        await asyncio.wait({ending}, timeout=patience)
        if not ending.done() and submitted.cancel():
            raise ToolError(
                f"{name} was not called: every thread for tools is taken by a call that does not return.",
                fix="Find out which tool hangs, and give it time limits of its own.",
            )
        return await ending
    finally:
        submitted.cancel()
        ending.cancel()


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    effect: Effect | None = None,
    recovery: Recovery | None = None,
    timeout: float = 30.0,
    phrases: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    open_world: bool = False,
    configured: bool | Callable[[], bool] = True,
    name: str | None = None,
    description: str | None = None,
    lookup: Lookup | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of a function, sync or async: `@tool` or `@tool(effect="write", …)`.

    Args:
        effect: what a call does to the world: "read", "write" or "destructive". Left out, it is undeclared.
        recovery: what may be done about a call that was interrupted. "keyed": run it again, the function honours the
            idempotency key, which it takes as a parameter annotated `IdempotencyKey`. "local_tx": run it again, it
            writes into our own database. "lookup": ask `lookup`. "blind" (the default): nothing, a person is told.
        timeout: seconds until a call counts as unanswered. A sync function keeps running in its thread.
        phrases: how to say the call to a person, by language, with parameters in braces.
        titles: what the tool does, by language, with no values: "cancel an order".
        open_world: results may hold text by strangers (web pages, e-mails, reviews).
        configured: whether the integration is set up; a callable is asked in every turn, and False if it fails.
        name: the tool's name, if not the function's.
        description: what the model reads, if not the docstring.
        lookup: `lookup(key, arguments)` returns the result of the call with that key, or None.
    """
    scope = sys._getframe(1).f_locals
    if function is not None:
        return _make_tool(function, scope)
    return lambda decorated: _make_tool(decorated, scope, **options)


def _make_tool(
    function: Callable[..., Any],
    scope: Mapping[str, Any],
    *,
    effect: Effect | None = None,
    recovery: Recovery | None = None,
    timeout: float = 30.0,
    phrases: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    open_world: bool = False,
    configured: bool | Callable[[], bool] = True,
    name: str | None = None,
    description: str | None = None,
    lookup: Lookup | None = None,
) -> FunctionTool[..., Any]:
    signature = signature_of(function, scope)
    spec = ToolSpec(
        name=name or str(getattr(function, "__name__", "")),
        description=signature.description if description is None else description,
        parameters=signature.parameters,
        effect=effect,
        recovery=recovery or ("lookup" if lookup else "blind"),
        timeout=timeout,
        configured=True if callable(configured) else configured,
        open_world=open_world,
        phrases=dict(phrases or {}),
        titles=dict(titles or {}),
    )
    _check(spec, signature, lookup)
    return FunctionTool(function, spec, signature, configured if callable(configured) else None, lookup)


def _check(spec: ToolSpec, signature: Signature, lookup: Lookup | None) -> None:
    if not _NAME.fullmatch(spec.name):
        raise ConfigError(
            f"'{spec.name}' cannot be the name of a tool.",
            fix="Use 1 to 64 letters, digits, '_' and '-', for example @tool(name='cancel_order').",
        )
    if spec.effect not in (None, *get_args(Effect)):
        raise ConfigError(
            f"{spec.name}: there is no effect '{spec.effect}'.", fix="Use 'read', 'write' or 'destructive'."
        )
    if spec.recovery not in get_args(Recovery):
        raise ConfigError(
            f"{spec.name}: there is no recovery '{spec.recovery}'.",
            fix="Use 'keyed', 'local_tx', 'lookup' or 'blind'.",
        )
    if not isinstance(spec.timeout, int | float) or not spec.timeout > 0:
        raise ConfigError(f"{spec.name}: the timeout is {spec.timeout!r} s.", fix="Give a number of seconds above 0.")
    if spec.recovery == "keyed" and not signature.keys:
        raise ConfigError(
            f"{spec.name} promises to honour an idempotency key and takes none.",
            fix="Add a parameter `key: IdempotencyKey` and pass it on, or declare another recovery.",
        )
    if (spec.recovery == "lookup") != (lookup is not None):
        raise ConfigError(
            f"{spec.name}: recovery is '{spec.recovery}' and lookup is {'given' if lookup else 'missing'}.",
            fix="Give lookup=... together with recovery='lookup', or neither.",
        )
    for language, phrase in spec.phrases.items():
        _check_phrase(spec, language, phrase)


def _check_phrase(spec: ToolSpec, language: str, phrase: str) -> None:
    if language not in LANGUAGES:
        raise ConfigError(
            f"{spec.name}: there is no language '{language}' for a phrase.", fix=f"Use {', '.join(LANGUAGES)}."
        )
    try:
        named = {field for _, field, _, _ in string.Formatter().parse(phrase) if field is not None}
    except ValueError as error:
        raise ConfigError(f"{spec.name}: the {language} phrase is broken: {error}.", fix="Write {parameter}.") from None
    if strange := sorted(named - spec.properties.keys()):
        raise ConfigError(
            f"{spec.name}: the {language} phrase names '{strange[0]}', which is no parameter of it.",
            fix=f"Use {', '.join(spec.properties) or 'no braces'}.",
        )
