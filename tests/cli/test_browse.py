"""`circumspect browse` as it is typed: a whole task through a pipe, and Ctrl-C at a question."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from examples.clinic.serving import serve
from tests.patience import PATIENCE
from tests.web.browsing.till import has_chromium, serve_till

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "circumspect", "browse"]
MANUAL = str(ROOT / "examples" / "clinic" / "manual.md")


pytestmark = pytest.mark.skipif(not has_chromium(), reason="NO BROWSER: run `make services` to test browse")


def test_a_task_goes_through_a_pipe_and_leaves_a_record(tmp_path: Path) -> None:
    answers = "Kumar, born 12 April 1980, phone 555-0134\nyes\n"
    with serve(sign_in=False) as clinic:
        ran = subprocess.run(
            [*COMMAND, clinic.url, "Add patient Jaswanth", "--documents", MANUAL, "--record", "run", "--json"],
            input=answers.encode(), cwd=tmp_path, capture_output=True, timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr.decode()
    steps = [json.loads(line) for line in ran.stdout.splitlines()]
    assert steps[-1]["status"] == "answer"
    assert "Jaswanth Kumar was created" in steps[-1]["answer"]
    assert (tmp_path / "run" / "report.html").exists()
    assert len(list((tmp_path / "run").glob("step-*.png"))) == len(steps)


def browse(folder: Path, *arguments: str, answers: str = "") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments], input=answers.encode(), cwd=folder, capture_output=True, timeout=2 * PATIENCE, check=False,
    )  # fmt: skip


def test_a_no_is_not_done_and_a_question_that_nobody_answers_waits(tmp_path: Path) -> None:
    task = "Add patient Jaswanth Kumar, born 12 April 1980, phone 555-0134"
    with serve(sign_in=False) as clinic:
        refused = browse(tmp_path, clinic.url, task, "--documents", MANUAL, "--json", answers="no\n")
        left = browse(tmp_path, clinic.url, "Add patient Jaswanth", "--documents", MANUAL, "--json")
        there = httpx.get(f"{clinic.url}/api/patients", timeout=PATIENCE).text
    assert (refused.returncode, left.returncode) == (1, 3), refused.stderr + left.stderr
    assert "Jaswanth" not in there


def test_a_search_of_ones_own_on_loopback_is_asked(tmp_path: Path) -> None:
    """The address was typed by whoever sits at the terminal, as the documentation has it."""
    with serve_till({"/": "<h1>Clinic</h1>"}) as till:
        ran = browse(
            tmp_path, till.url, "How do I register a new patient?", "--search", f"searxng:{till.url}", "--json"
        )
    assert ran.returncode != 2, ran.stderr
    assert any(path.startswith("/search?q=") for path in till.asked), till.asked


def test_an_address_that_does_not_answer_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*COMMAND, "http://127.0.0.1:9/", "Look around"],
        cwd=tmp_path,
        capture_output=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ran.returncode == 2
    assert b"Traceback" not in ran.stderr
    assert b"http://127.0.0.1:9/" in ran.stderr


def test_ctrl_c_at_a_question_ends_it_at_once_and_the_record_stays(tmp_path: Path) -> None:
    with serve(sign_in=False) as clinic:
        pid, terminal = pty.fork()
        if pid == 0:  # pragma: no cover - the command itself
            os.chdir(tmp_path)
            os.execv(
                COMMAND[0],
                [*COMMAND, clinic.url, "Add patient Jaswanth", "--documents", MANUAL, "--record", "run"],
            )
        said, asked_at = b"", 0.0
        until = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < until:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    said += os.read(terminal, 4096)
                except OSError:  # the other side is gone
                    break
            if not asked_at and b"2004h" in said:
                asked_at = time.monotonic()
                os.write(terminal, b"\x03")
        else:
            os.kill(pid, 9)
        _, status = os.waitpid(pid, 0)
    assert asked_at, said.decode(errors="replace")
    assert not os.WIFSIGNALED(status), "it had to be killed"
    assert (tmp_path / "run" / "report.html").exists()
