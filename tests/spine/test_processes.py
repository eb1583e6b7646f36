"""Two processes at once, and a process that dies in the middle: the tool runs once, and the record says what is known."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.slow

WORKER = '''
import asyncio, json, os, sys, time
from datetime import datetime, timedelta, UTC
from pathlib import Path
from circumspect import Agent, IdempotencyKey, tool
from circumspect.clock import FixedClock
from circumspect.models.scripted import ScriptedModel, says
from circumspect.stores import database_time

folder, recovery, minutes, hang, *lines = sys.argv[1:]
folder = Path(folder)

async def cancel_order(order_id: str, key: IdempotencyKey) -> str:
    """Cancel an order."""
    effects = folder / "effects"
    with effects.open("a") as log:
        print(key, file=log)
    if hang == "hang":
        (folder / "inside").touch()
        time.sleep(60)
    return "cancelled"

def lookup(key, arguments):
    effects = folder / "effects"
    return "cancelled" if effects.exists() and key in effects.read_text().split() else None

settings = {"lookup": lookup} if recovery == "lookup" else {}
cancel_order = tool(effect="destructive", recovery=recovery, timeout=90, **settings)(cancel_order)

def model(request):
    match request.purpose:
        case "critique": return '{"decision": "PROCEED", "reasoning": "", "message": ""}'
        case "phrase": return "It is cancelled."
    if "cancel" in request.messages[-1].text:
        return says("", tool="cancel_order", params={"order_id": "12345"})
    return says("What can I do for you?")

async def main():
    clock = FixedClock(datetime(2026, 3, 31, 12, 0, tzinfo=UTC) + timedelta(minutes=float(minutes)))
    database_time.read = lambda connection: clock.now().timestamp()
    agent = Agent("t", tools=[cancel_order], model=ScriptedModel(model), database=f"sqlite:///{folder}/c.db", clock=clock)
    for line in lines:
        turn = await agent.turn(line, conversation="c1")
        print(json.dumps({"outcome": turn.outcome, "reply": turn.reply, "codes": [str(c) for c in turn.reason_codes]}))
    store = (await agent.open()).ports.store
    rows = [[one.state, one.reason and str(one.reason)] for one in await store.executions("t", "c1")]
    print(json.dumps(rows))
    await agent.close()

asyncio.run(main())
'''


@pytest.fixture
def worker(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER, "utf-8")

    def start(*lines, recovery="blind", minutes=0.0, hang=False):
        arguments = [str(tmp_path), recovery, str(minutes), "hang" if hang else "-", *lines]
        return subprocess.Popen(
            [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def said(process):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    *turns, rows = (json.loads(line) for line in out.splitlines())
    return turns, rows


def effects(tmp_path):
    return (tmp_path / "effects").read_text().split()


def killed_inside_the_tool(worker, tmp_path, recovery):
    said(worker("cancel order 12345", recovery=recovery))
    process = worker("yes", recovery=recovery, minutes=1, hang=True)
    wait_until(lambda: (tmp_path / "inside").exists() or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_two_processes_that_both_see_a_yes_run_the_tool_once(worker, tmp_path):
    said(worker("cancel order 12345"))
    both = [worker("yes", minutes=1) for _ in range(2)]
    outcomes = sorted(said(process)[0][0]["outcome"] for process in both)
    assert outcomes == ["acted", "asked"]
    assert len(effects(tmp_path)) == 1


def test_a_blind_tool_whose_worker_was_killed_is_never_run_again_and_the_record_says_so(worker, tmp_path):
    killed_inside_the_tool(worker, tmp_path, "blind")
    (turn,), rows = said(worker("hello", minutes=10))
    assert len(effects(tmp_path)) == 1
    assert rows == [["indeterminate", "OUTCOME_UNKNOWN"]]
    assert "not known" in turn["reply"]


def test_the_same_call_after_an_unknown_outcome_goes_to_a_person(worker, tmp_path):
    killed_inside_the_tool(worker, tmp_path, "blind")
    (_, turn), _ = said(worker("hello", "cancel order 12345", minutes=10))
    assert turn["outcome"] == "escalated"
    assert "OUTCOME_UNKNOWN" in turn["codes"]
    assert len(effects(tmp_path)) == 1


def test_a_keyed_tool_whose_worker_was_killed_is_run_again_under_the_same_key(worker, tmp_path):
    killed_inside_the_tool(worker, tmp_path, "keyed")
    (turn,), rows = said(worker("hello", recovery="keyed", minutes=10))
    assert len(set(effects(tmp_path))) == 1
    assert rows == [["succeeded", "EXECUTED_SUCCESSFULLY"]]
    assert "went through" in turn["reply"]


def test_a_tool_that_can_be_looked_up_is_looked_up_and_not_run_again(worker, tmp_path):
    killed_inside_the_tool(worker, tmp_path, "lookup")
    _, rows = said(worker("hello", recovery="lookup", minutes=10))
    assert len(effects(tmp_path)) == 1
    assert rows == [["succeeded", "EXECUTED_SUCCESSFULLY"]]


def test_a_yes_for_a_call_that_is_under_way_elsewhere_runs_nothing(worker, tmp_path):
    killed_inside_the_tool(worker, tmp_path, "blind")
    turns, rows = said(worker("yes", minutes=2.5))
    assert turns[0]["outcome"] in ("asked", "escalated")
    assert len(effects(tmp_path)) == 1
    assert rows[0][0] in ("started", "indeterminate")
