"""A backtest in chunks: byte for byte what one pass over everything says, on any engine, stopped in any way."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.lab.batch.conftest import POLICY

from circumspect.cli import cli
from circumspect.lab.batch.backtests import BacktestOrder, add, backtest_of, case_of
from circumspect.lab.batch.engines import processes, serial
from circumspect.lab.batch.run_job import run
from circumspect.lab.replay.backtest import backtest
from circumspect.lab.replay.flips import BacktestSummary, shorten_value
from circumspect.policy.load import load
from circumspect.stores import SqlStore
from circumspect.values import TenantId
from circumspect.wording import compact

SHOP = TenantId("shop")


@pytest.fixture
async def store(recordings):
    store = await SqlStore.open(f"sqlite:///{recordings}", migrate=False)
    yield store
    await store.close()


async def in_one_pass(store, **options):
    """What there is to compare with: the summary and the lines, from one pass over the conversations."""
    summary, cases = BacktestSummary(), []
    specs = await store.tool_specs(SHOP)
    async for visited in backtest(store, load(POLICY), tenant=SHOP, specs=specs, **options):
        summary.add(visited)
        cases += [case for case in visited.cases if case.change or case.problem]
    return summary, cases


async def order_of(store, recordings, **options):
    return BacktestOrder(f"sqlite:///{recordings}", POLICY, {SHOP: await store.tool_specs(SHOP)}, **options)


def in_chunks(order, engine=serial):
    import asyncio

    def collect():
        summary, lines = BacktestSummary(), []
        for row in run(backtest_of(order), engine):
            if not add(row, summary):
                lines.append(row)
        return summary, lines

    return asyncio.to_thread(collect)


async def test_chunks_add_up_to_one_pass_with_the_same_cases_in_the_same_order(store, recordings):
    expected, cases = await in_one_pass(store, limit=40)
    for size in (1, 7, 1000):
        summary, lines = await in_chunks(await order_of(store, recordings, size=size, limit=40))
        assert compact(summary.to_json()) == compact(expected.to_json()), size
        assert lines == [compact(case.to_json()).encode() for case in cases]
        assert [case.turn for case in summary.cases()] == [case.turn for case in expected.cases()]
        assert summary.tallies.keys() == expected.tallies.keys()
    assert expected.flips > 5


async def test_since_and_the_policy_of_the_time_hold_in_chunks_too(store, recordings):
    from circumspect.demo.samples.sample_files import DIRECTORY

    newest = (await in_one_pass(store, limit=1))[0].last
    since, old = newest.replace(hour=0, minute=0), (DIRECTORY / "policy.yaml").read_text("utf-8")
    expected, _ = await in_one_pass(store, since=since, verify=load(old), limit=40)
    summary, _ = await in_chunks(await order_of(store, recordings, size=5, since=since, verify=old, limit=40))
    assert compact(summary.to_json()) == compact(expected.to_json())
    assert 0 < expected.calls == expected.verified


async def test_a_case_comes_back_from_its_line_as_far_as_a_report_shows_it(store):
    _, cases = await in_one_pass(store, limit=30)
    for case in cases:
        back = case_of(case.to_json())
        assert back.to_json() == case.to_json()
        assert (back.spoke, back.needless, back.detour) == (case.spoke, case.needless, case.detour)
        assert shorten_value(back.call.arguments, 60) == shorten_value(case.call.arguments, 60)


async def test_other_conversations_policies_and_tools_make_another_run(store, recordings):
    order = await order_of(store, recordings)
    identity = backtest_of(order).identity
    assert backtest_of(await order_of(store, recordings)).identity == identity
    specs = dict(order.tools[SHOP])
    specs.pop("refund")
    others = [
        BacktestOrder(order.database, POLICY + "\n# changed", order.tools),
        BacktestOrder(order.database, POLICY, {SHOP: specs}),
        BacktestOrder(order.database + "2", POLICY, order.tools),
        BacktestOrder(order.database, POLICY, order.tools, limit=5),
        BacktestOrder(order.database, POLICY, order.tools, verify=POLICY),
    ]
    assert len({identity, *(backtest_of(one).identity for one in others)}) == 6


async def test_conversations_without_a_single_one_make_an_empty_result(store, recordings):
    order = BacktestOrder(f"sqlite:///{recordings}", POLICY, {TenantId("nobody"): {}})
    summary, lines = await in_chunks(order)
    assert (summary.conversations, lines) == (0, [])


# --- the command ----------------------------------------------------------------------------------------------------


def command(recordings, policy, *options) -> list[str]:
    program = "from circumspect.cli import main; main()"
    database = ("--database", f"sqlite:///{recordings}")
    return [sys.executable, "-c", program, "backtest", "--policy", str(policy), *database, *map(str, options)]


@pytest.fixture(scope="session")
def plain(recordings, tmp_path_factory) -> bytes:
    """What the command prints with none of the options of this page."""
    policy = tmp_path_factory.mktemp("plain") / "new.yaml"
    policy.write_text(POLICY, "utf-8")
    return subprocess.run(command(recordings, policy, "--json"), check=True, capture_output=True).stdout


def done_in(run: Path) -> int:
    try:
        with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as ledger:
            return ledger.execute("SELECT count(*) FROM batch_done").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def stopped_with(number: int, arguments: list[str], run: Path) -> tuple[int, str]:
    """Start the command, and send it a signal when the first chunk is done: its exit code and what it said."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not done_in(run) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate()
    return process.returncode, said


def test_ctrl_c_leaves_a_run_that_the_same_command_finishes_with_the_same_bytes(recordings, policy, tmp_path, plain):
    run = tmp_path / "kept.run"
    arguments = command(recordings, policy, "--json", "--jobs", 2, "--run", run)
    code, said = stopped_with(signal.SIGINT, arguments, run)
    assert code == 130, said
    assert f"Stopped. What is done is in {run}: the same command goes on from there." in said
    assert "Traceback" not in said
    before = done_in(run)
    assert 0 < before < 5

    ended = subprocess.run([*arguments, "--jobs", "1"], check=True, capture_output=True)
    assert ended.stdout == plain
    assert f"{before}00 of 480 conversations were done before; going on.".encode() in ended.stderr
    assert done_in(run) == 5


def test_kill_9_leaves_a_run_that_the_same_command_finishes_with_the_same_bytes(recordings, policy, tmp_path, plain):
    run = tmp_path / "kept.run"
    arguments = command(recordings, policy, "--json", "--run", run)
    code, _ = stopped_with(signal.SIGKILL, arguments, run)
    assert code == -signal.SIGKILL
    assert 0 < done_in(run) < 5
    assert subprocess.run(arguments, check=True, capture_output=True).stdout == plain
    assert done_in(run) == 5


def test_an_address_without_ray_is_a_mistake(recordings, policy):
    options = ["--policy", str(policy), "--database", f"sqlite:///{recordings}", "--address", "head:6379"]
    ended = CliRunner().invoke(cli, ["backtest", *options])
    assert "Add --engine ray" in str(ended.exception)


async def test_processes_say_the_same(store, recordings):
    order = await order_of(store, recordings, size=10, limit=60)
    expected = await in_chunks(order)
    found = await in_chunks(order, partial(processes, count=2))
    assert compact(found[0].to_json()) == compact(expected[0].to_json())
    assert found[1] == expected[1]
