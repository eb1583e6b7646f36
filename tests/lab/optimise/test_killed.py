"""kill -9 in the middle of a run, then the same command again. Real processes, a real server, real sockets."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from examples.review.stand_in import StandIn
from tests.lab.optimise.conftest import PLAN, WEAK, Ran

CONCURRENCY = 4
KILLED_AT = 35
"""Reviews: the start is validated, the first proposals are on their way."""


def command(server: StandIn, folder: Path, start: Path, run: Path) -> list[str]:
    return [
        sys.executable, "-m", "circumspect", "optimise", "review", "--dataset", str(folder), "--run", str(run),
        "--budget", str(PLAN.budget), "--minibatch", str(PLAN.minibatch), "--start", str(start),
        "--model", server.model, "--concurrency", str(CONCURRENCY), "--json",
    ]  # fmt: skip


def rows(run: Path) -> int:
    try:
        with sqlite3.connect(f"file:{run / 'run.db'}?mode=ro", uri=True) as database:
            found = database.execute("SELECT count(*) FROM evaluations").fetchone()
        database.close()
        return int(found[0])
    except sqlite3.Error:
        return 0


def test_a_killed_run_goes_on_pays_for_nothing_twice_and_comes_to_the_same(
    stand_in: StandIn, folder: Path, tmp_path: Path, ran: Ran
) -> None:
    start, run = tmp_path / "weak.md", tmp_path / "killed"
    start.write_text(WEAK, "utf-8")
    process = subprocess.Popen(command(stand_in, folder, start, run), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while rows(run) < KILLED_AT:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (run / "report.json").exists()

    done = subprocess.run(command(stand_in, folder, start, run), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    paid = sum(stand_in.reviews.values())
    assert len(stand_in.reviews) == report["used"] <= PLAN.budget
    assert paid - len(stand_in.reviews) <= CONCURRENCY
    # Like the one that nobody killed, but for where it is.
    whole = json.loads(json.dumps(ran.report.to_json()))
    assert {name: report[name] for name in whole if name != "run"} == {
        name: whole[name] for name in whole if name != "run"
    }
