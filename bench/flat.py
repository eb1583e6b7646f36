"""Does a turn stay as cheap when the conversation is long? Turn 10 beside turn 1,000 of the same database.

One long conversation is grown first; then short and long turns alternate, so that both meet the same noise and the
same file size. Both begin with a guarded action: a conversation that has had one reads a little more ever after, which
has nothing to do with its length. Peers are grown less by default, because their turns slow down as they go;
`--peer-turns` says how far.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from bench.clock import Series, drawn, frozen, settled, waited
from bench.contest import BARE, PEERS, US, WINDOWED, Entrant, Field, action, gathered, plain
from bench.report import Aim, Section, Table, duration, ratio
from bench.work import Contestant

SHORT = 10
LIMIT = 1.2
MEASURES = ("plain, short", "plain, long", "guarded, short", "guarded, long")
Measured = dict[str, Series]


async def run(rounds: int = 20, turns: int = 1000, peer_turns: int = 200) -> Section:
    everybody = (BARE, US, *PEERS, *WINDOWED)
    with tempfile.TemporaryDirectory() as folder:
        async with gathered(everybody, Path(folder)) as field:
            depth = {entrant: peer_turns if entrant.peer else turns for entrant in field.ready}
            measured = {entrant: {name: Series() for name in MEASURES} for entrant in field.ready}
            with frozen():
                for entrant, contestant in field.ready.items():
                    await grow(contestant, "long", depth[entrant])
                lots = random.Random(1)
                for number in range(rounds):
                    for entrant in drawn(field.ready, lots):
                        await pair(field.ready[entrant], f"short{number}", measured[entrant], lots)
    return section(everybody, field, depth, measured)


async def grow(contestant: Contestant, conversation: str, turns: int) -> None:
    """So that the next turn is number `turns`; the action is two of them."""
    await action(contestant, conversation)
    for _ in range(turns - 3):
        await plain(contestant, conversation)


async def pair(contestant: Contestant, short: str, measured: Measured, lots: random.Random) -> None:
    await grow(contestant, short, SHORT)
    for conversation, length in drawn(((short, "short"), ("long", "long")), lots):
        settled()
        await measured[f"plain, {length}"].measure(lambda: plain(contestant, conversation))  # noqa: B023
        await measured[f"guarded, {length}"].measure(lambda: action(contestant, conversation))  # noqa: B023


def section(
    everybody: tuple[Entrant, ...], field: Field, depth: dict[Entrant, int], measured: dict[Entrant, Measured]
) -> Section:
    rows = []
    for entrant in everybody:
        if entrant in field.missing:
            rows.append((entrant.name, "not installed", *[""] * 8))
            continue
        turn, turn_long, guarded, guarded_long = (measured[entrant][name].median for name in MEASURES)
        cpu, cpu_long, acted, acted_long = (measured[entrant][name].median_cpu for name in MEASURES)
        rows.append(
            (
                entrant.name,
                f"{depth[entrant]:,}",
                duration(turn),
                duration(turn_long),
                ratio(turn_long, turn),
                ratio(cpu_long, cpu),
                duration(guarded),
                duration(guarded_long),
                ratio(guarded_long, guarded),
                ratio(acted_long, acted),
            )
        )
    header = ("", "long is turn", "plain at 10", "long", "ratio", "CPU", "guarded at 10", "long", "ratio", "CPU")
    return Section(
        "flat",
        "Cost of a long conversation",
        "Median time of a turn at turn 10 and late in a long conversation of the same database. The peers' defaults "
        "read and send the whole history; where one can be told to read less, a second line shows that."
        + waited(found[name] for entrant, found in measured.items() if entrant is not BARE for name in MEASURES),
        (Table(header, tuple(rows)),),
        tuple(aim(what, depth, measured) for what in ("plain", "guarded")),
        {
            entrant.name: {"turn": depth[entrant], **{name: series.to_json() for name, series in found.items()}}
            for entrant, found in measured.items()
        },
    )


def aim(what: str, depth: dict[Entrant, int], measured: dict[Entrant, Measured]) -> Aim:
    text = f"{what} at turn 1,000 takes at most {LIMIT} × turn {SHORT}"
    if US not in measured or depth[US] < 1000:
        return Aim(text, "not grown to turn 1,000" if US in measured else "circumspect is not here", None)
    short, long = (measured[US][f"{what}, {length}"].median for length in ("short", "long"))
    cpu, cpu_long = (measured[US][f"{what}, {length}"].median_cpu for length in ("short", "long"))
    return Aim(text, f"{ratio(long, short)}; in CPU {ratio(cpu_long, cpu)}", long <= LIMIT * short)
