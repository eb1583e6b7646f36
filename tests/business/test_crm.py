"""Leads in the embedded CRM, and in one over HTTP that names everything differently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.business.conftest import MONDAY, Office
from tests.business.crm_server import TOKEN, CrmServer
from tests.patience import PATIENCE

from circumspect.business import RestCrm
from circumspect.clock import FixedClock
from circumspect.errors import ConfigError, ToolError, ToolTimeout
from circumspect.running import recover
from circumspect.values import ConversationId, Execution, ExecutionId, TenantId, ToolCall, TurnId

DANA = "dana@example.com"


@pytest.fixture
def server() -> Iterator[CrmServer]:
    with CrmServer() as running:
        yield running


@pytest.fixture
def settings(server: CrmServer) -> RestCrm:
    return RestCrm(
        server.url,
        find="/people?mail={email}",
        results="data.people",
        update="PATCH /people/{id}",
        create="POST /people",
        id_field="uid",
        fields={"email": "mail", "company": "organisation", "note": "remarks"},
        headers={"authorization": f"Bearer {TOKEN}"},
        timeout=PATIENCE,
    )


@pytest.fixture(params=["embedded", "http"])
def office(request, embedded) -> Office:
    return embedded() if request.param == "embedded" else embedded(crm=request.getfixturevalue("settings"))


async def test_a_lead_is_made_found_and_changed(office):
    assert await office.call("find_lead", email=DANA) == {"found": False, "lead": None}
    await office.call("update_lead", "k1", email=DANA, name="Dana Levi", company="Acme Corp", status="new")
    told = await office.call("update_lead", "k2", email=DANA, company="Levi & Sons", note="20 seats, in May")
    assert told["updated"] is True
    lead = (await office.call("find_lead", email=DANA))["lead"]
    assert {name: lead[name] for name in ("name", "company", "status", "note")} == {
        "name": "Dana Levi", "company": "Levi & Sons", "status": "new", "note": "20 seats, in May",
    }  # fmt: skip


async def test_an_address_is_the_same_in_capitals(office):
    await office.call("update_lead", email=DANA, name="Dana")
    assert (await office.call("find_lead", email="DANA@Example.com"))["lead"]["name"] == "Dana"


async def test_a_longer_address_is_somebody_else(office):
    await office.call("update_lead", email=f"x{DANA}", name="Somebody")
    assert (await office.call("find_lead", email=DANA))["found"] is False


async def test_an_update_without_anything_to_change_is_refused(office):
    with pytest.raises(ToolError, match="nothing to change"):
        await office.call("update_lead", email=DANA)


@pytest.mark.parametrize("change", [{"status": "vip"}, {"phone": "call me"}, {"name": "x" * 121}, {"boss": "me"}])
async def test_values_that_a_lead_cannot_have_are_refused(office, change):
    with pytest.raises(ToolError):
        await office.call("update_lead", email=DANA, **change)
    assert (await office.call("find_lead", email=DANA))["found"] is False


async def test_text_that_looks_like_sql_or_a_path_is_text(office):
    nasty = "'; DROP TABLE leads; -- /../{id}"
    await office.call("update_lead", email="o'hara+x@example.com", name=nasty)
    assert (await office.call("find_lead", email="o'hara+x@example.com"))["lead"]["name"] == nasty


async def test_a_repeated_update_does_not_undo_a_later_one(embedded):
    shop = embedded()
    await shop.call("update_lead", "first", email=DANA, status="contacted")
    await shop.call("update_lead", "second", email=DANA, status="qualified")
    await shop.call("update_lead", "first", email=DANA, status="contacted")
    assert (await shop.call("find_lead", email=DANA))["lead"]["status"] == "qualified"


async def test_many_updates_of_one_lead_at_once_all_arrive(embedded):
    shop = embedded()
    fields = [
        {"name": "Dana"},
        {"company": "Acme"},
        {"phone": "+972 50 1234567"},
        {"status": "qualified"},
        {"note": "x"},
    ]
    await asyncio.gather(*(shop.call("update_lead", f"k{at}", email=DANA, **field) for at, field in enumerate(fields)))
    lead = (await shop.call("find_lead", email=DANA))["lead"]
    assert all(lead.items() >= field.items() for field in fields)


# --- over HTTP -------------------------------------------------------------------------------------------------------


async def test_two_leads_with_one_address_are_not_guessed_between(embedded, settings, server):
    server.people += [{"uid": 1, "mail": DANA}, {"uid": 2, "mail": DANA.upper()}]
    with pytest.raises(ToolError, match="several leads"):
        await embedded(crm=settings).call("update_lead", email=DANA, name="Dana")


@pytest.mark.parametrize("mood", ["409", "429", "404"])
async def test_a_refusal_is_a_failure_and_repeats_nothing_that_the_server_said(embedded, settings, server, mood):
    server.mood["POST"] = mood
    with pytest.raises(ToolError) as refused:
        await embedded(crm=settings).call("update_lead", email=DANA, name="Dana")
    assert not isinstance(refused.value, ToolTimeout)
    assert "secret" not in str(refused.value)
    assert DANA not in str(refused.value)


@pytest.mark.parametrize("mood", ["500", "hang", "cut before", "cut after"])
async def test_a_change_that_broke_off_leaves_the_outcome_open(embedded, settings, server, mood):
    server.mood["POST"] = mood
    waits = replace(settings, timeout=1.0) if mood == "hang" else settings
    with pytest.raises(ToolTimeout, match="not known"):
        await embedded(crm=waits).call("update_lead", email=DANA, name="Dana")


@pytest.mark.parametrize("mood", ["garbage"])
async def test_an_answer_that_cannot_be_read_is_a_failure_when_asking(embedded, settings, server, mood):
    server.mood["GET"] = mood
    with pytest.raises(ToolError, match="no JSON"):
        await embedded(crm=settings).call("find_lead", email=DANA)


async def test_leads_that_are_not_where_they_should_be_are_said_to_be_missing(embedded, settings):
    with pytest.raises(ToolError, match="results"):
        await embedded(crm=replace(settings, results="items")).call("find_lead", email=DANA)


async def test_a_wrong_token_is_a_refusal_that_does_not_show_it(embedded, settings):
    wrong = replace(settings, headers={"authorization": "Bearer guess-me"})
    with pytest.raises(ToolError, match="credentials") as refused:
        await embedded(crm=wrong).call("find_lead", email=DANA)
    assert "guess-me" not in str(refused.value) + repr(wrong)


def started(name: str, recovery: str) -> Execution:
    call = ToolCall("update_lead", {"email": DANA, "name": name})
    return Execution(
        ExecutionId("exec_1"), TenantId("t"), ConversationId("c"), TurnId("u"), call, "write", recovery, "started",
        "tok", MONDAY, MONDAY,
    )  # fmt: skip


@pytest.mark.parametrize(("mood", "state"), [("cut after", "succeeded"), ("cut before", "indeterminate")])
async def test_an_interrupted_change_is_looked_up_and_never_sent_again(embedded, settings, server, mood, state):
    shop = embedded(crm=settings)
    server.mood["POST"] = mood
    with pytest.raises(ToolTimeout):
        await shop.call("update_lead", "exec_1", email=DANA, name="Dana")
    server.mood.clear()
    recovery = shop.tools.specs()["update_lead"].recovery
    ended = await recover(started("Dana", recovery), shop.tools, FixedClock(MONDAY), 5)
    assert (recovery, ended.state) == ("lookup", state)
    assert [method for method, _, _ in server.requests].count("POST") == 1


async def test_a_crm_that_honours_keys_is_asked_again_under_the_same_key(embedded, settings, server):
    shop = embedded(crm=replace(settings, idempotency_header="Idempotency-Key"))
    assert shop.tools.specs()["update_lead"].recovery == "keyed"
    await shop.call("update_lead", "exec_1", email=DANA, name="Dana")
    assert [headers.get("idempotency-key") for method, _, headers in server.requests if method == "POST"] == ["exec_1"]


def test_a_definition_without_a_method_is_met_at_start():
    with pytest.raises(ConfigError):
        RestCrm("https://crm.example", update="/leads/{id}")
    with pytest.raises(ConfigError):
        RestCrm("crm.example")
