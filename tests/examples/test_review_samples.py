"""The sample set of the reviewer is what its README promises, and its labels can be trusted.

A quote is looked up in the document as our own reader reads it, a fact in the case, and every verdict is computed again
from the facts by the rules in examples/review/check.py, which know nothing of the labels.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import yaml
from examples.review.check import HERE, RULES, cases, disagreements, found, labels, verdict

from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument

TRAPS = ("exception", "absent_fact", "boundary", "contradiction", "near_duplicate")
CASES, LABELS = cases(), labels()
CRITERIA_FILE: dict[str, Any] = yaml.safe_load((HERE / "criteria.yaml").read_text("utf-8"))
CRITERIA = {criterion["id"]: criterion for criterion in CRITERIA_FILE["criteria"]}


@pytest.fixture(scope="module")
def documents() -> dict[str, KnowledgeDocument]:
    return {path.name: read_document(path.read_bytes(), path.name) for path in (HERE / "policies").iterdir()}


def named(label: dict[str, Any]) -> str:
    return f"{label['case']} {label['criterion']}"


def places(quote: str, document: KnowledgeDocument) -> list[int]:
    """Where the quote begins, whatever the white space between its words."""
    words = r"\s+".join(re.escape(word) for word in quote.split())
    return [match.start() for match in re.finditer(words, document.text)]


# --- what was promised ----------------------------------------------------------------------------------------------


def test_there_are_three_policies_forty_cases_and_two_hundred_labels(documents: dict[str, KnowledgeDocument]):
    assert len(documents) == len(CRITERIA_FILE["policies"]) == 3
    assert len(list((HERE / "cases").iterdir())) == len(CASES) == 40
    assert len(LABELS) == 200


def test_no_id_occurs_twice():
    assert len(CRITERIA) == len(CRITERIA_FILE["criteria"])
    assert all(times == 1 for times in Counter(map(named, LABELS)).values())
    assert {path.stem for path in (HERE / "cases").iterdir()} == set(CASES)


def test_every_case_has_labels_and_every_criterion_is_used():
    assert {label["case"] for label in LABELS} == set(CASES)
    assert {label["criterion"] for label in LABELS} == set(CRITERIA) == set(RULES)


def test_cases_criteria_and_documents_belong_to_the_same_policy():
    for policy, about in CRITERIA_FILE["policies"].items():
        assert (HERE / about["document"]).stem == policy
    for label in LABELS:
        policy = CASES[label["case"]]["policy"]
        assert CRITERIA[label["criterion"]]["policy"] == policy
        document = CRITERIA_FILE["policies"][policy]["document"].removeprefix("policies/")
        assert {gold["document"] for gold in label["gold"]} == {document}, named(label)


def test_the_verdicts_are_balanced():
    share = {verdict: times / len(LABELS) for verdict, times in Counter(label["verdict"] for label in LABELS).items()}
    assert share == pytest.approx({"MET": 0.45, "NOT_MET": 0.35, "UNCERTAIN": 0.20}, abs=0.03)


def test_there_are_enough_traps_of_every_kind():
    traps = Counter(label["trap"] for label in LABELS if label["trap"])
    assert set(traps) == set(TRAPS)
    assert sum(traps.values()) >= 50
    assert min(traps.values()) >= 8


def test_the_readme_gives_the_figures_as_they_are():
    readme = (HERE / "README.md").read_text("utf-8")
    kinds = [*TRAPS, None]
    for status in ("MET", "NOT_MET", "UNCERTAIN"):
        row = Counter(label["trap"] for label in LABELS if label["verdict"] == status)
        assert (
            "| " + " | ".join(map(str, [f"`{status}`", *[row[kind] for kind in kinds], row.total()])) + " |" in readme
        )
    for policy, about in CRITERIA_FILE["policies"].items():
        of_policy = [label for label in LABELS if CASES[label["case"]]["policy"] == policy]
        criteria = sum(criterion["policy"] == policy for criterion in CRITERIA.values())
        count = sum(case["policy"] == policy for case in CASES.values())
        assert f"[{policy}]({about['document']})" in readme
        assert f"| {criteria} | {count} | {len(of_policy)} |" in readme


# --- quotes ---------------------------------------------------------------------------------------------------------


def test_every_label_quotes_the_policy_and_every_quote_stands_in_its_section(documents: dict[str, KnowledgeDocument]):
    for label in LABELS:
        assert label["gold"], named(label)
        for gold in label["gold"]:
            document = documents[gold["document"]]
            sections = {document.section_at(place).title for place in places(gold["quote"], document)}
            assert gold["section"] in sections, (named(label), gold, sections)


def test_every_quote_of_the_pdf_names_its_page(documents: dict[str, KnowledgeDocument]):
    for label in LABELS:
        for gold in label["gold"]:
            document = documents[gold["document"]]
            assert ("page" in gold) == bool(document.pages)
            if document.pages:
                assert gold["page"] in {document.page_of(place) for place in places(gold["quote"], document)}


def test_quotes_are_short_and_stand_in_one_place_only(documents: dict[str, KnowledgeDocument]):
    for label in LABELS:
        for gold in label["gold"]:
            assert len(gold["quote"]) <= 320
            assert len(re.findall(r"[.:;](\s|$)", gold["quote"])) <= 2, gold["quote"]
            assert len(places(gold["quote"], documents[gold["document"]])) == 1, gold["quote"]


# --- facts and verdicts ---------------------------------------------------------------------------------------------


def test_every_fact_a_label_rests_on_is_in_the_case_and_every_missing_one_is_not():
    for label in LABELS:
        facts = CASES[label["case"]]["facts"]
        assert label["facts"], named(label)
        assert [path for path in label["facts"] if found(facts, path) is None] == [], named(label)
        assert [path for path in label["missing"] if found(facts, path) is not None] == [], named(label)


def test_uncertain_means_that_a_fact_is_absent_or_that_sections_contradict_each_other():
    for label in LABELS:
        assert (label["trap"] == "absent_fact") == bool(label["missing"]), named(label)
        if label["missing"]:
            assert label["verdict"] == "UNCERTAIN", named(label)
        if label["verdict"] == "UNCERTAIN":
            assert label["trap"] in ("absent_fact", "contradiction"), named(label)


def test_the_verdicts_are_those_that_the_policies_give_for_the_facts():
    assert list(disagreements()) == []


def test_the_rules_see_a_boundary_that_is_moved_by_a_day():
    """The rules could agree with the labels by saying nothing much; one day more has to change their mind."""
    facts = CASES["PA-C06"]["facts"]
    assert verdict("PA-12", facts) == "MET"
    assert verdict("PA-12", facts | {"request": facts["request"] | {"received": "2026-06-29"}}) == "NOT_MET"
    assert verdict("PA-12", facts | {"authorisation": {}}) == "UNCERTAIN"


# --- the PDF --------------------------------------------------------------------------------------------------------


def test_the_pdf_is_long_and_light(documents: dict[str, KnowledgeDocument]):
    assert len(documents["prior-authorisation.pdf"].pages) >= 20
    assert (HERE / "policies" / "prior-authorisation.pdf").stat().st_size < 400_000


def test_the_pdf_says_what_its_source_says(documents: dict[str, KnowledgeDocument]):
    source = (HERE / "sources" / "prior-authorisation.md").read_text("utf-8")
    blocks = [block for block in source.split("\n\n") if not block.startswith(("|", "<!--"))]
    said = " ".join(documents["prior-authorisation.pdf"].text.split())
    for block in blocks:
        for line in block.splitlines():
            for sentence in re.split(r"(?<=[.:;]) ", line.lstrip("#- ")):
                assert " ".join(sentence.split()) in said
    cells = {
        cell.strip() for line in source.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")
    }
    assert {cell for cell in cells if cell.strip("-") and cell not in said} == set()


@pytest.mark.slow
def test_building_the_pdf_again_gives_the_same_text_and_the_same_bytes_each_time(
    documents: dict[str, KnowledgeDocument],
):
    pytest.importorskip("reportlab", reason="reportlab builds the sample PDF; it is in the dev group")
    from scripts.build_review_samples import built

    once, again = (built(HERE / "sources" / "prior-authorisation.md") for _ in range(2))
    assert once == again
    assert read_document(once, "prior-authorisation.pdf").text == documents["prior-authorisation.pdf"].text


def test_the_sections_of_the_pdf_are_numbered_in_reading_order(documents: dict[str, KnowledgeDocument]):
    """The definitions are set in two columns: a reader that goes across them would shuffle the numbers."""
    titles = [section.title for section in documents["prior-authorisation.pdf"].sections()]
    definitions = [int(match[1]) for title in titles if (match := re.match(r"2\.(\d+) ", title))]
    assert definitions == list(range(1, 23))
