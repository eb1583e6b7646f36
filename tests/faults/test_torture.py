"""Workers killed and stopped at random under a crowd: everybody is answered, truly, and nothing happens twice or unasked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.faults.back_end import BackEnd
from tests.faults.site import Site
from tests.faults.torture import make_options, torture


@pytest.mark.slow
def test_a_crowd_over_two_workers_that_keep_dying_is_told_the_truth(
    open_site: Callable[..., Site], back_end: BackEnd
) -> None:
    seed = random.randrange(10**6)
    made = torture(open_site(**make_options(back_end)), back_end, conversations=42, seconds=10, seed=seed)
    print(f"seed {seed}: {made}")
    assert made.faults["killed"]
    assert made.report.faults == {}
    assert made.effects
    assert made.report.claims["done"]
    assert made.report.claims["passed on"]
