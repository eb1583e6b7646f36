"""A part of the sample set that is small enough for tests, a weak prompt, and the stand-in for a model."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from examples.review.stand_in import StandIn
from tests.models.conftest import _no_surroundings  # noqa: F401

from circumspect.lab.optimise.dataset import Dataset, read_dataset
from circumspect.lab.optimise.optimise_report import OptimisationReport
from circumspect.lab.optimise.run import OptimisationPlan, OptimisationProgress, optimise
from circumspect.models import open_model

SAMPLES = Path(__file__).parents[3] / "examples" / "review"
WEAK = "You check one criterion against one case. Call finish with your verdict; below $floor it is not used."
PLAN = OptimisationPlan(100, start=WEAK, minibatch=3)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies that are quick to read, two labels a case."""
    made = tmp_path_factory.mktemp("dataset")
    for name in ("cases", "policies"):
        (made / name).mkdir()
        for file in (SAMPLES / name).iterdir():
            if file.suffix != ".pdf" and not file.name.startswith("PA-"):
                shutil.copy(file, made / name)
    shutil.copy(SAMPLES / "criteria.yaml", made)
    taken: Counter[str] = Counter()
    with (made / "labels.jsonl").open("w", encoding="utf-8") as out:
        for line in (SAMPLES / "labels.jsonl").read_text("utf-8").splitlines():
            case = json.loads(line)["case"]
            if not case.startswith("PA-") and taken[case] < 2:
                taken[case] += 1
                out.write(f"{line}\n")
    return made


@pytest.fixture(scope="session")
def dataset(folder: Path) -> Dataset:
    return read_dataset(folder)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@dataclass(frozen=True)
class Ran:
    """A run that nobody disturbed."""

    report: OptimisationReport
    server: StandIn
    path: Path
    told: list[OptimisationProgress]


def run(plan: OptimisationPlan, dataset: Dataset, server: StandIn, path: Path, **more: Any) -> OptimisationReport:
    return optimise(plan, dataset, open_model(server.model), open_model(server.model), path, **more)


@pytest.fixture(scope="session")
def ran(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    path, told = tmp_path_factory.mktemp("whole") / "run", list[OptimisationProgress]()
    with StandIn() as server:
        yield Ran(run(PLAN, dataset, server, path, watch=told.append), server, path, told)


def results(out: Path) -> list[Any]:
    """What a batch of evaluations has found, without the time it took."""
    with sqlite3.connect(out) as database:
        found = database.execute(
            "SELECT case_id, criterion, status, confidence, prompt_id, input_tokens FROM review_results ORDER BY 1, 2"
        ).fetchall()
    database.close()
    return found
