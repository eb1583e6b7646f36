"""Operators at work in a real browser: take over, answer, hand back, resolve; approve, deny, change."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import pytest
from tests.patience import wait_until
from tests.server.console.building import SAME, Browsing, ConsoleHouse, eventually
from tests.server.house import say
from tests.server.test_decided_before import answered_elsewhere

from circumspect.pipeline import run_turn
from circumspect.policy.rules import RULES_FOR_BARE_CALLS
from circumspect.stores import SqlStore, people
from circumspect.values import ConversationId, Incoming, OutsideCall, TenantId, ToolCall, TurnId


def handed_over(house: ConsoleHouse, tenant: str = "shop") -> tuple[str, str]:
    """The id and the conversation of an open escalation."""

    async def find(store: SqlStore) -> tuple[str, str]:
        rows = await store.tx(people.list_escalations, [TenantId(tenant)], "open", None, 50)
        row = next(row for row in rows if row.reason == "OUTCOME_UNKNOWN")
        return row.id, row.conversation

    return house.stored(find)


def proposed(house: ConsoleHouse, order: str, **more: Any) -> str:
    """A call of another agent's that waits; the id of its approval."""
    services = house.app.state.services

    async def propose(store: SqlStore) -> str:
        from dataclasses import replace

        from circumspect.server.directory import Directory

        directory = Directory(store, services.settings, services.vault, services.clock, services.ids)
        try:
            setup = await directory.setup(TenantId("shop"))
            incoming = Incoming(
                TenantId("shop"),
                ConversationId(f"proposed-{services.ids.new('x')}"),
                TurnId(services.ids.new("turn")),
                "",
                services.clock.now(),
                principal="other-agent",
                errand=OutsideCall(ToolCall("cancel_order", {"order_id": order, **more})),
            )
            result = await run_turn(incoming, replace(setup, rules=RULES_FOR_BARE_CALLS))
            assert result.pending is not None, result
            return result.pending.id
        finally:
            await directory.close()

    return house.stored(propose)


def test_an_operator_takes_over_answers_hands_back_and_resolves(browsing: Browsing, house: ConsoleHouse) -> None:
    escalation, conversation = handed_over(house)
    key = house.key("shop")
    person = key.get(f"/v1/conversations/{conversation}").json()["person"]
    with browsing.as_("noa") as page:
        page.goto("/escalations")
        page.click(f"a[href='/escalations/{escalation}']")
        page.click("form[action$='/take'] button")
        page.wait_for_selector("[role=status]")
        assert say(key, conversation, "are you there?", person=person)["reason_codes"] == ["WITH_A_PERSON"]
        page.fill("textarea[name=content]", "Hello, this is Noa. <b>Your refund went through.</b>")
        page.click("form[action$='/reply'] button")
        page.wait_for_selector(".bubble.person")
        assert "<b>Your refund" in page.inner_text(".bubble.person")
        page.click("form[action$='/hand-back'] button")
        page.wait_for_selector("form[action$='/take']")
        assert (
            "WITH_A_PERSON" not in say(key, conversation, "What are your opening hours?", person=person)["reason_codes"]
        )
        page.click("form[action$='/outcome'] button[value=unknown]")
        page.click("form[action$='/resolve'] button[value=unknown]")
        page.wait_for_selector(".badge.open")
        page.click("form[action$='/outcome'] button[value=happened]")
        page.click("form[action$='/resolve'] button[value=happened]")
        page.wait_for_selector(".badge.resolved")
        assert page.locator("form[action$='/resolve']").count() == 0
    told = key.get(f"/v1/conversations/{conversation}/messages").json()["items"]
    assert [one["by"] for one in told].count("person") == 1


def test_a_conversation_that_nobody_handed_over_is_taken_over_from_its_own_page(
    browsing: Browsing, house: ConsoleHouse
) -> None:
    key = house.key("shop")
    conversation = house.conversation(key)
    say(key, conversation, "What are your opening hours?")
    with browsing.as_("noa") as page:
        page.goto(f"/conversations/shop/{conversation}")
        page.click("form[action$='/take'] button")
        page.wait_for_url("**/escalations/**")
        assert say(key, conversation, "hello?")["reason_codes"] == ["WITH_A_PERSON"]
        page.fill("textarea[name=content]", "Noa here.")
        page.click("form[action$='/reply'] button")
        page.wait_for_selector(".bubble.person")
        page.click("form[action$='/resolve'] button")
        page.wait_for_selector("[role=status]")
    assert say(key, conversation, "What are your opening hours?")["outcome"] == "answered"


def test_what_somebody_else_has_is_told_and_stays_theirs_unless_an_administrator_takes_it(house: ConsoleHouse) -> None:
    escalation, _ = handed_over(house)
    with house.visitor("noa") as noa, house.visitor("root") as root:
        assert noa.post(f"/escalations/{escalation}/take", headers=SAME).status_code == 303
        answer = root.post(f"/escalations/{escalation}/take", headers=SAME)
        assert answer.status_code == 409
        assert "noa" in answer.text
        assert answer.text.count("/take") == answer.text.count('name="away_from" value="noa"') == 1, (
            "for administrators"
        )
        refused = root.post(f"/escalations/{escalation}/reply", data={"content": "<i>kept"}, headers=SAME)
        assert refused.status_code == 409
        assert "noa has it now" in refused.text
        assert "&lt;i&gt;kept</textarea>" in refused.text
        taken = root.post(f"/escalations/{escalation}/take", data={"away_from": "noa"}, headers=SAME)
        assert taken.status_code == 303
        theirs = noa.get(f"/escalations/{escalation}").text
        assert ("root has it" in theirs, "away_from" in theirs) == (True, False)
        asked = root.post(f"/escalations/{escalation}/resolve", headers=SAME)
        assert (asked.status_code, "What became of the call?" in asked.text) == (409, True), "not without the outcome"
        assert f'action="/escalations/{escalation}/resolve"' not in asked.text, "it is asked about first"
        sure = root.get(f"/escalations/{escalation}/outcome?outcome=not").text
        assert "tells the customer in its next answer that it was not done" in sure
        assert "cannot be taken back" in sure
        done = root.post(f"/escalations/{escalation}/resolve", data={"outcome": "not"}, headers=SAME)
        shown = root.get(done.headers["location"]).text
        assert "Recorded: It did not happen." in shown
        assert "<strong>It did not happen</strong> · <bdi>root</bdi>" in shown
        assert "It did not happen · <bdi>root</bdi>" in root.get("/escalations?state=resolved").text
        log = unescape(root.get("/log?action=resolve").text)
        assert '"outcome": "not"' in log
        assert root.get(f"/escalations/{escalation}/outcome?outcome=happened").status_code == 303, "said already"
        assert "root has resolved it meanwhile" in noa.post(f"/escalations/{escalation}/take", headers=SAME).text


def test_who_has_handed_a_conversation_back_is_told_what_is_left(house: ConsoleHouse) -> None:
    key = house.key("shop")
    conversation = house.conversation(key)
    say(key, conversation, "What are your opening hours?")
    with house.visitor("noa") as noa:
        to = noa.post(f"/conversations/shop/{conversation}/take", headers=SAME).headers["location"].split("?")[0]
        taken = noa.get(to).text
        assert ("Answer the user. Resolving hands" in taken, "Hand back and resolve" in taken) == (True, True)
        back = noa.get(noa.post(f"{to}/hand-back", headers=SAME).headers["location"]).text
        assert "This stays with you until you resolve it." in back
        assert "What is left is to resolve this" in back
        assert ("Take over, answer the user" in back, "Hand back and resolve" in back) == (False, False)
        noa.post(f"{to}/resolve", headers=SAME)


def test_a_second_press_of_the_button_says_nothing_twice(house: ConsoleHouse) -> None:
    key = house.key("shop")
    conversation = house.conversation(key)
    say(key, conversation, "What are your opening hours?")

    def said() -> list[str]:
        told = key.get(f"/v1/conversations/{conversation}/messages").json()["items"]
        return [one["content"] for one in told if one["by"] == "person"]

    with house.visitor("noa") as noa:
        to = noa.post(f"/conversations/shop/{conversation}/take", headers=SAME).headers["location"].split("?")[0]
        after = re.search(r'name="after" value="(\d+)"', noa.get(to).text)
        assert after is not None
        form = {"content": "One moment.\r\nNoa", "after": after[1]}
        for _ in range(2):
            assert noa.post(f"{to}/reply", data=form, headers=SAME).status_code == 303
        assert len(said()) == 1
        again = re.search(r'name="after" value="(\d+)"', noa.get(to).text)
        assert again is not None
        noa.post(f"{to}/reply", data={**form, "after": again[1]}, headers=SAME)
        assert len(said()) == 2, "the same words may be said again by who has seen the first"
        assert noa.post(f"{to}/reply", data={"content": "a\0b"}, headers=SAME).status_code == 422
        noa.post(f"{to}/resolve", headers=SAME)


def test_the_list_and_the_page_say_what_a_call_was_and_what_to_do(house: ConsoleHouse) -> None:
    escalation, _ = handed_over(house, "shop-he")
    with house.visitor("noa") as noa, house.visitor("rita") as rita:
        for path in ("/escalations", f"/escalations/{escalation}"):
            assert "Refund order 12" in noa.get(path).text, path
        assert "Look it up in the system behind the tool." in noa.get(f"/escalations/{escalation}").text
        assert "Look it up" not in rita.get(f"/escalations/{escalation}").text


def test_a_new_escalation_appears_and_is_counted_while_one_looks(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("noa") as page:
        page.goto("/approvals")
        page.wait_for_selector("#count-approvals:not([hidden])")
        before, rows = int(page.inner_text("#count-approvals")), page.locator("#found tbody tr").count()
        page.wait_for_timeout(700)
        proposed(house, "12350")
        eventually(page, lambda: page.locator("#found tbody tr").count() == rows + 1)
        eventually(page, lambda: page.inner_text("#count-approvals") == str(before + 1))


def test_exactly_what_was_shown_runs_once(browsing: Browsing, house: ConsoleHouse) -> None:
    approval = proposed(house, "12345")
    with browsing.as_("noa") as page:
        page.goto(f"/approvals/{approval}")
        assert page.locator("#arguments dd").first.inner_text() == "12345"
        page.click("form[action$='/approve'] button")
        page.wait_for_selector(".notice.good")
        assert page.locator("form[action$='/approve']").count() == 0
        assert page.locator(".step.tool .badge.succeeded").count() == 1
    with house.visitor("noa") as visitor:
        seen = visitor.get(f"/v1/approvals/{approval}").json()
        again = visitor.post(f"/approvals/{approval}/approve", data={"hash": seen["hash"]}, headers=SAME)
        assert (seen["state"], seen["settled_by"], again.status_code) == ("consumed", "noa", 409)


def test_a_changed_call_is_ruled_on_and_waits_anew(browsing: Browsing, house: ConsoleHouse) -> None:
    approval = proposed(house, "12346")
    with browsing.as_("noa") as page:
        page.goto(f"/approvals/{approval}")
        page.click("[data-opens=edit]")
        page.fill("[name='field.order_id']", "12349")
        page.fill("[name='field.reason']", "wrong number")
        page.click("#edit button.primary")
        page.wait_for_selector("[role=status]")
        shown = page.inner_text("#arguments")
        assert ("12349" in shown, "12346" in shown, "wrong number" in shown) == (True, True, True), "what it is and was"
        assert page.inner_text("[role=status]") == "Changed: this is the new call. Somebody else has to approve it."
        assert page.locator("form[action$='/approve']").count() == 0, "who changed it does not approve it"
        assert not page.url.split("?")[0].endswith(approval)
        page.click("form[action$='/deny'] button")
        page.wait_for_selector("[role=status]")
        assert page.locator("form[action$='/approve']").count() == 0


def test_a_change_that_the_tool_would_not_take_says_why_and_keeps_what_was_written(house: ConsoleHouse) -> None:
    approval = proposed(house, "12346")
    with house.visitor("noa") as noa:
        hash_ = re.search(r'name="hash" value="([^"]+)"', noa.get(f"/approvals/{approval}").text)
        assert hash_ is not None
        form = {"hash": hash_[1], "field.order_id": "abc", "field.reason": "wrong number"}
        refused = noa.post(f"/approvals/{approval}/edit", data=form, headers=SAME)
        assert refused.status_code == 422
        assert "“order_id” is not written as the tool takes it" in refused.text
        assert "five digits" in refused.text
        for written in ("abc", "wrong number"):
            assert f'value="{written}"' in refused.text, "in the form again"
        denied = noa.post(f"/approvals/{approval}/deny", data={"hash": hash_[1]}, headers=SAME)
        assert "Denied; nothing ran." in noa.get(denied.headers["location"]).text


def test_an_approval_says_who_asked_and_where(house: ConsoleHouse) -> None:
    approval = proposed(house, "12345")
    with house.visitor("noa") as visitor:
        talk = visitor.get(f"/v1/approvals/{approval}").json()["conversation_id"]
        page = visitor.get(f"/approvals/{approval}").text
    assert "Asked by" in page
    assert f'href="/conversations/shop/{talk}"' in page
    assert '"order_id"' not in page.split('id="arguments"')[1].split("</section>")[0], "no raw JSON"


@pytest.mark.parametrize("order", ["12343", None])
def test_a_change_that_changes_nothing_is_none(house: ConsoleHouse, order: str | None) -> None:
    approval = proposed(house, "12343")
    with house.visitor("noa") as visitor:
        hash_ = visitor.get(f"/v1/approvals/{approval}").json()["hash"]
        said = {"hash": hash_} if order is None else {"hash": hash_, "field.order_id": order}
        answer = visitor.post(f"/approvals/{approval}/edit", data=said, headers=SAME)
        assert answer.status_code == 422
        assert "Nothing is changed" in unescape(answer.text)
        assert visitor.get(f"/v1/approvals/{approval}").json()["state"] == "pending"


def test_a_decision_on_something_else_than_was_shown_is_refused(house: ConsoleHouse) -> None:
    approval = proposed(house, "12347")
    with house.visitor("noa") as visitor:
        answer = visitor.post(f"/approvals/{approval}/approve", data={"hash": "something else"}, headers=SAME)
        assert answer.status_code == 409
        assert visitor.get(f"/v1/approvals/{approval}").json()["state"] == "pending"
        hash_ = visitor.get(f"/v1/approvals/{approval}").json()["hash"]
        assert visitor.post(f"/approvals/{approval}/deny", data={"hash": hash_}, headers=SAME).status_code == 303
    with house.visitor("root") as late:
        answer = late.post(f"/approvals/{approval}/approve", data={"hash": hash_}, headers=SAME)
        assert answer.status_code == 409
        assert "Already decided: denied by noa at " in answer.text
        assert "Exactly this was asked for" in answer.text


@pytest.mark.parametrize(("language", "said"), [("en", "Already decided: "), ("he", "כבר הוכרע"), ("ru", "Уже решено")])
def test_of_two_who_decide_at_once_the_second_is_told_who_was_first(
    house: ConsoleHouse, language: str, said: str
) -> None:
    approval = proposed(house, "12347")
    with house.visitor("noa") as noa, house.visitor("root") as root:
        shown = noa.get(f"/v1/approvals/{approval}").json()
        form = {"data": {"hash": shown["hash"]}, "headers": SAME}
        talk = shown["conversation_id"]
        with ThreadPoolExecutor(2) as pool:
            with answered_elsewhere(house, talk):
                for one in (noa, root):
                    one.cookies.set("circumspect_language", language)
                sent = [
                    pool.submit(noa.post, f"/approvals/{approval}/approve", **form),
                    pool.submit(root.post, f"/approvals/{approval}/deny", **form),
                ]
                wait_until(lambda: len(house.app.state.services.turns) == 2)
            answers = {one.result().status_code: one.result() for one in sent}
        assert answers.keys() == {303, 409}
        late = unescape(answers[409].text)
        assert said in late
        assert (noa.get(f"/v1/approvals/{approval}").json()["settled_by"] or "nobody") in late
        assert len(re.findall(f'"subject":"{approval}"', root.get("/v1/admin/log").text)) == 1
        first = unescape(noa.get(answers[303].headers["location"]).text)
        assert ("It ran, exactly as shown." in first) + ("Denied; nothing ran." in first) == (language == "en")


def test_what_an_address_says_of_an_approval_is_not_believed(house: ConsoleHouse) -> None:
    approval = proposed(house, "12347")
    with house.visitor("noa") as visitor:
        for outcome in ("acted", "answered"):
            page = visitor.get(f"/approvals/{approval}?outcome={outcome}").text
            assert 'class="notice good" role="status"' not in page, outcome
        assert "Changed: this is the new call" not in visitor.get(f"/approvals/{approval}?outcome=asked").text
        hash_ = visitor.get(f"/v1/approvals/{approval}").json()["hash"]
        visitor.post(f"/approvals/{approval}/deny", data={"hash": hash_}, headers=SAME)
        for outcome in ("acted", "asked", "blocked"):
            page = visitor.get(f"/approvals/{approval}?outcome={outcome}").text
            assert 'role="status">' not in page.split("<h1")[1].split("<h2")[0], outcome
