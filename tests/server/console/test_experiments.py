"""Experiments, shadows and versions of prompts: what the API says, in words; and its operations, once each."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from threading import Barrier
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious

from circumspect.clock import RandomIds, SystemClock
from circumspect.lab.trials import conducting
from circumspect.lab.trials.experiments import Experiment, read_arms, set_share, start, stop
from circumspect.prompts import load_default_prompt
from circumspect.server.console.charts import Range, intervals
from circumspect.server.console.experiment_comparison import build_notices
from circumspect.server.if_match import fingerprint
from circumspect.stores import SqlStore, action_log, experiments
from circumspect.stores.action_log import LogRow
from circumspect.stores.experiment_tables import prompt_versions
from circumspect.stores.experiments import ExposureRow
from circumspect.values import TenantId

EVIL = "<script>document.title=1</script>"
CAREFUL = {"name": "careful", "overlay": {"thresholds": {"critique_below": 0.9}}}
WHERE = "/v1/admin/experiments"


def created(house: ConsoleHouse, tenant: str, **said: Any) -> str:
    given = {"name": "careful", "arms": [CAREFUL], **said}
    made = house.operator("root").post(WHERE, params={"tenant": tenant}, json=given)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def stated(house: ConsoleHouse, id_: str) -> dict[str, Any]:
    found: dict[str, Any] = house.operator("root").get(f"{WHERE}/{id_}").json()
    return found


def logged(house: ConsoleHouse, id_: str) -> list[LogRow]:
    async def look(store: SqlStore) -> list[LogRow]:
        return list(await store.tx(action_log.list_actions, subject=id_))

    return house.stored(look)


def seen(page: httpx.Response) -> str:
    found = re.search(r'name="seen" value="([0-9a-f]+)"', page.text)
    assert found, page.text
    return found[1]


def press(house: ConsoleHouse, id_: str, does: str, who: str = "root", **form: Any) -> httpx.Response:
    """As somebody who has just opened the page, if the form does not say otherwise."""
    with house.visitor(who) as visitor:
        form = form if "seen" in form else {"seen": seen(visitor.get(f"/experiments/{id_}")), **form}
        return visitor.post(f"/experiments/{id_}/{does}", data=form, headers=SAME)


def text(page: httpx.Response) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text)))


@pytest.fixture
def running(house: ConsoleHouse) -> Any:
    """One of a tenant that has no other; stopped when the test is over."""
    id_ = created(house, "shop-he", plan={"metric": "wrong", "method": "fixed", "horizon": 500})
    assert house.operator("root").post(f"{WHERE}/{id_}/start", json={"share": 0.1}).status_code == 200
    yield id_
    house.operator("root").post(f"{WHERE}/{id_}/stop", json={})


# --- looking --------------------------------------------------------------------------------------------------------


def test_the_page_says_what_the_api_says(house: ConsoleHouse) -> None:
    found = stated(house, "demo-careful")
    with house.visitor("rita") as visitor:
        listed, page = visitor.get("/experiments"), visitor.get("/experiments/demo-careful")
    assert "second opinion more often by conversation" in text(listed)
    assert "Switched back The conversations of the demo are over." in text(listed)
    said = text(page)
    for name, arm in found["results"]["arms"].items():
        calls = arm["metrics"]["calls"]
        assert f"{name} {calls['n']} {calls['mean']:.2f} {calls['low']:.2f} … {calls['high']:.2f}" in said
        assert f"{name}: {calls['mean']:.2f} ({calls['low']:.2f} … {calls['high']:.2f})" in unescape(page.text), "chart"
    assert found["state"] == "stopped"
    assert "No difference yet careful" in said
    assert "you may look as often as you like" in said
    assert "at most 20.0 pp worse than control" in said
    assert "Share set to 50%" in said
    assert "Threshold critique_below 0.95" in said
    (version,) = re.findall(r'href="(/prompt-versions/shop\?id=critique[^"]+)"', page.text)
    with house.visitor("rita") as visitor:
        assert "+When you are in doubt" in visitor.get(unescape(version)).text


def test_one_without_any_data_says_so_and_how_it_is_decided(house: ConsoleHouse, running: str) -> None:
    with house.visitor("noa") as visitor:
        said = text(visitor.get(f"/experiments/{running}"))
    assert "Nothing is counted yet" in said
    assert "it speaks once, at 500 units an arm" in said
    assert "too little known yet" in said
    assert "careful 0 – –" in said


def test_an_arm_that_a_guard_stopped_is_told_with_the_guards_reason(house: ConsoleHouse) -> None:
    arms = [{"name": "rules", "overlay": {"controller": "heuristic"}}]
    id_ = created(house, "shop-he", name="rules first", unit="case", arms=arms)
    house.operator("root").post(f"{WHERE}/{id_}/start", json={"share": 0.5})

    def row(arm: str, number: int, outcome: str) -> ExposureRow:
        case = f"{arm}-{number}"
        return ExposureRow(TenantId("shop-he"), id_, case, arm, 0, outcome, 1.0, case_id=case)

    async def harm(store: SqlStore) -> int:
        rows = [row("control", number, "answered") for number in range(80)]
        rows += [row("rules", number, "failed" if number % 2 else "answered") for number in range(80)]
        await store.tx(experiments.expose, rows)
        return await conducting.guard(store, SystemClock(), RandomIds())

    assert house.stored(harm) == 1
    with house.visitor("rita") as visitor:
        for path in ("/experiments?tenant=shop-he", f"/experiments/{id_}"):
            assert "Stopped by a guard rules Failed: 50.0% after 80 units; control has" in text(visitor.get(path))
        said = text(visitor.get(f"/experiments/{id_}"))
        visitor.cookies.set("circumspect_language", "ru")
        russian = text(visitor.get(f"/experiments/{id_}"))
    assert "С ошибкой: 50,0% после 80 единиц; у контроля 0,0%." in russian
    assert "units" not in russian
    assert "has stopped it" in said
    assert "by itself A guard stopped rules" in said


def test_a_version_that_is_gone_is_told_and_a_name_is_never_html(house: ConsoleHouse) -> None:
    changed = f"{load_default_prompt('critique').text}\n{EVIL}"
    given = {"name": "critique", "text": changed, "note": EVIL, "parent": load_default_prompt("critique").id}
    version = house.operator("root").post("/v1/admin/prompts", params={"tenant": "shop-ru"}, json=given).json()["id"]
    arm = {"name": "new", "overlay": {"prompts": {"critique": version}}}
    id_ = created(house, "shop-ru", name=f"name {EVIL}", note=EVIL, arms=[arm])
    with house.visitor("root") as visitor:
        found = visitor.get(f"/prompt-versions/shop-ru?id={version}")
        assert f"+{EVIL}" in unescape(found.text)
        pages = [found, visitor.get("/prompt-versions?tenant=shop-ru"), visitor.get("/experiments")]

        async def lose(store: SqlStore) -> None:
            await store.tx(lambda c: c.execute(sa.delete(prompt_versions).where(prompt_versions.c.id == version)))

        house.stored(lose)
        page = visitor.get(f"/experiments/{id_}")
        for one in (*pages, page):
            assert EVIL not in one.text
            assert EVIL in unescape(one.text)
        assert f"{version} this version is not there" in text(page)
        assert visitor.get(f"/prompt-versions/shop-ru?id={version}").status_code == 404
    refused = press(house, id_, "start", share=0.1)
    assert refused.status_code == 422
    assert f"The arm 'new': 'shop-ru' has no version {version}" in unescape(refused.text)
    assert stated(house, id_)["state"] == "draft"


def test_what_is_not_there_or_somebody_elses_is_not_found(house: ConsoleHouse) -> None:
    theirs = (
        "/experiments/demo-careful",
        "/shadows/demo-beside",
        "/prompt-versions/shop?id=" + load_default_prompt("critique").id,
        "/experiments?tenant=shop",
        "/shadows?tenant=shop",
        "/prompt-versions?tenant=shop",
    )
    nobodys = ("/experiments/none", "/shadows/none", "/shadows/demo-beside/none", "/prompt-versions/shop?id=x@00000000")
    for who, paths in (("theirs", theirs), ("root", nobodys)):
        with house.visitor(who) as visitor:
            for path in paths:
                answer = visitor.get(path)
                assert answer.status_code == 404, path
                assert "<main" in answer.text, path
    for does in ("start", "share", "stop", "finish"):
        form = {"seen": "x", "share": 0.1, "winner": "control"}
        assert press(house, "demo-careful", does, "their-admin", **form).status_code == 404


def test_an_empty_page_says_what_to_type(house: ConsoleHouse) -> None:
    with house.visitor("their-admin") as visitor:
        assert "circumspect experiments create beside --tenant shop-ru --shadow" in unescape(
            visitor.get("/shadows").text
        )
    with house.visitor("root") as visitor:
        page = unescape(visitor.get("/experiments?tenant=shop-none").text)
    assert """data-copy="circumspect experiments create careful --tenant shop-none --arm 'careful={""" in page


# --- doing ----------------------------------------------------------------------------------------------------------


def test_the_demo_is_in_the_way_of_nobodys_first_experiment(house: ConsoleHouse) -> None:
    root = house.operator("root")
    for kind in ("ab", "shadow"):
        first = f"{WHERE}/{created(house, 'shop', name='first', kind=kind)}"
        started = root.post(f"{first}/start", json={"share": 0.1})
        assert started.status_code == 200, started.text
        assert root.post(f"{first}/stop", json={}).status_code == 200


def test_an_administrator_widens_and_switches_back_with_two_clicks_each(browsing: Browsing, running: str) -> None:
    house = browsing.house
    with browsing.as_("root", width=390) as page:
        page.goto(f"/experiments/{running}")
        page.focus("summary >> text=Widen to 50%")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Set it to 50%").click()
        page.wait_for_selector("[role=status]")
        assert stated(house, running)["share"] == 0.5
        page.click("summary >> text=Switch back at once")
        page.get_by_label("Why").fill(f"They complain. {EVIL}")
        assert serious(page) == []
        assert overflow(page) <= 0
        page.get_by_role("button", name="Switch back now").click()
        page.wait_for_selector("[role=status]")
        assert "They complain. <script>" in page.inner_text("#history-title ~ div")
        assert page.locator("summary >> text=Start with 10%").count() == 1
    done = [(row.operator, row.action, row.detail) for row in reversed(logged(house, running))]
    assert done[2:] == [
        ("root", "set_share", {"share": 0.5}),
        ("root", "stop_experiment", {"why": f"They complain. {EVIL}"}),
    ]


def test_who_may_only_look_sees_no_buttons_and_is_refused(house: ConsoleHouse, running: str) -> None:
    before = stated(house, running)
    for who in ("noa", "rita"):
        with house.visitor(who) as visitor:
            for path in (f"/experiments/{running}", "/shadows/demo-beside"):
                page = visitor.get(path)
                assert page.status_code == 200
                assert f'action="{path}' not in page.text
                assert 'name="seen"' not in page.text
        for does in ("start", "share", "stop", "finish"):
            answer = press(house, running, does, who, seen="x", share=1, winner="control")
            assert answer.status_code == 403, (who, does)
    assert stated(house, running) == before


def test_a_form_that_is_older_than_the_experiment_does_nothing(house: ConsoleHouse, running: str) -> None:
    with house.visitor("root") as visitor:
        old = seen(visitor.get(f"/experiments/{running}"))
    assert press(house, running, "share", share=1).status_code == 303
    for does, form in (("share", {"share": 0.5}), ("stop", {}), ("finish", {"winner": "careful"})):
        refused = press(house, running, does, seen=old, **form)
        assert refused.status_code == 409
        assert "It has changed since you looked" in text(refused)
        assert seen(refused) != old, "and shows what holds now"
    with house.visitor("root") as visitor:
        address = f"/experiments/{running}/stop"
        assert visitor.post(address, data={}, headers=SAME).status_code == 422
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        assert visitor.post(address, data={"seen": old}, headers=elsewhere).status_code == 403
    found = stated(house, running)
    assert (found["state"], found["share"]) == ("running", 1.0)


def test_two_people_who_press_at_once_do_it_once(house: ConsoleHouse, running: str) -> None:
    with house.visitor("root") as visitor:
        now = seen(visitor.get(f"/experiments/{running}"))
    with ThreadPoolExecutor(2) as people:
        answers = list(people.map(lambda _: press(house, running, "stop", seen=now), range(2)))
    assert sorted(one.status_code for one in answers) == [303, 409]
    assert [row.action for row in logged(house, running)].count("stop_experiment") == 1


def test_of_two_people_who_set_different_shares_at_once_one_is_told(house: ConsoleHouse, running: str) -> None:
    for time in range(1, 5):
        with house.visitor("root") as visitor:
            now = seen(visitor.get(f"/experiments/{running}"))
        both, shares = Barrier(2), (time / 10 + 0.1, time / 10 + 0.15)

        def widen(share: float, now: str = now, both: Barrier = both) -> tuple[float, httpx.Response]:
            both.wait()
            return share, press(house, running, "share", seen=now, share=share)

        with ThreadPoolExecutor(2) as people:
            answers = sorted(people.map(widen, shares), key=lambda one: one[1].status_code)
        assert [one.status_code for _, one in answers] == [303, 409]
        (share, _), (_, told) = answers
        assert stated(house, running)["share"] == share
        assert "It has changed since you looked" in text(told)


def test_what_cannot_be_done_now_is_said_with_the_reason(house: ConsoleHouse, running: str) -> None:
    other = created(house, "shop-he", name="another")
    refused = press(house, other, "start", share=0.1)
    assert refused.status_code == 409
    assert f"That cannot be done now. '{running}' is live already." in text(refused)
    assert press(house, running, "finish", winner="careful", roll_out="true").status_code == 303
    found = stated(house, running)
    assert (found["state"], found["winner"]) == ("rolled_out", "careful")
    assert press(house, running, "finish", seen="x", winner="no such arm").status_code == 422


@pytest.mark.parametrize("winner", ["careful", "control"])
def test_who_gets_the_winner_is_said_before_and_after_it_is_decided(
    house: ConsoleHouse, running: str, winner: str
) -> None:
    with house.visitor("root") as visitor:
        before = text(visitor.get(f"/experiments/{running}"))
    assert "everybody has what the tenant has, whichever arm won; also conversations that are under way" in before
    assert "With it those under way keep their arm" in before
    assert "Nobody gets" not in before
    assert press(house, running, "finish", winner=winner).status_code == 303
    with house.visitor("root") as visitor:
        after = text(visitor.get(f"/experiments/{running}"))
    assert ("Nobody gets careful: it was not rolled out." in after) == (winner == "careful")


def test_one_that_was_decided_is_rolled_out_later(house: ConsoleHouse, running: str) -> None:
    assert press(house, running, "finish", winner="careful").status_code == 303
    with house.visitor("root") as visitor:
        page = visitor.get(f"/experiments/{running}")
    assert "Decide again" in text(page)
    assert "<option selected>careful</option>" in page.text
    assert press(house, running, "finish", winner="careful", roll_out="true").status_code == 303
    assert stated(house, running)["state"] == "rolled_out"
    refused = press(house, running, "finish", winner="control")
    assert refused.status_code == 409
    assert "is rolled out. Stop it first." in text(refused)


# --- shadows --------------------------------------------------------------------------------------------------------


def test_a_difference_is_read_side_by_side_and_leads_to_the_conversation(browsing: Browsing) -> None:
    house = browsing.house
    found = stated(house, "demo-beside")["summary"]
    with browsing.as_("rita") as page:
        page.goto("/shadows")
        assert f"{found['turns']}, of which {found['turns'] - found['same']} differ" in page.inner_text("#found")
        page.goto("/shadows/demo-beside")
        page.click("#found tbody tr a >> nth=0")
        page.wait_for_selector("#side-shadow")
        turn = page.url.rsplit("/", 1)[1]
        row = house.operator("rita").get(f"/v1/admin/shadows/demo-beside/{turn}").json()
        for side in ("live", "shadow"):
            badge = page.inner_text(f"section[aria-labelledby=side-{side}] .badge >> nth=0")
            outcome = row[side]["outcome"]
            assert badge == ("Left to a person" if outcome == "escalated" else outcome.capitalize())
        assert row["live"]["reply"] in page.inner_text("section[aria-labelledby=side-live]")
        page.get_by_role("link", name="The conversation, from inside").click()
        page.wait_for_url("**debug=1#m*")
        assert page.locator(page.url[page.url.index("#") :]).count() == 1


def test_a_shadow_is_started_and_stopped_by_the_same_buttons(house: ConsoleHouse) -> None:
    arm = {"name": "quick", "overlay": {"profile": "standard"}}
    id_ = created(house, "shop-he", name="beside", kind="shadow", arms=[arm])
    with house.visitor("root") as visitor:
        assert visitor.get(f"/experiments/{id_}").headers["location"] == f"/shadows/{id_}"
        assert "No turn was compared yet" in text(visitor.get(f"/shadows/{id_}"))
        for does, form, state in (("start", {"share": 0.1}, "running"), ("stop", {"why": ""}, "stopped")):
            said = {"seen": seen(visitor.get(f"/shadows/{id_}")), **form}
            done = visitor.post(f"/experiments/{id_}/{does}", data=said, headers=SAME)
            assert done.headers["location"] == f"/shadows/{id_}?done={does}"
            assert stated(house, id_)["state"] == state


# --- what pages are made of -----------------------------------------------------------------------------------------


def an_experiment() -> Experiment:
    arms = read_arms("ab", [CAREFUL])
    return Experiment(TenantId("shop"), "e1", "careful", "ab", "conversation", "draft", arms, (), {}, "me", 0.0)


def test_a_fingerprint_changes_with_whatever_a_button_depends_on() -> None:
    draft = an_experiment()
    running = start(draft, 0.1, 10.0)
    wider = set_share(running, 0.5, 20.0)
    assert len({fingerprint(one) for one in (draft, running, wider, stop(wider, "", 30.0))}) == 4
    assert fingerprint(start(draft, 0.1, 10.0)) == fingerprint(running)
    assert [one.kind for one in build_notices(draft, {})] == ["draft"]
    assert [(one.kind, one.why) for one in build_notices(stop(wider, "enough", 30.0), {})] == [("stopped", "enough")]


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(None, None, None), (0.0, None, None), (0.5, 0.2, 0.9), (2.0, -40.0, 4000.0), (0.0, 0.0, 0.0), (1e-7, 0.0, 1e-6)],
)
def test_an_interval_stays_in_its_picture_however_wide_it_is(
    value: float | None, low: float | None, high: float | None
) -> None:
    chart = intervals([Range("control", 1.0, 0.5, 1.5, "f6"), Range("a" * 64, value, low, high, "f1")], str)
    for one in chart.shapes:
        assert 0 <= one.x <= one.x + one.width <= chart.width
        assert 0 <= one.y <= one.y + one.height <= chart.height
    assert len(chart.rows) == 2
