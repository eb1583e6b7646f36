"""C16: a deleted case is deleted from the folders that hold copies of it, too."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.lab.optimise.conftest import Ran
from tests.lab.optimise.test_from_store import Reviews, stored  # noqa: F401

from circumspect.cli import cli
from circumspect.errors import ConfigError, StoreError, UnknownTenant
from circumspect.lab.batch.process_lock import alone
from circumspect.lab.optimise.dataset import Dataset, part_of, read_dataset
from circumspect.stores import reviews

LEARNT = next(f"C-{number}" for number in range(99) if part_of(f"C-{number}") == "train")


def forget(*given: object, yes: bool = True) -> Result:
    return CliRunner().invoke(cli, ["optimise", "forget", *map(str, given), *(["--yes"] if yes else [])])


def files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def anywhere(folder: Path, text: str) -> list[str]:
    return [name for name in files(folder) if text.encode() in (folder / name).read_bytes()]


@pytest.fixture
def runs(ran: Ran, tmp_path: Path) -> Path:
    """A folder with one run in it, which has ended."""
    shutil.copytree(ran.path, tmp_path / "optimise" / "ours")
    return tmp_path / "optimise"


def test_a_run_that_read_a_deleted_case_goes_and_what_came_of_it_stays(runs: Path, dataset: Dataset) -> None:
    one, held = dataset.train[0].case.id, dataset.held_out[0].case.id
    assert anywhere(runs, one)
    assert "0 of 1 folders" in forget(runs, "--case", "another").stdout
    refused = forget(runs, "--case", one, yes=False)
    assert (refused.exit_code, "1 of " in refused.stdout) == (1, True)
    assert "ours/run.db" in files(runs), "nobody said yes"
    with alone(runs / "ours" / "lock", "", ""):
        assert isinstance(forget(runs, "--case", one).exception, StoreError)

    shutil.copytree(runs / "ours", runs / "other")
    said = forget(runs / "other", "--case", held).stdout
    assert "Read " not in said, "nothing was written from a case that was held out"
    said = forget(runs, "--case", one).stdout
    assert files(runs) == ["other/report.json", "other/winner.md", "ours/report.json", "ours/winner.md"]
    assert f"Read {runs / 'ours' / 'winner.md'}" in said
    assert f"Read {runs / 'other'}" not in said
    assert "0 of 0 folders" in forget(runs, "--case", one).stdout


def test_cases_that_the_database_no_longer_has_are_taken_out_of_datasets(stored: Reviews, tmp_path: Path) -> None:  # noqa: F811
    for case in (LEARNT, "C-kept"):
        stored.judge(case, case={"id": case, "facts": {"name": f"Person of {case}"}}, why=f"{case} came late.")
    stored.exported(tmp_path / "made")
    where = (tmp_path, "--tenant", "shop", "--database", stored.path)
    assert "0 of 1 folders" in forget(*where).stdout
    stored.tx(reviews.forget_case, "shop", LEARNT)
    assert anywhere(tmp_path / "made", LEARNT) == ["cases/cases.jsonl", "labels.jsonl"]

    done = forget(*where, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout) == {"looked_at": 1, "changed": [str(tmp_path / "made")], "read_these": []}
    assert anywhere(tmp_path / "made", LEARNT) == []
    left = read_dataset(tmp_path / "made")
    assert ([one.case.id for one in left.examples], left.tenant) == (["C-kept"], "shop")

    other = forget(tmp_path, "--tenant", "nobody", "--database", stored.path)
    assert isinstance(other.exception, UnknownTenant), "it would call every case deleted"
    assert forget(tmp_path).exit_code == 2


def test_a_dataset_that_somebody_made_by_hand_is_left_alone(folder: Path, dataset: Dataset) -> None:
    before = files(folder)
    assert "0 of 0 folders" in forget(folder, "--case", dataset.train[0].case.id).stdout
    assert files(folder) == before


def test_whose_cases_a_run_holds_is_written_down_and_a_run_that_does_not_say_is_refused(runs: Path, ran: Ran) -> None:
    known: dict[str, Any] = json.loads((ran.path / "cases.json").read_bytes())
    assert (known["tenant"], len(known["cases"])) == (None, len(set(known["cases"])))
    (runs / "ours" / "cases.json").unlink()
    refused = forget(runs, "--case", "C-1")
    assert isinstance(refused.exception, ConfigError)
    assert "does not say which cases" in refused.exception.problem


def test_what_holds_cases_is_for_its_owner_only(ran: Ran, stored: Reviews, tmp_path: Path) -> None:  # noqa: F811
    stored.judge(LEARNT)
    stored.exported(tmp_path / "made")
    for folder in (ran.path, tmp_path / "made"):
        held = (name for name in files(folder) if not name.startswith("outlines/"))  # of documents, not of cases
        modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in held}
        assert set(modes.values()) == {0o600}, modes
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
