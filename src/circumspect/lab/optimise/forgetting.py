"""Cases that were deleted, and folders -> what the folders hold of them is deleted too.

A dataset that was made from a store is written again without them. A run goes whole, because without a case its dataset
is another one and it could not go on. What came of a run stays, `winner.md` and `report.json`: no trace is in them, but
instructions that were written from a case may repeat what it said. If they were, that is told: a person should read
them.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from circumspect.errors import ConfigError
from circumspect.lab.batch.process_lock import alone
from circumspect.lab.optimise.dataset import FROM_STORE, part_of, tenant_of
from circumspect.private_files import write

if TYPE_CHECKING:
    import sqlalchemy as sa

RESULTS = ("winner.md", "report.json")
"""What stays of a run."""
_TRACES = ("run.db", "run.db-wal", "run.db-shm", "gepa.log", "settings.json")
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Holding:
    """A folder with cases in it."""

    path: Path
    kind: Literal["run", "dataset"]
    cases: frozenset[str]
    tenant: str | None
    """Whose store they come from, if they do."""

    def has_learnt_from(self, cases: Collection[str]) -> bool:
        """Whether instructions were written by somebody who had read one of them."""
        return self.kind == "run" and any(part_of(one) == "train" for one in self.cases.intersection(cases))

    @property
    def results(self) -> tuple[Path, ...]:
        return tuple(file for name in RESULTS if self.kind == "run" and (file := self.path / name).exists())


def holdings(folders: Iterable[Path]) -> Iterator[Holding]:
    """Runs and datasets from a store, in these folders or right below. Raises `ConfigError` for one that cannot be
    read: nobody could say what is in it."""
    for folder in folders:
        below = sorted(one for one in folder.iterdir() if one.is_dir())
        for path in (folder, *below):
            if (path / "run.db").exists() or (path / "cases.json").exists():
                yield _run(path)
            elif (path / FROM_STORE).exists():
                yield Holding(path, "dataset", frozenset(_ids(path)), tenant_of(path))


def _run(path: Path) -> Holding:
    try:
        known: Any = orjson.loads((path / "cases.json").read_bytes())
        return Holding(path, "run", frozenset(map(str, known["cases"])), known["tenant"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        raise ConfigError(
            f"{path} does not say which cases it holds.", fix="Delete the folder, or run its command again."
        ) from None


def find_deleted(connection: sa.Connection, tenant: str, cases: Collection[str]) -> frozenset[str]:
    """Those that the tenant's database no longer has."""
    import sqlalchemy as sa

    from circumspect.stores.review_tables import evaluations, results

    wanted, there = sorted(cases), set[str]()
    for first in range(0, len(wanted), _AT_ONCE):
        some = wanted[first : first + _AT_ONCE]
        for table in (evaluations, results):
            query = sa.select(table.c.case_id).where(table.c.tenant == tenant, table.c.case_id.in_(some)).distinct()
            there.update(connection.execute(query).scalars())
    return frozenset(wanted) - there


def forget(holding: Holding, cases: Collection[str]) -> None:
    """All that is there of the cases. Interrupted, it finds the rest the next time."""
    if not holding.cases.intersection(cases):
        return
    if holding.kind == "dataset":
        _rewrite(holding.path / "labels.jsonl", "case", cases)
        _rewrite(holding.path / "cases" / "cases.jsonl", "id", cases)
        return
    with alone(holding.path / "lock", f"A run works in {holding.path}.", "Stop it, and forget the cases then."):
        for name in ("candidates", "outlines"):
            shutil.rmtree(holding.path / name, ignore_errors=True)
        for file in (*holding.path.glob("*.part"), *(holding.path / name for name in _TRACES)):
            file.unlink(missing_ok=True)
        # Last: it says that there is something to delete.
        (holding.path / "cases.json").unlink(missing_ok=True)
    if not any(holding.path.iterdir()):
        holding.path.rmdir()


def _ids(path: Path) -> Iterator[str]:
    yield from (str(one.get("id")) for one, _ in _lines(path / "cases" / "cases.jsonl"))


def _rewrite(file: Path, key: str, cases: Collection[str]) -> None:
    write(file, b"".join(line + b"\n" for one, line in _lines(file) if str(one.get(key)) not in cases))


def _lines(file: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    try:
        for line in file.read_bytes().splitlines():
            if line.strip():
                one = orjson.loads(line)
                yield one if isinstance(one, dict) else {}, line
    except (OSError, orjson.JSONDecodeError):
        raise ConfigError(f"{file} cannot be read.", fix="Correct it, or delete its folder.") from None
