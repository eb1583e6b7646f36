"""`circumspect optimise review` from the outside."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.lab.optimise.conftest import WEAK, Ran
from tests.lab.optimise.test_watch import called

from circumspect.cli import cli
from circumspect.errors import ConfigError
from circumspect.lab.optimise.dataset import Dataset
from circumspect.lab.optimise.run import floor_of
from circumspect.stores import SqlStore, prompts
from circumspect.values import TenantId


@pytest.fixture
def start(tmp_path: Path) -> Path:
    (tmp_path / "weak.md").write_text(WEAK, "utf-8")
    return tmp_path / "weak.md"


def test_the_floor_is_said(folder: Path, dataset: Dataset) -> None:
    done = called(folder, budget=20)
    assert isinstance(done.exception, ConfigError)
    assert str(floor_of(dataset, 3).total) in done.exception.problem


def test_the_offline_model_is_refused(folder: Path) -> None:
    done = called(folder)
    assert isinstance(done.exception, ConfigError)
    assert "--model" in done.exception.fix


def test_a_person_reads_candidates_held_out_scores_a_diff_and_what_to_do_next(
    folder: Path, start: Path, ran: Ran
) -> None:
    done = called(folder, "--start", str(start), "--model", ran.server.model, "--run", str(ran.path))
    assert done.exit_code == 0, done.output
    held = ran.report.winner_held
    assert f"held out, winner {held.score:.3f}  (12 criteria of 6 cases" in done.stdout
    assert f"+++ {ran.report.winner.prompt.id}" in done.stdout
    assert "not live" in done.stdout
    assert f"Next: circumspect prompts add review {ran.path / 'winner.md'} --tenant NAME" in done.stdout
    assert f"Next: circumspect experiments create {ran.report.winner.prompt.id.replace('@', '-')}" in done.stdout


def test_the_winner_is_stored_as_a_version_that_an_experiment_can_name(
    folder: Path, start: Path, ran: Ran, tmp_path: Path
) -> None:
    """Nothing uses it before that, and the command that is printed is one that works."""
    file, where = tmp_path / "shop.yaml", ["--database", f"sqlite:///{tmp_path / 'server.db'}"]
    file.write_text("version: 1\nid: shop\nbusiness: {name: The Shop}\n", "utf-8")
    applied = CliRunner().invoke(cli, ["apply", str(file), *where])
    assert applied.exit_code == 0, applied.output
    more = ["--start", str(start), "--model", ran.server.model, "--run", str(ran.path), "--tenant", "shop", "--json"]
    done = called(folder, *more, *where)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    (row,) = asyncio.run(versions(tmp_path / "server.db"))
    assert (row.id, row.parent, row.text) == (said["winner"], said["start"], ran.report.winner.text)
    assert row.note.startswith("optimised; held out")

    (following,) = said["next"]
    words = shlex.split(following)
    assert words[:2] == ["circumspect", "experiments"]
    made = CliRunner().invoke(cli, ["experiments", *words[2:], *where, "--json"])
    assert made.exit_code == 0, (made.output, made.exception)
    assert f'"{said["winner"]}"' in made.stdout
    assert json.loads(made.stdout)["state"] == "draft"


async def versions(database: Path) -> Sequence[prompts.PromptRow]:
    store = await SqlStore.open(f"sqlite:///{database}")
    try:
        return await store.tx(prompts.list_prompts, TenantId("shop"))
    finally:
        await store.close()
