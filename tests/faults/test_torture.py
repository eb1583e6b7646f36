"""Workers killed at random under a crowd: every message is answered, nothing happens twice or unasked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.faults.site import Site
from tests.faults.torture import options, tortured


@pytest.mark.slow
def test_a_crowd_over_two_workers_that_keep_dying_loses_nothing(open_site: Callable[..., Site]) -> None:
    seed = random.randrange(10**6)
    told = tortured(open_site(**options()), conversations=200, seconds=10, seed=seed)
    print(f"seed {seed}: {told}")
    assert told.kills >= 2
    assert told.lost == 0
    assert told.findings.faults == {}
    assert told.acted
