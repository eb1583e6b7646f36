"""Nothing runs at any door without the right person's yes to exactly that call: everybody tries, at random.

`python -m bench.doors` tries for longer; docs/promises.md has what came of it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.promises.doors import DOORS

PHASES = [Phase.generate]
"""What it finds is made small by `python -m bench.doors`: here that would take longer than a test may."""
FEW = settings(
    max_examples=12, stateful_step_count=30, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_nothing_runs_that_the_right_person_did_not_say_yes_to(door, stage):
    machine, tally = stage.machine(door)
    run_state_machine_as_test(machine, settings=FEW)
    assert tally.steps >= 100
    assert tally.effects, "nothing ran at all, so nothing was tried"
