"""Conversations as tests: `await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")`."""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.database_clock import database_follows

from circumspect.clock import FixedClock
from circumspect.reasons import ReasonCode
from circumspect.values import Execution, TurnResult

if TYPE_CHECKING:
    from circumspect import Agent

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)

# The same code gets the same examples, and a busy machine is no failure: what decides whether a change lands must not
# depend on luck. `make fuzz` is for luck.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", settings.get_profile("same"), derandomize=False, max_examples=2000, print_blob=True)
settings.load_profile("same")


class Conversation:
    """One conversation with one agent. Every `user(...)` is a turn; what follows says what should have come of it."""

    def __init__(self, agent: Agent, clock: FixedClock, name: str = "c1") -> None:
        self.agent, self.clock, self.name = agent, clock, name
        self.turns: list[TurnResult] = []

    def user(self, text: str, **options: Any) -> Said:
        return Said(self, text, options)

    def wait(self, **passed: float) -> None:
        self.clock.advance(**passed)

    async def executions(self, tool: str | None = None) -> list[Execution]:
        setup = await self.agent.open()
        ran = await setup.ports.store.executions(self.agent.tenant.id, self.name)
        return [one for one in ran if tool in (None, one.call.tool)]

    async def messages(self, *, internal: bool = False):
        setup = await self.agent.open()
        return await setup.ports.store.messages(self.agent.tenant.id, self.name, internal=internal)


class Said:
    """A message on its way; awaiting any claim about it sends it."""

    def __init__(self, conversation: Conversation, text: str, options: dict[str, Any]) -> None:
        self.conversation, self.text, self.options = conversation, text, options

    async def sent(self) -> TurnResult:
        before = {one.id for one in await self.conversation.executions()}
        turn = await self.conversation.agent.turn(self.text, conversation=self.conversation.name, **self.options)
        self.conversation.turns.append(turn)
        # By their ids: while the clock stands still, calls have the same time, and any of them may be the last.
        self.ran = [one for one in await self.conversation.executions() if one.id not in before]
        assert "assessment" not in turn.reply.lower()
        return turn

    def __await__(self):
        return self.sent().__await__()

    async def is_answered(self, *words: str) -> TurnResult:
        return self._check(await self.sent(), "answered", words)

    async def is_asked(self, *words: str, reason: ReasonCode | None = None) -> TurnResult:
        turn = self._check(await self.sent(), "asked", words)
        assert reason is None or reason in turn.reason_codes, turn.reason_codes
        assert self.changed() == []
        return turn

    async def is_asked_to_confirm(self, **arguments: Any) -> TurnResult:
        turn = self._check(await self.sent(), "asked", [str(value) for value in arguments.values()])
        assert turn.pending is not None, turn.reply
        assert {name: turn.pending.call.arguments.get(name) for name in arguments} == arguments
        assert self.changed() == []
        return turn

    async def runs(self, tool: str, **arguments: Any) -> TurnResult:
        turn = await self.sent()
        ran = [one for one in self.ran if one.call.tool == tool]
        assert len(ran) == 1, (turn.outcome, turn.reason_codes, turn.reply)
        assert ran[0].state == "succeeded", ran[0].error
        assert {name: ran[0].call.arguments.get(name) for name in arguments} == arguments
        return turn

    async def is_escalated(self, reason: ReasonCode) -> TurnResult:
        turn = self._check(await self.sent(), "escalated", ())
        assert reason in turn.reason_codes, turn.reason_codes
        return turn

    async def is_blocked(self, reason: ReasonCode) -> TurnResult:
        turn = self._check(await self.sent(), "blocked", ())
        assert reason in turn.reason_codes, turn.reason_codes
        assert self.changed() == []
        return turn

    def changed(self) -> list[Execution]:
        return [one for one in self.ran if one.effect != "read"]

    def _check(self, turn: TurnResult, outcome: str, words: Iterable[str]) -> TurnResult:
        assert turn.outcome == outcome, (turn.outcome, turn.reason_codes, turn.reply)
        for word in words:
            assert word in turn.reply, turn.reply
        return turn


def pytest_configure() -> None:
    # Whoever is started in the background ignores Ctrl-C, and so would every process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The browser without its windows does the same for half the work.
    if shell := shutil.which("chromium-headless-shell"):
        os.environ.setdefault("CHROMIUM", shell)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests wait for processes, browsers and clocks for a third of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """The command sets our logger up for its process; the next test starts from where this one did."""
    logger = logging.getLogger("circumspect")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate


@pytest.fixture
def clock() -> Iterator[FixedClock]:
    """The machine's: workers and database have the same time."""
    clock = FixedClock(NOON)
    with database_follows(clock):
        yield clock


@pytest.fixture
async def shop(tmp_path: Path, clock: FixedClock):
    """Make a conversation with a sample tenant: `shop("shop-he")`, or with a scripted model: `shop(replies=[…])`."""
    from circumspect import Agent
    from circumspect.demo import samples
    from circumspect.models.scripted import ScriptedModel

    agents: list[Agent] = []

    def make(
        name: str = "shop", *, replies: Iterable[Any] | Callable[..., Any] | None = None, **options: Any
    ) -> Conversation:
        sample = samples.load(name, directory=tmp_path, now=clock.now())
        model = ScriptedModel(replies) if replies is not None else options.pop("model", "offline")
        settings = {
            "tools": sample.tools,
            "policy": sample.policy_path,
            "database": f"sqlite:///{tmp_path}/circumspect.db",
            "clock": clock,
            **options,
        }
        agent = Agent(settings.pop("tenant", sample.tenant), model=model, **settings)
        agents.append(agent)
        return Conversation(agent, clock)

    yield make
    for agent in agents:
        await agent.close()


@pytest.fixture
def chat(shop) -> Conversation:
    """The demo shop, in English, with the offline model."""
    return shop()
