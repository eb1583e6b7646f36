"""Every door, tried at random for a long time: `python -m bench.doors`, or `--steps 2000 --door Widget`.

A step is a message, a button, a decision, a fault or a jump of the clock, as in `tests/promises`. What is found is
printed as the few lines that do it again, and the command fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.promises.doors import DOORS
from tests.promises.machine import open_stage

STEPS_A_TALK = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--door", choices=[door.__name__ for door in DOORS], action="append")
    parser.add_argument("--luck", action="store_true", help="other examples than the last time")
    given = parser.parse_args()
    print("| door | steps | yeses | effects | crashes | violations | minutes |")
    print("|---|---|---|---|---|---|---|", flush=True)
    wrong = 0
    for door in DOORS:
        if not given.door or door.__name__ in given.door:
            wrong += _try(door, given.steps, luck=given.luck)
    return 1 if wrong else 0


def _try(door: type, steps: int, *, luck: bool) -> int:
    talks = settings(
        max_examples=max(1, steps * 5 // (STEPS_A_TALK * 4)),
        stateful_step_count=STEPS_A_TALK,
        deadline=None,
        derandomize=not luck,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    began, wrong = perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder, open_stage(Path(folder)) as stage:
        machine, tally = stage.machine(door)
        try:
            run_state_machine_as_test(machine, settings=talks)
        except Exception as problem:
            wrong = 1
            print(*getattr(problem, "__notes__", ()), problem, sep="\n", file=sys.stderr)
        minutes = (perf_counter() - began) / 60
        counted = f"{tally.steps:,} | {tally.yeses:,} | {tally.effects:,} | {tally.crashes:,}"
        print(f"| {machine.door.name} | {counted} | {wrong} | {minutes:.1f} |", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
