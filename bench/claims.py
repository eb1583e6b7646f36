"""`python -m bench.claims FILE`: how well sentences of a reply that are not so are told from those that are.

FILE is a JSON list of `{"lang", "reply", "ran", "pending", "user", "truth"}`: `ran` are calls with `tool`, `arguments`,
`state` and `result`, `truth` is `false_claim` or `true`. A false claim that passes is read by a customer; a false alarm
costs a second draft. Without FILE, our own set is scored.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from circumspect.policy.grounding.statements import read_statements
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.values import PastCall, ToolCall

OWN = Path(__file__).parent.parent / "tests" / "policy" / "reply_claims.json"


def judge(case: Mapping[str, Any]) -> tuple[UntrueSentence, ...]:
    """What is found in one case."""
    ran = [
        PastCall(
            ToolCall(one["tool"], one["arguments"]), one["result"], one["state"] == "succeeded", True, index,
            unknown=one["state"] == "indeterminate",
        )
        for index, one in enumerate(case["ran"])
    ]  # fmt: skip
    waits = case.get("pending")
    pending = [ToolCall(waits["tool"], waits["arguments"])] if waits else []
    return find_untrue(case["reply"], case["lang"], ran, None, pending, case.get("user", ""), case.get("user", ""))


def is_right(case: Mapping[str, Any]) -> bool:
    return bool(judge(case)) == (case["truth"] == "false_claim")


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.claims", description="Measure how replies are checked.")
    parser.add_argument("file", nargs="?", type=Path, default=OWN, help="a JSON list of labelled replies")
    parser.add_argument("--misses", action="store_true", help="also print every reply that is read wrongly")
    options = parser.parse_args()
    cases: list[Mapping[str, Any]] = json.loads(options.file.read_text("utf-8"))
    print(f"{'':<8}{'false':>7}{'recall':>9}{'true':>9}{'alarms':>9}")
    for language in sorted({case["lang"] for case in cases}):
        _show(language, [case for case in cases if case["lang"] == language])
    _show("all", cases)
    # Nothing is remembered of the first reading, so that each reply costs what it costs in a turn.
    read_statements.cache_clear()
    started = time.perf_counter()
    for case in cases:
        judge(case)
    print(f"\n{(time.perf_counter() - started) / len(cases) * 1e6:.0f} µs a reply")
    if options.misses:
        for case in cases:
            if not is_right(case):
                print(f"{case['truth']:<12} {case['lang']}  {case['reply']!r}  {[one.reason for one in judge(case)]}")


def _show(name: str, cases: Iterable[Mapping[str, Any]]) -> None:
    untrue = [is_right(case) for case in cases if case["truth"] == "false_claim"]
    true = [is_right(case) for case in cases if case["truth"] == "true"]
    recall = sum(untrue) / len(untrue) if untrue else 1.0
    alarms = 1 - sum(true) / len(true) if true else 0.0
    print(f"{name:<8}{len(untrue):>7}{recall:>9.1%}{len(true):>9}{alarms:>9.1%}")


if __name__ == "__main__":
    main()
