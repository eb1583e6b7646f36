"""What a batch of reviews costs, and that one which is killed twice and resumed ends with every result once.

python -m bench.review_batch [--evaluations 10000]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.review_sets import SAMPLES
from circumspect.review.case_files import Criteria, read_cases, read_criteria
from circumspect.review.values import ReviewCase

PROGRAM = "from circumspect import cli; cli.VERBS.setdefault('evaluate', ('evaluate:evaluate', '')); cli.main()"


def write_cases(path: Path, wanted: int) -> tuple[int, int]:
    """Copies of the sample cases, each with an id of its own, until there are so many evaluations and no more."""
    criteria: Criteria = read_criteria(SAMPLES / "criteria.yaml")
    cases: list[ReviewCase] = list(read_cases(SAMPLES / "cases"))
    raw = [json.loads(file.read_text("utf-8")) for file in sorted((SAMPLES / "cases").glob("*.json"))]
    names = tuple(file.name for file in (SAMPLES / "policies").iterdir())
    made = total = 0
    with path.open("w", encoding="utf-8") as out:
        while total < wanted:
            case, whole = cases[made % len(cases)], raw[made % len(cases)]
            pairs = len(criteria.of(case, names))
            if total + pairs > wanted:
                # The other policies have 12 criteria, this one 14: what is left is filled by what fits.
                made += 1
                if wanted - total < 12:
                    break
                continue
            out.write(json.dumps({**whole, "id": f"{whole['id']}-{made}"}) + "\n")
            made, total = made + 1, total + pairs
    return made, total


def counted(path: Path) -> int:
    try:
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return int(database.execute("SELECT count(*) FROM review_results").fetchone()[0])
        finally:
            database.close()
    except sqlite3.Error:
        return 0


def memory(pid: int) -> int:
    try:
        parent = psutil.Process(pid)
        return sum(one.memory_info().rss for one in (parent, *parent.children(recursive=True)))
    except psutil.Error:
        return 0


def show_batch(wanted: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cases, out = Path(folder) / "cases.jsonl", Path(folder) / "results.db"
        _, total = write_cases(cases, wanted)
        command = [
            sys.executable, "-c", PROGRAM, "evaluate", str(cases), str(SAMPLES / "policies"),
            "--criteria", str(SAMPLES / "criteria.yaml"), "--controller", "heuristic", "--out", str(out), "--json",
        ]  # fmt: skip
        print(f"\n## Batch, {total:,} evaluations\n")
        most, kills = 0, [total // 4, total // 2]
        while True:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            while process.poll() is None and not (kills and counted(out) >= kills[0]):
                most = max(most, memory(process.pid))
                time.sleep(0.1)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                print(f"- killed (SIGKILL) after {time.perf_counter() - began:.1f} s with {counted(out):,} results")
                kills.pop(0)
                continue
            said, _ = process.communicate()
            break
        summary = json.loads(said.splitlines()[-1])["summary"]
        database = sqlite3.connect(out)
        pairs = database.execute("SELECT count(*), count(DISTINCT case_id || '/' || criterion) FROM review_results")
        rows, distinct = pairs.fetchone()
        database.close()
        print(f"- resumed: {summary['made']:,} made in {summary['seconds']:.1f} s, {summary['rate']:.0f} a second")
        print(f"- {rows:,} results, {distinct:,} distinct pairs, {total:,} wanted; exit code {process.returncode}")
        print(f"- most memory of all processes together: {most / 1e6:.0f} MB; file {out.stat().st_size / 1e6:.1f} MB")
        assert rows == distinct == total, (rows, distinct, total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=10_000)
    show_batch(parser.parse_args().evaluations)


if __name__ == "__main__":
    main()
