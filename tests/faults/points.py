"""Points at which a worker can be made to die: found while it runs, not listed by hand.

A request that carries `X-Kill: new` kills its worker (SIGKILL, by itself, so that nothing can be tidied up) at the first
point it passes that none has died at before; the file `trail` then says which points it had passed, the last being that
one. Points are every begin and commit of every transaction, every call of a model or tool on the way in and out, what
the tool itself marks, and every piece of the answer. A write that is added tomorrow is a point tomorrow, and one that
only a slow turn makes (a lease renewed) hides no other.
"""

from __future__ import annotations

import contextvars
import inspect
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any

HEADER = b"x-kill"


@dataclass
class Plan:
    """One request's walk through its points."""

    folder: Path
    passed: list[str] = field(default_factory=list)

    def point(self, name: str) -> None:
        self.passed.append(name)
        place = f"{name} ({self.passed.count(name)})"
        if place not in _died_at(self.folder):
            with (self.folder / "died-at").open("a", encoding="utf-8") as file:
                file.write(f"{place}\n")
            (self.folder / "trail").write_text("\n".join(self.passed), "utf-8")
            os.kill(os.getpid(), signal.SIGKILL)


def _died_at(folder: Path) -> list[str]:
    path = folder / "died-at"
    return path.read_text("utf-8").splitlines() if path.exists() else []


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
        if not any(name == HEADER for name, _ in scope.get("headers", ())):
            await self.app(scope, receive, send)
            return
        _plan.set(Plan(self.folder))
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
    from circumspect.server import running_turns
    from circumspect.stores.engine import Database
    from circumspect.stores.worker_threads import Threads

    run, transaction, run_turn = Threads.run, Database.transaction, running_turns.run_turn

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
    running_turns.run_turn = traced_turn  # type: ignore[attr-defined]
