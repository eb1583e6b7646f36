"""A backtest as a job: stored conversations, some to a chunk -> lines about what flips, and the figures of the chunk.

    job = backtest_of(Order(database, policy_text, tools))
    summary, lines = Summary(), []
    for row in run(job, engine, ledger):
        add(row, summary) or lines.append(row)

A chunk is a stretch of one tenant's conversations. Its first row is its summary; adding up summaries in the order of
the chunks gives what one pass over all conversations gives. The other rows are the lines that `--json` prints.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from circumspect import __version__
from circumspect.hashing import digest
from circumspect.lab.batch.job import BatchJob, Chunk, ChunkFunction
from circumspect.lab.replay.backtest import Lens
from circumspect.lab.replay.flips import KEPT, BacktestCase, BacktestSummary, ChangeTally, Side
from circumspect.lab.replay.stored_turns import StoredExecutionLookup, Stretch, open_for_reading, read, stretches
from circumspect.policy.load import load
from circumspect.stores import codec
from circumspect.stores.engine import Database
from circumspect.stores.schema import prepare
from circumspect.values import JsonObject, TenantId, ToolCall, ToolSpec
from circumspect.wording import compact

P = ParamSpec("P")
T = TypeVar("T")

SIZE = 100
"""Conversations in a chunk: a fraction of a second's work, so that little is done twice when somebody is killed."""
_COUNTS = ("conversations", "calls", "verified", "unreplayed")
_COUNTERS = ("reasons", "changes", "needless", "questions")


@dataclass(frozen=True)
class BacktestOrder:
    """Everything that the result depends on. The policies are texts, because their files are on one machine only."""

    database: str
    policy: str
    tools: Mapping[TenantId, Mapping[str, ToolSpec]]
    """Of each tenant whose conversations are looked at."""
    since: datetime | None = None
    limit: int | None = None
    verify: str | None = None
    against: Mapping[TenantId, str] = field(default_factory=dict)
    """What it is compared with, by tenant; of one that is not here, with what was decided."""
    size: int = SIZE


def backtest_of(order: BacktestOrder) -> BatchJob[BacktestOrder]:
    identity = digest(
        {
            "version": __version__,
            "database": order.database,
            "policy": order.policy,
            "verify": order.verify,
            "against": dict(order.against),
            "tools": {
                tenant: {name: codec.spec_document(spec) for name, spec in specs.items()}
                for tenant, specs in order.tools.items()
            },
            "since": order.since.isoformat() if order.since else None,
            "limit": order.limit,
            "size": order.size,
        }
    )
    return BatchJob("backtest", identity[:24], order, begin, list_chunks)


def list_chunks(order: BacktestOrder) -> Sequence[Chunk]:
    with _open_database(order.database) as database:
        return asyncio.run(_collect_chunks(order, _Reader(database)))


async def _collect_chunks(order: BacktestOrder, store: _Reader) -> Sequence[Chunk]:
    found: list[Chunk] = []
    for tenant in order.tools:
        for one in await stretches(store, tenant, order.size, order.since, order.limit):
            label = f"{one.conversations} conversations of {tenant}, {one.newest[1]} to {one.oldest[1]}"
            detail: JsonObject = {"tenant": tenant, "newest": list(one.newest), "oldest": list(one.oldest)}
            found.append(Chunk(len(found), label, one.conversations, detail))
    return found


@contextmanager
def begin(order: BacktestOrder) -> Iterator[ChunkFunction]:
    policy, verify = load(order.policy), load(order.verify) if order.verify else None
    with _open_database(order.database) as database, asyncio.Runner() as runner:
        store = _Reader(database)
        lenses = {}
        for tenant, specs in order.tools.items():
            against = load(order.against[tenant]) if tenant in order.against else None
            elsewhere = StoredExecutionLookup(store, tenant)
            lenses[tenant] = Lens(policy, specs, elsewhere, order.since, verify, against=against)

        def work(chunk: Chunk) -> Sequence[bytes]:
            detail: Mapping[str, Any] = chunk.detail
            newest, oldest = ((float(at), str(name)) for at, name in (detail["newest"], detail["oldest"]))
            stretch = Stretch(TenantId(detail["tenant"]), newest, oldest, chunk.size)
            return runner.run(_replay_stretch(stretch, database, lenses[stretch.tenant]))

        yield work


async def _replay_stretch(stretch: Stretch, database: Database, lens: Lens) -> Sequence[bytes]:
    summary, lines = BacktestSummary(), []
    for record in database.transaction(read, stretch):
        visited = await lens.visit(record)
        summary.add(visited)
        lines += [compact(case.to_json()).encode() for case in visited.cases if case.change or case.problem]
    return [encode_summary(summary), *lines]


class _Reader:
    """A database for whoever wants a store that reads. It has one thread, this one, which has nothing else to do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tx(self, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._database.transaction(body, *args, **kwargs)


@contextmanager
def _open_database(url: str) -> Iterator[Database]:
    database = open_for_reading(url)
    try:
        prepare(database, migrate=False)
        yield database
    finally:
        database.close()


# --- summaries as rows ----------------------------------------------------------------------------------------------


def encode_summary(summary: BacktestSummary) -> bytes:
    """A summary as a row: a list, by which it is told from the lines."""
    return codec.dumps(
        [
            {name: getattr(summary, name) for name in _COUNTS},
            {name: dict(getattr(summary, name)) for name in _COUNTERS},
            [[one.to_json(), one.sentence, [case.to_json() for case in one.cases]] for one in summary.tallies.values()],
            [at.isoformat() if at else None for at in (summary.first, summary.last)],
        ]
    ).encode()


def add(row: bytes, summary: BacktestSummary) -> bool:
    """Add a chunk's summary to the whole; False when the row is a line. In the order of the chunks: the first few cases
    of each kind are kept, and what was met first comes first among equals."""
    if not row.lstrip().startswith(b"["):
        return False
    parts: Any = codec.loads(row)
    counts, counters, tallies, span = parts
    for name, more in counts.items():
        setattr(summary, name, getattr(summary, name) + more)
    for name, mores in counters.items():
        counter: Counter[str] = getattr(summary, name)
        for key, more in mores.items():
            counter[key] += more
    for one, sentence, cases in tallies:
        _tally(summary, one, sentence, [case_of(case) for case in cases])
    first, last = (datetime.fromisoformat(at) if at else None for at in span)
    summary.first = min((at for at in (summary.first, first) if at), default=None)
    summary.last = max((at for at in (summary.last, last) if at), default=None)
    return True


def _tally(summary: BacktestSummary, one: Mapping[str, Any], sentence: str, cases: Sequence[BacktestCase]) -> None:
    key = (one["change"], one["rule"], codec.reason(one["reason_code"]))
    tally = summary.tallies.get(key)
    if tally is None:
        tally = summary.tallies[key] = ChangeTally(*key, sentence)
    tally.calls += one["calls"]
    tally.needless += one["needless"]
    tally.cases += cases[: KEPT - len(tally.cases)]


def case_of(said: Mapping[str, Any]) -> BacktestCase:
    """A case from its line. Long arguments are cut there, and stay cut."""
    return BacktestCase(
        tenant=said["tenant"],
        conversation=said["conversation"],
        turn=said["turn"],
        seq=said["seq"],
        at=datetime.fromisoformat(said["at"]),
        call=ToolCall(said["tool"], said["arguments"]),
        after_yes=said["after_yes"],
        then=_side(said["then"]),
        now=_side(said["now"]) if said["now"] else None,
        change=said["change"],
        fate=said["fate"],
        open=said["second_opinion_open"],
        problem=said.get("cannot_be_replayed", ""),
    )


def _side(said: Mapping[str, Any]) -> Side:
    return Side(said["verdict"], said["rule"], codec.reason(said["reason_code"]), said["sentence"], said["problem"])
