"""The run directory: everything a run knows, so that the same command goes on wherever it ended.

    settings.json      what the run is about; another command than this one is refused
    cases.json         whose cases it holds, so that they are found when they are deleted
    run.db             every evaluation that was paid for, by candidate and example, and every answer in reflection
    candidates/        the texts, one file each
    gepa.log           what the optimiser said
    report.json        what came of it

A resume is a replay. GEPA starts from the beginning with the same seed, and everything that it asks for is read here
until it asks for something new. So a run that was killed comes to the same result as one that was not, and nothing is
paid for twice but what was in flight. GEPA's own saved state has neither its random numbers nor the minibatch in
flight, and it is a pickle: it is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from circumspect.errors import ConfigError
from circumspect.lab.batch.process_lock import alone
from circumspect.lab.optimise.values import ReviewScore
from circumspect.private_files import make_folder, opener, write

_SCHEMA = """
CREATE TABLE IF NOT EXISTS evaluations (
    candidate TEXT NOT NULL, example TEXT NOT NULL, score REAL NOT NULL, parts TEXT NOT NULL, feedback TEXT NOT NULL,
    failed TEXT NOT NULL, result TEXT NOT NULL, tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (candidate, example)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reflections (
    asked TEXT NOT NULL, time INTEGER NOT NULL, answer TEXT NOT NULL, tokens INTEGER NOT NULL, cost_usd REAL NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (asked, time)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Evaluated:
    """One example under one candidate. `failed` says why there is no score; then it counts as 0."""

    score: ReviewScore
    result: Mapping[str, Any]
    failed: str = ""
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    evaluations: int
    failed: int
    reflections: int
    tokens: int
    cost_usd: float

    def to_json(self) -> dict[str, Any]:
        return {
            "evaluations": self.evaluations,
            "failed": self.failed,
            "reflections": self.reflections,
            "tokens": self.tokens,
            "cost_usd": round(self.cost_usd, 6),
        }


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Folder:
    """Open for one process at a time. What is written is on disk when the call returns."""

    def __init__(
        self, path: Path, settings: Mapping[str, Any], cases: Collection[str] = (), tenant: str | None = None
    ) -> None:
        """`tenant` is whose store the cases come from, if they do."""
        self.path = path
        self._settings = settings
        self._holds = {"tenant": tenant, "cases": sorted(cases)}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opening:
            # Traces hold what is in the cases.
            make_folder(self.path)
            make_folder(self.path / "candidates")
            fix = "Wait for it to end, or name another directory with --run."
            opening.enter_context(alone(self.path / "lock", f"Another process works in {self.path}.", fix))
            self._check_settings()
            write(self.path / "cases.json", orjson.dumps(self._holds, option=orjson.OPT_INDENT_2))
            # SQLite gives the files beside it the mode of the database.
            open(self.path / "run.db", "ab", opener=opener).close()
            self._database = sqlite3.connect(self.path / "run.db", isolation_level=None)
            opening.callback(self._database.close)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.executescript(_SCHEMA)
            # A replay says it all again.
            (self.path / "gepa.log").unlink(missing_ok=True)
            self._open = opening.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def _check_settings(self) -> None:
        file = self.path / "settings.json"
        if not file.exists():
            write(file, orjson.dumps(dict(self._settings), option=orjson.OPT_INDENT_2))
            return
        known = orjson.loads(file.read_bytes())
        other = [name for name, value in self._settings.items() if known.get(name) != value]
        if other:
            raise ConfigError(
                f"The run in {self.path} is another one: its {', '.join(other)} was different.",
                fix="Name another directory with --run, or give the same options.",
            )

    # --- evaluations ------------------------------------------------------------------------------------------------

    def find_evaluation(self, text: str, example: str) -> Evaluated | None:
        row = self._database.execute(
            "SELECT score, parts, feedback, result, failed, tokens, cost_usd FROM evaluations"
            " WHERE candidate = ? AND example = ?",
            (key_of(text), example),
        ).fetchone()
        if row is None:
            return None
        score, parts, feedback, result, failed, tokens, cost = row
        return Evaluated(ReviewScore(score, orjson.loads(parts), feedback), orjson.loads(result), failed, tokens, cost)

    def keep(self, text: str, example: str, made: Evaluated) -> None:
        self._database.execute(
            "INSERT OR IGNORE INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key_of(text), example, made.score.total, _json(dict(made.score.parts)), made.score.feedback,
                made.failed, _json(made.result), made.tokens, made.cost_usd, time.time(),
            ),
        )  # fmt: skip

    # --- reflections ------------------------------------------------------------------------------------------------

    def find_reflection(self, asked: str, nth: int) -> str | None:
        """The answer to the same question the nth time that it is asked in one run."""
        row = self._database.execute(
            "SELECT answer FROM reflections WHERE asked = ? AND time = ?", (key_of(asked), nth)
        ).fetchone()
        return str(row[0]) if row else None

    def keep_reflection(self, asked: str, nth: int, answer: str, tokens: int, cost_usd: float) -> None:
        self._database.execute(
            "INSERT OR IGNORE INTO reflections VALUES (?, ?, ?, ?, ?, ?)",
            (key_of(asked), nth, answer, tokens, cost_usd, time.time()),
        )

    def sum_spending(self) -> Spent:
        """In all, whoever ran it and however often it was stopped."""
        count, failed, tokens, cost = self._database.execute(
            "SELECT count(*), coalesce(sum(failed != ''), 0), coalesce(sum(tokens), 0), coalesce(sum(cost_usd), 0)"
            " FROM evaluations"
        ).fetchone()
        times, more, costs = self._database.execute(
            "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(cost_usd), 0) FROM reflections"
        ).fetchone()
        return Spent(count, failed, times, tokens + more, cost + costs)

    # --- files ------------------------------------------------------------------------------------------------------

    def keep_candidate(self, text: str) -> Path:
        file = self.path / "candidates" / f"{key_of(text)[:8]}.md"
        if not file.exists():
            write(file, f"{text}\n".encode())
        return file

    def log(self, message: str) -> None:
        """GEPA calls this; its words are for whoever wants to know how it came to be."""
        with open(self.path / "gepa.log", "a", encoding="utf-8", opener=opener) as out:
            out.write(f"{message}\n")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
