"""Whoever writes against a gate makes mistakes: none of them hangs, lies to the ledger, or is found out later."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gate.talks import Talk
from tests.patience import PATIENCE

from circumspect import Gate, Ruling
from circumspect.clock import FixedClock, SystemClock
from circumspect.errors import CallUnderWay, ConfigError, ToolError, ToolTimeout
from circumspect.reasons import ReasonCode


async def let_note(gate: Gate, text: str = "tea") -> Ruling:
    talk = Talk(f"note {text}")
    ruling = await gate.rule(talk.call("add_note", text=text), messages=talk.messages, conversation=f"c {text}")
    assert ruling.allowed
    return ruling


async def test_a_function_that_raises_stop_iteration_leaves_nobody_waiting(gate: Gate) -> None:
    def stop(text: str) -> None:
        raise StopIteration

    ruling = await let_note(gate)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(gate.run(ruling, stop), PATIENCE)
    with pytest.raises(ToolError, match="StopIteration"):
        await gate.run(ruling, stop)


async def test_an_error_whose_own_words_fail_ends_the_call(gate: Gate) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def fail(text: str) -> None:
        raise Speechless

    ruling = await let_note(gate)
    with pytest.raises(Speechless):
        await gate.run(ruling, fail)
    with pytest.raises(ToolError, match="Speechless"):
        await gate.run(ruling, fail)


@pytest.mark.parametrize("kind", ["plain", "later", "stream"])
async def test_a_generator_that_comes_back_is_read_once_for_the_ledger_and_the_caller(gate: Gate, kind: str) -> None:
    done: list[str] = []

    def spell(text: str) -> Iterator[str]:
        for letter in text:
            done.append(letter)
            yield letter

    async def stream(text: str) -> AsyncIterator[str]:
        for letter in spell(text):
            yield letter

    async def later(text: str) -> Iterator[str]:
        return spell(text)

    functions: dict[str, Callable[..., Any]] = {
        "plain": lambda text: spell(text),
        "later": later,
        "stream": lambda text: stream(text),
    }
    ruling = await let_note(gate)
    assert [await gate.run(ruling, functions[kind]) for _ in range(2)] == [["t", "e", "a"]] * 2
    assert done == ["t", "e", "a"]


async def test_an_object_that_is_a_generator_when_it_is_called_is_refused_before_anything_is_taken(gate: Gate) -> None:
    class Speller:
        def __call__(self, text: str) -> Iterator[str]:
            yield from text

    ruling = await let_note(gate)
    with pytest.raises(ConfigError, match="generator"):
        await gate.run(ruling, Speller())
    assert await gate.run(ruling, lambda text: text) == "tea"


async def test_an_exception_says_why_it_failed_where_somebody_else_ran_it(gate: Gate) -> None:
    ruling = await let_note(gate)
    wrong: Any = 5
    with pytest.raises(ConfigError, match="`error`"):
        await gate.ran(ruling, error=wrong)
    assert await gate.ran(ruling, error=ValueError("out of ink")) == "failed"
    with pytest.raises(ToolError, match="ValueError: out of ink"):
        await gate.run(ruling, lambda text: text)


@pytest.mark.parametrize("about", [{"language": "xx"}, {"account": 5}, {"claims": 5}, {"claims": ["admin"]}])
async def test_what_is_said_of_a_person_is_checked_at_the_door(gate: Gate, about: Any) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    with pytest.raises(ConfigError):
        await gate.rule(call, messages=talk.messages, **about)
    asked = await gate.rule(call, messages=talk.messages)
    if "account" not in about:
        with pytest.raises(ConfigError):
            await gate.answer(asked, "yes", **about)


@pytest.mark.parametrize("ruling", [None, "turn_1", {"verdict": "allow"}])
async def test_what_is_no_ruling_runs_nothing(gate: Gate, ruling: Any) -> None:
    ran: list[Any] = []
    with pytest.raises(ConfigError, match="is no ruling"):
        await gate.run(ruling, ran.append)
    with pytest.raises(ConfigError, match="is no ruling"):
        await gate.ran(ruling, "done")
    assert not ran


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), [1.5, {"deep": float("-inf")}]])
async def test_a_number_that_json_has_not_goes_back_to_the_model(gate: Gate, amount: Any) -> None:
    ruling = await gate.rule({"name": "refund", "arguments": {"amount": amount}}, messages=Talk("refund me").messages)
    assert (ruling.verdict, ruling.reason_codes) == ("redo", (ReasonCode.INVALID_PARAM,))


# --- processes ------------------------------------------------------------------------------------------------------

RUNNER = """
import asyncio, os, sys, time
from circumspect import Gate

store, policy, ruling, effects, ends = sys.argv[1:]

def add_note(text):
    with open(effects, "a") as file:
        file.write(f"{text}\\n")
    if ends == "killed":
        os.kill(os.getpid(), 9)
    time.sleep(0.05)
    return "noted"

async def main():
    async with Gate(policy, store=store) as gate:
        found = await gate.find(ruling)
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            print(await gate.run(found, add_note))
        except Exception as error:
            print(type(error).__name__)

asyncio.run(main())
"""


class Runner:
    """A process of its own that finds the ruling, and runs it when it is told to."""

    def __init__(self, store: str, policy: Path, ruling: Ruling, effects: Path, ends: str = "well") -> None:
        command = [sys.executable, "-c", RUNNER, store, str(policy), ruling.id, str(effects), ends]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def wait_until_ready(self) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> str:
        said, _ = self.process.communicate(timeout=PATIENCE)
        return said.strip()


async def test_of_processes_that_race_for_one_ruling_one_runs_it(
    open_gate: Callable[..., Gate], store: str | None, policy: Path, tmp_path: Path
) -> None:
    if store is None:
        pytest.skip("a process of its own knows nothing of another's")
    ruling, effects = await let_note(open_gate()), tmp_path / "effects"
    racers = [Runner(store, policy, ruling, effects) for _ in range(3)]
    for one in racers:
        one.wait_until_ready()
    for one in racers:
        one.go()
    ends = [one.end() for one in racers]
    assert effects.read_text() == "tea\n"
    assert "noted" in ends
    assert set(ends) <= {"noted", "CallUnderWay"}, ends


async def test_what_a_killed_process_left_is_not_run_again_and_in_the_end_unknown(
    open_gate: Callable[..., Gate], store: str | None, policy: Path, tmp_path: Path, clock: FixedClock
) -> None:
    if store is None:
        pytest.skip("what a process keeps for itself dies with it")
    ruling, effects = await let_note(open_gate()), tmp_path / "effects"
    killed = Runner(store, policy, ruling, effects, "killed")
    killed.wait_until_ready()
    killed.go()
    assert killed.end() == ""
    assert killed.process.returncode == -signal.SIGKILL
    later = open_gate(clock=clock)
    clock.at = SystemClock().now()
    with pytest.raises(CallUnderWay):
        await later.run(ruling, lambda text: text)
    clock.advance(minutes=16)
    with pytest.raises(ToolTimeout):
        await later.run(ruling, lambda text: text)
    talk = Talk("note tea")
    again = await later.rule(talk.call("add_note", text="tea"), messages=talk.messages, conversation="c tea")
    assert again.verdict == "escalate"
    assert effects.read_text() == "tea\n"


async def test_a_conversation_that_is_named_like_a_rehearsal_is_refused(gate: Gate) -> None:
    """There nothing counts against a limit."""
    with pytest.raises(ConfigError, match="playground"):
        await gate.rule({"name": "add_note", "arguments": {"text": "tea"}}, conversation="playground-mine")
