"""`circumspect approvals` and `circumspect escalations`: what waits for a person, decided at the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.cli.conftest import Run

from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.policy.rules import RULES_FOR_BARE_CALLS
from circumspect.server.config import Settings
from circumspect.server.services import Services, open_services
from circumspect.stores.tables import escalations, intents, tool_executions
from circumspect.values import ConversationId, Incoming, OutsideCall, TenantId, ToolCall, TurnId

SECRET = "a secret key for tests only which is long enough"
SETTINGS = Settings(database="sqlite:///.circumspect/circumspect.db", secret_key=SECRET)


@pytest.fixture(autouse=True)
def shop(folder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", SECRET)
    monkeypatch.setenv("LOGNAME", "dora")
    with_services(lambda services: apply_samples(services.store, SETTINGS))


def with_services(body: Callable[[Services], Awaitable[object]]) -> object:
    async def run() -> object:
        async with open_services(SETTINGS) as services:
            return await body(services)

    return asyncio.run(run())


def ask(account: str) -> str:
    """The id of an approval for a call that came by this account."""

    async def propose(services: Services) -> str:
        setup = replace(await services.directory.setup(TenantId("shop")), rules=RULES_FOR_BARE_CALLS)
        incoming = Incoming(
            setup.tenant.id,
            ConversationId("c1"),
            TurnId(services.ids.new("turn")),
            "",
            services.clock.now(),
            account=account,
            errand=OutsideCall(ToolCall("cancel_order", {"order_id": "12345"})),
        )
        turn = await services.turns.take(incoming, setup)
        assert turn.pending is not None, turn
        return turn.pending.id

    return str(with_services(propose))


def test_a_login_that_changed_a_call_does_not_approve_it_and_is_told_who_may(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = json.dumps({"order_id": "12345", "reason": "mine"})
    edited = run("approvals", "edit", ask("key:till"), arguments, "--json")
    held = json.loads(edited.out)["pending"]["intent_id"]
    own = run("approvals", "approve", held)
    assert own.code == 1
    assert "APPROVER_REFUSED" in own.out
    assert "command line: dora changed this call. An operator has to approve it who neither" in own.out
    monkeypatch.setenv("LOGNAME", "eli")
    assert "EXECUTED_SUCCESSFULLY" in run("approvals", "approve", held).out


def test_a_login_is_the_operator_of_that_name(run: Run) -> None:
    held = ask("dora")
    refused = run("approvals", "approve", held)
    assert (refused.code, "dora proposed this call" in refused.out) == (1, True)
    assert "dora" in json.loads(run("approvals", "show", held, "--json").out)["proposed_by"]


def test_an_approval_is_shown_with_the_facts_it_rests_on(run: Run) -> None:
    held = ask("key:till")
    assert "\nfacts           none\n" in run("approvals", "show", held).out

    def establish(connection: sa.Connection) -> None:
        connection.execute(sa.update(intents).values(facts=[{"place": "latest.get_order.status", "value": "paid"}]))

    with_services(lambda services: services.store.tx(establish))
    assert '  latest.get_order.status = "paid"\n' in run("approvals", "show", held).out


def test_a_call_that_nobody_knows_of_is_resolved_with_its_outcome(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    held = ask("key:till")
    run("approvals", "approve", held)

    def lose_answer(connection: sa.Connection) -> None:
        """As if the tool had not answered."""
        execution = connection.execute(
            sa.update(tool_executions).values(state="indeterminate").returning(tool_executions.c.id)
        ).scalar_one()
        connection.execute(sa.update(escalations).values(execution=execution, state="open"))

    with_services(lambda services: services.store.tx(lose_answer))
    (row,) = json.loads(run("escalations", "list", "--json").out)
    assert row["asks_outcome"] is True
    run("escalations", "resolve", row["id"]).refused("Nobody knows yet how the call", "say the outcome")
    assert "is open" in run("escalations", "resolve", row["id"], "--outcome", "unknown").out
    assert "is resolved" in run("escalations", "resolve", row["id"], "--outcome", "happened").out
    assert run("escalations", "list").out == "Nothing waits.\n"
