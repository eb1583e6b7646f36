"""A yes at the doors of the server: it answers what its sender had before them, and nothing that came after."""

from __future__ import annotations

from typing import Any

import httpx
from tests.server.house import House, say


def write(client: httpx.Client, conversation: str, content: str, **more: str) -> Any:
    answer = client.post(f"/v1/conversations/{conversation}/messages", json={"content": content, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_message_says_which_reply_it_follows(house: House) -> None:
    client = house.key("shop", "chat")
    talk = house.conversation(client)
    one = say(client, talk, "cancel order 12345")
    two = say(client, talk, "cancel order 12346")
    assert two["pending"]["arguments"]["order_id"] == "12346"
    for told in ({"seen": one["turn_id"]}, {"answers": one["pending"]["intent_id"]}):
        again = write(client, talk, "yes", **told)
        assert (again["outcome"], "PENDING_INTENT_MISMATCH" in again["reason_codes"]) == ("asked", True)
    assert write(client, talk, "yes", seen=again["turn_id"])["outcome"] == "acted"


def complete(client: httpx.Client, *messages: dict[str, str], **metadata: str) -> Any:
    body = {"model": "circumspect", "messages": messages, "metadata": metadata}
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["circumspect"] | {"reply": answer.json()["choices"][0]["message"]["content"]}


def test_a_history_that_ends_in_an_older_question_answers_that_one(house: House) -> None:
    client = house.key("shop", "chat")
    named = {"conversation_id": "two-windows"}
    wish, yes = {"role": "user", "content": "cancel order 12347"}, {"role": "user", "content": "yes"}
    one = complete(client, wish, **named)
    two = complete(client, {"role": "user", "content": "cancel order 12348"}, **named)
    assert two["pending"]["arguments"]["order_id"] == "12348"
    stale = {"role": "assistant", "content": one["reply"]}
    again = complete(client, wish, stale, yes, **named)
    assert again["outcome"] == "asked"
    last = complete(client, yes, **named, seen=one["turn_id"])
    assert last["outcome"] == "asked"
    assert complete(client, yes, **named, seen=last["turn_id"])["outcome"] == "acted"


def test_a_call_of_an_older_question_is_not_answered_by_its_id(house: House) -> None:
    client = house.key("shop", "chat")
    named, yes = {"conversation_id": "two-windows-by-id"}, {"role": "user", "content": "yes"}
    one = complete(client, {"role": "user", "content": "cancel order 12347"}, **named)
    complete(client, {"role": "user", "content": "cancel order 12348"}, **named)
    last = complete(client, yes, **named, answers=one["pending"]["intent_id"])
    assert (last["outcome"], last["pending"]["arguments"]["order_id"]) == ("asked", "12348")
