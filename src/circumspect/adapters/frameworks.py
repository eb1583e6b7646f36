"""What every adapter needs: the framework or a message that says what to install, a gate, and results as JSON."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import to_jsonable_python

from circumspect.audit.transcript_steps import result_value
from circumspect.errors import ConfigError
from circumspect.gate import Gate

if TYPE_CHECKING:
    from circumspect.gate import Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json, ToolCall

Seen = TypeVar("Seen")
Given = TypeVar("Given")


@contextmanager
def import_framework(package: str, *, install: str) -> Iterator[None]:
    """A framework that is not installed is a message with its remedy."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != package.split(".")[0]:
            raise
        raise ConfigError(f"The package {package} is not installed.", fix=f"pip install '{install}'") from missing


def open_gate(policy: Gate | PolicyGiven | None, options: dict[str, Any]) -> Gate:
    """The gate itself where one is given; else a new one for that policy."""
    if isinstance(policy, Gate):
        if options:
            raise ConfigError(
                f"A gate that exists takes no {', '.join(sorted(options))}.", fix="Give them to Gate(…) instead."
            )
        return policy
    return Gate(policy, **options)


def choose(setting: str | Callable[[Seen], str | None] | None, seen: Seen) -> str | None:
    """A setting that is the same for all, or is computed from what the framework knows about this call."""
    return setting(seen) if callable(setting) else setting


def waits_for_yes(ruling: Ruling) -> bool:
    """Somebody's yes would let exactly this call run."""
    return ruling.verdict in ("ask", "escalate") and ruling.intent is not None


def waits_for_user(ruling: Ruling) -> bool:
    """The user's own yes would."""
    return waits_for_yes(ruling) and ruling.verdict == "ask"


async def settle(gate: Gate, ruling: Ruling, said: str | bool, *, person: str | None = None, by: str = "") -> Ruling:
    """The ruling after somebody answered its question. Where a colleague decides, `by` says who that was: without it
    the call goes on waiting."""
    intent = ruling.intent
    assert intent is not None
    if ruling.verdict == "escalate" and not by:
        return ruling
    if isinstance(said, bool):
        return await gate.answer(intent, approve=said, person=person, by=by)
    return await gate.answer(intent, said, person=person, by=by)


@asynccontextmanager
async def alone(gate: Gate, conversation: str | None, call: ToolCall) -> AsyncIterator[None]:
    """Frameworks run the calls of a message side by side. The same call twice: the second is ruled on when the first
    has ended, so that nobody takes a call that is being run for one whose end nobody knows."""
    place = (id(asyncio.get_running_loop()), id(gate), conversation or "", call.hash)
    turn = _turns.setdefault(place, _Turn())
    turn.wanted += 1
    try:
        async with turn.lock:
            yield
    finally:
        turn.wanted -= 1
        if not turn.wanted:
            _turns.pop(place, None)


@dataclass
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted: int = 0


_turns: dict[tuple[int, int, str, str], _Turn] = {}

RUNNING = "NOT RUN AGAIN. This very call is being run already; its result comes with the first one."


def is_running(ruling: Ruling, running: Iterable[Any]) -> bool:
    """The framework runs this very call already, for another proposal of it."""
    return any(getattr(one, "execution", None) == ruling.execution is not None for one in running)


class LoopThread:
    """A loop for frameworks that call from threads. What runs on it sees the context of whoever waits for it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="circumspect-adapter", daemon=True).start()

    def wait(self, work: Coroutine[Any, Any, Given]) -> Given:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def describe_question(ruling: Ruling) -> dict[str, Json]:
    """What a framework's own pause shows: the call as it would run, the question, and what a yes is bound to."""
    intent = ruling.intent
    assert intent is not None
    return {
        "name": ruling.call.tool,
        "args": ruling.call.arguments,
        "description": intent.shown,
        "verdict": ruling.verdict,
        "reason_codes": [str(code) for code in ruling.reason_codes],
        "intent": intent.id,
        "hash": intent.hash,
    }


def as_json(result: object) -> Json:
    """A result as the ledger keeps it: records stay records, so that conditions can read their fields."""
    if isinstance(result, str):
        return result_value(result)  # what a framework wrote down of a record, in JSON or as Python prints it
    kept: Json = to_jsonable_python(result, fallback=str)
    return kept


def as_text(result: object) -> str:
    """A result as a model reads it: JSON, never Python's own notation."""
    kept = as_json(result)
    return kept if isinstance(kept, str) else json.dumps(kept, ensure_ascii=False)
