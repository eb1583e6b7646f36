"""The ten jobs of a working week, done in Chromium by clicking, each from the page that the menu leads to.

What each took is printed (`pytest -rP`) and has a bound, so that a job cannot become longer unnoticed. How clicks are
counted is said in `hand`; a click in the menu to the page where a job begins is not counted.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, eventually
from tests.server.console.hand import Hand
from tests.server.console.hosting import Site, framed, said
from tests.server.console.test_administration import documents, operator_of, tenant_row
from tests.server.console.test_policies import stricter
from tests.server.house import PASSWORD, say

from circumspect.pipeline import run_turn
from circumspect.policy.rules import RULES_FOR_BARE_CALLS
from circumspect.server.directory import Directory
from circumspect.server.session_cookies import COOKIE
from circumspect.server.stores import tenants
from circumspect.stores import SqlStore
from circumspect.stores.tables import usage
from circumspect.values import ConversationId, Incoming, OutsideCall, TenantId, ToolCall, TurnId


@contextmanager
def at(browsing: Browsing, name: str, path: str, **look: Any) -> Iterator[Hand]:
    with browsing.as_(name, **look) as page:
        page.goto(path)
        yield Hand(page)


def ask(house: ConsoleHouse, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(house.settings.database.removeprefix("sqlite:///"))) as database:
        return database.execute(query, values).fetchall()


def done_in(job: str, hand: Hand, clicks: int, fields: int = 0, keys: int = 0) -> None:
    print(f"{job}: {hand}")
    assert (hand.clicks <= clicks, hand.fields <= fields, hand.keys <= keys) == (True, True, True), f"{job}: {hand}"


def test_monday_morning_what_needs_me_now(browsing: Browsing, house: ConsoleHouse) -> None:
    """The first page is the queue, the oldest first: keys alone lead into it, claim an item, and go on to the next."""
    with at(browsing, "", "/") as hand:
        hand.write("input[name=name]", "noa")
        hand.write("input[name=password]", PASSWORD)
        hand.go("main form button")
        page = hand.page
        since = page.locator("[data-item] .when > time:first-child").evaluate_all("all => all.map(one => one.dateTime)")
        assert since == sorted(since), "the oldest first"
        assert len(since) > 3
        path = page.get_attribute("[data-item] a >> nth=0", "href")
        hand.press("j")
        hand.press("Enter")
        page.wait_for_url(f"**{path}*")
        assert page.locator(".chat .bubble").count() > 0, "with its conversation beside it"
        hand.press("a")
        page.wait_for_selector("section.work dd >> text=noa")
        hand.press("j")
        page.wait_for_function("path => location.pathname !== path", arg=path)
    id_ = path.rpartition("/")[2]
    assert ask(house, "SELECT assignee FROM work_items WHERE item = ?", id_) == [("noa",)]
    done_in("Monday morning", hand, clicks=1, fields=2, keys=4)


def test_answer_take_over_and_hand_back(browsing: Browsing, house: ConsoleHouse) -> None:
    saved = {"Who I am": "Hello, this is Noa.", "Parcel": " Your parcel left this morning."}

    async def save(store: SqlStore) -> None:
        def body(connection: sa.Connection) -> None:
            row = tenants.get(connection, TenantId("shop"))
            assert row is not None
            tenants.put(connection, row.tenant, {**(row.settings or {}), "saved_answers": saved})

        await store.tx(body)

    house.stored(save)
    key = house.key("shop")
    talk = house.conversation(key)
    assert say(key, talk, "I want to talk to a person")["outcome"] == "escalated"
    [(escalation,)] = ask(house, "SELECT id FROM escalations WHERE conversation = ?", talk)
    with at(browsing, "noa", "/?kind=escalation&assignee=@nobody") as hand:
        page = hand.page
        hand.go(f"a[href='/escalations/{escalation}']")
        hand.go("form[action$='/take'] button")
        assert say(key, talk, "are you there?")["reason_codes"] == ["WITH_A_PERSON"]
        hand.choose("select[data-puts]", " Your parcel left this morning.")
        page.evaluate("document.querySelector('textarea[name=content]').setSelectionRange(0, 0)")
        hand.choose("select[data-puts]", "Hello, this is Noa.")
        assert page.input_value("textarea[name=content]") == "Hello, this is Noa. Your parcel left this morning."
        hand.go("form[action$='/reply'] button")
        page.wait_for_selector(".bubble.person")
        hand.go("form[action$='/hand-back'] button")
        hand.go("form[action$='/resolve'] button")
        page.wait_for_selector(".badge.resolved")
    assert "WITH_A_PERSON" not in say(key, talk, "What are your opening hours?")["reason_codes"]
    told = key.get(f"/v1/conversations/{talk}/messages").json()["items"]
    assert [one["content"] for one in told if one["by"] == "person"] == [
        "Hello, this is Noa. Your parcel left this morning."
    ]
    done_in("answer, take over, hand back", hand, clicks=7)


def propose(house: ConsoleHouse, tool: str, arguments: dict[str, Any]) -> str:
    """A call of another agent's that waits for a colleague; the id of its approval."""
    services = house.app.state.services

    async def body(store: SqlStore) -> str:
        directory = Directory(store, services.settings, services.vault, services.clock, services.ids)
        try:
            setup = await directory.setup(TenantId("shop"))
            talk, turn = ConversationId(services.ids.new("talk")), TurnId(services.ids.new("turn"))
            incoming = Incoming(
                TenantId("shop"), talk, turn, "", services.clock.now(), principal="other-agent",
                errand=OutsideCall(ToolCall(tool, arguments)),
            )  # fmt: skip
            result = await run_turn(incoming, replace(setup, rules=RULES_FOR_BARE_CALLS))
            assert result.pending is not None, result
            return result.pending.id
        finally:
            await directory.close()

    return house.stored(body)


def test_an_edited_refund_is_approved_by_a_second_person(browsing: Browsing, house: ConsoleHouse) -> None:
    approval = propose(house, "refund", {"order_id": "12330", "amount": "20.00"})
    with at(browsing, "noa", "/approvals") as first:
        page = first.page
        first.go(f"a[href='/approvals/{approval}']")
        assert "20.0" in page.inner_text("#arguments")
        first.click("[data-opens=edit]")
        first.write("[name='field.amount']", "12.50")
        first.go("#edit button.primary")
        shown = page.inner_text("#arguments")
        assert ("12.5" in shown, "20.0" in shown) == (True, True), "what it is and what it was"
        assert page.locator("form[action$='/approve']").count() == 0, "who changed it does not approve it"
        changed = page.url.split("?")[0].rpartition("/")[2]
    with at(browsing, "root", "/approvals") as second:
        page = second.page
        second.go(f"a[href='/approvals/{changed}']")
        assert "noa" in page.inner_text("aside")
        second.go("form[action$='/approve'] button")
        page.wait_for_selector("[role=status].good")
    query = "SELECT state, json_extract(call, '$.arguments.amount') FROM intents WHERE id = ?"
    assert [(state, float(amount)) for state, amount in ask(house, query, changed)] == [("consumed", 12.5)]
    first.clicks += second.clicks
    done_in("approve an edited refund with a second person", first, clicks=5, fields=1)


def test_from_a_held_call_to_a_rule_that_was_tried_and_holds(browsing: Browsing, house: ConsoleHouse) -> None:
    [(before,)] = ask(house, "SELECT max(version) FROM policies WHERE tenant = 'shop'")
    with at(browsing, "root", "/policies/shop?tool=delete_account") as hand:
        page = hand.page
        page.wait_for_selector("#text", state="attached")
        text = page.evaluate("document.querySelector('#text').value")
        hand.write("#text", stricter(text))
        hand.click("[data-trial]")
        page.wait_for_selector("#trial .case")
        assert page.locator("#trial [data-code=TOOL_DENIED]").count() > 0
        hand.go("form#edit button.primary")
    assert ask(house, "SELECT max(version) FROM policies WHERE tenant = 'shop'") == [(before + 1,)]
    done_in("held, rule, backtest, saved", hand, clicks=2, fields=1)


def test_a_new_tenant_with_tool_documents_key_and_chat(browsing: Browsing, house: ConsoleHouse) -> None:
    with at(browsing, "root", "/tenants") as hand:
        page = hand.page
        hand.go("a[href='/new-tenant']")
        hand.write("input[name=name]", "The corner shop")
        hand.write("input[name=id]", "corner")
        hand.go("main form button.primary")
        hand.hand_in("input[type=file]", "returns.md", b"# Returns\n\nWithin 30 days, unused.\n")
        hand.go("form[action^='/documents/upload'] button")
        hand.write("#keys input[name=name]", "our program")
        hand.click("#keys form button.primary")
        key = page.inner_text("#new-key")
        hand.go("a[href='/tenants/corner/tools']")
        http = "form[action$='/tools/http'] "
        hand.write(f"{http}input[name=name]", "get_order")
        hand.choose(f"{http}select[name=effect]", "read")
        hand.write(f"{http}input[name=url]", "https://api.example.com/orders/{order_id}")
        hand.go(f"{http}button.primary")
        page.goto("/tenants/corner")  # the line above the title leads there
        hand.clicks += 1
        hand.go("a[href='/tenants/corner/widget']")
        hand.write("textarea[name=origins]", "https://corner.example")
        hand.go("main form.form > .row button")
        hand.go("form[action$='/widget/key'] button")
        assert 'data-key="csk_' in page.inner_text("#snippet")
    row = tenant_row(house, "corner")
    assert row is not None
    assert row.settings is not None
    assert [one["http"]["name"] for one in row.settings["tools"]] == ["get_order"]
    assert row.settings["widget"]["origins"] == ["https://corner.example"]
    assert documents(house, "corner") == {"returns.md"}
    with httpx.Client(base_url=house.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as client:
        assert client.post("/v1/conversations", json={}).status_code == 201
    scopes = ask(house, "SELECT scopes FROM api_keys WHERE tenant = 'corner'")
    assert sorted(one for (one,) in scopes) == ['["chat"]', '["widget"]']
    done_in("a new tenant with tool, documents, key, chat", hand, clicks=12, fields=6)


RULES = """# Claims

## 1 Time

A claim for a trip shall be submitted within 30 days after the last day of the trip.
"""


def test_a_case_is_reviewed_and_its_verdict_corrected(browsing: Browsing, house: ConsoleHouse) -> None:
    with at(browsing, "rita", "/reviews", expected=("422",)) as hand:
        page = hand.page
        hand.go("a[href^='/new-review']")
        page.select_option("main form.filters select", "shop")  # of several tenants; the form is asked for anew
        page.wait_for_url("**tenant=shop**")
        hand.clicks += 1
        hand.write("input[name=case]", "C-1042")
        hand.write("textarea[name=facts]", "claim.submitted: 2026-04-05\ntrip.last_day: 2026-03-06")
        hand.write(
            "textarea[name=criteria]", "K-1: The claim was submitted within 30 days after the last day of the trip."
        )
        hand.write("textarea[name=rules]", RULES)
        hand.go("main form.form button.primary")
        assert "/reviews/" in page.url, page.inner_text("main")
        page.wait_for_selector("section .criterion")
        id_ = page.url.rpartition("/")[2]
        hand.click("summary >> text=Correct or confirm")
        hand.choose("select[name=status]", "NOT_MET")
        hand.write("textarea[name=why]", "The day of the trip counts.")
        hand.go("form[action$='/corrections'] button")
        page.wait_for_selector("[role=status]")
        page.goto("/new-review?tenant=shop")
        page.fill("input[name=case]", "C-1")
        page.fill("textarea[name=criteria]", "K-1: It is so.")
        page.click("main form.form button.primary")
        page.wait_for_selector("[role=alert]")
        assert page.input_value("input[name=case]") == "C-1", "what was written is not lost"
    [(case, state)] = ask(house, "SELECT case_id, state FROM review_evaluations WHERE id = ?", id_)
    assert (case, state) == ("C-1042", "done")
    logged = ask(house, "SELECT operator FROM operator_log WHERE action = 'review' AND subject = ?", id_)
    assert logged == [("rita",)]
    [result] = house.key("shop").get(f"/v1/evaluations/{id_}").json()["results"]
    assert result["correction"]["status"] == "NOT_MET"
    done_in("review and correct", hand, clicks=6, fields=5)


def test_an_experiment_is_made_started_and_switched_back(browsing: Browsing, house: ConsoleHouse) -> None:
    with at(browsing, "root", "/experiments?tenant=shop-he", expected=("422",)) as hand:
        page = hand.page
        hand.go("a[href^='/new-experiment']")
        assert page.input_value("main form.form input[name=tenant]") == "shop-he"
        hand.write("input[name=name]", "ask more often")
        hand.write("input[name=arm]", "careful")
        page.click("main form.form button.primary")
        page.wait_for_selector("[role=alert]")
        assert page.input_value("input[name=arm]") == "careful", "what was written is not lost"
        hand.write("input[name=critique_below]", "0.9")
        hand.choose("select[name=metric]", "wrong")
        hand.go("main form.form button.primary")
        page.wait_for_selector(".notice.good >> text=Nothing is tried before it is started")
        hand.click("summary >> text=Start with 10%")
        hand.go("form[action$='/start'] button")
        page.wait_for_selector("[role=status]")
        hand.click("summary >> text=Switch back at once")
        hand.go("form[action$='/stop'] button")
        page.wait_for_selector("[role=status]")
    [(state, plan, arms)] = ask(house, "SELECT state, plan, arms FROM experiments WHERE name = 'ask more often'")
    assert (state, '"wrong"' in plan, '"critique_below":0.9' in arms.replace(" ", "")) == ("stopped", True, True)
    done_in("an experiment", hand, clicks=7, fields=3)


def test_the_usage_of_last_month_is_exported(browsing: Browsing, house: ConsoleHouse, tmp_path: Path) -> None:
    now = house.app.state.services.clock.now()
    month = f"{now.replace(day=1) - timedelta(days=1):%Y-%m}"

    async def add(store: SqlStore) -> None:
        def body(connection: sa.Connection) -> None:
            there = connection.execute(sa.select(usage).where(usage.c.tenant == "shop")).mappings().first()
            assert there is not None
            connection.execute(
                sa.insert(usage).values({**there, "period": month, "model": "openai:last", "messages": 7})
            )

        await store.tx(body)

    house.stored(add)
    with at(browsing, "noa", "/usage") as hand:
        page = hand.page
        hand.choose("select[name=period]", month)
        page.wait_for_url(f"**period={month}*")
        page.wait_for_selector(f"a[href*='/usage.csv'][href*='{month}']")
        text = hand.download(f"a[href*='/usage.csv'][href*='{month}']", tmp_path)
    rows = list(csv.DictReader(io.StringIO(text)))
    stored = ask(house, "SELECT tenant, sum(messages), sum(input_tokens) FROM usage WHERE period = ? GROUP BY 1", month)
    exported: dict[str, list[int]] = {}
    for row in rows:
        assert row["period"] == month
        sums = exported.setdefault(row["tenant"], [0, 0])
        sums[0] += int(row["messages"])
        sums[1] += int(row["input_tokens"])
    assert exported == {tenant: [messages, tokens] for tenant, messages, tokens in stored}
    done_in("usage of last month exported", hand, clicks=2)


def test_a_colleague_gets_a_role_and_signs_in(browsing: Browsing, house: ConsoleHouse) -> None:
    with at(browsing, "root", "/colleagues") as hand:
        page, new = hand.page, "section:has(#colleague-new) "
        hand.write(f"{new}input[name=name]", "dana")
        hand.choose(f"{new}select[name=role]", "reviewer")
        hand.tick(f"{new}input[value=shop]")
        hand.go(f"{new}button.primary")
        password = page.inner_text("#first-password")
    row = operator_of(house, "dana")
    assert (row.role, row.tenants) == ("reviewer", ("shop",))
    with httpx.Client(base_url=house.url, trust_env=False) as client:
        assert client.post("/login", data={"name": "dana", "password": password}, headers=SAME).status_code == 303
        assert COOKIE in client.cookies
        assert client.get("/tenants").status_code == 403
    done_in("a colleague with a role", hand, clicks=3, fields=1)


def test_a_customer_writes_hebrew_on_a_phone(browser: Any, house: ConsoleHouse) -> None:
    with Site(house) as site:  # type: ignore[arg-type]

        def change(connection: sa.Connection) -> None:
            row = tenants.get(connection, TenantId("shop-he"))
            assert row is not None
            tenants.put(connection, row.tenant, {**(row.settings or {}), "widget": {"origins": [site.url]}})

        async def write(store: SqlStore) -> None:
            await store.tx(change)

        house.stored(write)
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, locale="he", has_touch=True, is_mobile=True
        )
        page = context.new_page()
        page.goto(site.page("shop-he", "he"))
        page.wait_for_selector("[data-circumspect=widget]", state="attached")
        page.touchscreen.tap(48, 844 - 48)  # the button stands on the left
        frame, hand = framed(page), Hand(page)
        hand.clicks += 1
        assert frame.get_attribute("html", "dir") == "rtl"
        assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert frame.inner_text("#ai"), "it says that it is an AI"
        frame.fill("#words", "תבטל את הזמנה 12345")
        hand.fields += 1
        frame.tap("#send")
        hand.clicks += 1
        frame.wait_for_selector("#choice:not([hidden])")
        assert "12345" in said(frame)[-1]
        frame.tap("[data-choice=approve]")
        hand.clicks += 1
        eventually(page, lambda: frame.locator(".said.agent").count() == 3 and frame.is_hidden("#choice"))
        [(talk,)] = ask(
            house,
            "SELECT conversation FROM messages WHERE tenant = 'shop-he' AND content LIKE '%תבטל את הזמנה 12345%' ORDER BY id DESC LIMIT 1",
        )
        context.close()
    ran = ask(house, "SELECT reason_code FROM messages WHERE tenant = 'shop-he' AND conversation = ?", talk)
    assert ("CONFIRMED_BY_USER",) in ran
    done_in("a Hebrew customer on a phone", hand, clicks=3, fields=1)
