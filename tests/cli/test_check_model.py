"""`check-model`: what is measured, that nothing is lost, and that a model that is not there is said to be that."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.models.provider_server import ProviderServer
from tests.models.wire_formats import Answer

from circumspect.lab.model_check import checking
from circumspect.lab.model_check.cases import read_cases
from circumspect.lab.model_check.checking import MARKS, ModelCheckOutcome, report
from circumspect.models.scripted import says


def test_there_are_enough_cases_in_three_languages_and_each_has_a_name_of_its_own():
    cases = read_cases()
    assert len({case.id for case in cases}) == len(cases) >= 60
    assert {case.language for case in cases} == {"en", "he", "ru"}
    assert 10 < len(read_cases(quick=True)) < 30


def test_a_quick_look_at_the_offline_model(run):
    ran = run("check-model", "offline", "--quick", "--json")
    told = json.loads(ran.out)
    assert told["complete"]
    assert told["shares"]["format"] == 1.0
    assert told["played"] == len(read_cases(quick=True)) == len(ran.err.splitlines())
    assert ran.code == (1 if told["below"] else 0)
    assert {one["case"]: one["proposed"] for one in told["outcomes"]}["en-cancel"] == ["cancel_order"]


def test_after_an_interruption_there_is_a_report_on_what_was_played(run, monkeypatch):
    played = checking.check_case

    async def check(agent, case):
        if case.id != read_cases(quick=True)[0].id:
            raise KeyboardInterrupt
        return await played(agent, case)

    monkeypatch.setattr(checking, "check_case", check)
    ran = run("check-model", "offline", "--quick")
    assert ran.code == 130
    assert f"1 of {len(read_cases(quick=True))} cases" in ran.out


async def test_a_model_behind_an_address_is_tried_and_what_it_garbles_is_counted(run):
    async with ProviderServer() as server:
        server.plays(*[Answer(says("Let me have a look at that for you."))] * 200)
        ran = await asyncio.to_thread(run, "check-model", f"openai:m@{server.url}/v1", "--quick", "--json")
    told = json.loads(ran.out)
    assert ran.code == 1
    assert {"format", "tools"} <= set(told["below"])
    assert {one["format"] for one in told["outcomes"] if "form" in one["case"]} == {"broken"}
    assert told["input_tokens"] > 0


def test_a_model_that_is_not_there_is_said_to_be_that(run):
    ran = run("check-model", "openai:m@http://127.0.0.1:9/v1;timeout=1", "--quick")
    ran.refused("gave no answer", "Check its address")


def test_what_a_model_makes_up_claims_and_garbles_is_counted():
    def outcome(**said: object) -> ModelCheckOutcome:
        return ModelCheckOutcome("c", "en", **{"format": "kept", "tool": True, **said})  # type: ignore[arg-type]

    made = report("m", [outcome(), outcome(format="broken", tool=False), outcome(values=False, false_claim=True)], 5)
    assert (made.played, made.cases) == (3, 5)
    assert made.shares["format"] == pytest.approx(2 / 3)
    assert made.shares["claims"] == pytest.approx(2 / 3)
    assert made.shares["language"] is None
    assert set(made.below) == set(MARKS) - {"language"}
