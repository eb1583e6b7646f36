"""Escalations and approvals: a person takes over, answers, hands back; a colleague decides on exactly what was shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.patience import wait_until
from tests.server.house import PASSWORD, House, is_a_problem, say
from tests.server.rows import escalation

FOUR_EYES = """\
version: 1
tools:
  get_order_status: {effect: read}
  cancel_order: {effect: destructive, confirm: four_eyes}
"""


@pytest.fixture(scope="module")
def four_eyes(both: House) -> House:
    put = both.key().put("/v1/admin/policies", json={"text": FOUR_EYES, "note": "four eyes"})
    assert put.status_code == 200, put.text
    # The policy takes a moment to reach the worker.
    wait_until(lambda: "colleague" in both.key().get("/v1/admin/tools").text)
    return both


def test_a_person_takes_over_answers_and_hands_back(both: House) -> None:
    client, noa = both.key(), both.operator("noa")
    talk = both.conversation(client)
    say(client, talk, "hello")
    id_ = escalation(both, "shop", talk)
    assert id_ in [one["id"] for one in noa.get("/v1/escalations?state=open").json()["items"]]
    is_a_problem(noa.post(f"/v1/escalations/{id_}/reply", json={"content": "hi"}), 409)
    taken = noa.post(f"/v1/escalations/{id_}/take").json()
    assert (taken["state"], taken["taken_by"]) == ("taken", "noa")
    assert client.get(f"/v1/conversations/{talk}").json()["paused_by"] == "noa"
    silent = say(client, talk, "what are your opening hours?")
    assert "WITH_A_PERSON" in silent["reason_codes"]
    assert silent["usage"]["model_calls"] == 0
    said = noa.post(f"/v1/escalations/{id_}/reply", json={"content": "Hello, this is Noa."})
    assert said.status_code == 201
    seen = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert (seen[-1]["content"], seen[-1]["by"]) == ("Hello, this is Noa.", "person")
    assert seen[-1]["seq"] == said.json()["seq"]
    assert noa.post(f"/v1/escalations/{id_}/hand-back").status_code == 200
    assert say(client, talk, "what are your opening hours?")["outcome"] == "answered"
    resolved = noa.post(f"/v1/escalations/{id_}/resolve").json()
    assert (resolved["state"], resolved["resolved_by"]) == ("resolved", "noa")
    log = [one["action"] for one in both.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]]
    assert log[:4] == ["resolve", "hand_back", "reply", "take_over"]


def test_two_people_cannot_take_the_same_conversation(both: House) -> None:
    client = both.key()
    id_ = escalation(both, "shop", both.conversation(client))
    people = [both.operator("noa"), both.operator("root"), both.key("shop", "manage")]
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda one: one.post(f"/v1/escalations/{id_}/take").status_code, people))
    assert sorted(answers) == [200, 409, 409]


def test_what_a_colleague_left_is_taken_from_them_by_administrators_only_and_by_name(both: House) -> None:
    client, noa, root = both.key(), both.operator("noa"), both.operator("root")
    talk = both.conversation(client)
    take = f"/v1/escalations/{escalation(both, 'shop', talk)}/take"
    assert root.post(take).status_code == 200
    is_a_problem(noa.post(take, params={"away_from": "root"}), 403)
    is_a_problem(both.key("shop", "manage").post(take, params={"away_from": "root"}), 403)
    root.post(take.replace("/take", "/resolve"))
    take = f"/v1/escalations/{escalation(both, 'shop', talk)}/take"
    assert noa.post(take).status_code == 200
    is_a_problem(root.post(take, params={"away_from": "somebody"}), 409)
    taken = root.post(take, params={"away_from": "noa"})
    assert (taken.status_code, taken.json()["taken_by"]) == (200, "root")
    is_a_problem(noa.post(take.replace("/take", "/reply"), json={"content": "I am back"}), 409)
    (logged, *_) = root.get("/v1/admin/log?tenant=shop").json()["items"]
    assert (logged["action"], logged["detail"]["from"]) == ("take_over", "noa")


def test_a_reviewer_looks_and_does_not_touch(both: House) -> None:
    client, rita = both.key(), both.operator("rita")
    id_ = escalation(both, "shop", both.conversation(client))
    assert rita.get(f"/v1/escalations/{id_}").status_code == 200
    is_a_problem(rita.post(f"/v1/escalations/{id_}/take"), 403)


def test_an_operator_sees_only_their_tenants(both: House) -> None:
    client, theirs = both.key(), both.operator("theirs")
    id_ = escalation(both, "shop", both.conversation(client))
    is_a_problem(theirs.get(f"/v1/escalations/{id_}"), 404)
    is_a_problem(theirs.post(f"/v1/escalations/{id_}/take"), 404)
    is_a_problem(theirs.get("/v1/escalations?tenant=shop"), 404)
    assert {one["tenant"] for one in theirs.get("/v1/escalations").json()["items"]} <= {"shop-ru"}


def test_an_approved_call_runs_once_exactly_as_shown(four_eyes: House) -> None:
    client, noa = four_eyes.key(), four_eyes.operator("noa")
    talk = four_eyes.conversation(client)
    held = wait_for_four_eyes(four_eyes, talk, "12350")
    shown = noa.get(f"/v1/approvals/{held}").json()
    assert shown["tool"] == "cancel_order"
    assert shown["arguments"]["order_id"] == "12350"
    assert shown["state"] == "pending"
    is_a_problem(noa.post(f"/v1/approvals/{held}/approve", json={"hash": "another"}), 409, "changed")
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda _: noa.post(f"/v1/approvals/{held}/approve", json={"hash": shown["hash"]}), range(4))
        )
    done = [one.json() for one in answers if one.status_code == 200]
    assert sum("EXECUTED_SUCCESSFULLY" in one["turn"]["reason_codes"] for one in done) == 1
    after = noa.get(f"/v1/approvals/{held}").json()
    assert (after["state"], after["settled_by"]) == ("consumed", "noa")
    is_a_problem(noa.post(f"/v1/approvals/{held}/approve", json={"hash": shown["hash"]}), 409, "settled")
    said = client.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["by"] for one in said] == ["user", "agent", "agent"], said
    (called,) = [one for one in noa.get("/v1/escalations").json()["items"] if one["conversation_id"] == talk]
    assert (called["reason_code"], called["state"], called["resolved_by"]) == ("APPROVAL_REQUIRED", "resolved", "noa")


def test_an_approval_is_shown_with_the_facts_it_rests_on(four_eyes: House) -> None:
    text = FOUR_EYES.replace(
        "four_eyes}", "four_eyes, deny_unless: [{if: latest.get_order_status.status != 'lost', because: It is lost.}]}"
    )
    key, noa = four_eyes.key(), four_eyes.operator("noa")
    assert key.put("/v1/admin/policies", json={"text": text, "note": "with a condition"}).status_code == 200
    wait_until(lambda: "It is lost." in key.get("/v1/admin/tools").text)
    talk = four_eyes.conversation(key)
    say(key, talk, "what is the status of order 12345?")
    held = say(key, talk, "cancel order 12345")["pending"]["intent_id"]
    (fact,) = noa.get(f"/v1/approvals/{held}").json()["facts"]
    assert fact["place"] == "latest.get_order_status.status"
    assert isinstance(fact["value"], str)
    key.put("/v1/admin/policies", json={"text": FOUR_EYES, "note": "as before"})
    wait_until(lambda: "It is lost." not in key.get("/v1/admin/tools").text)


def test_a_denied_call_does_not_run(four_eyes: House) -> None:
    client, manager = four_eyes.key(), four_eyes.key("shop", "manage")
    talk = four_eyes.conversation(client)
    held = wait_for_four_eyes(four_eyes, talk, "12349")
    shown = manager.get(f"/v1/approvals/{held}").json()
    denied = manager.post(f"/v1/approvals/{held}/deny", json={"hash": shown["hash"]})
    assert denied.status_code == 200, denied.text
    assert denied.json()["approval"]["state"] == "denied"
    assert "EXECUTED_SUCCESSFULLY" not in denied.json()["turn"]["reason_codes"]


def test_an_edited_call_waits_anew(four_eyes: House) -> None:
    client, noa = four_eyes.key(), four_eyes.operator("noa")
    talk = four_eyes.conversation(client)
    held = wait_for_four_eyes(four_eyes, talk, "12348")
    shown = noa.get(f"/v1/approvals/{held}").json()
    edited = noa.post(
        f"/v1/approvals/{held}/edit",
        json={"hash": shown["hash"], "arguments": {**shown["arguments"], "reason": "customer moved"}},
    )
    assert edited.status_code == 200, edited.text
    pending = edited.json()["turn"]["pending"]
    assert pending["kind"] == "approval"
    assert pending["intent_id"] != held
    assert pending["arguments"]["reason"] == "customer moved"
    assert noa.get(f"/v1/approvals/{held}").json()["state"] != "pending"
    assert noa.get(f"/v1/approvals/{pending['intent_id']}").json()["state"] == "pending"
    called = [one for one in noa.get("/v1/escalations").json()["items"] if one["conversation_id"] == talk]
    assert {one["state"] for one in called} == {"open"}, "something waits still"


def test_nobody_approves_what_they_asked_for_or_changed(four_eyes: House) -> None:
    """An operator's own edit under another sign-in, and a key that asked and wants to approve."""
    noa, root = four_eyes.operator("noa"), four_eyes.operator("root")
    both = four_eyes.key("shop", "chat", "manage")
    talk = four_eyes.conversation(both)
    held = say(both, talk, "cancel order 12346")["pending"]["intent_id"]
    shown = noa.get(f"/v1/approvals/{held}").json()
    assert any(one.startswith("key:") for one in shown["proposed_by"])
    for key in (both, four_eyes.key("shop", "manage")):
        is_a_problem(key.post(f"/v1/approvals/{held}/approve", json={"hash": shown["hash"]}), 403, "approver_refused")
    changed = {"hash": shown["hash"], "arguments": {**shown["arguments"], "reason": "mine"}}
    edited = noa.post(f"/v1/approvals/{held}/edit", json=changed).json()["turn"]["pending"]
    again = four_eyes.client(sign_in(four_eyes, "noa"))
    approve = f"/v1/approvals/{edited['intent_id']}/approve"
    for session in (noa, again):
        refused = session.post(approve, json={"hash": edited["hash"]})
        is_a_problem(refused, 403, "approver_refused")
        assert refused.json()["problem"] == "noa changed this call."
        assert refused.json()["fix"].startswith("An operator has to approve it who neither")
    shown = noa.get(f"/v1/approvals/{edited['intent_id']}").json()
    assert (shown["state"], shown["edited_by"], shown["keys_approve"]) == ("pending", ["noa"], False)
    done = root.post(approve, json={"hash": edited["hash"]})
    assert "EXECUTED_SUCCESSFULLY" in done.json()["turn"]["reason_codes"], done.text
    logged = root.get("/v1/admin/log?action=approve").json()["items"]
    by = [(one["by"], one["result"]) for one in logged if one["subject"] == edited["intent_id"]]
    assert by == [("root", "done"), ("noa", "refused"), ("noa", "refused")]


def test_a_race_of_the_editor_and_a_colleague_is_won_by_the_colleague(four_eyes: House) -> None:
    noa, root = four_eyes.operator("noa"), four_eyes.operator("root")
    held = wait_for_four_eyes(four_eyes, four_eyes.conversation(four_eyes.key()), "12351")
    shown = noa.get(f"/v1/approvals/{held}").json()
    changed = {"hash": shown["hash"], "arguments": {**shown["arguments"], "reason": "mine"}}
    edited = noa.post(f"/v1/approvals/{held}/edit", json=changed).json()["turn"]["pending"]
    approve = f"/v1/approvals/{edited['intent_id']}/approve"
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda who: who.post(approve, json={"hash": edited["hash"]}), [noa, root, noa, noa]))
    ran = [one.request.headers["authorization"] for one in answers if "APPROVED_BY_COLLEAGUE" in one.text]
    assert ran == [root.headers["authorization"]]
    assert noa.get(f"/v1/approvals/{edited['intent_id']}").json()["settled_by"] == "root"


def sign_in(house: House, name: str) -> str:
    said = house.client().post("/v1/session", json={"name": name, "password": PASSWORD})
    return str(said.json()["token"])


def test_waiting_approvals_are_listed_in_pages(four_eyes: House) -> None:
    client, noa = four_eyes.key(), four_eyes.operator("noa")
    made = {wait_for_four_eyes(four_eyes, four_eyes.conversation(client), "12347") for _ in range(3)}
    first = noa.get("/v1/approvals?limit=2").json()
    rest = noa.get("/v1/approvals", params={"after": first["next"]}).json()
    assert made <= {one["id"] for one in first["items"] + rest["items"]}
    assert len(first["items"]) == 2


def wait_for_four_eyes(house: House, talk: str, order: str) -> str:
    """The id of an approval that a conversation led to."""
    held = say(house.key(), talk, f"cancel order {order}")
    assert held["pending"]["kind"] == "approval", held
    return str(held["pending"]["intent_id"])
