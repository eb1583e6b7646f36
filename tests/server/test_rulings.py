"""Somebody else's agent asks over HTTP whether a call may run, brings the answer and the result, and checks a reply."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.server.house import House

from circumspect.values import ToolSpec


def talk_about(order: str, status: str = "processing") -> list[dict[str, Any]]:
    look = {"id": "call_look", "type": "function"}
    return [
        {"role": "user", "content": f"please cancel order {order}"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**look, "function": {"name": "get_order", "arguments": json.dumps({"order_id": order})}}],
        },
        {"role": "tool", "tool_call_id": "call_look", "content": json.dumps({"order_id": order, "status": status})},
    ]


def propose(client: httpx.Client, name: str, order: str = "12345", **more: Any) -> dict[str, Any]:
    call = {"tool": "cancel_order", "arguments": {"order_id": order}, "id": "call_1"}
    wanted = {"call": call, "conversation": name, "messages": talk_about(order), **more}
    answer = client.post("/v1/rulings", json=wanted)
    assert answer.status_code == 200, answer.text
    ruling: dict[str, Any] = answer.json()
    return ruling


def test_asked_answered_run_and_told(both: House) -> None:
    client = both.key("shop", "chat")
    asked = propose(client, "r-1")
    assert asked["verdict"] == "ask"
    assert "12345" in asked["ask_user"] == asked["intent"]["shown"]
    path = f"/v1/rulings/{asked['id']}"
    early = client.post(f"{path}/result", json={"result": "ok"})
    assert early.status_code == 409
    let = client.post(f"{path}/answer", json={"text": "yes, do it"}).json()
    assert let["verdict"] == "allow"
    assert let["call"]["arguments"]["order_id"] == "12345"
    assert client.get(path).json()["verdict"] == "allow"
    told = client.post(f"/v1/rulings/{let['id']}/result", json={"result": {"cancelled": True}})
    assert told.json() == {"state": "succeeded"}
    again = client.post(f"{path}/result", json={"error": "it did not work"})
    assert again.json() == {"state": "succeeded"}, "what was said first stays"
    lost = client.post(f"{path}/answer", json={"text": "yes, do it"}).json()
    for late in (lost, client.get(path).json()):
        assert (late["verdict"], late["state"], late["outcome"]) == ("deny", "succeeded", {"cancelled": True})
        assert late["reason_codes"][-1] == "REPEATED_CALL"
        assert "NOT RUN again" in late["tell_model"]
    check = {"text": "I have cancelled order 12345.", "conversation": "r-1", "messages": talk_about("12345")}
    assert client.post("/v1/replies/check", json=check).json()["ok"]
    check["text"] = "I have refunded you 500 dollars."
    assert not client.post("/v1/replies/check", json=check).json()["ok"]


def test_a_yes_that_is_said_twice_has_one_call_and_either_tells_of_it(both: House) -> None:
    client = both.key("shop", "chat")
    path = f"/v1/rulings/{propose(client, 'r-twice')['id']}/answer"
    first = client.post(path, json={"text": "yes"}).json()
    second = client.post(path, json={"approve": True}).json()
    assert second["execution"] == first["execution"]
    assert client.get(f"/v1/rulings/{second['id']}").json()["execution"] == first["execution"]
    told = client.post(f"/v1/rulings/{second['id']}/result", json={"result": {"cancelled": True}})
    assert told.json() == {"state": "succeeded"}
    late = client.post(f"/v1/rulings/{first['id']}/result", json={"error": "it did not work"})
    assert late.json() == {"state": "succeeded"}


def test_all_who_answer_at_once_share_one_execution(both: House) -> None:
    client = both.key("shop", "chat")
    path = f"/v1/rulings/{propose(client, 'r-at-once')['id']}/answer"
    with ThreadPoolExecutor(4) as many:
        answers = [one.json() for one in many.map(lambda _: client.post(path, json={"text": "yes"}), range(4))]
    assert {one["verdict"] for one in answers} == {"allow"}
    assert len({one["execution"] for one in answers} - {None}) == 1
    assert propose(client, "r-at-once")["execution"] == answers[0]["execution"]


def test_a_result_of_what_no_longer_only_reads_is_refused_in_words(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = house.key("shop", "chat")
    call = {"tool": "get_order_status", "arguments": {"order_id": "12345"}}
    said = [{"role": "user", "content": "Where is order 12345?"}]
    read = client.post("/v1/rulings", json={"call": call, "conversation": "r-read", "messages": said}).json()
    assert read["verdict"] == "allow"
    monkeypatch.setattr("circumspect.gate.effect_of", lambda *_: "write")
    refused = client.post(f"/v1/rulings/{read['id']}/result", json={"result": "it is on its way"})
    assert refused.status_code == 409
    assert refused.json()["code"] == "call_held"


def test_a_button_is_a_boolean(both: House) -> None:
    client = both.key("shop", "chat")
    asked = propose(client, "r-2")
    path = f"/v1/rulings/{asked['id']}/answer"
    for approve in ("yes", "true", 1, "no"):
        assert client.post(path, json={"approve": approve}).status_code == 422, approve
    assert client.post(path, json={}).status_code == 422
    assert client.post(path, json={"approve": False}).json()["verdict"] == "deny"
    assert client.post(path, json={"approve": True}).json()["verdict"] == "deny", "a no is not taken back by a yes"


def test_the_operators_see_it_like_any_other_conversation(both: House) -> None:
    client = both.key("shop", "chat")
    asked = propose(client, "r-3")
    shown = both.key("shop", "read").get("/v1/conversations/r-3/messages", params={"internal": True}).json()["items"]
    assert any(one["content"] == "please cancel order 12345" for one in shown)
    assert any(one["kind"] == "policy" for one in shown)
    assert asked["reason_codes"]


def test_another_persons_or_tenants_ruling_is_not_there(both: House) -> None:
    client = both.key("shop", "chat")
    asked = propose(client, "r-4", person="anna")
    path = f"/v1/rulings/{asked['id']}"
    assert client.get(path).status_code == 404
    assert client.get(path, params={"person": "mallory"}).status_code == 404
    for body in ({"text": "yes"}, {"text": "yes", "person": "mallory"}):
        assert client.post(f"{path}/answer", json=body).status_code == 404
    assert both.key("shop-ru", "chat").get(path, params={"person": "anna"}).status_code == 404
    assert client.post(f"{path}/answer", json={"text": "yes", "person": "anna"}).json()["verdict"] == "allow"


def test_what_a_client_says_of_its_own_tool_opens_nothing(both: House) -> None:
    tool = {"name": "wipe_disk", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    wanted = {
        "call": {"tool": "wipe_disk"},
        "conversation": "r-5",
        "messages": [{"role": "user", "content": "wipe the disk"}],
        "tools": [tool],
    }
    ruling = both.key("shop", "chat").post("/v1/rulings", json=wanted).json()
    assert ruling["verdict"] == "deny"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"call": {"tool": ""}, "conversation": "c"},
        {"call": {"tool": "a"}, "conversation": "not an id"},
        {"call": {"tool": "a"}, "conversation": "c", "messages": "hello"},
        {"call": {"tool": "a"}, "conversation": "c", "tools": [{"description": "no name"}]},
        {"call": {"tool": "a"}, "conversation": "c", "tools": [{"name": "a", "parameters": {"type": "nonsense"}}]},
        {"call": {"tool": "a"}, "conversation": "c", "approve": True},
    ],
)
def test_what_cannot_be_ruled_on_is_refused_in_words(house: House, wrong: dict[str, Any]) -> None:
    answer = house.key("shop", "chat").post("/v1/rulings", json=wrong)
    assert answer.status_code == 422
    assert answer.json()["problem"]


@pytest.mark.parametrize("odd", [None, 5, "hello", [], {"role": "robot"}, {"role": "user", "content": {"a": 1}}])
def test_a_message_that_nobody_understands_stops_nothing(house: House, odd: Any) -> None:
    call = {"tool": "get_order", "arguments": {"order_id": "12345"}}
    wanted = {"call": call, "conversation": "r-6", "messages": [odd, *talk_about("12345")]}
    assert house.key("shop", "chat").post("/v1/rulings", json=wanted).status_code == 200


def test_only_a_key_that_may_talk_asks(house: House) -> None:
    for scope in ("read", "manage", "admin", "widget"):
        assert house.key("shop", scope).post("/v1/rulings", json={}).status_code == 403, scope


def test_a_tool_is_made_the_clients_once_and_not_for_each_request() -> None:
    spec = ToolSpec("cancel_order", parameters={"type": "object", "properties": {"order_id": {"type": "string"}}})
    assert spec.for_client is spec.for_client is spec.for_client.for_client
    assert (spec.client, spec.for_client.client) == (False, True)
    assert spec.for_client.version != spec.version, "a yes to the client's own call is none to one of ours"


# --- untidy callers, as in process ------------------------------------------------------------------------------------


def rule_on(client: httpx.Client, name: str, call: Any, messages: Any = None, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/rulings", json={"call": call, "conversation": name, "messages": messages, **more})
    assert answer.status_code == 200, answer.text
    ruling: dict[str, Any] = answer.json()
    return ruling


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "get_order_status", "arguments": '{"order_id": "12345"}'},
        {"id": "1", "type": "function", "function": {"name": "get_order_status", "arguments": '{"order_id": "12345"}'}},
        {"type": "tool_use", "id": "1", "name": "get_order_status", "input": {"order_id": "12345"}},
        {"type": "function_call", "call_id": "1", "name": "get_order_status", "arguments": '{"order_id": "12345"}'},
        {"toolCallId": "1", "toolName": "get_order_status", "input": {"order_id": "12345"}},
    ],
)
def test_a_call_is_taken_as_the_providers_answer_holds_it(house: House, call: dict[str, Any]) -> None:
    ruling = rule_on(house.key("shop", "chat"), "r-shape", call, [{"role": "user", "content": "where is 12345?"}])
    assert ruling["verdict"] == "allow"
    assert ruling["call"]["arguments"] == {"order_id": "12345"}
    assert ruling["call"]["id"] == ("" if "tool" in call else "1")


@pytest.mark.parametrize("name", ["tool", "name"])
@pytest.mark.parametrize(
    "written", ['{"order_id": 12', "[]", "7", '{"order_id": "1", "order_id": "2"}', [], ["12345"], 7, 1.5, True]
)
def test_arguments_that_nobody_can_read_go_back_to_the_model(house: House, name: str, written: Any) -> None:
    ruling = rule_on(house.key("shop", "chat"), "r-broken", {name: "cancel_order", "arguments": written})
    assert (ruling["verdict"], ruling["reason_codes"]) == ("redo", ["INVALID_PARAM"])
    assert "cannot be read" in ruling["tell_model"]


@pytest.mark.parametrize("name", ["tool", "name"])
@pytest.mark.parametrize("nothing", [None, "null", "", {}, "{}"])
def test_null_is_no_arguments(house: House, name: str, nothing: Any) -> None:
    ruling = rule_on(house.key("shop", "chat"), "r-null", {name: "cancel_order", "arguments": nothing})
    assert ruling["call"]["arguments"].get("order_id") is None
    assert "MISSING_PARAM" in ruling["reason_codes"]


def test_a_name_that_is_nearly_one_is_told_the_right_one(house: House) -> None:
    client = house.key("shop", "chat")
    for name in ("cancel_order ", "functions.cancel_order", "cancelOrder", "CANCEL_ORDER"):
        ruling = rule_on(client, "r-near", {"tool": name, "arguments": {"order_id": "12345"}}, talk_about("12345"))
        assert ruling["verdict"] == "deny"
        assert "Call 'cancel_order' by exactly that name" in ruling["tell_model"]


def test_another_users_yes_in_a_group_is_nobodys(both: House) -> None:
    client, call = both.key("shop", "chat"), {"tool": "cancel_order", "arguments": {"order_id": "12345"}}
    talk = talk_about("12345")
    talk[0]["name"] = "alice"
    asked = rule_on(client, "r-group", call, talk)
    talk += [{"role": "assistant", "content": asked["ask_user"]}, {"role": "user", "content": "yes", "name": "bob"}]
    assert rule_on(client, "r-group", call, talk)["verdict"] == "ask"
    talk += [{"role": "assistant", "content": asked["ask_user"]}, {"role": "user", "content": "yes", "name": "alice"}]
    assert rule_on(client, "r-group", call, talk)["verdict"] == "allow"


def test_an_earlier_yes_is_void_once_it_was_taken_back(both: House) -> None:
    client, call = both.key("shop", "chat"), {"tool": "cancel_order", "arguments": {"order_id": "12345"}}
    talk = talk_about("12345")
    asked = rule_on(client, "r-back", call, talk)
    talk += [{"role": "assistant", "content": asked["ask_user"]}, {"role": "user", "content": "yes"}]
    assert rule_on(client, "r-back", call, talk)["verdict"] == "allow"
    talk += [{"role": "assistant", "content": "One moment."}, {"role": "user", "content": "no wait, forget it"}]
    look = {"tool": "get_order_status", "arguments": {"order_id": "12345"}}
    assert rule_on(client, "r-back", look, talk)["verdict"] == "allow", "which hears the words, too"
    again = rule_on(client, "r-back", call, talk)
    assert (again["verdict"], again["reason_codes"]) == ("deny", ["WISH_TAKEN_BACK"])


@pytest.mark.parametrize("no", [{"text": "no wait, forget it"}, {"text": "no"}, {"approve": False}])
def test_a_no_after_the_yes_voids_it(both: House, no: dict[str, Any]) -> None:
    client, name = both.key("shop", "chat"), f"r-void-{len(json.dumps(no))}"
    asked = propose(client, name)
    path = f"/v1/rulings/{asked['id']}"
    let = client.post(f"{path}/answer", json={"text": "yes"}).json()
    assert let["verdict"] == "allow"
    denied = client.post(f"{path}/answer", json=no).json()
    assert (denied["verdict"], denied["state"]) == ("deny", None)
    assert denied["reason_codes"][0] in ("DENIED_BY_USER", "WISH_TAKEN_BACK")
    assert propose(client, name)["verdict"] == "deny"
    assert client.post(f"{path}/answer", json={"text": "yes"}).json()["verdict"] == "deny"
    for one in (asked, let):
        assert client.get(f"/v1/rulings/{one['id']}").json()["verdict"] == "deny"
    told = client.post(f"/v1/rulings/{let['id']}/result", json={"not_run": True})
    assert told.json() == {"state": "failed"}
    assert propose(client, name)["verdict"] == "deny", "they have not spoken since"


def test_a_call_that_ran_before_it_was_taken_back_is_written_down(both: House) -> None:
    client = both.key("shop", "chat")
    path = f"/v1/rulings/{propose(client, 'r-too-late')['id']}"
    let = client.post(f"{path}/answer", json={"text": "yes"}).json()
    client.post(f"{path}/answer", json={"text": "no"})
    told = client.post(f"/v1/rulings/{let['id']}/result", json={"result": {"cancelled": True}})
    assert told.json() == {"state": "succeeded"}
    late = client.get(path).json()
    assert (late["verdict"], late["state"], late["outcome"]) == ("deny", "succeeded", {"cancelled": True})


UNCLEAR = [
    {},
    {"not_run": False},
    {"error": None},
    {"result": 1, "error": "it did not work"},
    {"result": 1, "not_run": True},
    {"error": "it did not work", "not_run": True},
]


def test_a_report_says_one_thing(both: House) -> None:
    client = both.key("shop", "chat")
    path = f"/v1/rulings/{propose(client, 'r-unclear')['id']}"
    client.post(f"{path}/answer", json={"text": "yes"})
    for unclear in UNCLEAR:
        refused = client.post(f"{path}/result", json=unclear)
        assert refused.status_code == 422, unclear
        assert "exactly one of result, error and not_run" in refused.json()["problem"]
    assert client.get(path).json()["state"] is None, "nothing is stored"
    told = client.post(f"{path}/result", json={"result": None, "error": "it did not work", "not_run": False})
    assert told.json() == {"state": "failed"}


def test_a_tool_that_returns_nothing_has_run(both: House) -> None:
    client = both.key("shop", "chat")
    path = f"/v1/rulings/{propose(client, 'r-nothing')['id']}"
    client.post(f"{path}/answer", json={"text": "yes"})
    assert client.post(f"{path}/result", json={"result": None}).json() == {"state": "succeeded"}


def test_a_yes_of_who_was_not_asked_is_asked_for_again(both: House) -> None:
    client = both.key("shop", "chat")
    asked = propose(client, "r-newly")
    anew = client.post(f"/v1/rulings/{asked['id']}/answer", json={"text": "yes", "person": "p9"}).json()
    assert (anew["verdict"], anew["missing"]) == ("ask", [])
    assert "12345" in anew["ask_user"]
    assert anew["intent"]["id"] != asked["intent"]["id"]
    let = client.post(f"/v1/rulings/{anew['id']}/answer", json={"text": "yes", "person": "p9"}).json()
    assert let["verdict"] == "allow"


def test_a_call_without_a_number_that_has_run_says_what_became_of_it(both: House) -> None:
    client, call = both.key("shop", "chat"), {"tool": "cancel_order", "arguments": {"order_id": "12345"}}
    talk = talk_about("12345")
    asked = rule_on(client, "r-unnumbered", call, talk)
    talk += [{"role": "assistant", "content": asked["ask_user"]}, {"role": "user", "content": "yes"}]
    let = rule_on(client, "r-unnumbered", call, talk)
    told = client.post(f"/v1/rulings/{let['id']}/result", json={"result": {"cancelled": True}})
    assert told.json() == {"state": "succeeded"}
    again = rule_on(client, "r-unnumbered", call, talk)
    assert (again["verdict"], again["state"], again["outcome"]) == ("deny", "succeeded", {"cancelled": True})
