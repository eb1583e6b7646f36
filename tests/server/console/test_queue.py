"""The work queue: everything that waits for a person, once, the oldest first; and what colleagues do with it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, eventually
from tests.server.house import OURS, PASSWORD, say
from tests.server.rows import approval, escalation, notification

from circumspect.server import credentials
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import SqlStore
from circumspect.stores.tables import escalations, intents, tool_executions

PERSON = "somebody"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    """Without demo data: what waits here is what a test put there."""
    with ConsoleHouse(f"sqlite:///{tmp_path_factory.mktemp('queue')}/queue.db") as made:
        yield made


@pytest.fixture
def talk(house: ConsoleHouse, request: pytest.FixtureRequest) -> str:
    key = house.key(OURS)
    made = house.conversation(key, id=f"talk-{time.time_ns()}", person=PERSON)
    say(key, made, "What are your opening hours?", person=PERSON)
    return made


@pytest.fixture(autouse=True)
def nothing_waits(house: ConsoleHouse) -> None:
    execute(
        house,
        sa.update(escalations).values(state="resolved"),
        sa.update(intents).values(state="denied"),
        sa.text("DELETE FROM outbox WHERE state = 'dead'"),
        sa.text("DELETE FROM work_items"),
    )


def execute(house: ConsoleHouse, *statements: Any) -> None:
    def body(connection: sa.Connection) -> None:
        for one in statements:
            connection.execute(one)

    async def run(store: SqlStore) -> None:
        await store.tx(body)

    house.stored(run)


def ask(house: ConsoleHouse, statement: str, **values: Any) -> list[Any]:
    async def run(store: SqlStore) -> list[Any]:
        return await store.tx(lambda connection: list(connection.execute(sa.text(statement), values)))

    return house.stored(run)


def unknown(house: ConsoleHouse, talk: str) -> str:
    """An escalation about a call of which nobody knows how it ended."""
    id_ = escalation(house, OURS, talk, "")
    call = {
        "id": f"exec-{id_}", "tenant": OURS, "conversation": talk, "turn": "turn_x", "tool": "refund",
        "arguments": {"order_id": "12345"}, "call_id": "c", "effect": "write", "recovery": "blind",
        "state": "indeterminate", "token": "t", "lease_until": 0.0, "started_at": time.time(), "error": "",
        "reported": False, "runner": "",
    }  # fmt: skip
    execute(
        house,
        sa.insert(tool_executions).values(call),
        sa.update(escalations)
        .where(escalations.c.id == id_)
        .values(execution=call["id"], reason_code="OUTCOME_UNKNOWN"),
    )
    return id_


def rows(page: str) -> list[str]:
    """Ids, in the order of the list."""
    return re.findall(r'<tr class="open" data-item>.*?<td><a href="/\w+/([^"]+)"', page, re.S)


def chips(page: str) -> dict[str, int]:
    found = re.findall(r'<a class="button chip" href="/(?:\?([^"]*))?"[^>]*>[^<]*<bdi>(\d+)</bdi>', page)
    kinds = [(re.search(r"kind=(\w+)", query), int(number)) for query, number in found]
    return {kind[1] if kind else "": number for kind, number in kinds}


def change(visitor: httpx.Client, path: str, **data: str) -> httpx.Response:
    return visitor.post(path, data=data, headers=SAME)


def test_everything_that_waits_is_there_once_and_the_oldest_comes_first(house: ConsoleHouse, talk: str) -> None:
    first = escalation(house, OURS, talk, "help me")
    second = approval(house, OURS, talk)
    third = unknown(house, talk)
    fourth = notification(house, OURS, talk)
    with house.visitor("root") as visitor:
        page = visitor.get("/").text
        assert rows(page) == [first, second, third, fourth]
        assert chips(page) == {"": 4, "escalation": 1, "unknown": 1, "approval": 1, "draft": 0, "delivery": 1}
        for kind, only in (("escalation", first), ("unknown", third), ("approval", second), ("delivery", fourth)):
            assert rows(visitor.get(f"/?kind={kind}").text) == [only]
        assert 'count-queue" class="count" hx-swap-oob="true">4<' in visitor.get("/counts").text


def test_escalations_means_the_same_number_wherever_it_stands(house: ConsoleHouse, talk: str) -> None:
    """The menu's "Escalations" are all of them; where some are told apart, the others are called so."""

    def named(page: str) -> dict[str, int]:
        found = re.findall(r"(Escalations|Other escalations|Unknown outcomes) <bdi>(\d+)</bdi>", page)
        return {name: int(number) for name, number in found}

    with house.visitor("noa") as visitor:
        escalation(house, OURS, talk, "help me")
        for path in ("/", "/overview"):
            assert named(visitor.get(path).text).get("Escalations") == 1, path
        unknown(house, talk)
        assert 'count-escalations" class="count" hx-swap-oob="true">2<' in visitor.get("/counts").text
        for path in ("/", "/overview"):
            told = list(named(visitor.get(path).text).items())
            assert told == [("Unknown outcomes", 1), ("Other escalations", 1)], path


def test_an_escalation_that_says_that_an_approval_waits_is_not_counted_beside_it(
    house: ConsoleHouse, talk: str
) -> None:
    asked, says_so = approval(house, OURS, talk), escalation(house, OURS, talk, "cancel_order")
    execute(house, sa.update(escalations).where(escalations.c.id == says_so).values(reason_code="APPROVAL_REQUIRED"))
    with house.visitor("noa") as visitor:
        assert rows(visitor.get("/").text) == [asked]
        counted = visitor.get("/counts").text
        assert re.findall(r'count-(\w+)"[^>]*?>(\d+)<', counted) == [
            ("queue", "1"),
            ("escalations", "0"),
            ("approvals", "1"),
        ]
        execute(house, sa.update(intents).where(intents.c.id == asked).values(expires_at=time.time() - 1))
        assert rows(visitor.get("/").text) == [says_so], "nobody decided, and the user still waits"


def test_the_figures_are_those_of_the_database(house: ConsoleHouse, talk: str) -> None:
    for _ in range(3):
        escalation(house, OURS, talk)
    approval(house, OURS, talk)
    unknown(house, talk)
    [(waiting,)] = ask(house, "SELECT count(*) FROM escalations WHERE state IN ('open', 'taken')")
    [(asked,)] = ask(
        house,
        "SELECT count(*) FROM intents WHERE kind = 'approval' AND state = 'pending' AND expires_at > :now",
        now=time.time(),
    )
    with house.visitor("noa") as visitor:
        told = chips(visitor.get("/").text)
        assert told["escalation"] + told["unknown"] == waiting == 4
        assert told["approval"] == asked == 1
        assert told[""] == waiting + asked == len(rows(visitor.get("/").text))
        shown = visitor.get("/v1/work").json()["items"]
        assert len(shown) == waiting + asked


def test_pages_go_on_where_the_last_one_ended(house: ConsoleHouse, talk: str) -> None:
    made = [escalation(house, OURS, talk) for _ in range(23)] + [approval(house, OURS, talk) for _ in range(20)]
    with house.visitor("noa") as visitor:
        page = visitor.get("/").text
        following = re.search(r'href="(/\?after=[^"]+)"', page)
        assert following is not None
        assert rows(page) + rows(visitor.get(following[1]).text) == made


def test_what_could_not_be_delivered_is_for_administrators(house: ConsoleHouse, talk: str) -> None:
    dead = notification(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert rows(visitor.get("/?kind=delivery").text) == []
        assert "delivery" not in chips(visitor.get("/").text)
        assert change(visitor, f"/queue/delivery/{dead}/notes", note="x").status_code == 404
    with house.visitor("root") as visitor:
        shown = visitor.get(f"/notifications/{dead}")
        assert shown.status_code == 200
        assert change(visitor, f"/notifications/{dead}/redrive").status_code == 303
        assert rows(visitor.get("/").text) == []


def test_nobody_sees_or_touches_what_is_another_tenants(house: ConsoleHouse, talk: str) -> None:
    ours = escalation(house, OURS, talk, "a secret of ours")
    with house.visitor("theirs") as visitor:
        visitor.cookies.set("circumspect_queue", f"tenant%3D{OURS}")
        page = visitor.get("/").text
        assert rows(page) == []
        assert "secret" not in page
        assert visitor.get(f"/?tenant={OURS}").status_code == 404
        for way in ("next", "previous"):
            assert visitor.get(f"/queue/escalation/{ours}/{way}").status_code == 404
        for what, data in (("assign", {"to": "theirs"}), ("snooze", {"hours": "1"}), ("notes", {"note": "x"})):
            assert change(visitor, f"/queue/escalation/{ours}/{what}", **data).status_code == 404
        assert "root" in page, "a colleague who may see all tenants"
        assert ">noa<" in page


def test_an_item_is_given_to_a_colleague_who_may_see_to_it(house: ConsoleHouse, talk: str) -> None:
    item, other = escalation(house, OURS, talk), escalation(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert change(visitor, f"/queue/escalation/{item}/assign", to="noa").status_code == 303
        assert rows(visitor.get("/?assignee=@me").text) == [item]
        assert rows(visitor.get("/?assignee=@nobody").text) == [other]
        assert change(visitor, f"/queue/escalation/{item}/assign", to="root").status_code == 303
        assert rows(visitor.get("/?assignee=root").text) == [item]
        assert chips(visitor.get("/?assignee=root").text)["escalation"] == 1
        for nobody in ("rita", "theirs", "their-admin", "nobody at all"):
            assert change(visitor, f"/queue/escalation/{item}/assign", to=nobody).status_code == 422, nobody
        assert rows(visitor.get("/?assignee=root").text) == [item]
        assert change(visitor, f"/queue/escalation/{item}/assign").status_code == 303
        assert rows(visitor.get("/?assignee=@nobody").text) == [item, other]
    logged = ask(house, "SELECT operator, detail FROM operator_log WHERE action = 'assign' AND subject = :id", id=item)
    assert [row.operator for row in logged] == ["noa"] * 3


def test_who_has_left_is_given_nothing(house: ConsoleHouse, talk: str) -> None:
    async def add(store: SqlStore) -> None:
        row = OperatorRow("op-gone", "gone", "operator", None, time.time())
        await store.tx(access.add_operator, row, credentials.hash_password(PASSWORD))
        await store.tx(access.set_disabled, "op-gone", time.time())

    house.stored(add)
    item = escalation(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert change(visitor, f"/queue/escalation/{item}/assign", to="gone").status_code == 422
        assert "gone" not in visitor.get(f"/escalations/{item}").text


def test_who_took_a_conversation_over_keeps_it(house: ConsoleHouse, talk: str) -> None:
    item = escalation(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert change(visitor, f"/escalations/{item}/take").status_code == 303
        assert rows(visitor.get("/?assignee=@me").text) == [item]
    with house.visitor("root") as late:
        assert change(late, f"/queue/escalation/{item}/assign", to="root").status_code == 409
        assert rows(late.get("/?assignee=noa").text) == [item]


def test_what_is_put_off_is_gone_until_then(house: ConsoleHouse, talk: str) -> None:
    item = escalation(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert change(visitor, f"/queue/escalation/{item}/snooze", hours="4").status_code == 303
        page = visitor.get("/").text
        assert (rows(page), chips(page)[""]) == ([], 0)
        assert rows(visitor.get("/?snoozed=1").text) == [item]
        execute(house, sa.text(f"UPDATE work_items SET snoozed_until = {time.time() - 1}"))
        assert rows(visitor.get("/").text) == [item], "it comes back by itself"
        assert change(visitor, f"/queue/escalation/{item}/snooze", hours="24").status_code == 303
        assert change(visitor, f"/queue/escalation/{item}/snooze", hours="0").status_code == 303
        assert rows(visitor.get("/").text) == [item]
        for hours in ("745", "-1", "x"):
            assert change(visitor, f"/queue/escalation/{item}/snooze", hours=hours).status_code == 422


def test_an_approval_cannot_be_put_off_until_it_is_too_late(house: ConsoleHouse, talk: str) -> None:
    item = approval(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert 'name="hours"' not in visitor.get(f"/approvals/{item}").text, "it waits for an hour only"
        assert change(visitor, f"/queue/approval/{item}/snooze", hours="1").status_code == 409
        assert rows(visitor.get("/").text) == [item]


def test_what_is_settled_is_given_to_nobody_and_keeps_its_notes(house: ConsoleHouse, talk: str) -> None:
    item = escalation(house, OURS, talk)
    with house.visitor("noa") as visitor:
        assert change(visitor, f"/queue/escalation/{item}/notes", note="called them").status_code == 303
        assert change(visitor, f"/escalations/{item}/resolve").status_code == 303
        assert change(visitor, f"/queue/escalation/{item}/assign", to="noa").status_code == 409
        shown = visitor.get(f"/escalations/{item}").text
        assert "called them" in shown
        assert "/assign" not in shown
        assert change(visitor, f"/queue/escalation/{item}/notes", note="they were glad").status_code == 303


def test_notes_are_for_colleagues_are_exported_and_are_deleted_with_the_person(house: ConsoleHouse, talk: str) -> None:
    item, words = escalation(house, OURS, talk), "She sounds <b>upset</b>"
    key = house.key(OURS)
    with house.visitor("noa") as visitor:
        for _ in range(2):
            assert change(visitor, f"/queue/escalation/{item}/notes", note=words).status_code == 303
        page = visitor.get(f"/escalations/{item}").text
        assert page.count("She sounds &lt;b&gt;upset&lt;/b&gt;") == 1, "pressed twice, it counts once"
    with house.visitor("rita") as reviewer:
        shown = reviewer.get(f"/escalations/{item}").text
        assert "She sounds" in shown
        assert "/notes" not in shown
        assert change(reviewer, f"/queue/escalation/{item}/notes", note="x").status_code == 403
    assert "sounds" not in key.get(f"/v1/conversations/{talk}/messages", params={"internal": "true"}).text
    assert "sounds" not in str(ask(house, "SELECT * FROM operator_log")), "the log keeps no words"
    exported = key.get(f"/v1/admin/persons/{PERSON}").json()["conversations"]
    [notes] = [one["notes"] for one in exported if one["id"] == talk]
    assert [(note["by"], note["content"]) for note in notes] == [("noa", words)]
    assert key.delete(f"/v1/admin/persons/{PERSON}").status_code in (200, 204)
    assert ask(house, "SELECT * FROM work_notes WHERE conversation = :talk", talk=talk) == []


def test_a_note_that_a_lost_sign_in_kept_from_arriving_comes_back(house: ConsoleHouse, talk: str) -> None:
    item = escalation(house, OURS, talk)
    with house.visitor("") as nobody:
        answer = change(nobody, f"/queue/escalation/{item}/notes", note="written for nothing?")
        assert answer.status_code == 401
        assert "written for nothing?" in answer.text


def test_the_next_item_is_the_next_of_the_list_that_was_looked_at(house: ConsoleHouse, talk: str) -> None:
    first, second, third = escalation(house, OURS, talk), approval(house, OURS, talk), escalation(house, OURS, talk)

    def go(visitor: httpx.Client, item: str, way: str) -> str:
        answer = visitor.get(f"/queue/{item}/{way}")
        assert answer.status_code == 303
        return answer.headers["location"]

    with house.visitor("noa") as visitor:
        visitor.get("/")
        assert go(visitor, f"escalation/{first}", "next") == f"/approvals/{second}"
        assert go(visitor, f"approval/{second}", "previous") == f"/escalations/{first}"
        assert go(visitor, f"escalation/{third}", "next") == f"/escalations/{first}", "round to the oldest"
        visitor.get("/?kind=escalation")
        assert go(visitor, f"escalation/{first}", "next") == f"/escalations/{third}"
        change(visitor, f"/escalations/{first}/resolve")
        assert go(visitor, f"escalation/{first}", "next") == f"/escalations/{third}", "also from what is done with"
        change(visitor, f"/escalations/{third}/resolve")
        assert go(visitor, f"escalation/{third}", "next") == "/?kind=escalation&empty=1"
        assert "You are through" in visitor.get("/?kind=escalation&empty=1").text
        for spoilt in ("%00", "kind%3D" + "x" * 5000, "tenant%3Dnobody%26assignee%3D%2500", "%%%"):
            visitor.cookies.set("circumspect_queue", spoilt)
            assert visitor.get(f"/queue/escalation/{third}/next").status_code == 303, spoilt


def test_a_morning_at_the_queue(house: ConsoleHouse, browser: Any, talk: str) -> None:
    """Sign-in to the last item: take over, answer, resolve, next, deny, through. Every click is counted."""
    escalation(house, OURS, talk, "Where is my parcel?")
    approval(house, OURS, talk)
    clicks = 0
    with Browsing(browser, house).as_("noa") as page:

        def click(selector: str) -> None:
            nonlocal clicks
            clicks += 1
            page.click(selector)

        page.goto("/")
        assert page.locator("[data-item]").count() == 2
        click("[data-item] a >> nth=0")
        page.wait_for_selector("#standing")
        click("form[action$='/take'] button")
        page.fill("textarea[name=content]", "It left this morning.")
        click("form[action$='/reply'] button")
        page.wait_for_selector(".bubble.person")
        click("form[action$='/resolve'] button")
        page.wait_for_selector(".badge.resolved")
        click("a[rel=next]")
        page.wait_for_url("**/approvals/**")
        click("form[action$='/deny'] button")
        page.wait_for_selector("[role=status]")
        click("a[rel=next]")
        page.wait_for_url("**empty=1**")
        assert page.locator("[data-item]").count() == 0
    assert clicks == 7


def test_the_overview_says_what_needs_one_now(house: ConsoleHouse, talk: str) -> None:
    with house.visitor("noa") as visitor:
        assert "Nothing waits for a person." in visitor.get("/overview").text
        unknown(house, talk)
        approval(house, OURS, talk)
        page = visitor.get("/overview").text
        needs = page[page.index('id="needs"') :]
        for kind, number in {"unknown": 1, "approval": 1}.items():
            [told] = re.findall(rf'href="/\?kind={kind}">(?:<svg.*?</svg>)?[^<]*<bdi>(\d+)</bdi>', needs)
            assert int(told) == number == len(rows(visitor.get(f"/?kind={kind}").text))


def test_the_period_before_is_the_one_that_ends_where_this_begins(house: ConsoleHouse, talk: str) -> None:
    [(day,)] = ask(house, "SELECT max(day) FROM turn_days")
    before = (datetime.fromisoformat(day) - timedelta(days=7)).date().isoformat()
    execute(house, sa.text(f"UPDATE turn_days SET day = '{before}'"))
    [(turns,)] = ask(house, "SELECT sum(turns) FROM turn_days")
    key = house.key(OURS)
    for _ in range(2):
        say(key, talk, "What are your opening hours?", person=PERSON)
    with house.visitor("noa") as visitor:
        page = visitor.get("/overview?days=7").text
        assert re.search(r'class="value"><bdi dir="ltr">2<', page)
        assert f"from {turns}<" in page
        assert "from 0<" in visitor.get("/overview?days=1").text


def test_what_comes_in_appears_by_itself(house: ConsoleHouse, browser: Any, talk: str) -> None:
    with Browsing(browser, house).as_("noa") as page:
        page.goto("/?kind=escalation")
        assert page.locator("[data-item]").count() == 0
        escalation(house, OURS, talk, "Hello?")
        eventually(page, lambda: page.locator("[data-item]").count() == 1)
        eventually(page, lambda: page.inner_text("#count-queue") == "1")
        assert "kind=escalation" in page.url


def test_several_are_given_away_put_off_and_closed_at_once_and_what_cannot_be_stays(
    browsing: Browsing, house: ConsoleHouse, talk: str
) -> None:
    first, second = escalation(house, OURS, talk, "help me"), escalation(house, OURS, talk, "and me")
    third = unknown(house, talk)
    with browsing.as_("noa") as page:
        page.goto("/")
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("x")
        assert page.locator("[name=item]:checked").count() == 2
        page.click("#bulk button[value=assign]")
        page.wait_for_selector(".notice.good[role=status]")
        assert "2 items were assigned" in page.inner_text(".notice[role=status]")
        given = ask(house, "SELECT item FROM work_items WHERE assignee = 'noa' AND item IN (:a, :b)", a=first, b=second)
        assert len(given) == 2
        page.check("[data-marks-all]")
        page.click("#bulk button[value=resolve]")
        page.wait_for_selector(".notice.warn[role=status]")
        assert "2 escalations were resolved. One is as it was" in page.inner_text(".notice[role=status]")
    states = dict(ask(house, "SELECT id, state FROM escalations WHERE tenant = :tenant", tenant=OURS))
    assert [states[one] for one in (first, second)] == ["resolved", "resolved"]
    assert states[third] == "open", "nobody said what became of that call"
    with house.visitor("theirs") as visitor:
        form = {"did": "assign", "to": "theirs", "item": [f"escalation:{third}"]}
        assert "left=1" in visitor.post("/queue/bulk", data=form, headers=SAME).headers["location"]
    assert ask(house, "SELECT 1 FROM work_items WHERE assignee = 'theirs'") == []


def test_the_list_stands_beside_its_item(house: ConsoleHouse, talk: str) -> None:
    ids = [escalation(house, OURS, talk, f"question {number}") for number in range(3)]
    with house.visitor("noa") as visitor:
        visitor.get("/")
        beside = visitor.get(f"/queue/escalation/{ids[1]}/around").text
    assert re.findall(r'href="/escalations/([^"]+)"', beside) == ids
    assert re.findall(r'href="/escalations/([^"]+)"[^>]*aria-current', beside) == [ids[1]]
