"""Tools that clients bring along: a policy may name them, they are shown for review, and a colleague may decide on a
call of one when its client has long gone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.patience import wait_until
from tests.server.house import House

CANCEL = {
    "type": "function",
    "function": {
        "name": "cancel_subscription",
        "description": "Cancel a subscription.",
        "parameters": {
            "type": "object",
            "properties": {"subscription_id": {"type": "string"}},
            "required": ["subscription_id"],
        },
    },
}
POLICY = """\
version: 1
tools:
  get_order_status: {effect: read}
  cancel_order: {effect: destructive}
  cancel_subscription: {effect: destructive, confirm: four_eyes}
  transfer: {effect: write, confirm: four_eyes}
"""


def complete(house: House, text: str, tools: list[Any]) -> Any:
    body = {"model": "circumspect", "messages": [{"role": "user", "content": text}], "tools": tools}
    answer = house.key().post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["circumspect"]


def shown_tools(house: House) -> dict[str, Any]:
    return {one["name"]: one for one in house.key().get("/v1/admin/tools").json()}


@pytest.fixture(scope="module")
def governed(house: House) -> House:
    put = house.key().put("/v1/admin/policies", json={"text": POLICY})
    assert put.status_code == 200, put.text
    complete(house, "hello", [CANCEL])
    # The policy takes a moment to reach the worker.
    wait_until(lambda: any("colleague" in line for line in shown_tools(house)["cancel_subscription"]["explanation"]))
    return house


def test_a_policy_may_name_a_tool_that_only_clients_have(governed: House) -> None:
    checked = governed.key().post("/v1/admin/policies/check", json={"text": POLICY.replace("subscription", "coupon")})
    told = checked.json()
    assert told["ok"]
    (finding,) = (one for one in told["findings"] if "cancel_coupon" in one["problem"])
    assert (finding["level"], finding["line"]) == ("warning", 5)
    assert "client" in finding["fix"]


def test_a_name_that_is_all_but_one_of_ours_is_still_refused(governed: House) -> None:
    told = governed.key().post("/v1/admin/policies/check", json={"text": POLICY.replace("cancel_order", "cancel_oder")})
    (error,) = (one for one in told.json()["findings"] if one["level"] == "error")
    assert "cancel_order" in error["fix"]


def test_what_a_client_brought_along_is_shown_and_not_reviewed(governed: House) -> None:
    tool = shown_tools(governed)["cancel_subscription"]
    assert (tool["client"], tool["reviewed"], tool["parameters"]) == (True, False, CANCEL["function"]["parameters"])
    assert any("colleague" in line for line in tool["explanation"])
    assert shown_tools(governed)["cancel_order"]["reviewed"]
    checked = governed.key().post("/v1/admin/policies/check", json={"text": POLICY}).json()
    assert not any("cancel_subscription" in one["problem"] for one in checked["findings"])


def test_a_colleague_decides_on_a_clients_call_with_the_schema_it_was_proposed_with(governed: House) -> None:
    held = complete(governed, "cancel subscription 12345", [CANCEL])
    assert held["pending"]["kind"] == "approval", held
    noa = governed.operator("noa")
    approval = noa.get(f"/v1/approvals/{held['pending']['intent_id']}").json()
    done = noa.post(f"/v1/approvals/{approval['id']}/approve", json={"hash": approval["hash"]})
    assert done.status_code == 200, done.text
    assert done.json()["approval"]["state"] == "consumed", done.json()


def test_a_colleague_decides_on_a_call_at_the_gate_whose_tool_nobody_described(governed: House) -> None:
    client = governed.key("shop", "chat", "manage")
    call = {"tool": "transfer", "arguments": {"amount": 5}}
    wanted = {"call": call, "conversation": "t-1", "messages": [{"role": "user", "content": "transfer 5"}]}
    held = client.post("/v1/rulings", json=wanted).json()
    assert held["verdict"] == "escalate", held
    path, seen = f"/v1/approvals/{held['intent']['id']}/approve", {"hash": held["intent"]["hash"]}
    refused = client.post(path, json=seen)
    assert (refused.status_code, refused.json()["code"]) == (403, "approver_refused")
    assert client.get(f"/v1/rulings/{held['id']}").json()["verdict"] == "escalate"
    done = governed.operator("noa").post(path, json=seen)
    assert done.json()["approval"]["state"] == "consumed", done.text
    let = client.get(f"/v1/rulings/{held['id']}").json()
    assert (let["verdict"], let["call"]["arguments"]) == ("allow", {"amount": 5})
    told = client.post(f"/v1/rulings/{held['id']}/result", json={"result": "ok"})
    assert told.json() == {"state": "succeeded"}, told.text


def test_a_tool_that_only_clients_run_is_not_offered_in_our_own_conversations(governed: House) -> None:
    client = governed.key()
    talk = governed.conversation(client)
    said = client.post(f"/v1/conversations/{talk}/messages", json={"content": "cancel subscription 12345"}).json()
    assert not said["pending"]
