"""Where examples come from, and that a case's part never changes."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from circumspect.errors import ConfigError
from circumspect.lab.optimise.dataset import Dataset, part_of, read_dataset


def test_a_case_stays_in_its_part_on_every_machine() -> None:
    """If these change, held-out cases of earlier runs have been learned from."""
    found = {case: part_of(case) for case in ("RW-C01", "RW-C05", "RW-C10", "TE-C03", "TE-C08", "TE-C11")}
    assert found == {
        "RW-C01": "train", "RW-C05": "held", "RW-C10": "validation", "TE-C03": "train", "TE-C08": "held",
        "TE-C11": "validation",
    }  # fmt: skip


def test_half_trains_a_quarter_validates_a_quarter_is_held_out() -> None:
    shares = Counter(part_of(f"case-{number}") for number in range(4_000))
    assert shares["train"] == pytest.approx(2_000, abs=120)
    assert shares["validation"] == pytest.approx(1_000, abs=120)


def test_the_parts_share_no_case_and_leave_none_out(dataset: Dataset) -> None:
    parts = [dataset.train, dataset.validation, dataset.held_out]
    cases = [{one.case.id for one in part} for part in parts]
    assert sum(map(len, cases)) == len(set().union(*cases)) == 22
    assert sum(map(len, parts)) == len(dataset.examples) == 44


def test_gold_sentences_are_found_in_their_documents(dataset: Dataset) -> None:
    for example in dataset.examples:
        for gold in example.label.gold:
            assert dataset.shelf.documents[gold.document].text[gold.start : gold.end] == gold.quote


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"case": "RW-C01", "criterion": "RW-01", "verdict": "YES"}', "verdict is 'YES'"),
        ('{"case": "nobody", "criterion": "RW-01", "verdict": "MET"}', "no case 'nobody'"),
        ('{"case": "RW-C01", "criterion": "XX", "verdict": "MET"}', "no criterion 'XX'"),
        ('{"case": "RW-C01", "criterion": "RW-01", "verdict": "MET", "gold": ["Said by nobody, ever."]}', "in no doc"),
        ('{"case": "RW-C01", "criterion": "RW-01", "verdict": "MET", "facts": "x"}', "'facts' is not a list"),
        ("[]", "is not a label"),
        ("{", "not valid JSON"),
        ("", "no labels"),
    ],
)
def test_what_is_wrong_with_a_label_is_told_with_its_line(folder: Path, tmp_path: Path, line: str, said: str) -> None:
    made = tmp_path / "dataset"
    shutil.copytree(folder, made)
    (made / "labels.jsonl").write_text(line, "utf-8")
    with pytest.raises(ConfigError, match=said) as refused:
        read_dataset(made)
    assert "labels.jsonl" in refused.value.problem


def test_a_folder_without_its_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"criteria\.yaml is not there"):
        read_dataset(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder"):
        read_dataset(tmp_path / "nothing")
