"""Provisioning as Okta and Entra ID do it, with the requests that their documentation shows."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from tests.server.house import OURS, PASSWORD, THEIRS, House

from circumspect.server.app import ROUTERS
from circumspect.server.stores import access
from circumspect.stores import SqlStore, action_log

OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json"), ("POST", "/v1/session"),
        ("DELETE", "/v1/session")}  # fmt: skip
"""What asks nobody who they are, and signing out."""
PATCH = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
ERROR = ["urn:ietf:params:scim:api:messages:2.0:Error"]
OKTA_USER = {
    "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
    "userName": "okta@example.com", "name": {"givenName": "Test", "familyName": "User"},
    "emails": [{"primary": True, "value": "okta@example.com", "type": "work"}], "displayName": "Test User",
    "locale": "en-US", "externalId": "00ujl29u0le5T6Aj10h7", "groups": [], "password": "1mz050nq", "active": True,
}  # fmt: skip
ENTRA_USER = {
    "schemas": [
        "urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    ],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef", "userName": "entra@example.com", "active": True,
    "emails": [{"primary": True, "type": "work", "value": "entra@example.com"}], "meta": {"resourceType": "User"},
    "name": {"formatted": "A B", "familyName": "B", "givenName": "A"}, "roles": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def okta(house: House) -> httpx.Client:
    return house.key(OURS, "provision")


def make(client: httpx.Client, name: str, **more: Any) -> str:
    answer = client.post("/scim/v2/Users", json={"userName": name, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def patch(client: httpx.Client, path: str, *operations: dict[str, Any]) -> httpx.Response:
    return client.patch(f"/scim/v2/{path}", json={"schemas": PATCH, "Operations": operations},
                        headers={"Content-Type": "application/scim+json"})  # fmt: skip


def is_scim_error(answer: httpx.Response, status: int, kind: str | None = None) -> None:
    body = answer.json()
    assert (answer.status_code, body["status"], body["schemas"]) == (status, str(status), ERROR), answer.text
    assert body.get("scimType") == kind
    assert body["detail"]


def sign_in(house: House, name: str) -> httpx.Client:
    """Somebody who got a password as well, at the command line."""

    async def give(store: SqlStore) -> None:
        from circumspect.server import credentials

        row = await store.tx(access.operator_named, name)
        assert row is not None
        await store.tx(access.set_password, row.id, credentials.hash_password(PASSWORD))

    house.stored(give)
    answer = house.client().post("/v1/session", json={"name": name, "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return house.client(answer.json()["token"])


def test_a_user_as_okta_makes_and_deactivates_one(house: House, okta: httpx.Client) -> None:
    looked = okta.get("/scim/v2/Users", params={"filter": 'userName eq "okta@example.com"', "startIndex": 1,
                                                "count": 100})  # fmt: skip
    assert (looked.json()["totalResults"], looked.json()["Resources"]) == (0, [])
    made = okta.post("/scim/v2/Users", json=OKTA_USER, headers={"Content-Type": "application/scim+json; charset=utf-8"})
    assert made.status_code == 201, made.text
    assert made.headers["content-type"].startswith("application/scim+json")
    user = made.json()
    assert user["active"] is True
    assert (user["name"], user["externalId"]) == (OKTA_USER["name"], OKTA_USER["externalId"])
    assert "password" not in user
    assert (user["roles"], user["groups"]) == ([], [])
    assert made.headers["location"] == user["meta"]["location"]
    is_scim_error(okta.post("/scim/v2/Users", json=OKTA_USER), 409, "uniqueness")
    refused = house.client().post("/v1/session", json={"name": "okta@example.com", "password": "1mz050nq"})
    assert refused.status_code == 401, "the password that came along is nobody's"
    add = {"op": "add", "path": "members", "value": [{"value": user["id"], "display": "Test User"}]}
    assert patch(okta, "Groups/reviewer", add).status_code == 200
    person = sign_in(house, "okta@example.com")
    assert person.get("/v1/escalations").status_code in (200, 403)
    assert person.get("/v1/session").status_code == 200
    answer = patch(okta, f"Users/{user['id']}", {"op": "replace", "value": {"active": False}})
    assert answer.json()["active"] is False
    assert person.get("/v1/session").status_code == 401, "signed out at once"
    whole = okta.put(f"/scim/v2/Users/{user['id']}", json={**OKTA_USER, "active": True, "displayName": "Other"})
    assert (whole.json()["active"], whole.json()["displayName"]) == (True, "Other")


def test_a_user_as_entra_makes_and_deactivates_one(house: House, okta: httpx.Client) -> None:
    user = okta.post("/scim/v2/Users", json=ENTRA_USER).json()
    found = okta.get("/scim/v2/Users", params={"filter": 'userName eq "ENTRA@example.com"'}).json()
    assert [one["id"] for one in found["Resources"]] == [user["id"]], "names in any case"
    changed = patch(
        okta, f"Users/{user['id']}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "new@example.com"},
        {"op": "Replace", "path": "name.familyName", "value": "C"},
        {"op": "Add", "path": "displayName", "value": "A C"},
    )  # fmt: skip
    assert changed.json()["displayName"] == "A C"
    assert changed.json()["name"] == {"formatted": "A B", "familyName": "C", "givenName": "A"}
    assert changed.json()["emails"] == [{"type": "work", "primary": True, "value": "new@example.com"}]
    patch(okta, "Groups/operator", {"op": "Add", "path": "members", "value": [{"$ref": None, "value": user["id"]}]})
    person = sign_in(house, "entra@example.com")
    answer = patch(okta, f"Users/{user['id']}", {"op": "Replace", "path": "active", "value": "False"})
    assert answer.json()["active"] is False
    assert person.get("/v1/session").status_code == 401


def test_groups_are_roles(house: House, okta: httpx.Client) -> None:
    one, two = make(okta, "group-one"), make(okta, "group-two")
    found = okta.get("/scim/v2/Groups", params={"filter": 'displayName eq "operator"'}).json()
    assert [group["id"] for group in found["Resources"]] == ["operator"]
    entra = {"op": "Add", "path": "members", "value": [{"$ref": None, "value": one}, {"value": two}]}
    assert {one, two} <= {each["value"] for each in patch(okta, "Groups/operator", entra).json()["members"]}
    assert okta.get(f"/scim/v2/Users/{one}").json()["roles"][0]["value"] == "operator"
    person = sign_in(house, "group-one")
    patch(okta, "Groups/operator", {"op": "remove", "path": f'members[value eq "{one}"]'})
    assert okta.get(f"/scim/v2/Users/{one}").json()["roles"] == []
    assert person.get("/v1/session").status_code == 401, "another role is another sign-in"
    patch(okta, "Groups/operator", {"op": "Remove", "path": "members", "value": [{"value": two}]})
    assert okta.get(f"/scim/v2/Users/{two}").json()["roles"] == []
    is_scim_error(okta.post("/scim/v2/Groups", json={"displayName": "operator"}), 409, "uniqueness")
    is_scim_error(okta.post("/scim/v2/Groups", json={"displayName": "everyone"}), 400, "invalidValue")
    unknown = {"op": "add", "path": "members", "value": [{"value": "op-root"}]}
    is_scim_error(patch(okta, "Groups/operator", unknown), 400, "invalidValue")


def test_who_is_in_no_group_gets_nothing_at_all(house: House, okta: httpx.Client) -> None:
    """Not a page and not a question of the API, whatever other operators may."""
    nobody = make(okta, "nobody-yet")
    person = sign_in(house, "nobody-yet")
    for route in (one for router in ROUTERS for one in router.routes):
        for method in getattr(route, "methods", None) or ():
            path = re.sub(r"{[^}]*}", "x", str(getattr(route, "path", "")))
            if (method, path) in OPEN or method == "HEAD":
                continue
            answer = person.request(method, path)
            assert answer.status_code in (401, 403, 404, 405), (method, path, answer.status_code)
    assert person.get("/v1/session").json()["problem"] == "You have no role here."
    patch(okta, "Groups/operator", {"op": "add", "path": "members", "value": [{"value": nobody}]})
    assert sign_in(house, "nobody-yet").get("/v1/escalations").status_code == 200


@pytest.mark.parametrize(
    "operation",
    [{"op": "Replace", "path": "active", "value": "False"},
     {"op": "Replace", "path": "active", "value": [{"$ref": None, "value": "False"}]},
     {"op": "replace", "path": "active", "value": False},
     {"op": "replace", "value": {"active": False}},
     {"op": "Replace", "value": {"active": "false", "displayName": "x"}},
     {"op": "add", "value": {"active": False}},
     {"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:active", "value": False}],
)  # fmt: skip
def test_every_way_of_saying_that_somebody_left_is_understood(okta: httpx.Client, operation: dict[str, Any]) -> None:
    user = make(okta, f"leaves-{abs(hash(str(operation)))}")
    assert patch(okta, f"Users/{user}", operation).json()["active"] is False


def test_entra_asks_whether_somebody_is_in_a_group(okta: httpx.Client) -> None:
    user = make(okta, "asked-for")
    given = {"op": "Add", "path": 'roles[primary eq "True"].value', "value": "operator"}
    assert patch(okta, f"Users/{user}", given).json()["groups"][0]["value"] == "operator"
    for group, found in (("operator", 1), ("reviewer", 0)):
        asked = {"filter": f'id eq "{group}" and members eq "{user}"', "attributes": "id",
                 "excludedAttributes": "members"}  # fmt: skip
        answer = okta.get("/scim/v2/Groups", params=asked).json()
        assert answer["totalResults"] == found
        assert all("members" not in one for one in answer["Resources"])
    assert "members" not in okta.get("/scim/v2/Groups/operator", params={"excludedAttributes": "members"}).json()
    renamed = patch(okta, "Groups/operator", {"op": "Replace", "path": "externalId", "value": "8aa1a0c0"})
    assert renamed.status_code == 200


def test_pages_of_users_are_counted_from_one(okta: httpx.Client) -> None:
    for number in range(3):
        make(okta, f"page-{number}")
    total = okta.get("/scim/v2/Users", params={"count": 0}).json()
    assert (total["Resources"], total["itemsPerPage"]) == ([], 0)
    seen = [okta.get("/scim/v2/Users", params={"startIndex": place, "count": 1}).json()["Resources"][0]["id"]
            for place in range(1, total["totalResults"] + 1)]  # fmt: skip
    assert len(set(seen)) == total["totalResults"]
    beyond = okta.get("/scim/v2/Users", params={"startIndex": total["totalResults"] + 1, "count": 100})
    assert (beyond.status_code, beyond.json()["Resources"]) == (200, [])


def test_a_key_without_admin_neither_makes_nor_touches_an_administrator(house: House, okta: httpx.Client) -> None:
    admin = {"roles": [{"value": "admin"}]}
    assert okta.post("/scim/v2/Users", json={"userName": "boss", **admin}).status_code == 403
    plain = make(okta, "plain")
    attempts = [
        patch(okta, f"Users/{plain}", {"op": "replace", "path": "roles", "value": [{"value": "admin"}]}),
        okta.put(f"/scim/v2/Users/{plain}", json={"userName": "plain", **admin}),
        patch(okta, "Groups/admin", {"op": "add", "path": "members", "value": [{"value": plain}]}),
        okta.put("/scim/v2/Groups/admin", json={"members": [{"value": plain}]}),
    ]
    both = house.key(OURS, "provision", "admin")
    boss = make(both, "boss", **admin)
    attempts += [
        patch(okta, f"Users/{boss}", {"op": "replace", "value": {"active": False}}),
        okta.delete(f"/scim/v2/Users/{boss}"),
        patch(okta, "Groups/reviewer", {"op": "add", "path": "members", "value": [{"value": boss}]}),
        okta.put("/scim/v2/Groups/admin", json={"members": []}),
    ]
    for answer in attempts:
        is_scim_error(answer, 403)
    assert both.get(f"/scim/v2/Users/{boss}").json()["active"] is True


def test_a_key_sees_the_operators_of_its_own_tenant_alone(house: House, okta: httpx.Client) -> None:
    ours = make(okta, "only-ours")
    theirs = house.key(THEIRS, "provision")
    make(theirs, "only-theirs")
    names = {one["userName"] for one in okta.get("/scim/v2/Users", params={"count": 200}).json()["Resources"]}
    assert "only-ours" in names
    assert not names & {"only-theirs", "root", "noa", "theirs", "their-admin"}
    for id_ in (ours, "op-root"):
        is_scim_error(theirs.get(f"/scim/v2/Users/{id_}"), 404)
        is_scim_error(theirs.delete(f"/scim/v2/Users/{id_}"), 404)
        is_scim_error(patch(theirs, f"Users/{id_}", {"op": "replace", "value": {"active": False}}), 404)
    is_scim_error(theirs.post("/scim/v2/Users", json={"userName": "only-ours"}), 409, "uniqueness")
    renamed = patch(okta, f"Users/{ours}", {"op": "replace", "path": "userName", "value": "root"})
    is_scim_error(renamed, 409, "uniqueness")


def test_who_is_deleted_is_gone_and_can_come_back(house: House, okta: httpx.Client) -> None:
    id_ = make(okta, "leaver", roles=[{"value": "reviewer"}])
    person = sign_in(house, "leaver")
    assert okta.delete(f"/scim/v2/Users/{id_}").status_code == 204
    assert person.get("/v1/session").status_code == 401
    is_scim_error(okta.get(f"/scim/v2/Users/{id_}"), 404)
    is_scim_error(okta.delete(f"/scim/v2/Users/{id_}"), 404)

    async def is_disabled(store: SqlStore) -> bool:
        row = await store.tx(access.operator_named, "leaver")
        return row is not None and row.disabled_at is not None

    assert house.stored(is_disabled), "kept, so that nothing that they approved runs"
    assert make(okta, "leaver") == id_
    assert okta.get(f"/scim/v2/Users/{id_}").json()["active"] is True


@pytest.mark.parametrize(
    ("body", "kind"),
    [({}, "invalidValue"), ({"userName": ""}, "invalidValue"), ({"userName": 7}, "invalidValue"),
     ({"userName": "a\nb"}, "invalidValue"), ({"userName": "x" * 201}, "invalidValue"),
     ({"userName": "x", "active": "maybe"}, "invalidValue"), ({"userName": "x", "roles": ["root"]}, "invalidValue")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(okta: httpx.Client, body: dict[str, Any], kind: str) -> None:
    is_scim_error(okta.post("/scim/v2/Users", json=body), 400, kind)


@pytest.mark.parametrize("filter_", ["userName", 'userName co "a"', 'password eq "x"', 'userName eq "a" or id eq "b"'])
def test_a_filter_that_is_not_supported_is_refused(okta: httpx.Client, filter_: str) -> None:
    make_sure = okta.get("/scim/v2/Users", params={"filter": filter_})
    is_scim_error(make_sure, 400, "invalidFilter")


def test_what_we_are_is_described_and_only_the_scope_opens_it(house: House, okta: httpx.Client) -> None:
    for path in ("ServiceProviderConfig", "ResourceTypes", "Schemas"):
        assert okta.get(f"/scim/v2/{path}").status_code == 200
        is_scim_error(house.key(OURS, "chat", "read", "manage", "admin").get(f"/scim/v2/{path}"), 403)
        is_scim_error(house.client().get(f"/scim/v2/{path}"), 401)
        is_scim_error(house.operator("root").get(f"/scim/v2/{path}"), 401)


def test_what_was_provisioned_is_in_the_log(house: House, okta: httpx.Client) -> None:
    id_ = make(okta, "logged")
    patch(okta, f"Users/{id_}", {"op": "replace", "value": {"active": False}})

    async def read(store: SqlStore) -> list[str]:
        return [row.action for row in await store.tx(action_log.list_actions, subject=id_)]

    assert house.stored(read) == ["operator.changed", "operator.added"]
