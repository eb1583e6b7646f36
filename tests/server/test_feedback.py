"""Feedback on a turn: who may give it, what is kept of it, and that it goes when the conversation goes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.server.house import OURS, THEIRS, House, is_a_problem, say

from circumspect.lab.learning.outcomes import DecisionLabel, gather
from circumspect.stores import SqlStore
from circumspect.values import TenantId


def labels(house: House, conversation: str, tenant: str = OURS) -> list[DecisionLabel]:
    async def read(store: SqlStore) -> list[DecisionLabel]:
        found = await store.tx(lambda connection: list(gather(connection, TenantId(tenant))))
        return [one for one in found if one.conversation == conversation]

    return house.stored(read)


def answered(house: House, content: str = "what are your opening hours?") -> tuple[str, str]:
    client = house.key()
    talk = house.conversation(client)
    return talk, str(say(client, talk, content)["turn_id"])


def judge(client: httpx.Client, talk: str, turn: str, **said: Any) -> httpx.Response:
    return client.post(f"/v1/conversations/{talk}/turns/{turn}/feedback", json=said)


def test_a_thumb_is_kept_with_what_was_decided_and_how_sure_that_was(both: House) -> None:
    talk, turn = answered(both)
    given = judge(both.key(OURS, "chat"), talk, turn, thumb="down")
    assert given.status_code == 201, given.text
    said = given.json()
    assert (said["turn_id"], said["thumb"], said["decision"], said["tool"]) == (turn, "down", "answer", None)
    [label] = labels(both, talk)
    assert (label.kind, label.right, label.decision, label.by[:4]) == ("thumbs_down", False, "answer", "key:")
    assert label.confidence is not None


def test_a_correction_says_what_would_have_been_right(both: House) -> None:
    talk, turn = answered(both)
    assert judge(both.key(), talk, turn, thumb="down", correction="We close at six.\u0007").status_code == 201
    [label] = labels(both, talk)
    assert (label.kind, label.right) == ("correct", False)
    assert str(label.value["correction"]).startswith("We close at six.")


def test_a_later_word_takes_the_place_of_an_earlier_and_others_have_their_own(both: House) -> None:
    talk, turn = answered(both)
    for thumb in ("down", "up", "up"):
        assert judge(both.key(), talk, turn, thumb=thumb).status_code == 201
    assert judge(both.operator("noa"), talk, turn, thumb="down").status_code == 201
    assert judge(both.operator("rita"), talk, turn, thumb="up").status_code == 201
    found = labels(both, talk)
    assert sorted((one.by[:4], one.kind) for one in found) == [
        ("key:", "thumbs_up"),
        ("noa", "thumbs_down"),
        ("rita", "thumbs_up"),
    ]
    log = both.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    assert [one["by"] for one in log if one["action"] == "feedback" and one["subject"] == talk] == ["rita", "noa"]


def test_a_thumb_on_a_question_about_a_call_names_the_call(house: House) -> None:
    talk, turn = answered(house, "cancel order 12345")
    said = judge(house.key(), talk, turn, thumb="up").json()
    assert (said["decision"], said["tool"]) == ("ask", "cancel_order")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"thumb": "sideways"},
        {"thumb": "up", "correction": "x"},
        {"thumb": "down", "correction": ""},
        {"thumb": "down", "correction": "a\x00b"},
        {"thumb": "down", "correction": 7},
        {"thumb": "down", "stars": 5},
    ],
)
def test_what_makes_no_sense_is_refused(house: House, wrong: dict[str, Any]) -> None:
    talk, turn = answered(house)
    is_a_problem(judge(house.key(), talk, turn, **wrong), 422)
    assert labels(house, talk) == []


def test_only_a_turn_of_that_conversation_can_be_judged(house: House) -> None:
    (talk, turn), (other, _) = answered(house), answered(house)
    is_a_problem(judge(house.key(), other, turn, thumb="up"), 404)
    is_a_problem(judge(house.key(), talk, "turn_that_never_was", thumb="up"), 404)
    is_a_problem(judge(house.key(), "nowhere", turn, thumb="up"), 404)


def test_another_tenant_and_a_key_without_the_scope_cannot_judge(house: House) -> None:
    talk, turn = answered(house)
    is_a_problem(judge(house.key(THEIRS), talk, turn, thumb="down"), 404)
    is_a_problem(judge(house.operator("theirs"), talk, turn, thumb="down"), 404)
    is_a_problem(judge(house.key(OURS, "read"), talk, turn, thumb="down"), 403)
    is_a_problem(judge(house.client(), talk, turn, thumb="down"), 401)
    assert labels(house, talk) == []


def test_feedback_goes_when_the_conversation_goes(both: House) -> None:
    talk, turn = answered(both)
    judge(both.key(), talk, turn, thumb="down", correction="Dana Levi lives in Haifa.")
    assert both.key().delete(f"/v1/conversations/{talk}").status_code == 204
    assert labels(both, talk) == []
    is_a_problem(judge(both.key(), talk, turn, thumb="up"), 404)
