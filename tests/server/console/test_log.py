"""The page of the operators' log: found by who, what and when; checked; downloaded without formulas; refusals seen."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import is_a_problem
from tests.source_trees import read_tree

from circumspect.server.console.i18n import OFFERED, Translator
from circumspect.server.console.logged_actions import ACTIONS, name_action
from circumspect.server.console.pages import log as log_page
from circumspect.stores import SqlStore, action_log
from circumspect.stores.action_log import LogRow, log_action

DAY = 1_700_000_000.0  # 14 November 2023
EVIL = '=HYPERLINK("https://evil.example")'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    with ConsoleHouse(f"sqlite:///{tmp_path_factory.mktemp('log')}/c.db") as made:

        async def fill(store: SqlStore) -> None:
            for number in range(120):
                await store.tx(
                    log_action, id=f"row-{number}", at=DAY + number, operator="dana" if number % 2 else "eli",
                    action="key.created" if number % 3 else "key.revoked", tenant="shop", subject=f"subject-{number}",
                )  # fmt: skip
            await store.tx(log_action, id="evil", at=DAY + 500, operator=EVIL, action="x", tenant="shop")
            await store.tx(log_action, id="theirs", at=DAY + 501, operator="zoe", action="x", tenant="shop-ru")

        made.stored(fill)
        yield made


def rows_of(house: ConsoleHouse, **wanted: Any) -> list[LogRow]:
    async def body(store: SqlStore) -> list[LogRow]:
        return list(await store.tx(action_log.list_actions, wanted=action_log.LogFilter(**wanted), limit=1000))

    return house.stored(body)


def test_rows_are_found_by_who_what_and_when(house: ConsoleHouse):
    with house.visitor("root") as visitor:
        shown = visitor.get("/log?by=dana&action=key.revoked").text
        assert "subject-3" in shown
        assert "subject-1<" not in shown
        assert "subject-6<" not in shown
        assert "subject-3<" in visitor.get("/log?action=key.revoked&since=2023-11-14&until=2023-11-14").text
        assert "subject-3<" not in visitor.get("/log?action=key.revoked&since=2023-11-15").text
        assert "subject-3<" not in visitor.get("/log?action=key.revoked&until=2023-11-13").text
        assert visitor.get("/log?since=2023-02-31").status_code == 200
        assert visitor.get("/log?since=yesterday").status_code == 422


def find_actions() -> set[str]:
    """Every word that the server, the command line or a wing writes into the log, by the source."""
    writers = {"action", "write_log", "make_log_writer", "_log", "_act_and_log", "_change", "_change_experiment", "_put",
               "_change_operator"}  # fmt: skip
    source = Path(str(resources.files("circumspect")))
    found: set[str] = set()
    for folder in ("server", "cli", "lab", "demo", "stores"):
        for path in (source / folder).rglob("*.py"):
            for call in ast.walk(read_tree(path)):
                if not isinstance(call, ast.Call):
                    continue
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                given = [one.value for one in call.keywords if one.arg == "action" and name == "log_action"]
                given += call.args if name in writers and folder != "stores" else []
                either = [
                    part for one in given for part in ((one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,))
                ]
                found |= {one.value for one in either if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return {one for one in found if one.replace("_", "").replace(".", "").isalpha()}


def test_whatever_is_written_into_the_log_has_words_in_each_language():
    written = find_actions()
    assert {"put_policy", "create_key", "key.created", "restored", "take_over", "finish_experiment"} <= written
    documented = re.findall(
        r"`([a-z_]+\.[a-z_]+)`", Path("docs/access.md").read_text().split("| `action` | |")[1].split("###")[0]
    )
    assert written | {*documented} <= {*ACTIONS}
    for language in OFFERED:
        words = Translator(language)
        named = [name_action(one, words) for one in ACTIONS]
        assert not words.borrowed
        assert len({*named}) == len(named), "two that are called alike cannot be told apart"
        assert max(map(len, named)) < 52
    assert name_action("of_another_version", Translator("en")) == "of_another_version"


def test_the_page_says_what_was_done_in_words_and_keeps_the_code_beside_them(house: ConsoleHouse):
    with house.visitor("root") as visitor:
        shown = visitor.get("/log?by=dana&action=key.revoked").text
        assert re.search(r'data-tip="key.revoked"><a href="[^"]+">Revoked an API key \(command line\)</a>', shown)
        assert '<option value="key.revoked" selected>Revoked an API key (command line)</option>' in shown
        assert '<option value="odd" selected>odd</option>' in visitor.get("/log?action=odd").text
        visitor.cookies.set("circumspect_language", "he")
        page = visitor.get("/log?by=dana&action=key.revoked").text
        assert name_action("key.revoked", Translator("he")) in page
        tenant = visitor.get("/tenants/shop").text
        assert name_action("key.revoked", Translator("he")) in tenant
        assert ">key.revoked<" not in tenant


def test_pages_follow_each_other_without_a_gap(house: ConsoleHouse):
    seen: list[str] = []
    with house.visitor("root") as visitor:
        path = "/log?by=dana"
        while path:
            shown = visitor.get(path).text
            seen += [f"subject-{number}" for number in range(119, -1, -1) if f">subject-{number}<" in shown]
            path = next((part.split('"')[0].replace("&amp;", "&") for part in shown.split('class="button" href="')
                         if part.startswith("/log?") and "after=" in part), "")  # fmt: skip
    assert seen == [f"subject-{number}" for number in range(119, -1, -1) if number % 2]


def test_the_table_to_download_holds_no_formula_and_every_row(house: ConsoleHouse, monkeypatch: Any):
    monkeypatch.setattr(log_page, "CSV_ROWS", 7)
    with house.visitor("root") as visitor:
        table = list(csv.DictReader(io.StringIO(visitor.get("/log.csv?action=key.revoked").text)))
        assert [row["subject"] for row in table] == [f"subject-{number}" for number in range(117, -1, -3)]
        (evil,) = csv.DictReader(io.StringIO(visitor.get("/log.csv", params={"by": EVIL}).text))
    assert evil["operator"] == f"'{EVIL}"


def test_the_chain_is_checked_and_a_changed_row_is_named(house: ConsoleHouse):
    with house.visitor("root") as visitor:
        shown = visitor.post("/log/check", headers=SAME).text
        assert 'class="notice good"' in shown

        async def tamper(store: SqlStore) -> None:
            def body(connection: sa.Connection) -> None:
                connection.exec_driver_sql("DROP TRIGGER operator_log_unchanged")
                connection.exec_driver_sql("UPDATE operator_log SET operator = 'nobody' WHERE id = 'row-7'")

            await store.tx(body)

        house.stored(tamper)
        shown = visitor.post("/log/check", headers=SAME).text
        assert 'class="notice bad"' in shown
        assert "it is not what was written" in shown


def test_an_administrator_of_one_tenant_sees_its_rows_and_not_the_chain(house: ConsoleHouse):
    with house.visitor("their-admin") as visitor:
        shown = visitor.get("/log").text
        assert "zoe" in shown
        assert "dana" not in shown
        assert "/log/check" not in shown
        assert visitor.post("/log/check", headers=SAME).status_code == 303
        assert visitor.get("/log?tenant=shop").status_code == 404
        assert "dana" not in visitor.get("/log.csv").text
        assert visitor.get("/log.csv?tenant=shop").status_code == 404


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_the_page_is_there_in_every_language(house: ConsoleHouse, language: str) -> None:
    with house.visitor("root") as visitor:
        visitor.post("/language", data={"language": language}, headers=SAME)
        shown = visitor.get("/log")
        assert (shown.status_code, f'lang="{language}"' in shown.text) == (200, True)


@pytest.mark.parametrize("path", ["/log", "/account", "/account/second-factor", "/login"])
def test_in_hebrew_everything_stands_on_the_right(browser: Any, house: ConsoleHouse, path: str) -> None:
    """Reached by a click on the language, as a person does; at three widths; axe finds nothing that keeps people out."""
    with Browsing(browser, house).as_("" if path == "/login" else "root") as page:
        page.goto(path)
        page.click("button[name=language][value=he]")
        page.wait_for_selector("html[lang=he][dir=rtl]")
        assert serious(page) == []
        for width in (1440, 768, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0, width
        if path == "/log":
            # A cell of words from left to right begins at the right as well.
            gaps = page.eval_on_selector_all(
                "td bdi.mono", "all => all.map(one => one.closest('td').getBoundingClientRect().right"
                " - one.getBoundingClientRect().right)",
            )  # fmt: skip
            assert max(gaps) < 150, gaps


# --- what was refused -----------------------------------------------------------------------------------------------


def test_what_an_operator_was_refused_is_in_the_log_once_a_minute(house: ConsoleHouse):
    for _ in range(3):
        is_a_problem(house.operator("rita").get("/v1/admin/log"), 403)
    is_a_problem(house.operator("rita").patch("/v1/admin/tenants/shop", json={}), 403)
    with house.visitor("rita") as visitor:
        assert visitor.get("/tenants").status_code == 403
    found = rows_of(house, operator="rita", result="refused")
    assert sorted((row.action, row.detail["method"], row.detail["route"], row.detail["code"]) for row in found) == [
        ("request.refused", "GET", "/tenants", "not_permitted"),
        ("request.refused", "GET", "/v1/admin/log", "not_permitted"),
        ("request.refused", "PATCH", "/v1/admin/tenants/{tenant_id}", "not_permitted"),
    ]


def test_what_a_key_may_not_change_is_in_the_log_and_what_it_may_not_read_is_not(house: ConsoleHouse):
    key = house.key("shop", "chat")
    is_a_problem(key.get("/v1/admin/log"), 403)
    is_a_problem(key.post("/v1/admin/keys", json={}), 403)
    refused = [row for row in rows_of(house, result="refused") if row.operator.startswith("key:")]
    assert [(row.tenant, row.detail["method"], row.origin) for row in refused] == [("shop", "POST", "127.0.0.1")]


def test_strangers_leave_nothing_in_the_log(house: ConsoleHouse):
    before = len(rows_of(house))
    assert house.client().post("/v1/admin/keys", json={}).status_code == 401
    assert house.client("csk_made_up").post("/v1/admin/keys", json={}).status_code == 401
    assert len(rows_of(house)) == before
