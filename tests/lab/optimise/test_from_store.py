"""What people said about verdicts becomes a dataset: labels, cases, criteria and documents, and nothing that is stale."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.lab.optimise.conftest import SAMPLES, WEAK
from tests.lab.optimise.test_metric import CASE, EXAMPLE
from tests.lab.optimise.test_watch import look, result

from circumspect.cli import cli
from circumspect.errors import ConfigError, UnknownTenant
from circumspect.knowledge.read_document import read_document
from circumspect.lab.optimise.dataset import part_of, read_dataset
from circumspect.lab.optimise.from_store import CHANGED, OLDER_CASE, REPLACED, VERSIONS
from circumspect.lab.optimise.run import OptimisationPlan, check, floor_of
from circumspect.lab.optimise.watch import score_stored
from circumspect.review.values import CriterionStatus
from circumspect.stores import SqlStore, corrections, knowledge, reviews
from circumspect.stores.corrections import Correction
from circumspect.stores.engine import connect
from circumspect.stores.reviews import ResultRow

RULE = "A claim shall be submitted within 30 days."
POLICY = f"# Claims\n\n## 1 Time\n\n{RULE}\n"
K1 = {"id": "K-1", "text": "The claim was submitted in time."}


class Reviews:
    """A database with evaluations, and with people who judge them."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        asyncio.run(_made(f"sqlite:///{path}"))
        self.database = connect(str(path))

    def tx(self, body: Any, *given: Any) -> None:
        self.database.transaction(body, *given)

    def judge(
        self,
        case_id: str,
        status: CriterionStatus = "NOT_MET",
        *,
        verdict: CriterionStatus = "MET",
        case: dict[str, Any] | None = None,
        criteria: tuple[dict[str, Any], ...] = (K1,),
        documents: tuple[dict[str, Any], ...] = ({"name": "policy.md", "text": POLICY},),
        quote: tuple[str, int] | None = None,
        why: str = "",
    ) -> str:
        """The first criterion has a verdict, and somebody says what it should have been. Each a second later."""
        self.count += 1
        id_, at, criterion = f"eval_{self.count}", float(self.count), str(criteria[0]["id"])
        sent = case or {"id": case_id, "facts": {"age": 7}}
        request = {"case": sent, "criteria": criteria, "documents": documents}
        cited = [] if quote is None else [
            {"document": quote[0], "start": quote[1], "end": quote[1] + len(RULE), "quote": RULE}
        ]  # fmt: skip
        made = {"case": case_id, "criterion": criterion, "status": verdict, "confidence": 0.9, "citations": cited}
        row = ResultRow(case_id, "h", criterion, 0, verdict, 0.9, None, "react", "review@1", 1, 1, 0.0, made)
        said = Correction("shop", id_, criterion, verdict, 0.9, status, why, "noa", at)

        def body(connection: Any) -> None:
            reviews.create(
                connection, tenant="shop", id=id_, case_id=case_id, controller="react", total=1, request=request, at=at
            )
            reviews.insert_results(connection, "shop", id_, [row], at)
            assert corrections.put(connection, said, "train")

        self.tx(body)
        return id_

    def export(self, folder: Path, *more: str) -> Result:
        given = ["review", "--from-store", "--tenant", "shop", "--write", str(folder), "--database", str(self.path)]
        return CliRunner().invoke(cli, ["optimise", *given, *more])

    def exported(self, folder: Path, *more: str) -> dict[str, Any]:
        done = self.export(folder, *more, "--json")
        assert done.exit_code == 0, (done.output, done.exception)
        assert "personal data" in done.stderr
        return dict(json.loads(done.stdout))


async def _made(url: str) -> None:
    await (await SqlStore.open(url)).close()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Reviews]:
    made = Reviews(tmp_path / "server.db")
    yield made
    made.database.close()


def test_corrections_and_confirmations_are_labels_and_cases_stay_on_their_side_of_the_split(
    stored: Reviews, tmp_path: Path
) -> None:
    for number in range(20):
        stored.judge(f"C-{number}", "MET" if number % 2 else "NOT_MET", why="They count from the last day.")
    told = stored.exported(tmp_path / "made")
    assert (told["labels"], told["confirmed"], told["left_out"]) == (20, 10, {})
    dataset = read_dataset(tmp_path / "made")
    assert {one.id: one.label.verdict for one in dataset.examples} == {
        f"C-{number}/K-1": "MET" if number % 2 else "NOT_MET" for number in range(20)
    }
    assert {one.label.why for one in dataset.examples} == {"They count from the last day."}
    parts = {part: {one.case.id for one in dataset.part(part)} for part in ("train", "validation", "held")}
    assert told["cases"] == {part: len(cases) for part, cases in parts.items()}
    assert all(part_of(case) == part for part, cases in parts.items() for case in cases)
    assert all(parts.values())


def judge_the_samples(stored: Reviews) -> None:
    """Every case on two of the sample policies, as if somebody had gone through its verdicts in the console."""
    known = yaml.safe_load((SAMPLES / "criteria.yaml").read_text("utf-8"))
    texts = {
        policy: (SAMPLES / one["document"]).read_text("utf-8")
        for policy, one in known["policies"].items()
        if not one["document"].endswith(".pdf")
    }
    for label in map(json.loads, (SAMPLES / "labels.jsonl").read_text("utf-8").splitlines()):
        asked = next(one for one in known["criteria"] if one["id"] == label["criterion"])
        if asked["policy"] in texts:
            case = json.loads((SAMPLES / "cases" / f"{label['case']}.json").read_text("utf-8"))
            name = Path(known["policies"][asked["policy"]]["document"]).name
            sent = ({"name": name, "text": texts[asked["policy"]]},)
            stored.judge(
                label["case"], label["verdict"], case=case, criteria=(asked,), documents=sent, why=label["why"]
            )


def test_an_exported_dataset_is_optimised_on(stored: Reviews, tmp_path: Path) -> None:
    judge_the_samples(stored)
    told = stored.exported(tmp_path / "made")
    dataset = read_dataset(tmp_path / "made")
    assert len(dataset.examples) == told["labels"] > 50
    assert {(one.criterion.id[:2], one.document) for one in dataset.examples} == {
        ("TE", "travel-and-expenses.md"),
        ("RW", "returns-and-warranty.html"),
    }
    budget = floor_of(dataset, 5).total
    check(OptimisationPlan(budget, start=WEAK), dataset)
    done = CliRunner().invoke(
        cli, ["optimise", "review", "--dataset", str(tmp_path / "made"), "--budget", str(budget), "--model", "offline"]
    )
    assert isinstance(done.exception, ConfigError)
    assert "needs a model" in done.exception.problem


def test_criteria_and_documents_of_one_name_that_are_not_the_same_both_stay(stored: Reviews, tmp_path: Path) -> None:
    stored.judge("C-1")
    stored.judge("C-2", criteria=({**K1, "text": "It is signed."},))
    stored.judge("C-3", documents=({"name": "policy.md", "text": POLICY.replace("30", "60")},))
    stored.judge("C-4", documents=({"name": "../up/POLICY", "text": POLICY, "media_type": "text/markdown"},))
    stored.exported(tmp_path / "made")
    dataset = read_dataset(tmp_path / "made")
    by_case = {one.case.id: one for one in dataset.examples}
    first, other, later, same = (by_case[f"C-{number}"] for number in (1, 2, 3, 4))
    assert (first.criterion.id, first.document) == ("K-1", "policy.md")
    assert other.criterion.text == "It is signed."
    assert other.criterion.id.startswith("K-1@")
    assert later.document is not None
    assert "60 days" in dataset.shelf.documents[later.document].text
    assert (same.criterion.id, same.document) == ("K-1", "policy.md")
    assert sorted(one.name for one in (tmp_path / "made" / "policies").iterdir()) == sorted(
        ["policy.md", later.document]
    )
    assert not (tmp_path / "up").exists()


def test_the_newest_word_on_a_case_counts_and_words_on_its_older_text_do_not(stored: Reviews, tmp_path: Path) -> None:
    stored.judge("C-1", "UNCERTAIN", case={"id": "C-1", "facts": {"age": 6}})
    stored.judge("C-1", "NOT_MET")
    stored.judge("C-1", "MET", why="The newest.")
    told = stored.exported(tmp_path / "made")
    [example] = read_dataset(tmp_path / "made").examples
    assert (example.label.verdict, example.label.why, example.case.fields["age"].value) == ("MET", "The newest.", 7)
    assert told["left_out"] == {REPLACED: 1, OLDER_CASE: 1}


def test_a_stored_document_is_written_unless_it_has_changed_since(stored: Reviews, tmp_path: Path) -> None:
    stored.tx(knowledge.put, "shop", read_document(POLICY.encode(), "terms.md"), "en")
    named, place = ({"stored": "terms.md"},), POLICY.index(RULE)
    stored.judge("C-1", documents=named, quote=("terms.md", place))
    stored.judge("C-2", documents=named, quote=("terms.md", place - 3))
    stored.judge("C-3", documents=({"stored": "gone.md"},))
    told = stored.exported(tmp_path / "made")
    assert told["left_out"] == {CHANGED: 2}
    dataset = read_dataset(tmp_path / "made")
    assert [one.id for one in dataset.examples] == ["C-1/K-1"]
    assert dataset.shelf.documents["terms.md"].text == POLICY


def test_an_evaluation_of_several_documents_is_read_against_all_unless_there_are_versions(
    stored: Reviews, tmp_path: Path
) -> None:
    annex = {"name": "annex.html", "data": base64.b64encode(b"<h1>Annex</h1><p>Signed.</p>").decode()}
    both = ({"name": "policy.md", "text": POLICY}, annex)
    stored.judge("C-1", documents=both)
    stored.judge("C-2", documents=({"name": "other.md", "text": "# Other\n\nNothing.\n"},))
    told = stored.exported(tmp_path / "made")
    assert (told["labels"], told["read_against_all_documents"]) == (2, 1)
    assert {one.case.id: one.document for one in read_dataset(tmp_path / "made").examples} == {
        "C-1": None,
        "C-2": "other.md",
    }
    stored.judge("C-3", documents=({"name": "policy.md", "text": POLICY.replace("30", "60")},))
    told = stored.exported(tmp_path / "later")
    assert (told["labels"], told["left_out"]) == (2, {VERSIONS: 1})


def test_only_what_was_said_since_then(stored: Reviews, tmp_path: Path) -> None:
    stored.judge("C-1")
    stored.judge("C-2")
    assert stored.exported(tmp_path / "made", "--since", "1970-01-01T00:00:02")["labels"] == 1


def test_nothing_is_written_where_there_is_nothing_or_something_already(stored: Reviews, tmp_path: Path) -> None:
    assert isinstance(stored.export(tmp_path / "made").exception, UnknownTenant)
    stored.judge("C-1", documents=({"stored": "gone.md"},))
    none = stored.export(tmp_path / "made").exception
    assert isinstance(none, ConfigError)
    assert CHANGED in none.problem
    assert not (tmp_path / "made").exists()
    stored.judge("C-2")
    assert "1 labels" in stored.export(tmp_path / "made").stdout
    again = stored.export(tmp_path / "made").exception
    assert isinstance(again, ConfigError)
    assert "not empty" in again.problem


@pytest.mark.parametrize(
    "wrong",
    [
        ["--from-store", "--tenant", "shop"],
        ["--from-store", "--write", "made"],
        ["--from-store", "--tenant", "shop", "--write", "made", "--dataset", "."],
        ["--write", "made"],
        ["--dataset", "."],
        ["--budget", "9"],
    ],
)
def test_options_that_do_not_go_together_are_refused(wrong: list[str]) -> None:
    done = CliRunner().invoke(cli, ["optimise", "review", *wrong])
    assert (done.exit_code, "Usage" in done.stderr) == (2, True)


# --- the watch ------------------------------------------------------------------------------------------------------


def test_a_watch_takes_a_persons_word_for_a_label(stored: Reviews) -> None:
    request = {
        "case": {"id": CASE.id, "facts": {name: one.value for name, one in CASE.fields.items()}},
        "criteria": [{"id": "K", "text": "In time?"}],
        "documents": [],
    }
    made = result()

    def body(connection: Any) -> None:
        for number, status in enumerate(("NOT_MET", "MET", "")):
            id_ = f"eval_{number}"
            reviews.create(
                connection, tenant="shop", id=id_, case_id=CASE.id, controller="react", total=1, request=request,
                at=0.0,
            )  # fmt: skip
            row = ResultRow(CASE.id, CASE.hash, "K", 0, "MET", 1.0, None, "react", "review@1", 1, 1, 0.0, made)
            reviews.insert_results(connection, "shop", id_, [row], float(number))
            if status:
                corrections.put(connection, Correction("shop", id_, "K", "MET", 1.0, status, "", "noa", 1.0), "train")

    stored.tx(body)
    rows = look(stored.path, 9)
    assert [one.corrected.label.verdict if one.corrected else None for one in rows] == [None, "MET", "NOT_MET"]
    alone = score_stored(rows, [])
    assert alone.labelled == 2
    assert alone.scores[2] == pytest.approx(alone.scores[1] - 0.3)
    beside = score_stored(rows, [EXAMPLE])
    assert (beside.labelled, beside.scores[2]) == (3, alone.scores[2])
    assert beside.scores[0] == beside.scores[1] == pytest.approx(1.0)
