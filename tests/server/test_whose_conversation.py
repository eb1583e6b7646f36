"""A conversation belongs to its person: at every door of a chat key, somebody else finds nothing there."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
import pytest
from tests.server.house import House, is_a_problem, say
from tests.server.rows import approval

STREAM = {"Accept": "text/event-stream"}
OTHERS = pytest.mark.parametrize("other", [{"person": "mallory"}, {}], ids=["another person", "nobody named"])


def annas_question(house: House, order: str = "12348") -> tuple[httpx.Client, str, dict[str, Any]]:
    """A conversation of anna's in which she was asked."""
    client = house.key("shop", "chat")
    talk = house.conversation(client, person="anna")
    return client, talk, say(client, talk, f"cancel order {order}", person="anna")


@OTHERS
@pytest.mark.parametrize("headers", [{}, STREAM], ids=["json", "stream"])
def test_nobody_else_says_yes_in_words(both: House, other: dict[str, str], headers: dict[str, str]) -> None:
    client, talk, asked = annas_question(both)
    answer = client.post(f"/v1/conversations/{talk}/messages", json={"content": "yes", **other}, headers=headers)
    assert is_a_problem(answer, 404, "not_found")
    assert asked["pending"], "the question is there for anna"
    done = say(client, talk, "no", person="anna")
    assert done["reason_codes"] == ["DENIED_BY_USER"]


@OTHERS
@pytest.mark.parametrize("headers", [{}, STREAM], ids=["json", "stream"])
def test_nobody_else_presses_the_button(both: House, other: dict[str, str], headers: dict[str, str]) -> None:
    client, talk, asked = annas_question(both)
    given = {"intent_id": asked["pending"]["intent_id"], "decision": "approve"}
    path = f"/v1/conversations/{talk}/confirmations"
    assert is_a_problem(client.post(path, json={**given, **other}, headers=headers), 404, "not_found")
    dropped = client.post(path, json={**given, "decision": "deny", "person": "anna"}).json()
    assert dropped["reason_codes"] == ["DENIED_BY_USER"]


@OTHERS
def test_nobody_else_gets_it_by_beginning_it_again(both: House, other: dict[str, str]) -> None:
    client, talk, _ = annas_question(both)
    assert is_a_problem(client.post("/v1/conversations", json={"id": talk, **other}), 404, "not_found")
    assert client.post("/v1/conversations", json={"id": talk, "person": "anna"}).json()["id"] == talk


def test_who_reads_for_a_person_sees_no_other_persons(both: House) -> None:
    client, talk, asked = annas_question(both)
    for path in (f"/v1/conversations/{talk}", f"/v1/conversations/{talk}/messages"):
        assert is_a_problem(client.get(path, params={"person": "mallory"}), 404, "not_found")
        assert client.get(path, params={"person": "anna"}).status_code == 200
        assert client.get(path).status_code == 200, "the tenant's own program reads what is the tenant's"
    thumb = f"/v1/conversations/{talk}/turns/{asked['turn_id']}/feedback"
    assert is_a_problem(client.post(thumb, json={"thumb": "up", "person": "mallory"}), 404, "not_found")
    assert client.post(thumb, json={"thumb": "up", "person": "anna"}).status_code == 201


@OTHERS
def test_nobody_else_acts_on_a_page_in_it(both: House, other: dict[str, str]) -> None:
    client, talk, _ = annas_question(both)
    body = {"query": "yes", "url": "https://shop.example/", "page": {"title": "Shop", "elements": []}, "session": talk}
    assert is_a_problem(client.post("/v1/agent/interact", json={**body, **other}), 404, "not_found")


@OTHERS
@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_nobody_else_joins_at_the_openai_endpoint(both: House, other: dict[str, str], stream: bool) -> None:
    client, talk, _ = annas_question(both)
    body = {
        "model": "circumspect",
        "messages": [{"role": "user", "content": "yes"}],
        "metadata": {"conversation_id": talk},
        "stream": stream,
        **({"user": other["person"]} if other else {}),
    }
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
    assert say(client, talk, "no", person="anna")["reason_codes"] == ["DENIED_BY_USER"]


def test_another_persons_idempotency_key_gets_nothing_of_theirs(both: House) -> None:
    client, key = both.key("shop", "chat"), secrets.token_hex(8)

    def complete(user: str | None) -> dict[str, Any]:
        body = {"model": "circumspect", "messages": [{"role": "user", "content": "where is order 12345?"}]}
        sent = body if user is None else {**body, "user": user}
        return dict(client.post("/v1/chat/completions", json=sent, headers={"Idempotency-Key": key}).json())

    annas = complete("anna")
    assert complete("anna")["id"] == annas["id"], "her own key finds her answer again"
    others = [complete("mallory"), complete(None)]
    assert annas["id"] not in {one["id"] for one in others}
    talks = {one["circumspect"]["conversation_id"] for one in (annas, *others)}
    assert len(talks) == 3


def test_who_names_nobody_is_one_unnamed_person_for_each_conversation(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    say(client, talk, "cancel order 12347")
    assert say(client, talk, "no")["reason_codes"] == ["DENIED_BY_USER"]


def test_a_question_to_nobody_in_particular_is_asked_again_of_who_says_their_name(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client)
    say(client, talk, "cancel order 12347")
    named = say(client, talk, "yes", person="anna")
    assert named["outcome"] == "asked"
    assert named["reason_codes"][0] == "PENDING_INTENT_MISMATCH"
    assert is_a_problem(client.post(f"/v1/conversations/{talk}/messages", json={"content": "yes"}), 404, "not_found")
    assert say(client, talk, "no", person="anna")["reason_codes"] == ["DENIED_BY_USER"]


def test_a_colleague_decides_in_a_persons_conversation(both: House) -> None:
    client = both.key("shop", "chat")
    talk = both.conversation(client, person="anna")
    waiting = approval(both, "shop", talk)
    desk = both.operator("noa")
    shown = desk.get(f"/v1/approvals/{waiting}").json()
    assert desk.post(f"/v1/approvals/{waiting}/deny", json={"hash": shown["hash"]}).status_code == 200
