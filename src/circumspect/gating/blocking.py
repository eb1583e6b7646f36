"""SyncGate: the gate for code that is not async. Its coroutines run on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from circumspect.errors import ConfigError
from circumspect.gating.ruling import ReplyCheck, Ruling

if TYPE_CHECKING:
    from circumspect.gate import Gate
    from circumspect.values import Execution, ExecutionState, Intent

T = TypeVar("T")


class SyncGate:
    """Every method is the gate's own, waited for."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="circumspect-gate", daemon=True)
        self._thread.start()

    def rule(self, call: Any, **about: Any) -> Ruling:
        return self._wait(self._gate.rule(call, **about))

    def answer(self, intent: Intent | Ruling | str, words: str = "", **about: Any) -> Ruling:
        return self._wait(self._gate.answer(intent, words, **about))

    def run(self, ruling: Ruling, function: Callable[..., Any]) -> Any:
        return self._wait(self._gate.run(ruling, function))

    def ran(
        self, ruling: Ruling, result: Any = None, *, error: str | BaseException | None = None, not_run: bool = False
    ) -> ExecutionState:
        return self._wait(self._gate.ran(ruling, result, error=error, not_run=not_run))

    def find(self, ruling: str, *, person: str | None = None) -> Ruling | None:
        return self._wait(self._gate.find(ruling, person=person))

    def note(self, conversation: str, ran: Sequence[Execution]) -> None:
        self._gate.note(conversation, ran)

    def learn(self, tool: str, schema: Mapping[str, Any] | None, description: str = "") -> None:
        self._gate.learn(tool, schema, description)

    def check_reply(self, text: str, **about: Any) -> ReplyCheck:
        return self._gate.check_reply(text, **about)

    def close(self) -> None:
        if self._thread.is_alive():
            self._wait(self._gate.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._thread.is_alive():
            work.close()
            raise ConfigError("This gate was closed.", fix="Use it inside its `with`, or open another one.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
