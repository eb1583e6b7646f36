"""A tenant never sees another's data, on any route. The routes come from the API's own description: one that cannot be
filled in here fails the test, so a new route cannot be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.server.house import OURS, THEIRS, House, is_a_problem, say
from tests.server.rows import approval, escalation, notification

from circumspect.server.app import create_app
from circumspect.server.config import Settings
from circumspect.stores import SqlStore, shadows
from circumspect.stores.shadows import ShadowRow
from circumspect.values import TenantId

MARK = "marker-of-ours"
PUBLIC = {"get_healthz", "healthz", "readyz", "metrics", "create_session"}
"""Operations that ask for no key."""
SHARED = {"list_plans"}
"""Not about a tenant at all: operators of any tenant may read them."""
EVERYBODYS = {
    "get_model", "get_role_group", "change_role_group", "replace_role_group", "get_resource_type", "get_resource_schema",
}  # fmt: skip
"""The id names something that each tenant has of its own."""
SECRETS = {"delete_session"}
"""Would end the very sign-in that the test knocks with."""


def shadow(house: House, conversation: str, experiment: str) -> str:
    words = {"outcome": "answered", "reply": MARK}
    row = ShadowRow(
        TenantId(OURS), experiment, "turn_of_shadow", conversation, True, [], words, words, "", 0.0, 0, 0.0, 1.0
    )

    async def add(store: SqlStore) -> None:
        await store.tx(shadows.put, row)

    house.stored(add)
    return row.turn


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    document = create_app(Settings()).openapi()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method, path, operation


DOCUMENT = create_app(Settings()).openapi()
ALL = list(operations())
CLOSED = [one for one in ALL if one[0] not in PUBLIC]
each = pytest.mark.parametrize(("name", "method", "path", "operation"), CLOSED, ids=[one[0] for one in CLOSED])


@pytest.fixture(scope="module")
def ours(house: House) -> dict[str, str]:
    """Something of ours for every kind of id there is."""
    client = house.key(OURS)
    talk = house.conversation(client, id=f"{MARK}-talk", person=f"{MARK}-person")
    say(client, talk, f"hello {MARK}", person=f"{MARK}-person")
    asked = {
        "case": {"id": f"{MARK}-case", "facts": {"kind": MARK}},
        "criteria": [{"id": "K-1", "text": "It is signed."}],
        "documents": [{"name": "policy.md", "text": "# Policy\n\nIt shall be signed.\n"}],
    }
    evaluation = client.post("/v1/evaluations", json=asked).json()
    made = client.post("/v1/admin/keys", json={"name": f"{MARK} key", "scopes": ["chat"]}).json()
    tried = client.post("/v1/admin/experiments", json={"name": MARK, "arms": [{"name": "new"}]}).json()
    words = client.post("/v1/admin/prompts", json={"name": "critique", "text": f"{MARK}: judge."}).json()
    ruled = {"call": {"tool": "cancel_order", "arguments": {"order_id": "12345"}}, "conversation": f"{MARK}-ruled"}
    answered = client.post("/v1/responses", json={"model": "circumspect", "input": f"hello {MARK}"}).json()
    handed_over = escalation(house, OURS, talk, f"summary {MARK}")
    drafted = client.post(
        "/v1/admin/policies/drafts", json={"text": "version: 1\ntools: {}\n", "base": 0, "note": MARK}
    )
    return {
        "ruling_id": client.post("/v1/rulings", json=ruled).json()["id"],
        "response_id": answered["id"],
        "name": "circumspect",
        "conversation_id": talk,
        "escalation_id": handed_over,
        "approval_id": approval(house, OURS, talk),
        "draft_id": drafted.json()["id"],
        "tenant_id": OURS,
        "key_id": made["id"],
        "version": "1",
        "plan_name": "pro",
        "person": f"{MARK}-person",
        "model": "offline",
        "evaluation_id": evaluation["id"],
        "case": f"{MARK}-case",
        "experiment_id": tried["id"],
        "turn_id": shadow(house, talk, tried["id"]),
        "prompt_id": words["id"],
        "notification_id": notification(house, OURS, talk),
        "session_id": house.operator("noa").get("/v1/sessions").json()["items"][0]["id"],
        "type_id": "User",
        "schema_id": "urn:ietf:params:scim:schemas:core:2.0:User",
        "user_id": client.post("/scim/v2/Users", json={"userName": f"{MARK}-operator"}).json()["id"],
        "group_id": "reviewer",
        "subject": "escalation",
        "item_id": handed_over,
    }


def request_of(name: str, method: str, path: str, operation: dict[str, Any], ours: dict[str, str]) -> dict[str, Any]:
    """The operation, filled in with what is ours."""
    query: dict[str, Any] = {}
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            assert parameter["name"] in ours, f"{name}: say in `ours` what {parameter['name']} is"
            path = path.replace("{" + parameter["name"] + "}", ours[parameter["name"]])
        elif parameter["name"] == "tenant":
            query["tenant"] = OURS
        elif parameter["in"] == "query" and parameter.get("required"):
            query[parameter["name"]] = 1
    return {"method": method.upper(), "url": path, "params": query, **_sent(name, operation)}


def _sent(name: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Its body: a file where it takes one, else JSON."""
    form = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data")
    if form is None:
        return {"json": _body(name, operation)}
    fields = {field: "{}" for field in form["schema"]["properties"] if field != "file"}
    return {"files": {"file": ("theirs.md", b"# Theirs")}, "data": fields}


def _body(name: str, operation: dict[str, Any]) -> Any:
    if "requestBody" not in operation:
        return None
    content = operation["requestBody"]["content"]
    assert "application/json" in content, f"{name}: takes no JSON; teach the test what it takes"
    schema = _resolved(content["application/json"]["schema"])
    examples = schema.get("examples") or (
        [content["application/json"]["example"]] if "example" in content["application/json"] else []
    )
    body = dict(examples[0]) if examples else {}
    missing = set(schema.get("required", ())) - body.keys()
    for field in missing:
        kind = _resolved(schema["properties"][field])
        assert kind.get("type") in ("string", "integer"), f"{name}: give its body an example ({field})"
        body[field] = "x" if kind["type"] == "string" else 1
    if "tenant" in schema.get("properties", {}):
        body["tenant"] = OURS
    return body


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def is_about_ours(sent: dict[str, Any], template: str) -> bool:
    return "tenant" in sent["params"] or "tenant" in (sent.get("json") or {}) or "{" in template


def test_every_operation_has_a_name_of_its_own_and_says_what_may_go_wrong() -> None:
    names = [name for name, *_ in ALL]
    assert len(names) == len(set(names))
    for name, _, _, operation in CLOSED:
        assert operation.get("security"), f"{name} does not say who may call it"
        assert {"401", "403", "429"} <= operation["responses"].keys() or name in ("get_session", "delete_session"), name


@each
def test_without_a_key_nobody_gets_in(
    house: House, ours: dict[str, str], name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    answer = house.client().request(**request_of(name, method, path, operation, ours))
    is_a_problem(answer, 401)
    assert MARK not in answer.text


@each
def test_a_wrong_key_is_no_key(
    house: House, ours: dict[str, str], name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    id_ = house.token(OURS).split("_")[1]
    client = house.client(f"csk_{id_}_{'A' * 43}")
    answer = client.request(**request_of(name, method, path, operation, ours))
    if name != "delete_session":
        is_a_problem(answer, 401)
    assert MARK not in answer.text


@each
def test_another_tenants_key_gets_nothing_of_ours(
    house: House, ours: dict[str, str], name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    refused(house.key(THEIRS), ours, name, method, path, operation)


@each
def test_another_tenants_admin_gets_nothing_of_ours(
    house: House, ours: dict[str, str], name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    if name not in SECRETS | SHARED:
        refused(house.operator("their-admin"), ours, name, method, path, operation)


def refused(
    client: httpx.Client, ours: dict[str, str], name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    sent = request_of(name, method, path, operation, ours)
    answer = client.request(**sent)
    echoed = answer.text.replace(ours["conversation_id"], "") if name == "create_conversation" else answer.text
    assert MARK not in echoed, answer.text
    if is_about_ours(sent, path) and (name not in EVERYBODYS or answer.status_code != 200):
        is_a_problem(answer, answer.status_code)
        assert answer.status_code in (401, 403, 404), (answer.status_code, answer.text)
    else:
        assert answer.status_code < 500, answer.text


def test_after_all_that_everything_of_ours_is_as_it_was(house: House, ours: dict[str, str]) -> None:
    client = house.key(OURS)
    assert len(client.get(f"/v1/conversations/{ours['conversation_id']}/messages").json()["items"]) == 2
    assert client.get(f"/v1/escalations/{ours['escalation_id']}").json()["state"] == "open"
    assert client.get(f"/v1/approvals/{ours['approval_id']}").json()["state"] == "pending"
    keys = {one["id"]: one for one in client.get("/v1/admin/keys").json()}
    assert keys[ours["key_id"]]["revoked_at"] is None
    assert client.get("/v1/admin/policies/current").json()["version"] == 1
    assert client.get(f"/v1/admin/tenants/{OURS}").json()["plan"] == "pro"


@pytest.mark.parametrize("scope", ["chat", "read", "manage", "admin", "provision", "widget"])
@each
def test_a_scope_opens_only_its_own_doors(
    house: House, ours: dict[str, str], scope: str, name: str, method: str, path: str, operation: dict[str, Any]
) -> None:
    """What each scope may do is written down here; a new operation has to be added."""
    if method != "get" or name in ("get_session", "list_plans", "list_sessions"):
        return
    doors = {
        "chat": {"list_models", "get_model", "get_response", "get_ruling", "list_conversations", "get_conversation", "list_messages", "list_evaluations",
                 "get_evaluation", "follow_evaluation"},
        "read": {"list_conversations", "get_conversation", "list_messages", "list_tools", "get_usage", "get_quotas", "get_measures",
                 "get_evaluation_usage", "list_policies", "get_policy", "get_current_policy", "list_policy_drafts", "get_policy_draft", "diff_policies", "list_evaluations", "get_evaluation",
                 "follow_evaluation", "list_experiments", "get_experiment", "list_shadows", "get_shadow", "list_documents",
                 "list_prompts", "get_prompt", "diff_prompts", "list_uses"},
        "manage": {"list_work", "list_notes", "list_escalations", "get_escalation", "list_approvals", "get_approval"},
        "admin": {"list_tools", "get_usage", "get_quotas", "get_measures", "get_evaluation_usage", "list_policies", "get_policy", "get_current_policy", "list_policy_drafts", "get_policy_draft", "diff_policies",
                  "list_tenants", "get_tenant", "list_log", "list_keys", "export_person", "list_experiments",
                      "list_notifications", "list_documents",
                  "get_experiment", "list_prompts", "get_prompt", "diff_prompts", "list_uses"},
        "provision": {"list_provisioned_users", "get_provisioned_user", "list_role_groups", "get_role_group",
                      "get_provider_config", "list_resource_types", "get_resource_type", "list_resource_schemas",
                      "get_resource_schema"},
        "widget": set(),
    }  # fmt: skip
    known = set().union(*doors.values())
    assert name in known, f"say which scopes may {name}"
    answer = house.key(OURS, scope).request(**request_of(name, method, path, operation, ours))
    if name in doors[scope]:
        assert answer.status_code == 200, answer.text
    else:
        is_a_problem(answer, 403)
