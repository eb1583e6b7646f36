"""What the reviewer is worth on the sample set, and what a batch costs. Prints Markdown.

    python -m bench.review              quality of the heuristic controller, both halves of the cases
    python -m bench.review --batch      10,000 evaluations, killed twice and resumed
    python -m bench.review --model openai:gpt-4o

The rules of the heuristic were written while looking at the cases with odd numbers; those with even numbers were kept
of which only totals were seen before the last change. Figures are given for both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from circumspect.models import open_model
from circumspect.review.case_files import Criteria, read_cases, read_criteria, read_documents
from circumspect.review.citations import cite
from circumspect.review.reviewing import Reviewing, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.review.values import CriterionResult, ReviewCase

SAMPLES = Path(__file__).parents[1] / "examples" / "review"
PROGRAM = "from circumspect import cli; cli.VERBS.setdefault('evaluate', ('evaluate:evaluate', '')); cli.main()"


@dataclass(frozen=True)
class Judged:
    label: dict[str, Any]
    result: CriterionResult
    real: int
    """Quotes that stand in the document at their offsets."""
    telling: bool
    """A quote overlaps a gold one."""

    @property
    def right(self) -> bool:
        return self.result.status == self.label["verdict"]

    @property
    def decided(self) -> bool:
        return self.result.status != "UNCERTAIN"


async def judged(reviewing: Reviewing) -> list[Judged]:
    criteria, shelf = read_criteria(SAMPLES / "criteria.yaml"), Shelf(read_documents(SAMPLES / "policies"))
    by_id, cases = {one.id: one for one in criteria.items}, {one.id: one for one in read_cases(SAMPLES / "cases")}
    prepared = await prepare(shelf, reviewing)
    found = []
    for line in (SAMPLES / "labels.jsonl").read_text("utf-8").splitlines():
        label = json.loads(line)
        criterion = by_id[label["criterion"]]
        document = criteria.document_of(criterion, shelf.names)
        result = await review(cases[label["case"]], criterion, prepared, reviewing, document=document)
        found.append(_judged(label, result, shelf))
    return found


def _judged(label: dict[str, Any], result: CriterionResult, shelf: Shelf) -> Judged:
    real = sum(shelf.documents[one.document].text[one.start : one.end] == one.quote for one in result.citations)
    gold = [cite(one["quote"], shelf.searchable, document=one["document"]) for one in label["gold"]]
    telling = any(
        one.document == other.document and one.start < other.end and other.start < one.end
        for one in result.citations
        for other in gold
        if other
    )
    return Judged(label, result, real, telling)


def quality(found: Sequence[Judged], name: str) -> str:
    decided = [one for one in found if one.decided]
    quotes = sum(len(one.result.citations) for one in found)
    right = sum(one.right for one in decided)
    decidable = sum(one.label["verdict"] != "UNCERTAIN" for one in found)
    return (
        f"| {name} | {len(found)} | {_share(sum(one.right for one in found), len(found))} "
        f"| {len(decided)} of {decidable} | {_share(right, len(decided))} "
        f"| {sum(one.real for one in found)} of {quotes} | {_share(sum(one.telling for one in found), len(found))} "
        f"| {calibration(decided):.3f} |"
    )


def calibration(decided: Sequence[Judged], bins: int = 10) -> float:
    """Expected calibration error over the verdicts that are not UNCERTAIN: an abstention claims nothing."""
    by_bin: dict[int, list[Judged]] = defaultdict(list)
    for one in decided:
        by_bin[min(bins - 1, int(one.result.confidence * bins))].append(one)
    return sum(
        len(group)
        / len(decided)
        * abs(_mean(one.right for one in group) - _mean(one.result.confidence for one in group))
        for group in by_bin.values()
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


async def show_quality(reviewing: Reviewing) -> None:
    began = time.perf_counter()
    found = await judged(reviewing)
    seconds = time.perf_counter() - began
    print(f"\n## Quality, controller {reviewing.controller}\n")
    print("| cases | criteria | right | decided | right when decided | quotes that exist | has a gold quote | ECE |")
    print("|---|---|---|---|---|---|---|---|")
    odd = [one for one in found if int(one.label["case"][-2:]) % 2]
    even = [one for one in found if not int(one.label["case"][-2:]) % 2]
    for name, half in (("all", found), ("odd (seen)", odd), ("even", even)):
        print(quality(half, name))
    print("\n| trap | criteria | right | decided | wrong |")
    print("|---|---|---|---|---|")
    for trap in sorted({str(one.label["trap"]) for one in found}):
        those = [one for one in found if str(one.label["trap"]) == trap]
        decided = [one for one in those if one.decided]
        wrong = sum(not one.right for one in decided)
        right = _share(sum(one.right for one in those), len(those))
        print(f"| {trap} | {len(those)} | {right} | {len(decided)} | {wrong} |")
    for one in found:
        if one.decided and not one.right:
            said = f"{one.result.status} instead of {one.label['verdict']}"
            print(f"\n- wrong: {one.label['case']} {one.label['criterion']}: {said}; {one.result.rationale}")
    tokens, cost = sum(one.result.tokens for one in found), sum(one.result.cost_usd for one in found)
    reasons = Counter(str(one.result.reason_code) for one in found)
    print(f"\nReasons: {dict(reasons.most_common())}. Tokens {tokens:,}, ${cost:.4f}, {seconds:.1f} s with reading.")


# --- batch ----------------------------------------------------------------------------------------------------------


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
    parser.add_argument("--model", help="measure the react controller with this model")
    parser.add_argument("--batch", action="store_true", help="only the batch")
    parser.add_argument("--evaluations", type=int, default=10_000)
    given = parser.parse_args()
    if given.batch:
        show_batch(given.evaluations)
        return
    asyncio.run(show_quality(Reviewing(open_model(given.model) if given.model else None)))


if __name__ == "__main__":
    main()
