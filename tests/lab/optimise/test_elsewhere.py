"""Reviews with a model, done by other processes: the same results, the same winner, and a budget that holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from examples.review.stand_in import StandIn
from tests.lab.optimise.conftest import PLAN, WEAK, Ran, results
from tests.patience import wait_until

from circumspect.cli import cli
from circumspect.errors import ConfigError


def evaluate(folder: Path, *words: object) -> Result:
    files = folder / "cases", folder / "policies", "--criteria", folder / "criteria.yaml"
    only = "--only", "TE-01", "--only", "RW-01", "--json"
    return CliRunner().invoke(cli, [str(word) for word in ("evaluate", *files, *only, *words)])


def summary(folder: Path, out: Path, server: StandIn, *more: object) -> dict[str, Any]:
    ended = evaluate(folder, "--out", out, "--model", server.model, *more)
    assert ended.exit_code in (0, 4), ended.output
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])["summary"]
    return found


def test_processes_review_with_a_model_as_one_does_and_stop_at_the_budget(
    stand_in: StandIn, folder: Path, tmp_path: Path
) -> None:
    here = summary(folder, tmp_path / "here.db", stand_in)
    asked = stand_in.reviews.total()
    out, two = tmp_path / "two.db", ("--engine", "processes", "--jobs", 2, "--concurrency", 3)
    part = summary(folder, out, stand_in, *two, "--budget-tokens", here["tokens"] // 3)
    assert not part["complete"]
    assert here["tokens"] // 3 <= part["tokens"] < here["tokens"]
    whole = summary(folder, out, stand_in, *two)
    assert (whole["complete"], whole["done"], whole["made"]) == (True, here["total"], here["total"] - part["done"])
    assert results(out) == results(tmp_path / "here.db")
    assert stand_in.reviews.total() == 2 * asked


def test_a_key_that_is_not_there_ends_the_run_with_what_to_do(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = evaluate(folder, "--out", tmp_path / "r.db", "--jobs", 2, "--model", "openai:gpt-4o")
    assert isinstance(ended.exception, ConfigError)
    assert "OPENAI_API_KEY" in str(ended.exception)


def test_an_engine_is_for_a_batch(folder: Path) -> None:
    ended = evaluate(folder, "--jobs", 2)
    assert isinstance(ended.exception, ConfigError)
    assert "Add --out results.db" in str(ended.exception)


def test_processes_optimise_to_the_same_winner_though_one_of_them_is_killed(
    stand_in: StandIn, folder: Path, tmp_path: Path, ran: Ran
) -> None:
    start, run = tmp_path / "weak.md", tmp_path / "run"
    start.write_text(WEAK, "utf-8")
    started = [
        sys.executable, "-m", "circumspect", "optimise", "review", "--dataset", str(folder), "--run", str(run),
        "--budget", str(PLAN.budget), "--minibatch", str(PLAN.minibatch), "--start", str(start),
        "--model", stand_in.model, "--concurrency", "4", "--engine", "processes", "--jobs", "2", "--json",
    ]  # fmt: skip
    process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.kill(first_worker(process.pid, stand_in), signal.SIGKILL)
    out, said = process.communicate()
    assert process.returncode == 0, said
    report = json.loads(out.splitlines()[-1])
    assert report["winner"] == ran.report.to_json()["winner"]
    assert report["held_out"] == ran.report.to_json()["held_out"]


def first_worker(parent: int, server: StandIn) -> int:
    """A process that is at work: the server has been asked by it, or by its brother."""

    def at_work() -> list[str]:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return children[1:] if server.reviews else []

    return int(wait_until(at_work, pause=0.01)[-1])
