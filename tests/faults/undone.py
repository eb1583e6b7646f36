"""Mended behaviours, broken again in a worker of the tests' own: what the checker has to find.

Each is how things once were. `install` changes the process it is called in, before it serves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

UNDONE = "FAULTS_UNDONE"


def _say_what_is_not_stored() -> None:
    """A reply is said as it was drafted, whether or not what it promises could be stored."""
    from circumspect import turn
    from circumspect.steps import record as step

    async def record(reply: Any, fail: Any, *rest: Any) -> Any:
        return replace(await step.record(reply, lambda: reply, *rest), lost=False)

    turn.record = record  # type: ignore[attr-defined]


def _believe_a_second_refusal() -> None:
    """What refuses the repeat is taken to have refused the first try as well."""
    from circumspect import running
    from circumspect.errors import ToolError, ToolTimeout
    from circumspect.reasons import ReasonCode
    from circumspect.steps import sweep

    recover = running.recover

    async def believe(started: Any, tools: Any, *rest: Any) -> Any:
        refused: list[ToolError] = []

        class Heard:
            async def call(self, *args: Any) -> Any:
                try:
                    return await tools.call(*args)
                except ToolError as problem:
                    if not isinstance(problem, ToolTimeout):
                        refused.append(problem)
                    raise

            def __getattr__(self, name: str) -> Any:
                return getattr(tools, name)

        ended = await recover(started, Heard(), *rest)
        if refused and ended.state == "indeterminate":
            return replace(ended, state="failed", reason=ReasonCode.TOOL_FAILED, error=refused[0].problem)
        return ended

    running.recover = believe  # type: ignore[assignment]
    sweep.recover = believe  # type: ignore[attr-defined]


def _answer_while_the_call_is_open() -> None:
    """A message that is sent again is answered, although a call of its own may still be running."""
    from circumspect import pipeline
    from circumspect.errors import CallUnderWay
    from circumspect.steps.sweep import catch_up

    async def answer(opened: Any, incoming: Any, tools: Any, store: Any, *rest: Any) -> Any:
        class Keeping:
            async def give_back(self, *args: Any) -> None:
                pass

            def __getattr__(self, name: str) -> Any:
                return getattr(store, name)

        try:
            return await catch_up(opened, incoming, tools, Keeping(), *rest)
        except CallUnderWay:
            return replace(opened, unsettled=()), ()

    pipeline.catch_up = answer  # type: ignore[attr-defined]


def _forget_what_ran() -> None:
    """Where the store fails, the user hears that nothing can be changed, whatever was changed before that."""
    from circumspect.steps import endings

    report = endings.report_failure

    def forget(desk: Any, key: str, ran: Any = ()) -> Any:
        return report(desk, key)

    endings.report_failure = forget


WAYS: dict[str, Callable[[], None]] = {
    "an escalation is said and not stored": _say_what_is_not_stored,
    "the refusal of a second try counts as failed": _believe_a_second_refusal,
    "a key whose call is open is answered": _answer_while_the_call_is_open,
    "nothing can be changed, after it was": _forget_what_ran,
}


def install(name: str) -> None:
    if name:
        WAYS[name]()
