"""Seeded schedules of crashes, pauses, lost answers and wrong clocks over the real pipeline and the real statements.

None of them does harm; the same seed is the same schedule, to the line; and what guards against harm is missed at once
when it is taken out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.simulation.schedule import play, play_many

from circumspect.stores import ledger
from circumspect.stores.statements import sql

SEEDS = range(300)
EVENTFUL = 12
"""A seed whose schedule has several workers and several kinds of faults."""


def test_no_schedule_does_harm():
    harmful = {one.seed: one.harms for one in play_many(SEEDS) if one.harms}
    assert not harmful, "replay one with `python -m bench.schedules --seed N`"


EVENTS = (
    "dies", "stands still for", "its clock is off", "is asked to stop", "is started", "refused", "its answer is lost",
    "lease_lost", "busy", "give_back", "claim_expired", "swept", "not found", "the shop refuses", "the model fails",
    "the model lies", "comes twice", "button is pressed twice",
)  # fmt: skip


def test_schedules_are_eventful():
    played = [play(seed, with_log=True) for seed in range(150)]
    log = "\n".join(line for one in played for line in one.log if "faults:" not in line)
    assert [event for event in EVENTS if event not in log] == []
    assert sum(one.effects for one in played) > len(played) / 2


def test_the_same_seed_is_the_same_schedule_to_the_line():
    here = play(EVENTFUL, with_log=True)
    assert here.log == play(EVENTFUL, with_log=True).log
    command = [sys.executable, "-m", "bench.schedules", "--seed", str(EVENTFUL)]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    elsewhere = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], env=environment
    )
    assert "\n".join(here.log) in elsewhere.stdout


def _begin_without_using_up(connection, execution, token, by="", *, real=ledger.begin_call):
    return real(connection, replace(execution, intent=None), token, by)


SABOTAGE = {
    "the fencing token": ("_HOLDS", sql(ledger._HOLDS.sqlite.replace("AND lease_token = :token", ""))),
    "the single use of a yes": ("begin_call", _begin_without_using_up),
    "the ledger's beginning": ("begin_call", lambda *_: True),
}
STRAINS = {
    "the fencing token": ("worker stands still",),
    "the single use of a yes": ("button is pressed twice",),
    "the ledger's beginning": ("worker dies",),
}
"""The kind of fault that each guard is there for: with only these, few schedules are needed to miss it."""


@pytest.mark.parametrize("guard", SABOTAGE)
def test_a_guard_that_is_taken_out_is_missed(guard, monkeypatch):
    monkeypatch.setattr(ledger, *SABOTAGE[guard])
    harms = (harm for one in play_many(range(500), STRAINS[guard]) for harm in one.harms)
    assert next((harm for harm in harms if harm.startswith("twice")), None), "no schedule missed it"
