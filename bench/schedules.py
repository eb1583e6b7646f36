"""Deterministic simulation: seeds in, schedules a second and the harm that was found out.

    python -m bench.schedules                     # 10,000 schedules
    python -m bench.schedules --count 100000
    python -m bench.schedules --seed 4711         # one of them, step by step

The world is in `tests/simulation`: the real pipeline and the real statements on one simulated clock.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import suppress
from time import perf_counter, process_time

from tests.simulation.schedule import play, play_many

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.schedules", description="Simulate faults, and look for harm.")
    parser.add_argument("--seed", type=int, help="play one schedule, and print what happened in it")
    parser.add_argument("--first", type=int, default=0, help="the first seed of many")
    parser.add_argument("--count", type=int, default=10_000, help="how many schedules")
    options = parser.parse_args()
    return show(options.seed) if options.seed is not None else run(range(options.first, options.first + options.count))


def show(seed: int) -> int:
    played = play(seed, with_log=True)
    print("\n".join(played.log))
    print("\n".join(f"HARM  {harm}" for harm in played.harms) or "No harm.")
    return bool(played.harms)


def run(seeds: range) -> int:
    began, used = perf_counter(), process_time()
    harms: Counter[str] = Counter()
    count = turns = effects = harmful = 0
    with suppress(KeyboardInterrupt):  # what was found until then is told all the same
        for played in play_many(seeds):
            count, turns, effects = count + 1, turns + played.turns, effects + played.effects
            harmful += bool(played.harms)
            for harm in played.harms:
                harms[harm.partition(":")[0]] += 1
                if harmful <= SHOWN:
                    print(f"seed {played.seed}: {harm}", flush=True)
    seconds, cpu = perf_counter() - began, process_time() - used
    print(f"{count:,} schedules, {turns:,} replies, {effects:,} effects in {seconds:.0f} s ({cpu:.0f} s of CPU)")
    print(f"{count / seconds:.0f} schedules a second; {harmful} with harm: {dict(harms) or 'none'}")
    return bool(harms)


if __name__ == "__main__":
    raise SystemExit(main())
