"""Conversations over HTTP: the same spine, the same words, whoever asks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import orjson
import pytest
from tests.patience import PATIENCE, wait_until
from tests.server.house import THEIRS, House, is_a_problem, say

from circumspect.hashing import stable_share
from circumspect.values import ConversationId, TenantId


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    found = []
    for block in answer.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], orjson.loads(lines["data"])))
    return found


def test_an_order_is_cancelled_after_a_yes_and_only_then(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    asked = say(client, talk, "cancel order 12345")
    assert asked["outcome"] == "asked"
    assert asked["pending"]["tool"] == "cancel_order"
    assert asked["pending"]["arguments"]["order_id"] == "12345"
    assert "DESTRUCTIVE_NO_CONFIRM" in asked["reason_codes"]
    done = say(client, talk, "yes")
    assert done["outcome"] == "acted"
    assert "EXECUTED_SUCCESSFULLY" in done["reason_codes"]


def test_a_running_conversation_follows_its_plan_and_keeps_what_a_share_drew(both: House) -> None:
    root, client = both.operator("root"), both.key()
    before = root.get("/v1/admin/tenants/shop").json()
    numbered = (f"for-life-{number}" for number in count())
    late = (one for one in numbered if stable_share(TenantId("shop"), ConversationId(one)) >= 0.5)

    def talk(name: str) -> str:
        assert client.post("/v1/conversations", json={"id": name}).status_code == 201
        return str(say(client, name, "hello")["usage"]["mode"])

    def change(mode_of_new: str, **given: Any) -> None:
        """And wait until new conversations are as it says: servers hear of it within a second or so."""
        answer = root.patch("/v1/admin/tenants/shop", json=given)
        assert answer.status_code == 200, answer.text
        wait_until(lambda: talk(next(late)) == mode_of_new, pause=0.2)

    try:
        change("standard", plan="free", adaptive_share=1)
        of_the_plan = next(late)
        assert talk(of_the_plan) == "standard"
        change("adaptive", plan="pro")
        assert talk(of_the_plan) == "adaptive"
        change("standard", adaptive_share=0.5)
        of_the_share = next(late)
        assert (talk(of_the_plan), talk(of_the_share)) == ("adaptive", "standard")
        change("adaptive", adaptive_share=1)
        assert (talk(of_the_plan), talk(of_the_share)) == ("adaptive", "standard")
    finally:
        root.patch("/v1/admin/tenants/shop", json={name: before[name] for name in ("plan", "adaptive_share")})


def test_a_conversation_is_begun_found_and_listed(both: House) -> None:
    client = both.key(THEIRS)
    made = client.post("/v1/conversations", json={"id": "my-own:1", "person": "cust-7", "language": "ru"})
    assert made.status_code == 201
    assert made.json()["person"] == "cust-7"
    assert made.json()["language"] == "ru"
    again = client.post("/v1/conversations", json={"id": "my-own:1", "person": "cust-7"})
    assert again.json()["created_at"] == made.json()["created_at"]
    assert client.get("/v1/conversations/my-own:1").json()["id"] == "my-own:1"
    assert [one["id"] for one in client.get("/v1/conversations?person=cust-7").json()["items"]] == ["my-own:1"]


def test_pages_go_through_everything_once(both: House) -> None:
    client = both.key(THEIRS)
    made = {both.conversation(client) for _ in range(7)}
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = client.get("/v1/conversations", params={"limit": 3, **after}).json()
        seen += [one["id"] for one in page["items"]]
        assert len(page["items"]) <= 3
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert made <= set(seen)
    assert len(seen) == len(set(seen))


def test_the_same_key_gets_the_same_answer_and_runs_nothing(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    first = say(client, talk, "what are your opening hours?", **{"Idempotency-Key": "k-1"})
    again = say(client, talk, "what are your opening hours?", **{"Idempotency-Key": "k-1"})
    assert again == first
    said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["role"] for one in said] == ["user", "assistant"]


def test_a_key_that_was_used_for_other_words_is_refused(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    say(client, talk, "what are your opening hours?", **{"Idempotency-Key": "k-1"})
    for accept in ("application/json", "text/event-stream"):
        headers = {"Idempotency-Key": "k-1", "Accept": accept}
        other = client.post(f"/v1/conversations/{talk}/messages", json={"content": "cancel it"}, headers=headers)
        if accept == "application/json":
            assert "new Idempotency-Key" in is_a_problem(other, 422, "key_reused")["fix"]
        else:
            assert events(other)[-1][1]["code"] == "key_reused"
    said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["role"] for one in said] == ["user", "assistant"]


def test_a_conversation_that_is_not_there_yet_is_to_be_made(house: House) -> None:
    answer = house.key().post("/v1/conversations/visit-99/messages", json={"content": "hello"})
    assert "POST /v1/conversations" in is_a_problem(answer, 404, "not_found")["fix"]


def test_messages_to_one_conversation_are_answered_one_after_the_other(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: say(client, talk, f"hello number {n}"), range(8)))
    assert len({one["turn_id"] for one in answers}) == 8
    said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["role"] for one in said] == ["user", "assistant"] * 8
    assert all(one["turn_id"] == two["turn_id"] for one, two in zip(said[::2], said[1::2], strict=True))


def test_a_stream_tells_steps_text_and_the_whole_result(house: House) -> None:
    client = house.key()
    talk = house.conversation(client)
    with client.stream(
        "POST",
        f"/v1/conversations/{talk}/messages",
        json={"content": "cancel order 12346"},
        headers={"Accept": "text/event-stream"},
    ) as answer:
        answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        told = events(answer)
    names = [name for name, _ in told]
    assert names[0] == "started"
    assert names[-1] == "done"
    assert {"kind": "checking"} in [data for name, data in told if name == "step"]
    assert all(data.keys() == {"kind"} for name, data in told if name == "step")
    result = told[-1][1]
    assert "".join(data["text"] for name, data in told if name == "text") == result["reply"]
    assert told[0][1] == {"turn_id": result["turn_id"], "conversation_id": talk}
    assert "assessment" not in answer.text


def test_end_users_see_what_was_said_and_never_what_was_thought(house: House) -> None:
    everything = house.key()
    talk = house.conversation(everything)
    say(everything, talk, "cancel order 12347")
    chat = house.key("shop", "chat")
    said = chat.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert {one["role"] for one in said} == {"user", "assistant"}
    assert all("meta" not in one and "reason_code" not in one for one in said)
    is_a_problem(chat.get(f"/v1/conversations/{talk}/messages?internal=true"), 403)
    inside = house.key("shop", "read").get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
    assert {"assessment", "policy"} <= {one["kind"] for one in inside}
    assert any(one["reason_code"] == "DESTRUCTIVE_NO_CONFIRM" for one in inside)
    for name in ("noa", "rita"):
        seen = house.operator(name).get(f"/v1/conversations/{talk}/messages?internal=true")
        assert seen.json()["items"] == inside


def test_messages_come_in_pages(house: House) -> None:
    client = house.key()
    talk = house.conversation(client)
    say(client, talk, "hello")
    whole = client.get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
    first = client.get(f"/v1/conversations/{talk}/messages?internal=true&limit=1").json()
    rest = client.get(f"/v1/conversations/{talk}/messages?internal=true&after={first['next']}").json()
    assert first["items"] + rest["items"] == whole


def test_a_deleted_conversation_leaves_nothing(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    say(client, talk, "cancel order 12341")
    say(client, talk, "yes")
    is_a_problem(both.key("shop", "chat", "read").delete(f"/v1/conversations/{talk}"), 403)
    assert client.delete(f"/v1/conversations/{talk}").status_code == 204
    is_a_problem(client.get(f"/v1/conversations/{talk}"), 404)
    is_a_problem(client.get(f"/v1/conversations/{talk}/messages"), 404)
    is_a_problem(client.post(f"/v1/conversations/{talk}/messages", json={"content": "hello"}), 404)
    log = client.get("/v1/admin/log").json()["items"]
    assert ("delete_conversation", talk) in [(one["action"], one["subject"]) for one in log]


def test_a_message_to_a_conversation_that_nobody_began_is_not_found(house: House) -> None:
    is_a_problem(house.key().post("/v1/conversations/nobody/messages", json={"content": "hi"}), 404, "not_found")


def test_two_tenants_may_use_the_same_id_and_never_meet(house: House) -> None:
    ours, theirs = house.key(), house.key(THEIRS)
    for client in (ours, theirs):
        house.conversation(client, id="same")
    say(ours, "same", "hello from us")
    assert theirs.get("/v1/conversations/same/messages").json()["items"] == []
    seen = house.operator("noa").get("/v1/conversations/same/messages?tenant=shop").json()["items"]
    assert seen[0]["content"] == "hello from us"


@pytest.mark.parametrize("language", ["he", "ru"])
def test_the_answer_is_in_the_language_that_was_asked_for(house: House, language: str) -> None:
    client = house.key()
    talk = house.conversation(client)
    answer = client.post(
        f"/v1/conversations/{talk}/messages", json={"content": "cancel order 12348", "language": language}
    ).json()
    assert not answer["reply"].isascii()


def test_many_conversations_are_answered_at_once(both: House) -> None:
    client = both.key()
    talks = [both.conversation(client) for _ in range(20)]
    ready = threading.Barrier(20)

    def speak(talk: str) -> Any:
        ready.wait(PATIENCE)
        return say(client, talk, "what are your opening hours?")

    with ThreadPoolExecutor(20) as pool:
        assert {one["outcome"] for one in pool.map(speak, talks)} == {"answered"}
