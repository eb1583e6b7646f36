"""What speaks against a model's verdict: asked about once, and then it does not stand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.review.conftest import IN_TIME, RULE, call, case, document, finish, reply

from circumspect.models import ScriptedModel
from circumspect.reasons import ReasonCode
from circumspect.review.case_files import read_case
from circumspect.review.controller import react
from circumspect.review.objections import find_wrong_comparison, read_verdicts
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, CriterionResult, ReviewCase
from circumspect.values import ModelReply

HOTEL = "The price of a night shall not exceed 140.00 euro."
UNNAMED = Criterion("K-1", "The claim was submitted in time.")


async def run(
    shelf: Shelf, *replies: ModelReply, criterion: Criterion = IN_TIME, the_case: ReviewCase | None = None
) -> tuple[CriterionResult, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return await react(the_case or case(), criterion, shelf, model), model


@pytest.mark.parametrize(
    ("changed", "code", "told"),
    [
        ({"evidence": []}, ReasonCode.EVIDENCE_NOT_FOUND, "No fact is named"),
        ({"citations": []}, ReasonCode.CITATION_NOT_FOUND, "No sentence is quoted"),
        ({"citations": [{"quote": HOTEL}]}, ReasonCode.CITATION_BESIDE_POINT, "about what the criterion asks"),
        ({"rationale": "The criterion is clearly NOT_MET."}, ReasonCode.VERDICT_CONTRADICTED, "argues for NOT_MET"),
        ({"rationale": "Das Kriterium ist nicht erfüllt."}, ReasonCode.VERDICT_CONTRADICTED, "argues for NOT_MET"),
        ({"rationale": "It took 31 days, and 31 is less than 30."}, ReasonCode.VERDICT_CONTRADICTED, "not so: compare"),
        ({"rationale": "So the criterion is not fulfilled."}, ReasonCode.VERDICT_CONTRADICTED, "argues for NOT_MET"),
    ],
)
async def test_what_speaks_against_a_verdict_is_told_once_and_then_it_is_open(
    shelf: Shelf, changed: dict[str, Any], code: ReasonCode, told: str
) -> None:
    wrong = reply(finish(**changed))
    result, model = await run(shelf, wrong, wrong)
    assert (result.status, result.reason_code) == ("UNCERTAIN", code)
    assert told in model.requests[1].messages[-1].text
    result, _ = await run(shelf, wrong, reply(finish()))
    assert (result.status, result.reason_code) == ("MET", None)


async def test_a_not_met_whose_reason_says_clearly_met_does_not_stand(shelf: Shelf) -> None:
    wrong = reply(finish("NOT_MET", rationale="Submitted on the 30th day, so this is clearly MET."))
    result, _ = await run(shelf, wrong, wrong)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.VERDICT_CONTRADICTED)


async def test_a_verdict_that_the_figures_disprove_does_not_stand(plain_shelf: Shelf) -> None:
    wrong = reply(finish("NOT_MET", rationale="It came too late."))
    result, model = await run(plain_shelf, wrong, wrong)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.VERDICT_CONTRADICTED)
    assert "The figures say MET" in model.requests[1].messages[-1].text


async def test_a_quote_beside_the_point_is_dropped_where_another_bears(shelf: Shelf) -> None:
    result, _ = await run(shelf, reply(finish(citations=[{"quote": HOTEL}, {"quote": RULE}])))
    assert (result.status, [one.quote for one in result.citations]) == ("MET", [RULE])


async def test_facts_are_read_before_they_are_used(shelf: Shelf) -> None:
    """Where the criterion names them, they are shown at once; others are shown by the tool, or with the refusal."""
    result, model = await run(shelf, reply(finish()), reply(finish()), criterion=UNNAMED)
    assert result.status == "MET"
    assert "never read: claim.submitted" in model.requests[1].messages[-1].text
    assert "2026-04-05" in model.requests[1].messages[-1].text
    assert "2026-04-05" not in model.requests[0].messages[0].text
    result, model = await run(shelf, reply(call("facts_get", field="claim")), reply(finish()), criterion=UNNAMED)
    assert (result.status, len(model.requests)) == ("MET", 2)
    _, model = await run(shelf, reply(finish()))
    assert "2026-04-05" in model.requests[0].messages[0].text


async def test_a_page_in_a_citation_is_taken_and_held_against_the_document(shelf: Shelf) -> None:
    result, _ = await run(shelf, reply(finish(citations=[{"quote": RULE, "page": 12}])))
    assert (result.status, result.citations[0].page) == ("MET", None)


async def test_the_texts_of_a_case_reach_the_model(shelf: Shelf) -> None:
    notes = [{"name": "letter", "text": "I was ill until 1 April."}]
    the_case = read_case({"id": "C-1", "facts": {"claim": {"submitted": "2026-04-05"}}, "documents": notes}, "case")
    _, model = await run(shelf, reply(call("facts_get", field="documents")), reply(finish()), the_case=the_case)
    assert "[letter]\nI was ill until 1 April." in model.requests[0].messages[0].text
    assert "I was ill until 1 April." in model.requests[1].messages[-1].text


async def test_words_of_two_languages_are_not_compared() -> None:
    german = "Der Antrag ist innerhalb von 30 Tagen nach dem letzten Tag der Reise einzureichen."
    shelf = Shelf([document(f"# Reisen und Anträge\n\n{german}\n")])
    result, _ = await run(shelf, reply(finish(citations=[{"quote": german}])))
    assert result.status == "MET"


@pytest.mark.parametrize(
    ("rationale", "verdicts"),
    [
        ("It is clearly MET.", {"MET"}),
        ("NOT MET: too late.", {"NOT_MET"}),
        ("The criterion is therefore not met.", {"NOT_MET"}),
        ("The claim does not meet the criterion.", {"NOT_MET"}),
        ("The claim meets the criterion.", {"MET"}),
        ("It would be NOT_MET, but the exception makes it MET.", {"MET", "NOT_MET"}),
        ("The first condition is met, the second is not.", set()),
        ("We met on 3 May.", set()),
        ("The criterion isn't fulfilled.", {"NOT_MET"}),
        ("Das Kriterium ist damit nicht erfüllt.", {"NOT_MET"}),
        ("Das Kriterium ist erfüllt.", {"MET"}),
        ("342 км больше 300 км, критерий не выполнен.", {"NOT_MET"}),
        ("Критерий выполнен.", {"MET"}),
        ("הקריטריון אינו מתקיים.", {"NOT_MET"}),
        ("הקריטריון מתקיים.", {"MET"}),
    ],
)
def test_verdicts_are_read_from_a_reason_only_where_they_are_meant(rationale: str, verdicts: set[str]) -> None:
    assert read_verdicts(rationale) == verdicts


@pytest.mark.parametrize(
    ("rationale", "wrong"),
    [
        ("342 is less than 300.", "342 is less than 300"),
        ("342 km is within the limit, as 342 km is below 300 km.", "342 km is below 300 km"),
        ("Since 12 ≥ 14, it holds.", "12 ≥ 14"),
        ("25 does not exceed 20 by much.", "25 does not exceed 20 by"),
        ("342 is more than 300.", ""),
        ("342 is not less than 300.", ""),
        ("18500 g is less than 20 kg.", ""),
        ("20 is at most 20.", ""),
        ("On 2026-04-05, below 2026-03-01.", ""),
        ("It was 1,200 below 900 in May.", ""),
    ],
)
def test_only_a_comparison_that_is_not_so_is_held_against_a_reason(rationale: str, wrong: str) -> None:
    assert find_wrong_comparison(rationale) == wrong
