"""What an administrator sets up in the browser: tenants, colleagues and documents, with the checks of the command line."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import PASSWORD

from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import access, tenants
from circumspect.server.stores.tenants import TenantRow
from circumspect.stores import SqlStore, knowledge
from circumspect.stores.log_tables import operator_log
from circumspect.values import TenantId


def tenant_row(house: ConsoleHouse, tenant: str) -> TenantRow | None:
    async def look(store: SqlStore) -> TenantRow | None:
        return await store.tx(tenants.get, TenantId(tenant))

    return house.stored(look)


def logged(house: ConsoleHouse, action: str) -> list[Any]:
    def look(connection: sa.Connection) -> list[Any]:
        return list(connection.execute(sa.select(operator_log).where(operator_log.c.action == action)))

    async def body(store: SqlStore) -> list[Any]:
        return await store.tx(look)

    return house.stored(body)


def post(house: ConsoleHouse, path: str, data: dict[str, Any], name: str = "root") -> httpx.Response:
    with house.visitor(name) as visitor:
        return visitor.post(path, data=data, headers=SAME)


def send(client: httpx.Client, answer: httpx.Response, **more: str) -> httpx.Response:
    """The form of a page, as it stands there, with what somebody fills in."""
    form = re.search(r'<main.*?<form method="post" action="([^"]+)"(.*?)</form>', answer.text, re.S)
    assert form is not None, answer.text
    fields = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', form[2], re.S)
    data: dict[str, Any] = {}
    for key, value in fields:
        data.setdefault(key, []).append(unescape(value))
    return client.post(unescape(form[1]), data={**data, **more}, headers=SAME)


# --- tenants --------------------------------------------------------------------------------------------------------


def test_a_tenant_is_made_from_nothing_and_answers(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root") as page:
        page.goto("/tenants")
        page.click("a[href='/new-tenant']")
        page.fill("input[name=name]", "The corner <shop>")
        page.fill("input[name=id]", "corner")
        page.click("main form button.primary")
        page.wait_for_selector(".notice.good[role=status]")
        assert page.inner_text("h1 bdi >> nth=0") == "The corner <shop>"
    row = tenant_row(house, "corner")
    assert row is not None
    assert row.settings is not None
    said = house.key("corner", "chat")
    made = said.post("/v1/conversations", json={}).json()["id"]
    answer = said.post(f"/v1/conversations/{made}/messages", json={"content": "hello"})
    assert answer.status_code == 200, answer.text
    (entry,) = [one for one in logged(house, "apply") if one.subject == "corner"]
    assert entry.operator == "root"


def test_a_tenant_made_from_a_sample_has_its_tools_and_policy_over_a_back_end_of_its_own(house: ConsoleHouse) -> None:
    fields = {"id": "like-shop", "name": "Like it", "language": "en", "plan": "pro", "sample": "shop"}
    assert post(house, "/new-tenant", fields).status_code == 303
    with house.visitor("root") as visitor:
        shown = visitor.get("/tenants/like-shop").text
        assert "cancel_order" in shown
        assert "Like it" in shown
        assert "Kestrel" not in visitor.get("/tenants/like-shop").text.split("business-title")[0]
        assert "cancel_order:" in visitor.get("/policies/like-shop").text
    row = tenant_row(house, "like-shop")
    assert row is not None
    assert row.tenant.business.name == "Like it"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"id": "shop"}, 409),  # somebody has it: nothing of theirs is replaced
        ({"id": "../shop"}, 422),
        ({"id": ""}, 422),
        ({"id": "x" * 65}, 422),
        ({"id": "fresh", "plan": "no-such-plan"}, 422),
        ({"id": "fresh", "sample": "../../secrets"}, 422),
        ({"id": "fresh", "language": "tlh"}, 422),
        ({"id": "fresh", "name": "two\nlines"}, 422),
    ],
)
def test_a_tenant_that_cannot_be_is_not_made(house: ConsoleHouse, fields: dict[str, str], status: int) -> None:
    before = tenant_row(house, "shop")
    good = {"id": "fresh", "name": "Fresh", "language": "en", "plan": "pro", "sample": ""}
    assert post(house, "/new-tenant", {**good, **fields}).status_code == status
    assert tenant_row(house, "fresh") is None
    assert tenant_row(house, "shop") == before


def test_an_administrator_of_one_tenant_makes_no_other(house: ConsoleHouse) -> None:
    fields = {"id": "another", "name": "Another", "language": "en", "plan": "pro"}
    assert post(house, "/new-tenant", fields, "their-admin").status_code == 403
    assert tenant_row(house, "another") is None
    with house.visitor("their-admin") as visitor:
        assert visitor.get("/new-tenant").status_code == 403
        assert "/new-tenant" not in visitor.get("/tenants").text


# --- documents ------------------------------------------------------------------------------------------------------


def documents(house: ConsoleHouse, tenant: str) -> set[str]:
    async def look(store: SqlStore) -> set[str]:
        return {row.id for row in await store.tx(knowledge.list_documents, TenantId(tenant))}

    return house.stored(look)


def test_a_document_is_put_there_and_taken_away_when_its_name_is_typed(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root", expected=("409",)) as page:
        page.goto("/tenants/shop")
        file = {"name": "parking.md", "mimeType": "text/markdown", "buffer": b"# Parking\n\nParking is free.\n"}
        page.set_input_files("input[type=file]", files=[file])
        page.click("form[action^='/documents/upload'] button")
        page.wait_for_selector(".notice.good[role=status]")
        assert "parking.md" in documents(house, "shop")
        page.click("form[action^='/documents/remove'] button[aria-label*='Parking']")
        page.wait_for_selector("#typed")
        page.fill("#typed", "parking")
        page.click("button.danger")
        page.wait_for_selector(".notice.bad")
        assert "parking.md" in documents(house, "shop")
        page.fill("#typed", "parking.md")
        page.click("button.danger")
        page.wait_for_selector(".notice.good[role=status]")
    assert "parking.md" not in documents(house, "shop")


def test_a_document_of_another_tenant_is_nobodys_business(house: ConsoleHouse) -> None:
    file = {"file": ("theirs.md", b"# Theirs")}
    with house.visitor("their-admin") as visitor:
        assert visitor.post("/documents/upload?tenant=shop", files=file, headers=SAME).status_code == 404
        gone = visitor.post("/documents/remove?tenant=shop", data={"id": "x", "typed": "x"}, headers=SAME)
        assert gone.status_code == 404
    assert "theirs.md" not in documents(house, "shop")


def test_a_file_that_came_too_late_is_asked_for_once_more(house: ConsoleHouse) -> None:
    """What waits for a proof is sent on without its file: browsers do not hand it on."""
    answer = post(house, "/documents/upload?tenant=shop", {"held": "nothing"})
    assert answer.status_code == 303
    with house.visitor("root") as visitor:
        assert "choose the file once more" in visitor.get(answer.headers["location"]).text


# --- colleagues -----------------------------------------------------------------------------------------------------


def operator_of(house: ConsoleHouse, name: str) -> Any:
    async def look(store: SqlStore) -> Any:
        return await store.tx(access.operator_named, name)

    return house.stored(look)


def test_a_colleague_signs_in_with_what_was_shown_once(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root") as page:
        page.goto("/colleagues")
        page.fill("main input[name=name]", "dana")
        page.select_option("section:has(#colleague-new) select[name=role]", "reviewer")
        page.check("section:has(#colleague-new) input[value=shop]")
        page.click("section:has(#colleague-new) button.primary")
        password = page.inner_text("#first-password")
        page.goto("/colleagues")
        assert password not in page.content()
    row = operator_of(house, "dana")
    assert (row.role, row.tenants) == ("reviewer", ("shop",))
    with httpx.Client(base_url=house.url, trust_env=False) as client:
        answer = client.post("/login", data={"name": "dana", "password": password}, headers=SAME)
        assert answer.status_code == 303
        assert COOKIE in client.cookies
        assert client.get("/tenants").status_code == 403
    assert [one.detail for one in logged(house, "operator.added")][-1]["name"] == "dana"
    assert password not in str([tuple(one) for one in logged(house, "operator.added")])


def test_the_role_of_an_owner_is_given_when_the_name_is_typed_and_can_be_taken_back(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        visitor.post("/colleagues", data={"name": "lior", "role": "operator", "tenants": "shop"}, headers=SAME)
        id_ = operator_of(house, "lior").id
        asked = visitor.post(f"/colleagues/{id_}/role", data={"role": "admin"}, headers=SAME)
        assert asked.status_code == 409
        assert "Kestrel" in asked.text or "shop" in asked.text
        assert operator_of(house, "lior").role == "operator"
        assert send(visitor, asked, typed="somebody else").status_code == 409
        assert operator_of(house, "lior").role == "operator"
        done = send(visitor, asked, typed="lior")
        assert done.status_code == 303
        assert (operator_of(house, "lior").role, operator_of(house, "lior").tenants) == ("admin", None)
        again = visitor.get(done.headers["location"])
        assert send(visitor, again).status_code == 303
        assert (operator_of(house, "lior").role, operator_of(house, "lior").tenants) == ("operator", ("shop",))


def test_a_way_back_is_for_who_did_it(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        visitor.post("/colleagues", data={"name": "gil", "role": "operator", "tenants": "shop"}, headers=SAME)
        id_ = operator_of(house, "gil").id
        done = visitor.post(f"/colleagues/{id_}/role", data={"role": "reviewer", "tenants": "shop"}, headers=SAME)
        assert "undo=" in done.headers["location"]
        assert "ten minutes" in visitor.get(done.headers["location"]).text
    with house.visitor("their-admin") as visitor:
        assert "ten minutes" not in visitor.get(done.headers["location"]).text


def test_nobody_gives_more_than_they_have_nor_changes_who_has_more(house: ConsoleHouse) -> None:
    root, noa = operator_of(house, "root"), operator_of(house, "noa")
    for given in ({}, {"tenants": "shop"}):
        answer = post(house, "/colleagues", {"name": "eve", "role": "admin", **given}, "their-admin")
        assert answer.status_code == 403
    assert operator_of(house, "eve") is None
    for row in (root, noa):
        path = f"/colleagues/{row.id}"
        assert post(house, f"{path}/role", {"role": "reviewer", "tenants": "shop-ru"}, "their-admin").status_code == 404
        assert post(house, f"{path}/disable", {"typed": row.name}, "their-admin").status_code == 404
    assert (operator_of(house, "root"), operator_of(house, "noa")) == (root, noa)
    with house.visitor("their-admin") as visitor:
        shown = visitor.get("/colleagues").text
        assert "theirs" in shown
        assert ">noa<" not in shown


def test_the_last_owner_stays_since_nobody_changes_themselves(house: ConsoleHouse) -> None:
    root = operator_of(house, "root")
    assert post(house, f"/colleagues/{root.id}/disable", {"typed": "root"}).status_code == 403
    assert post(house, f"/colleagues/{root.id}/role", {"role": "operator"}).status_code == 403
    assert operator_of(house, "root") == root


def test_a_disabled_colleague_is_out_at_once_and_let_in_again(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        visitor.post("/colleagues", data={"name": "tom", "role": "operator"}, headers=SAME)
        id_ = operator_of(house, "tom").id
        assert visitor.post(f"/colleagues/{id_}/disable", data={}, headers=SAME).status_code == 409
        done = visitor.post(f"/colleagues/{id_}/disable", data={"typed": "tom"}, headers=SAME)
        assert operator_of(house, "tom").disabled_at is not None
        assert send(visitor, visitor.get(done.headers["location"])).status_code == 303
        assert operator_of(house, "tom").disabled_at is None


# --- how it looks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/new-tenant", "/colleagues", "/tenants/shop", "/tenants/shop/widget", "/new-experiment", "/new-review"]
)
@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark")])
def test_a_page_of_an_administrator_can_be_used_by_everyone(
    browsing: Browsing, path: str, language: str, theme: str
) -> None:
    with browsing.as_("root", language=language, theme=theme) as page:
        page.goto(path)
        assert serious(page) == []
        for width in (1440, 768, 390, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0, width


def test_the_passwords_of_the_house_are_not_on_any_page(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        assert PASSWORD not in visitor.get("/colleagues").text


def test_who_came_by_the_provider_and_has_no_role_yet_is_shown_and_given_one(house: ConsoleHouse) -> None:
    made = house.key("shop", "provision").post("/scim/v2/Users", json={"userName": "newcomer"})
    assert made.status_code == 201, made.text
    with house.visitor("root") as visitor:
        assert "none yet" in visitor.get("/colleagues").text
        path = f"/colleagues/{operator_of(house, 'newcomer').id}/role"
        given = {"role": "reviewer", "tenants": "shop"}
        assert visitor.post(path, data=given, headers=SAME).headers["location"] == "/colleagues?done=role"
