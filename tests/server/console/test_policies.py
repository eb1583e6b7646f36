"""Policies: checked as one types, tried before they hold, never overwritten by two editors, and one click back."""

from __future__ import annotations

import difflib
import json
import re
from html import unescape
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious

from circumspect.lab.replay.flips import BacktestSummary
from circumspect.policy.load import load
from circumspect.server.console.policy_trial import TrialProgress, trial
from circumspect.server.console.text_diff import MOST_COMPARED, text_diff
from circumspect.server.stores import policies
from circumspect.server.stores.policies import PolicyVersion
from circumspect.stores import SqlStore
from circumspect.values import TenantId

PAYLOAD = '<img src=x onerror="document.title=1"><script>document.title=2</script>{{7*7}}</textarea><b id=out>'
SELECTED = """() => {
  const view = globalThis.policyEditor?.view, area = document.getElementById("text");
  if (!view) return area.value.slice(area.selectionStart, area.selectionEnd);
  return view.state.sliceDoc(view.state.selection.main.from, view.state.selection.main.to);
}"""
STRICTER = "  cancel_order: {deny: Not before the audit is over.}\n"


def in_force(house: ConsoleHouse, tenant: str = "shop") -> PolicyVersion:
    async def look(store: SqlStore) -> PolicyVersion | None:
        return await store.tx(policies.current, TenantId(tenant))

    found = house.stored(look)
    assert found is not None
    return found


def put(house: ConsoleHouse, text: str, tenant: str = "shop", **form: Any) -> httpx.Response:
    with house.visitor("root") as visitor:
        said = {"text": text, "if_version": in_force(house, tenant).version, "typed": tenant, **form}
        return visitor.post(f"/policies/{tenant}", data=said, headers=SAME)


def stricter(text: str) -> str:
    return re.sub(r"  cancel_order: .*\n", STRICTER, text)


def test_a_mistake_is_told_with_its_line_while_one_types(browsing: Browsing) -> None:
    with browsing.as_("root") as page:
        page.goto("/policies/shop")
        assert page.is_visible("#checked .notice.good")
        text = page.input_value("#text")
        page.fill("#text", text.replace("confirm: always", "confrim: always", 1))
        page.wait_for_selector("#checked .notice.bad")
        finding = page.inner_text("#checked .findings li")
        assert "Line 4" in finding
        assert "confrim" in finding
        assert page.inner_text("#told") == "Correct the mistakes first."
        page.click("#checked [data-shows-line]")
        assert page.evaluate(SELECTED).strip().startswith("cancel_order:")
        page.fill("#text", text)
        page.wait_for_selector("#checked .notice.good")


def test_what_a_change_means_is_said_in_words_beside_it(browsing: Browsing) -> None:
    with browsing.as_("root") as page:
        page.goto("/policies/shop")
        page.select_option("#tool", "cancel_order")
        page.wait_for_selector("#told >> text=cannot be taken back")
        page.fill("#text", stricter(page.input_value("#text")))
        page.wait_for_selector("#told >> text=It is switched off")
        assert "is switched off: Not before the audit is over." in page.inner_text("#checked")
        assert page.is_visible("#checked .badge.tightened")


def test_a_policy_is_tried_on_stored_conversations_before_it_holds(browsing: Browsing, house: ConsoleHouse) -> None:
    before = in_force(house)
    with browsing.as_("root") as page:
        page.goto("/policies/shop")
        page.fill("#text", stricter(page.input_value("#text")))
        page.click("[data-trial]")
        page.wait_for_selector("#trial .case")
        assert page.is_hidden("#trial-progress")
        assert "now held" in page.inner_text("#trial")
        assert page.locator("#trial table [data-code=TOOL_DENIED]").count() > 0
        assert in_force(house) == before, "trying changes nothing"
        link = page.get_attribute("#trial .case a", "href")
        assert link is not None
        assert link.startswith("/conversations/shop/demo-shop-")
        assert serious(page) == []
        page.type("#text", "# more")
        assert page.is_visible("#trial-old")
        page.goto(link)
        assert page.is_visible(f"#{link.split('#')[1]}.step.policy")


def try_text(house: ConsoleHouse, text: str, tenant: str = "shop") -> str:
    """What is said at last."""
    with house.visitor("root") as visitor:
        answer = visitor.post(f"/policies/{tenant}/trial", data={"text": text, "most": "200"}, headers=SAME)
        return json.loads(answer.text.splitlines()[-1])["html"]


def test_the_text_in_force_changes_nothing_however_often_it_is_tried(house: ConsoleHouse) -> None:
    before = in_force(house)
    tried = try_text(house, stricter(before.text))
    assert 'class="case"' in tried
    assert f"Compared with version {before.version}" in tried
    assert put(house, stricter(before.text)).status_code == 303
    again = try_text(house, stricter(before.text))
    assert 'class="case"' not in again
    assert "Nothing would be decided otherwise than under the version in force." in again
    assert f"Compared with version {before.version + 1}" in again
    assert put(house, before.text).status_code == 303


def test_what_cannot_be_replayed_is_counted_beside_the_result_with_the_way_out(house: ConsoleHouse) -> None:
    async def forget_words(store: SqlStore) -> int:
        return await store.tx(
            lambda connection: (
                connection.execute(sa.text("DELETE FROM messages WHERE tenant = 'shop-ru' AND role = 'user'")).rowcount
            )
        )

    assert house.stored(forget_words)
    said = try_text(house, in_force(house, "shop-ru").text, "shop-ru")
    assert 'id="unreplayed"' in said
    assert "A part of the conversation is not stored. <strong>Keep conversations longer" in said


def test_the_trial_says_how_far_it_is_and_stops_at_its_bound(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        form = {"text": stricter(in_force(house).text), "most": "3"}
        with visitor.stream("POST", "/policies/shop/trial", data=form, headers=SAME) as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            lines = [json.loads(line) for line in answer.iter_lines()]
    assert [(one["done"], one["of"]) for one in lines[:-1]] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert "decided again" in lines[-1]["html"]


def test_a_trial_ends_when_its_time_is_over_or_nobody_listens(house: ConsoleHouse) -> None:
    text, shop = in_force(house).text, TenantId("shop")

    async def run(store: SqlStore) -> tuple[object, object]:
        specs = await store.tool_specs(shop)
        policy = load(stricter(text), specs=specs)
        left = trial(store, policy, tenant=shop, specs=specs, limit=1000)
        first = await anext(left)
        await left.aclose()
        steps = [one async for one in trial(store, policy, tenant=shop, specs=specs, limit=5, seconds=0)]
        return first, steps[-1]

    first, last = house.stored(run)
    assert isinstance(first, TrialProgress)
    assert first.of > 5
    assert isinstance(last, BacktestSummary)
    assert last.conversations == 1


def test_what_is_not_sound_is_neither_tried_nor_put_in_force(house: ConsoleHouse) -> None:
    before = in_force(house)
    with house.visitor("root") as visitor:
        tried = visitor.post("/policies/shop/trial", data={"text": "version: 9"}, headers=SAME)
        assert tried.status_code == 422
    refused = put(house, "version: 9\nmine: kept", note="my note")
    assert refused.status_code == 422
    assert "mine: kept\n</textarea>" in refused.text
    assert "my note" in refused.text
    assert in_force(house) == before


def test_a_version_is_put_in_force_compared_and_rolled_back(browsing: Browsing, house: ConsoleHouse) -> None:
    before = in_force(house)
    with browsing.as_("root") as page:
        page.goto("/policies/shop")
        page.fill("#text", stricter(before.text))
        page.fill("input[name=note]", "audit")
        page.click("button.primary")
        page.wait_for_selector(".notice.good[role=status]")
        now = in_force(house)
        assert (now.version, now.note, now.created_by) == (before.version + 1, "audit", "root")
        page.click(f"a[href$='from={before.version}&to={now.version}']")
        page.wait_for_selector(".diff ins")
        assert "Not before the audit" in page.inner_text(".diff ins")
        assert "confirm: always" in page.inner_text(".diff del")
        assert "is switched off" in page.inner_text("main section.card")
        assert page.query_selector("form[action$='/rollback']") is None, "it is in force already"
        page.goto(f"/policies/shop/diff?from=0&to={before.version}")
        page.click("form[action$='/rollback'] button")
        page.wait_for_selector(".notice.good[role=status]")
        after = in_force(house)
        assert (after.version, after.text) == (before.version + 2, before.text)


def test_two_editors_do_not_overwrite_each_other(browsing: Browsing, house: ConsoleHouse) -> None:
    before = in_force(house)
    with browsing.as_("root", expected=("409",)) as page:
        page.goto("/policies/shop")
        assert put(house, stricter(before.text), note="quicker").status_code == 303
        theirs = in_force(house)
        mine = before.text + "# mine\n"
        page.fill("#text", mine)
        page.click("button.primary")
        page.wait_for_selector("[role=alert]")
        assert in_force(house) == theirs, "nothing was overwritten"
        assert page.input_value("#text") == mine, "nothing was lost"
        assert "is switched off" in page.inner_text("[role=alert]")
        page.click("button.primary")
        # Switching on what was switched off meanwhile loosens it.
        page.fill("input[name=typed]", "shop")
        page.click("button.danger")
        page.wait_for_selector(".notice.good[role=status]")
        assert in_force(house).text == mine
    put(house, before.text)


def test_who_may_not_change_reads(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("rita") as page:
        page.goto("/policies")
        page.click("main a[href='/policies/shop']")
        page.wait_for_selector("main .lines")
        assert "cancel_order" in page.inner_text("main .lines")
        assert page.query_selector("#text, [data-trial], form[method=post][action^='/policies']") is None
        page.select_option("#tool", "refund")
        page.wait_for_url("**tool=refund")
        assert "cannot be taken back" in page.inner_text("#told")
    with house.visitor("noa") as visitor:
        for path in ("", "/rollback"):
            said = {"text": "version: 1", "if_version": "1", "version": "1"}
            assert visitor.post(f"/policies/shop{path}", data=said, headers=SAME).status_code == 403
    with house.visitor("rita") as visitor:
        for path in ("/check", "/trial", "/draft"):
            said = {"text": "version: 1", "if_version": "1"}
            assert visitor.post(f"/policies/shop{path}", data=said, headers=SAME).status_code == 403


@pytest.mark.parametrize("name", ["theirs", "their-admin"])
def test_policies_of_other_tenants_do_not_exist(house: ConsoleHouse, name: str) -> None:
    with house.visitor(name) as visitor:
        assert "Kestrel" not in visitor.get("/policies").text
        assert visitor.get("/policies/shop").status_code == 404
        assert visitor.get("/policies/shop/diff?from=0&to=1").status_code == 404
        assert visitor.get("/policies/shop-ru").status_code == 200
    with house.visitor("their-admin") as visitor:
        said = {"text": "version: 1", "if_version": "1", "version": "1"}
        for path in ("", "/check", "/trial", "/rollback"):
            assert visitor.post(f"/policies/shop{path}", data=said, headers=SAME).status_code == 404


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["", "/check", "/trial", "/rollback"])
def test_another_site_cannot_change_a_policy(house: ConsoleHouse, path: str, site: str) -> None:
    before = in_force(house)
    with house.visitor("root") as visitor:
        said = {"text": "version: 1", "if_version": str(before.version), "version": "1"}
        answer = visitor.post(f"/policies/shop{path}", data=said, headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert in_force(house) == before


def test_text_of_a_policy_stays_text(browsing: Browsing, house: ConsoleHouse) -> None:
    before = in_force(house)
    text = before.text + f"# {PAYLOAD}\n" + f"  refund_all: {{deny: {json.dumps(PAYLOAD)}}}\n"
    with browsing.as_("root") as page:
        page.goto("/policies/shop")
        page.fill("#text", text.replace("refund_all", "<b>bold</b>"))
        page.wait_for_selector("#checked .findings")
        page.fill("#text", before.text + f"# {PAYLOAD}\n")
        page.fill("input[name=note]", PAYLOAD)
        page.click("button.primary")
        page.wait_for_selector(".notice.good[role=status]")
        assert page.input_value("#text") == before.text + f"# {PAYLOAD}\n"
        page.goto(f"/policies/shop/diff?from={before.version}&to={in_force(house).version}")
        assert PAYLOAD in page.inner_text(".diff ins")
        page.goto("/policies")
        assert PAYLOAD in page.inner_text("main table")
        assert page.title() not in ("1", "2")
        assert page.query_selector("#out, main img, main b") is None
    put(house, before.text)


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark"), ("ru", "dark")])
def test_the_pages_of_policies_can_be_used_by_everyone(
    browsing: Browsing, house: ConsoleHouse, language: str, theme: str
) -> None:
    with browsing.as_("root", language=language, theme=theme) as page:
        for path in ("/policies", "/policies/shop-he", "/policies/shop/diff?from=0&to=1"):
            page.goto(path)
            assert page.get_attribute("html", "dir") == ("rtl" if language == "he" else "ltr")
            assert serious(page) == [], path
            for width in (1440, 768, 360):
                page.set_viewport_size({"width": width, "height": 900})
                assert overflow(page) <= 0, (path, width)


def test_in_hebrew_the_editor_stands_on_the_right_and_the_text_runs_left_to_right(browsing: Browsing) -> None:
    with browsing.as_("root", language="he") as page:
        page.goto("/policies/shop")
        editor, beside = page.locator("#text").bounding_box(), page.locator("#checked").bounding_box()
        assert editor["x"] > beside["x"]
        assert page.evaluate("getComputedStyle(document.getElementById('text')).direction") == "ltr"


def test_a_text_diff_marks_what_came_and_went() -> None:
    lines = text_diff("a\nb\nc\n", "a\nB\nc\n")
    assert lines == [("place", "@@ -1,3 +1,3 @@"), ("same", " a"), ("removed", "-b"), ("added", "+B"), ("same", " c")]
    assert text_diff("a", "a") == []


def test_a_text_diff_names_the_lines_of_the_texts_and_not_of_what_was_compared() -> None:
    old = [f"line {number}" for number in range(1, 101)]
    new = [*old[:49], "another", *old[50:]]
    found = text_diff("\n".join(old), "\n".join(new))
    assert found[0] == ("place", "@@ -47,7 +47,7 @@")
    assert [line for kind, line in found if kind in ("removed", "added")] == ["-line 50", "+another"]
    assert len(found) == 9


def test_long_texts_that_share_little_are_shown_and_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    diff = difflib.unified_diff
    monkeypatch.setattr(difflib, "unified_diff", lambda a, b, **more: compared.append(len(a)) or diff(a, b, **more))
    old = [f"# {number % 199}" for number in range(10 * MOST_COMPARED)]
    found = text_diff("\n".join(["same", *old]), "\n".join(["same", *reversed(old)]))
    assert found[0] == ("place", f"@@ -1,{len(old) + 1} +1,{len(old) + 1} @@")
    assert sum(kind == "removed" for kind, _ in found) == sum(kind == "added" for kind, _ in found) == len(old) + 1
    assert compared == []
    assert len(text_diff("\n".join([*old, "x", *old]), "\n".join([*old, "y", *old]))) == 9
    assert max(compared) < 10


def test_line_ends_of_a_browser_are_no_change(house: ConsoleHouse) -> None:
    before = in_force(house)
    answer = put(house, before.text.replace("\n", "\r\n"))
    assert answer.headers["location"] == "/policies/shop?done=same"
    assert in_force(house) == before
    with house.visitor("root") as visitor:
        assert "Nothing was changed" in unescape(visitor.get("/policies/shop?done=same").text)
