"""Points at which a worker can be made to die: found while it runs, not listed by hand.

A request that carries `X-Kill-At: n` kills its worker (SIGKILL, by itself, so that nothing can be tidied up) at the n-th
point it passes. Points are every begin and commit of every transaction, every call of a model or tool on the way in
and out, what the tool itself marks, and every piece of the answer. A write that is added tomorrow is a point tomorrow.
"""

from __future__ import annotations

import contextvars
import inspect
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

HEADER = b"x-kill-at"


@dataclass
class Plan:
    """One request's walk through its points."""

    at: int
    report: Path
    passed: int = 0

    def point(self, name: str) -> None:
        self.passed += 1
        if self.passed == self.at:
            self.report.write_text(name, "utf-8")
            os.kill(os.getpid(), signal.SIGKILL)


_plan: ContextVar[Plan | None] = ContextVar("plan", default=None)


def point(name: str) -> None:
    plan = _plan.get()
    if plan is not None:
        plan.point(name)


class Dying:
    """ASGI: the request's plan, and the points of its answer."""

    def __init__(self, app: Any, folder: Path) -> None:
        self.app, self.folder = app, folder

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        at = next((value for name, value in scope.get("headers", ()) if name == HEADER), None)
        if at is None:
            await self.app(scope, receive, send)
            return
        _plan.set(Plan(int(at), self.folder / "killed-at"))
        point("the request has come")

        async def answered(message: Any) -> None:
            point(f"before {message['type']}")
            await send(message)

        await self.app(scope, receive, answered)
        point("the answer has left")


class _Traced:
    """A port whose every call is a point on the way in and one on the way out."""

    def __init__(self, port: Any, name: str) -> None:
        self._port, self._name = port, name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._port, attribute)
        name = f"{self._name}.{attribute}"
        if inspect.iscoroutinefunction(found):

            @wraps(found)
            async def called(*args: Any, **kwargs: Any) -> Any:
                point(f"before {name}")
                result = await found(*args, **kwargs)
                point(f"after {name}")
                return result

            return called
        if inspect.isasyncgenfunction(found):

            @wraps(found)
            async def streamed(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                point(f"before {name}")
                async for piece in found(*args, **kwargs):
                    yield piece
                point(f"after {name}")

            return streamed
        return found


def install() -> None:
    """Into this process, before it serves."""
    from circumspect.server import turns
    from circumspect.stores.engine import Database
    from circumspect.stores.threads import Threads

    run, transaction, run_turn = Threads.run, Database.transaction, turns.run_turn

    def run_with_plan(self: Threads, work: Callable[[], Any]) -> Any:
        context = contextvars.copy_context()
        return run(self, lambda: context.run(work))

    def traced_transaction(self: Database, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        name = getattr(body, "__name__", "transaction")

        def traced(connection: Any, *given: Any, **named: Any) -> Any:
            result = body(connection, *given, **named)
            point(f"before the commit of {name}")
            return result

        point(f"before {name}")
        result = transaction(self, traced, *args, **kwargs)
        point(f"after the commit of {name}")
        return result

    async def traced_turn(incoming: Any, setup: Any, listener: Any = None) -> Any:
        if _plan.get() is not None:
            ports = setup.ports
            traced = replace(ports, model=_Traced(ports.model, "model"), tools=_Traced(ports.tools, "tools"))
            setup = replace(setup, ports=traced)
        return await run_turn(incoming, setup, listener)

    Threads.run = run_with_plan  # type: ignore[method-assign]
    Database.transaction = traced_transaction  # type: ignore[method-assign]
    turns.run_turn = traced_turn  # type: ignore[attr-defined]
