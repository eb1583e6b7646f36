"""Drafts of policies: one person writes, it waits in the queue, another looks, tries and puts it in force; and where the
tenant asks for two people, nothing else gets a policy in force."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.console.hand import Hand
from tests.server.house import PASSWORD

from circumspect.server import credentials
from circumspect.server.stores import access, policies, policy_drafts, tenants
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.policies import PolicyVersion
from circumspect.stores import SqlStore
from circumspect.stores.work_tables import policy_drafts as table
from circumspect.values import TenantId

SHOP = TenantId("shop")


def in_force(house: ConsoleHouse) -> PolicyVersion:
    async def look(store: SqlStore) -> PolicyVersion | None:
        return await store.tx(policies.current, SHOP)

    found = house.stored(look)
    assert found is not None
    return found


def stricter(text: str, why: str) -> str:
    return re.sub(r"  cancel_order: .*\n", f"  cancel_order: {{deny: {why}}}\n", text)


def write(visitor: httpx.Client, house: ConsoleHouse, why: str, note: str = "for the audit") -> str:
    before = in_force(house)
    form = {"text": stricter(before.text, why), "if_version": str(before.version), "note": note}
    kept = visitor.post("/policies/shop/draft", data=form, headers=SAME)
    assert kept.status_code == 303, kept.text
    return kept.headers["location"].removeprefix("/drafts/").partition("?")[0]


def put(visitor: httpx.Client, house: ConsoleHouse, draft: str) -> httpx.Response:
    form = {"if_version": str(in_force(house).version), "typed": "shop"}
    return visitor.post(f"/drafts/{draft}/put", data=form, headers=SAME)


def ask(house: ConsoleHouse, statement: sa.Select[Any]) -> list[Any]:
    async def run(store: SqlStore) -> list[Any]:
        return await store.tx(lambda connection: list(connection.execute(statement)))

    return house.stored(run)


@pytest.fixture
def begun(house: ConsoleHouse) -> Iterator[PolicyVersion]:
    """Nothing waits, and the policy is afterwards what it was."""
    before = in_force(house)
    yield before

    async def restore(store: SqlStore) -> None:
        def body(connection: sa.Connection) -> None:
            connection.execute(sa.delete(table))
            row = tenants.get(connection, SHOP)
            assert row is not None
            settings = {name: one for name, one in (row.settings or {}).items() if name != "policies_need_two"}
            tenants.put(connection, row.tenant, settings)

        await store.tx(body)

    house.stored(restore)
    with house.visitor("root") as visitor:
        form = {"text": before.text, "if_version": str(in_force(house).version), "typed": "shop"}
        assert visitor.post("/policies/shop", data=form, headers=SAME).status_code == 303


@pytest.fixture
def two(house: ConsoleHouse, begun: PolicyVersion) -> PolicyVersion:
    """The tenant asks for two people, and there is a second administrator."""

    async def change(store: SqlStore) -> None:
        def body(connection: sa.Connection) -> None:
            row = tenants.get(connection, SHOP)
            assert row is not None
            tenants.put(connection, row.tenant, {**(row.settings or {}), "policies_need_two": True})
            if access.operator_named(connection, "dana") is None:
                made = OperatorRow("op-dana", "dana", "admin", None, time.time())
                access.add_operator(connection, made, credentials.hash_password(PASSWORD))

        await store.tx(body)

    house.stored(change)
    return begun


def test_a_draft_waits_in_the_queue_until_somebody_puts_it_in_force(house: ConsoleHouse, begun: PolicyVersion) -> None:
    with house.visitor("noa") as noa, house.visitor("root") as root:
        draft = write(noa, house, "Not before the audit is over.")
        assert in_force(house) == begun, "a draft changes nothing"
        queue = root.get("/?kind=draft").text
        row = queue.split("data-item")[1].split("</tr>")[0]
        assert f'href="/drafts/{draft}"' in row
        assert "for the audit" in row
        assert "noa" in row
        assert "cancel_order" in row, "what it changes, in words"
        [number] = ask(house, sa.select(sa.func.count()).select_from(table).where(table.c.state == "waiting"))[0]
        assert f"Policy drafts <bdi>{number}</bdi>" in queue
        shown = root.get(f"/drafts/{draft}").text
        assert "Not before the audit is over." in shown
        assert f"/drafts/{draft}/put" in shown
        assert f"/drafts/{draft}/put" not in noa.get(f"/drafts/{draft}").text, "an operator proposes"
        assert put(noa, house, draft).status_code == 403
        assert put(root, house, draft).status_code == 303
        now = in_force(house)
        assert (now.version, now.created_by, now.note) == (begun.version + 1, "root", "for the audit")
        assert "Not before the audit is over." in now.text
        assert "written by noa" in root.get("/policies/shop").text
        assert draft not in root.get("/?kind=draft").text
        again = root.post(f"/drafts/{draft}/put", data={"if_version": str(now.version)}, headers=SAME)
        assert again.status_code == 409
        assert in_force(house) == now


def test_what_was_looked_at_is_what_is_put_in_force(house: ConsoleHouse, begun: PolicyVersion) -> None:
    with house.visitor("noa") as noa, house.visitor("root") as root:
        first = write(noa, house, "Not today.")
        assert write(noa, house, "Not today.") == first, "a second press of the button"
        second = write(noa, house, "Not tomorrow.")
        states = dict(ask(house, sa.select(table.c.id, table.c.state)))
        assert states == {first: "dropped", second: "waiting"}
        assert put(root, house, first).status_code == 409
        mine = {"text": stricter(begun.text, "Never."), "if_version": str(begun.version), "typed": "shop"}
        assert root.post("/policies/shop", data=mine, headers=SAME).status_code == 303
        stale = root.post(f"/drafts/{second}/put", data={"if_version": str(begun.version)}, headers=SAME)
        assert stale.status_code == 409
        assert "Another version was put in force meanwhile" in stale.text
        assert "Never." in stale.text, "compared with the one in force by now"
        assert root.post(f"/drafts/{second}/drop", headers=SAME).status_code == 303
        assert ask(house, sa.select(table.c.settled_by).where(table.c.id == second)) == [("root",)]


def test_an_unsound_text_is_no_draft_and_stays_in_the_editor(house: ConsoleHouse, begun: PolicyVersion) -> None:
    with house.visitor("noa") as noa:
        form = {"text": "version: 1\ntools: {cancel_order: {confrim: always}}", "if_version": str(begun.version)}
        refused = noa.post("/policies/shop/draft", data=form, headers=SAME)
        assert refused.status_code == 422
        assert "confrim" in refused.text
        assert ask(house, sa.select(table.c.id)) == []


@pytest.mark.parametrize("name", ["theirs", "their-admin"])
def test_drafts_of_other_tenants_do_not_exist(house: ConsoleHouse, begun: PolicyVersion, name: str) -> None:
    with house.visitor("noa") as noa, house.visitor(name) as visitor:
        draft = write(noa, house, "Not today.")
        assert draft not in visitor.get("/?kind=draft").text
        assert visitor.get(f"/drafts/{draft}").status_code == 404
        assert visitor.post(f"/drafts/{draft}/drop", headers=SAME).status_code in (403, 404)
        assert visitor.get(f"/v1/admin/policies/drafts/{draft}").status_code in (403, 404)
        assert ask(house, sa.select(table.c.state).where(table.c.id == draft)) == [("waiting",)]


def test_where_two_are_asked_for_nobody_puts_their_own_in_force(house: ConsoleHouse, two: PolicyVersion) -> None:
    text = stricter(two.text, "Not today.")
    with house.visitor("root") as root, house.visitor("dana") as dana:
        form = {"text": text, "if_version": str(two.version), "typed": "shop"}
        assert root.post("/policies/shop", data=form, headers=SAME).status_code == 403
        assert house.key().put("/v1/admin/policies", json={"text": text}).status_code == 403
        back = {"version": "1", "if_version": str(two.version)}
        assert root.post("/policies/shop/rollback", data=back, headers=SAME).status_code == 403
        by_key = house.key().post("/v1/admin/policies/drafts", json={"text": text, "base": two.version})
        assert by_key.json()["code"] == "second_person_needed", "a key may be anybody's"
        draft = write(root, house, "Not today.")
        assert f"/drafts/{draft}/put" not in root.get(f"/drafts/{draft}").text
        own = put(root, house, draft)
        assert own.status_code == 403
        assert "another administrator has to put it in force" in own.text
        answer = house.key().post(f"/v1/admin/policies/drafts/{draft}/put", json={"if_version": two.version})
        assert answer.status_code == 403
        assert in_force(house) == two
        assert put(dana, house, draft).status_code == 303
    assert (in_force(house).created_by, in_force(house).text) == ("dana", text)

    async def read(store: SqlStore) -> Any:
        return await store.tx(policy_drafts.list_authors, SHOP, [in_force_version])

    in_force_version = in_force(house).version
    assert house.stored(read) == {in_force_version: "root"}


def test_from_the_queue_a_draft_is_one_click_from_its_differences_and_one_more_from_its_trial(
    browsing: Browsing, house: ConsoleHouse, begun: PolicyVersion
) -> None:
    with house.visitor("noa") as noa:
        draft = write(noa, house, "Not before the audit is over.")
    with browsing.as_("root") as page:
        page.goto("/")
        hand = Hand(page)
        hand.go(f"a[href='/drafts/{draft}']")
        assert "cancel_order" in page.inner_text("main .plain")
        assert "Not before the audit is over." in page.inner_text("main .diff ins >> nth=-1")
        hand.click("button[data-trial]")
        page.wait_for_selector("#trial *")
        assert hand.clicks == 2
        assert serious(page) == []
        for width in (1440, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0, width
        hand.go("button.primary")
        page.wait_for_selector(".notice.good[role=status]")
    assert in_force(house).version == begun.version + 1
