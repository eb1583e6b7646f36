"""Framework overhead: a plain turn and a guarded action with a model that takes no time, persisted in SQLite.

Contestants take turns within every round, in an order drawn by lot, so that noise hits all alike. Each batch talks to a
fresh conversation whose first turn is not counted.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from bench.clock import Series, drawn, frozen, settled, waited
from bench.contest import BARE, OURS, PEERS, US, Entrant, Field, action, gathered
from bench.contest import plain as one_turn
from bench.report import Aim, Section, Table, duration, ratio
from bench.work import Contestant

PLAIN = 8
GUARDED = 4
WARM_UP = 2
SHARE = 0.2


async def run(rounds: int = 30) -> Section:
    plain: dict[Entrant, Series] = {}
    guarded: dict[Entrant, Series] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with gathered((BARE, US, *PEERS), Path(folder)) as field:
            lots = random.Random(1)
            with frozen():
                for number in range(-WARM_UP, rounds):
                    if number == 0:
                        plain.update((entrant, Series()) for entrant in field.ready)
                        guarded.update((entrant, Series()) for entrant in field.ready)
                    for entrant in drawn(field.ready, lots):
                        turns, actions = plain.get(entrant, Series()), guarded.get(entrant, Series())
                        await batch(field.ready[entrant], f"round{number}", turns, actions)
    return section(field, plain, guarded)


async def batch(contestant: Contestant, conversation: str, plain: Series, guarded: Series) -> None:
    await one_turn(contestant, conversation)
    settled()
    for _ in range(PLAIN):
        await plain.measure(lambda: one_turn(contestant, conversation))
    settled()
    for _ in range(GUARDED):
        await guarded.measure(lambda: action(contestant, conversation))


def section(field: Field, plain: dict[Entrant, Series], guarded: dict[Entrant, Series]) -> Section:
    return Section(
        "overhead",
        "Framework overhead per turn",
        "Zero-latency model in the same process, every state in an SQLite file. Plain turn: question, answer. Guarded "
        "action: propose, hold on disk, approve, execute, reply. Medians over interleaved rounds; CPU is that of all "
        "threads. Circumspect makes three model calls for a guarded action (draft, critique, phrasing) and keeps a "
        "journal and a write-ahead ledger; the peers make two calls. 'bare sqlite3' only writes our rows."
        + waited(series for entrant, series in plain.items() if entrant is not BARE),
        (table("plain turn", plain), table("guarded action", guarded)),
        (aim("plain turn", plain), aim("guarded action", guarded)),
        {
            "plain": {entrant.name: series.to_json() for entrant, series in plain.items()},
            "guarded": {entrant.name: series.to_json() for entrant, series in guarded.items()},
            "missing": {entrant.name: why for entrant, why in field.missing.items()},
        },
    )


def table(what: str, measured: dict[Entrant, Series]) -> Table:
    ours = measured[US].median if US in measured else None
    peer, peer_cpu = _fastest_peer(measured)
    rows = [
        (
            entrant.name,
            duration(measured[entrant].median),
            duration(measured[entrant].best),
            duration(measured[entrant].median_cpu),
            ratio(measured[entrant].median, ours),
            ratio(measured[entrant].median, peer),
            ratio(measured[entrant].median_cpu, peer_cpu),
        )
        if entrant in measured
        else (entrant.name, "not installed", "", "", "", "", "")
        for entrant in (BARE, US, *PEERS)
    ]
    return Table((what, "median", "best", "CPU", "to ours", "to fastest peer", "CPU to that peer"), tuple(rows))


def aim(what: str, measured: dict[Entrant, Series]) -> Aim:
    peer, peer_cpu = _fastest_peer(measured)
    text = f"{what} takes at most a fifth of the fastest peer's time"
    if US not in measured or peer is None:
        return Aim(text, f"needs {OURS} and at least one peer", None)
    ours = measured[US]
    seen = f"{duration(ours.median)} of {duration(peer)}, {ratio(ours.median, peer)}"
    return Aim(text, f"{seen}; in CPU {ratio(ours.median_cpu, peer_cpu)}", ours.median <= SHARE * peer)


def _fastest_peer(measured: dict[Entrant, Series]) -> tuple[float | None, float | None]:
    """Its time and CPU."""
    found = [series for entrant, series in measured.items() if entrant.peer]
    fastest = min(found, key=lambda series: series.median, default=None)
    return (fastest.median, fastest.median_cpu) if fastest else (None, None)
