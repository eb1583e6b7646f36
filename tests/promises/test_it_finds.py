"""The trial is worth something: with any one of these taken out, it finds what then runs."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test
from tests.promises.doors import ConversationApi, Library, McpGateway, Widget
from tests.promises.play import Violation

from circumspect import wording
from circumspect.server import gateway
from circumspect.steps import endings
from circumspect.stores import turn_opening
from circumspect.wording import Description

SETTLE = sys.modules["circumspect.steps.settle"]
"""The package has the function under the module's name."""

UNTIL_FOUND = settings(
    max_examples=150,
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def show_less(call, spec, language, phrase=None, wholes=None):
    return Description(wording.action(call, spec, language, phrase))


def take_anything_for_a_yes(answer):
    return answer.action == "accept" and bool((answer.content or {}).get("confirm"))


TAKEN_OUT = {
    "values are shown whole": (Library, wording, "describe_call", show_less),
    "a form says yes or it does not": (McpGateway, gateway, "_parse_consent", take_anything_for_a_yes),
    "a conversation is its person's": (Library, turn_opening, "_require_owner", lambda *_: None),
    "a question was read before its yes": (ConversationApi, SETTLE, "_was_read", lambda *_: True),
    "a yes in the other window": (Widget, SETTLE, "_was_read", lambda *_: True),
    "a question lasts five minutes": (Library, endings, "timedelta", lambda seconds: timedelta(seconds=60 * seconds)),
}


@pytest.mark.parametrize("what", TAKEN_OUT)
def test_it_is_found_when_this_is_taken_out(what, stage, monkeypatch):
    door, module, name, instead = TAKEN_OUT[what]
    monkeypatch.setattr(module, name, instead)
    machine, tally = stage.machine(door)
    with pytest.raises((Violation, FlakyFailure)) as found:
        run_state_machine_as_test(machine, settings=UNTIL_FOUND)
    # The server goes on between two tries, so the same steps need not do it again; what was seen was seen.
    assert isinstance(found.value, Violation) or found.value.subgroup(Violation)
    assert tally.steps < 4_500
