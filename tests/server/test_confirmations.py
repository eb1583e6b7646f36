"""The user's yes or no by a button: exactly its question, once, and never what a colleague has to decide."""

from __future__ import annotations

import pytest
from tests.server.house import House, say
from tests.server.rows import approval


def test_a_button_answers_exactly_its_question_once(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    asked = say(client, talk, "cancel order 12348")
    given = {"intent_id": asked["pending"]["intent_id"], "decision": "approve"}
    path = f"/v1/conversations/{talk}/confirmations"
    done = client.post(path, json=given, headers={"Idempotency-Key": "one"}).json()
    again = client.post(path, json=given, headers={"Idempotency-Key": "one"}).json()
    assert again == done
    late = client.post(path, json=given).json()
    assert late["reason_codes"] == ["PENDING_INTENT_MISSING"]
    assert late["reply"] == ""
    other = both.conversation(client)
    assert client.post(f"/v1/conversations/{other}/confirmations", json=given).status_code == 404
    assert client.post(path, json={**given, "decision": "edit"}).status_code == 422


def test_a_no_by_a_button_drops_the_call(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    asked = say(client, talk, "cancel order 12345")
    given = {"intent_id": asked["pending"]["intent_id"], "decision": "deny"}
    answer = client.post(f"/v1/conversations/{talk}/confirmations", json=given, headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "DENIED_BY_USER" in answer.text
    assert "WISH_NEGLECTED" not in answer.text, "what was just denied is not asked about again"


def test_what_waits_for_a_colleague_is_not_the_users_to_decide(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    waiting = approval(both, "shop", talk)
    given = {"intent_id": waiting, "decision": "approve"}
    assert client.post(f"/v1/conversations/{talk}/confirmations", json=given).status_code == 404
    assert both.key("shop", "manage").get(f"/v1/approvals/{waiting}").json()["state"] == "pending"


def test_only_a_key_that_may_talk_answers_for_the_user(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    asked = say(client, talk, "cancel order 12345")
    given = {"intent_id": asked["pending"]["intent_id"], "decision": "approve"}
    for scope in ("read", "manage", "admin", "widget"):
        answer = both.key("shop", scope).post(f"/v1/conversations/{talk}/confirmations", json=given)
        assert answer.status_code == 403, scope


ANSWERS = (("shop", "cancel order 12345", "approve", "Yes"), ("shop", "cancel order 12346", "deny", "No"),
           ("shop-he", "לבטל את הזמנה 12345", "approve", "כן"), ("shop-ru", "отменить заказ 12345", "deny", "Нет"))  # fmt: skip


@pytest.mark.parametrize(("tenant", "words", "decision", "said"), ANSWERS)
def test_an_answer_by_a_button_is_said_by_the_user_in_their_language(
    both: House, tenant: str, words: str, decision: str, said: str
) -> None:
    client = both.key(tenant, "chat")
    talk = both.conversation(client, person="p-button")
    asked = say(client, talk, words, person="p-button")
    given = {"intent_id": asked["pending"]["intent_id"], "decision": decision, "person": "p-button"}
    assert client.post(f"/v1/conversations/{talk}/confirmations", json=given).status_code == 200
    told = client.get(f"/v1/conversations/{talk}/messages", params={"person": "p-button"}).json()["items"]
    assert [(one["role"], one["content"]) for one in told][::2] == [("user", words), ("user", said)]
    exported = both.key(tenant).get("/v1/admin/persons/p-button").json()["conversations"]
    (kept,) = [one["messages"] for one in exported if one["id"] == talk]
    (row,) = [one for one in kept if one["role"] == "user" and one["content"] == said]
    assert row["meta"]["button"] == given["intent_id"]
