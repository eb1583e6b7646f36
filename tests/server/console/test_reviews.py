"""Reviews: verdicts with their quotes marked in the document, in both directions of text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.patience import wait_until
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious

from circumspect.knowledge.read_document import read_document
from circumspect.server.console.pages.reviews import mark_quotes

EVIL = "<img src=x onerror=document.title=1>"
POLICY = f"""# Claims {EVIL}

## 1 Time

A claim for a trip shall be submitted within 30 days after the last day of the trip.
"""


@pytest.fixture(scope="module")
def reviewed(house: ConsoleHouse) -> str:
    """An evaluation that is done; its id."""
    client = house.key("shop")
    facts = {"claim": {"kind": f"trip {EVIL}", "submitted": "2026-04-05"}, "trip": {"last_day": "2026-03-06"}}
    asked: dict[str, Any] = {
        "case": {"id": f"case {EVIL}", "facts": facts, "documents": [{"name": "letter", "text": f"I was ill {EVIL}"}]},
        "criteria": [
            {"id": "K-1", "text": "The claim was submitted in time.", "facts": ["claim.submitted", "trip.last_day"]}
        ],
        "documents": [{"name": "policy.md", "text": POLICY}],
    }
    sent = client.post("/v1/evaluations", json=asked)
    assert sent.status_code == 202, sent.text
    id_ = str(sent.json()["id"])
    wait_until(lambda: client.get(f"/v1/evaluations/{id_}").json()["state"] == "done")
    return id_


def test_a_verdict_leads_to_its_quote_in_the_document(browsing: Browsing, reviewed: str) -> None:
    with browsing.as_("rita") as page:
        page.goto("/reviews")
        page.click(f"a[href='/reviews/{reviewed}']")
        page.wait_for_selector("mark")
        assert page.inner_text("section .criterion") == "The claim was submitted in time."
        assert "within 30 days" in page.locator("mark").first.inner_text()
        assert page.get_by_text(f"I was ill {EVIL}").is_visible()
        page.click("blockquote a")
        assert "#quote-" in page.url
        assert page.locator(page.url[page.url.index("#") :]).count() == 1
        assert page.title() != "1"
        assert serious(page) == []


def test_a_reviewer_corrects_a_verdict_and_it_says_who_and_why(browsing: Browsing, reviewed: str) -> None:
    with browsing.as_("rita") as page:
        page.goto(f"/reviews/{reviewed}")
        page.get_by_text("Correct or confirm this verdict").click()
        page.get_by_label("The verdict should be").select_option("NOT_MET")
        page.get_by_label("What decides").fill(f"They count from the first day. {EVIL}")
        assert serious(page) == []
        page.get_by_role("button", name="Keep").click()
        page.wait_for_selector("[role=status]")
        said = page.locator("section .notice").inner_text()
        assert "Should be: Not met: They count from the first day. <img" in said
        assert "rita" in said
        assert page.title() != "1"
        assert serious(page) == []
    with browsing.as_("noa", language="he", width=360) as page:
        page.goto(f"/reviews/{reviewed}")
        page.locator("section details summary").last.click()
        assert page.locator("select[name=status]").input_value() == "NOT_MET"
        assert overflow(page) <= 0
        page.locator("select[name=status]").select_option("UNCERTAIN")
        page.locator("form[action$=corrections] button").click()
        page.wait_for_selector("section .notice.good")
        assert "noa" in page.locator("section .notice").inner_text()


def test_a_form_on_another_site_corrects_nothing(house: ConsoleHouse, reviewed: str) -> None:
    with house.visitor("noa") as visitor:
        sent = {"criterion": "K-1", "status": "UNCERTAIN", "why": "from elsewhere"}
        address = f"/reviews/{reviewed}/corrections"
        assert visitor.post(address, data=sent, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert visitor.post(address, data={**sent, "status": "MAYBE"}, headers=SAME).status_code == 422
        assert visitor.post(address, data={**sent, "why": "a\x00b"}, headers=SAME).status_code == 422
        assert visitor.post(address, data={**sent, "criterion": "K-9"}, headers=SAME).status_code == 404
        assert "from elsewhere" not in visitor.get(f"/reviews/{reviewed}").text


@pytest.mark.parametrize(("language", "direction"), [("he", "rtl"), ("ru", "ltr")])
def test_it_is_read_in_other_languages_and_on_a_phone(
    browsing: Browsing, reviewed: str, language: str, direction: str
) -> None:
    with browsing.as_("rita", language=language, width=360) as page:
        page.goto(f"/reviews/{reviewed}")
        assert page.get_attribute("html", "dir") == direction
        assert overflow(page) <= 0


def test_another_tenants_operator_does_not_see_it(browsing: Browsing, reviewed: str) -> None:
    with browsing.as_("theirs", expected=("404",)) as page:
        answer = page.goto(f"/reviews/{reviewed}")
        assert answer is not None
        assert answer.status == 404


def test_a_text_cut_at_its_quotes_is_the_text() -> None:
    document = read_document(b"# T\n\none two three four\n", "t.md")
    start = document.text.index("two")
    quotes = [
        {"document": "t.md", "number": 1, "start": start, "end": start + 9},
        {"document": "t.md", "number": 2, "start": start + 4, "end": start + 14},
    ]
    pieces = mark_quotes(document, quotes)
    assert "".join(piece.text for piece in pieces) == document.text
    assert "".join(piece.text for piece in pieces if piece.quoted) == "two three four"
    assert [number for piece in pieces for number in piece.begin] == [1, 2]
