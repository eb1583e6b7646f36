"""`POST /v1/agent/interact`: any browser agent, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.house import OURS, THEIRS, House, is_a_problem

URL = "http://clinic.example/dashboard"
PATIENT: dict[str, Any] = {"id": "p", "role": "button", "name": "Patient", "haspopup": "menu", "expanded": False}
VISITS: dict[str, Any] = {"id": "v", "role": "button", "name": "Visits"}
BEFORE = {"title": "Dashboard", "elements": [PATIENT, VISITS]}
AFTER = {
    "title": "Dashboard",
    "elements": [
        {**PATIENT, "expanded": True},
        {"id": "m", "role": "menu", "name": "Patient"},
        {"id": "m1", "role": "menuitem", "name": "New/Search", "inside": "m"},
        VISITS,
    ],
}


def asked(query: str = "", page: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"query": query, "url": URL, "page": page or BEFORE, **more}


def test_a_menu_is_opened_and_the_next_page_tells_that_it_was(house: House) -> None:
    client = house.key(OURS)
    first = client.post("/v1/agent/interact", json=asked("Click the Patient button")).json()
    assert first["status"] == "next_action", first
    assert first["next_action"]["action"] == "click"
    assert first["next_action"]["arguments"]["element"] == "p"
    assert first["next_action"]["expected"]["kind"] == "popup"
    second = client.post("/v1/agent/interact", json=asked(page=AFTER, session=first["session"])).json()
    assert second["verified"]["success"] is True
    assert second["verified"]["choices"] == ["m1"]


def test_what_was_thought_and_what_actions_did_is_counted(house: House) -> None:
    client = house.key(OURS)
    first = client.post("/v1/agent/interact", json=asked("Click the Patient button")).json()
    client.post("/v1/agent/interact", json=asked(page=AFTER, session=first["session"]))
    told = house.read_metrics()
    assert 'circumspect_source_confidence_count{source="PAGE"}' in told
    assert f'circumspect_searches_total{{kind="saved",tenant="{OURS}"}}' in told
    assert f'circumspect_page_actions_total{{tenant="{OURS}",verified="yes"}}' in told


def test_a_page_may_come_as_html(house: House) -> None:
    page = {"html": '<title>Clinic</title><main><button id="b" aria-haspopup="menu">Patient</button></main>'}
    answer = house.key(OURS).post("/v1/agent/interact", json=asked("Click the Patient button", page)).json()
    assert answer["next_action"]["arguments"]["name"] == "Patient"


PAY = """<title>Pay</title><form id=f method=post><label>Card <input id=c name=card value=4111></label>
<button id=b type=submit>{}</button></form>"""


@pytest.mark.parametrize(
    ("html", "status"),
    [
        ("<title>Shop</title><h1>Your card was declined</h1><p>Use another card.</p>", 200),
        ("<title>Shop</title><p role=alert>Insufficient funds</p>", 200),
        ("<title>Shop</title><p>All is quiet here.</p>", 500),
        ("<title>500 Internal Server Error</title>", 200),
    ],
)
def test_a_form_that_was_refused_did_not_work(house: House, html: str, status: int) -> None:
    client = house.key(OURS)
    first = client.post("/v1/agent/interact", json=asked("Click Pay", {"html": PAY.format("Pay")})).json()
    assert first["pending"], first
    sent = client.post(
        "/v1/agent/interact", json=asked("yes", {"html": PAY.format("Pay")}, session=first["session"])
    ).json()
    assert sent["next_action"]["action"] == "submit"
    after = {**asked(page={"html": html, "status": status}, session=first["session"]), "url": f"{URL}/result"}
    told = client.post("/v1/agent/interact", json=after).json()
    assert told["verified"]["success"] is False, told["verified"]


def test_a_session_is_nobody_elses(house: House) -> None:
    first = house.key(OURS).post("/v1/agent/interact", json=asked("Click the Patient button")).json()
    theirs = house.key(THEIRS).post("/v1/agent/interact", json=asked("go on", session=first["session"]))
    is_a_problem(theirs, 404)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": URL, "query": "x"},
        {"url": "javascript:alert(1)", "query": "x", "page": BEFORE},
        {"url": URL, "query": "x", "page": {}},
        {"url": URL, "query": "x", "page": {"html": "<p>", "elements": []}},
        {"url": URL, "query": "x", "page": {"elements": [{"id": "a b", "role": "button"}]}},
        {"url": URL, "query": "x", "page": {"elements": [{"id": "a", "role": "button", "weight": 3}]}},
        {"url": URL, "query": 7, "page": BEFORE},
        {"url": URL, "page": BEFORE},
    ],
)
def test_what_is_wrong_is_said(house: House, wrong: dict[str, Any]) -> None:
    answer = house.key(OURS).post("/v1/agent/interact", json=wrong)
    is_a_problem(answer, 422)


def test_the_same_key_gets_the_same_action_and_hands_nothing_out_twice(house: House) -> None:
    client = house.key(OURS)
    headers = {"Idempotency-Key": "one-click"}
    first = client.post("/v1/agent/interact", json=asked("Click the Patient button", session=None), headers=headers)
    session = first.json()["session"]
    sent = asked("Click the Visits button", session=session)
    once = client.post("/v1/agent/interact", json=sent, headers={"Idempotency-Key": "two"}).json()
    again = client.post("/v1/agent/interact", json=sent, headers={"Idempotency-Key": "two"}).json()
    assert again["turn_id"] == once["turn_id"]


def test_huge_and_malformed_html_is_no_trouble(house: House) -> None:
    for html in ("<div>" * 20_000, "<button" * 5_000, "\ufffd<p>" * 1000, ""):
        answer = house.key(OURS).post("/v1/agent/interact", json=asked("What is here?", {"html": html}))
        assert answer.status_code == 200, answer.text
