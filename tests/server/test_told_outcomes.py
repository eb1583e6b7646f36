"""A call whose outcome nobody knows: whoever resolves it says what became of it, and what follows comes from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.server.house import House, is_a_problem, say

from circumspect.errors import ToolTimeout
from circumspect.ports import Tools
from circumspect.setup import TurnSetup
from circumspect.values import Json, TenantId, ToolSpec


class Lossy:
    """The shop's tools, whose first answer to a cancellation is lost."""

    def __init__(self, tools: Tools, made: list[Mapping[str, Json]]) -> None:
        self.tools, self.made = tools, made

    def specs(self) -> Mapping[str, ToolSpec]:
        return {name: replace(spec, recovery="blind") for name, spec in self.tools.specs().items()}

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        if name != "cancel_order":
            return await self.tools.call(name, arguments, key)
        self.made.append(arguments)
        if len(self.made) == 1:
            raise ToolTimeout("no answer in 30 s")
        return "cancelled"

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None


@pytest.fixture
def made(both: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Mapping[str, Json]]]:
    """Every cancellation that reached the shop."""
    reached: list[Mapping[str, Json]] = []
    directory = both.app.state.services.directory
    setup_of = directory.setup

    async def setup(tenant: TenantId) -> TurnSetup:
        found: TurnSetup = await setup_of(tenant)
        return replace(found, ports=replace(found.ports, tools=Lossy(found.ports.tools, reached)))

    monkeypatch.setattr(directory, "setup", setup)
    return reached


def lose(house: House, client: httpx.Client) -> tuple[str, str]:
    """A conversation in which a confirmed call got no answer, and its escalation."""
    talk = house.conversation(client)
    assert say(client, talk, "cancel order 12345")["pending"]["kind"] == "confirmation"
    assert "OUTCOME_UNKNOWN" in say(client, talk, "yes")["reason_codes"]
    rows = house.operator("noa").get("/v1/escalations?state=open").json()["items"]
    (row,) = [one for one in rows if one["conversation_id"] == talk]
    assert row["asks_outcome"] is True
    return talk, f"/v1/escalations/{row['id']}"


def insist(client: httpx.Client, talk: str) -> list[dict[str, Any]]:
    """The customer asks again, and says yes to whatever is asked."""
    return [say(client, talk, words) for words in ("cancel order 12345", "yes", "cancel order 12345", "yes")]


def test_it_is_not_resolved_without_its_outcome(both: House, made: list[Mapping[str, Json]]) -> None:
    noa = both.operator("noa")
    _, escalation = lose(both, both.key())
    for body in ({}, {"json": {}}, {"json": {"outcome": None}}):
        is_a_problem(noa.post(f"{escalation}/resolve", **body), 422, "outcome_needed")
    is_a_problem(noa.post(f"{escalation}/resolve", json={"outcome": "perhaps"}), 422, "invalid")
    assert noa.get(escalation).json()["state"] == "open"


def test_what_happened_is_not_done_a_second_time(both: House, made: list[Mapping[str, Json]]) -> None:
    client, noa = both.key(), both.operator("noa")
    talk, escalation = lose(both, client)
    done = noa.post(f"{escalation}/resolve", json={"outcome": "happened"}).json()
    assert (done["state"], done["asks_outcome"], done["resolved_by"]) == ("resolved", False, "noa")
    turns = insist(client, talk)
    assert len(made) == 1, "the customer insisted, and it still ran once"
    assert turns[0]["reply"].startswith("(A colleague looked into it: cancel order 12345. It went through.)")
    assert "REPEATED_CALL" in turns[0]["reason_codes"]
    assert "REPEATED_CALL" in turns[2]["reason_codes"], "not only in the turn that tells"
    assert all("A colleague looked into it" not in one["reply"] for one in turns[1:]), "told once"
    seen = noa.get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
    (told,) = [one for one in seen if one["reason_code"] == "OUTCOME_TOLD"]
    assert (told["meta"]["outcome"], told["meta"]["told_by"]) == ("happened", "noa")
    (logged, *_) = both.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    assert (logged["action"], logged["detail"]["outcome"]) == ("resolve", "happened")


def test_what_did_not_happen_may_be_asked_for_again(both: House, made: list[Mapping[str, Json]]) -> None:
    client, noa = both.key(), both.operator("noa")
    talk, escalation = lose(both, client)
    assert noa.post(f"{escalation}/resolve", json={"outcome": "not"}).json()["state"] == "resolved"
    again = say(client, talk, "hello")
    assert again["reply"].startswith("(A colleague looked into it: cancel order 12345. It did not go through.)")
    assert say(client, talk, "cancel order 12345")["pending"]["kind"] == "confirmation"
    assert "EXECUTED_SUCCESSFULLY" in say(client, talk, "yes")["reason_codes"]
    assert len(made) == 2


def test_what_is_still_unknown_stays_open_and_is_not_done_again(both: House, made: list[Mapping[str, Json]]) -> None:
    client, noa = both.key(), both.operator("noa")
    talk, escalation = lose(both, client)
    noa.post(f"{escalation}/take")
    still = noa.post(f"{escalation}/resolve", json={"outcome": "unknown"}).json()
    assert (still["state"], still["taken_by"], still["asks_outcome"]) == ("open", None, True)
    turns = insist(client, talk)
    assert len(made) == 1
    assert "OUTCOME_UNKNOWN" in turns[0]["reason_codes"]
    assert both.operator("root").post(f"{escalation}/resolve", json={"outcome": "happened"}).status_code == 200
    insist(client, talk)
    assert len(made) == 1


def test_an_escalation_about_no_call_takes_no_outcome(both: House) -> None:
    client, noa = both.key(), both.operator("noa")
    talk = both.conversation(client)
    taken = noa.post(f"/v1/conversations/{talk}/take").json()["id"]
    resolve = f"/v1/escalations/{taken}/resolve"
    is_a_problem(noa.post(resolve, json={"outcome": "happened"}), 422, "outcome_needed")
    assert noa.post(resolve).json()["state"] == "resolved"
