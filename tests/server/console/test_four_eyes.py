"""Four eyes in the console: who played the user, or changed a call, finds no button and gets no further without it."""

from __future__ import annotations

import re

import pytest
from tests.patience import wait_until
from tests.server.console.building import SAME, ConsoleHouse

FOUR_EYES = """\
version: 1
tools:
  get_order_status: {effect: read}
  cancel_order:
    effect: destructive
    confirm: four_eyes
    deny_unless: [{if: latest.get_order_status.status != 'lost', because: It is lost.}]
"""


@pytest.fixture(scope="module")
def strict(house: ConsoleHouse) -> ConsoleHouse:
    put = house.key().put("/v1/admin/policies", json={"text": FOUR_EYES, "note": "four eyes"})
    assert put.status_code == 200, put.text
    wait_until(lambda: "colleague" in house.key().get("/v1/admin/tools").text)
    return house


def test_an_operator_who_plays_the_user_does_not_approve_what_they_asked_for(strict: ConsoleHouse) -> None:
    with strict.visitor("noa") as noa, strict.visitor("root") as root:
        begun = noa.post("/playground", data={"tenant": "shop"}, headers=SAME)
        talk = begun.headers["location"].rpartition("/")[2]
        noa.post(f"/playground/shop/{talk}/messages", data={"content": "status of order 12345?"}, headers=SAME)
        said = noa.post(f"/playground/shop/{talk}/messages", data={"content": "cancel order 12345"}, headers=SAME)
        assert "APPROVAL_REQUIRED" in said.text
        assert talk not in noa.get("/v1/approvals").text, "what is only rehearsed waits for nobody"
        named = re.search(r'"intent_id": *"([^"]+)"', said.text)
        assert named is not None
        shown = noa.get(f"/v1/approvals/{named[1]}").json()
        assert "noa" in shown["proposed_by"]
        form, page = {"hash": shown["hash"]}, f"/approvals/{shown['id']}"
        refused = noa.post(f"{page}/approve", data=form, headers=SAME)
        assert refused.status_code == 403
        assert "somebody else has to approve it" in refused.text
        assert f"{page}/approve" not in noa.get(page).text, "no button for what is not theirs to press"
        theirs = root.get(page).text
        assert f"{page}/approve" in theirs
        assert "What it rests on" in theirs
        assert "latest.get_order_status.status" in theirs
        assert root.post(f"{page}/approve", data=form, headers=SAME).status_code == 303
        after = noa.get(f"/v1{page}").json()
        assert (after["state"], after["settled_by"]) == ("consumed", "root")
