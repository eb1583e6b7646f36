"""`python -m bench.gates`: what became of forty proposed calls, in how many lines, and how long a ruling took.

    python -m bench.gates                       the table
    python -m bench.gates --each                and what each made of every proposal
    python -m bench.gates --write               and put it into docs/compared.md

Peers are measured where they are installed; docs/compared.md says how. One that is there and fails is an error.
"""

from __future__ import annotations

import argparse
import asyncio
import os

from bench.gates.cost import find_costly, measure_rulings
from bench.gates.field import gather, run_all
from bench.gates.page import make_each, make_table, write_page
from bench.gates.proposals import load_house
from bench.report import lines


async def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.gates", description="Forty proposed calls through every gate.")
    parser.add_argument("--rounds", type=int, default=10, help="how often everybody gets every proposal")
    parser.add_argument("--each", action="store_true", help="what each made of every proposal")
    parser.add_argument("--write", action="store_true", help="put the table into docs/compared.md")
    options = parser.parse_args()

    house = load_house()
    contestants, missing = gather(house)
    if missing:
        print(f"NOT MEASURED, because it is not installed: {', '.join(missing)}")
    load = f"{os.getloadavg()[0]:.1f}"
    results = await run_all(house, contestants, options.rounds)
    rulings, aims = await measure_rulings(house, options.rounds)
    tables = [make_table(results, house), rulings]
    for table in [*tables, make_each(results, house)] if options.each else tables:
        print("", *lines(table), sep="\n")
    print("", *aims, sep="\n")
    print(f"\nLoad at the start: {load}. Where the time goes, in process:")
    for name, share in await find_costly(house):
        print(f"  {share:4.0%}  {name}")
    if options.write:
        write_page(results, tables, load)


if __name__ == "__main__":
    asyncio.run(main())
