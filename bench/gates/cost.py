"""What a ruling of ours takes: in this process and with SQLite, and where its time goes.

Two cases. `first seen`: the conversation was never seen before, so all of it is read. `next call`: an earlier ruling
has read its beginning, and only what came since is new, as in an agent's loop. In process CPU time is what counts;
SQLite waits for its disk, so there it is the time on the clock.
"""

from __future__ import annotations

import cProfile
import pstats
import tempfile
from itertools import count
from pathlib import Path

from bench.clock import Series, frozen, settled
from bench.gates.contestant import Watch
from bench.gates.proposals import PERSON, House
from bench.gates.through_gate import ThroughGate
from bench.report import Aim, Table, duration

IN_PROCESS, WITH_SQLITE = 150e-6, 1e-3
FRAME = {"gate", "deciding", "book", "enforce", "judge"}
"""They hold the parts together; what they take is what the parts take."""
READ = {"id": "first", "name": "list_mails", "arguments": {}}
"""The earlier ruling of `next call`."""


async def measure_rulings(house: House, rounds: int) -> tuple[Table, tuple[Aim, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        bare, kept = ThroughGate(house), ThroughGate(house, store=Path(folder) / "gate.db")
        measured = {one: await _measure(one, house, rounds) for one in (bare, kept)}
        await bare.close()
        await kept.close()
    rows = [
        (f"{place}, {case}", duration(series.median), duration(series.best), duration(series.median_cpu))
        for place, one in (("in process", bare), ("with SQLite", kept))
        for case, series in zip(("first seen", "next call"), measured[one], strict=True)
    ]
    in_process, stored = measured[bare][1].median_cpu, measured[kept][1].median
    aims = (
        Aim("the next call is ruled on in process in 150 µs of CPU", duration(in_process), in_process <= IN_PROCESS),
        Aim("the next call is ruled on with SQLite in 1 ms", duration(stored), stored <= WITH_SQLITE),
    )
    return Table(("a ruling", "median", "best", "CPU"), tuple(rows)), aims


async def _measure(one: ThroughGate, house: House, rounds: int) -> tuple[Series, Series]:
    first, later, numbers = Series(), Series(), count()
    with frozen():
        for number in range(rounds + 1):
            settled()
            for proposal in house.proposals:
                place, messages = f"n{next(numbers)}", proposal.messages
                await one.gate.rule(READ, messages=messages[:1], conversation=place, person=PERSON)
                if number:
                    await first.measure(lambda proposal=proposal: one.rule(proposal, Watch()))  # type: ignore[misc]
                    await later.measure(
                        lambda proposal=proposal, place=place: one.gate.rule(  # type: ignore[misc]
                            proposal.call, messages=proposal.messages, conversation=place, person=PERSON
                        )
                    )
    return first, later


async def find_costly(house: House, rounds: int = 5) -> list[tuple[str, float]]:
    """The three parts of a ruling that cost most, with all that they call, below what puts the parts together."""
    one, profile = ThroughGate(house), cProfile.Profile()
    for proposal in house.proposals:
        await one.rule(proposal, Watch())
    profile.enable()
    for _ in range(rounds):
        for proposal in house.proposals:
            await one.rule(proposal, Watch())
    profile.disable()
    stats = pstats.Stats(profile)
    spent = {
        f"{Path(file).stem}.{name}": within
        for (file, _, name), (_, _, _, within, _) in stats.stats.items()  # type: ignore[attr-defined]
        if "circumspect" in file and Path(file).stem not in FRAME
    }
    total = stats.total_tt  # type: ignore[attr-defined]
    return [(name, within / total) for name, within in sorted(spent.items(), key=lambda item: -item[1])[:3]]
