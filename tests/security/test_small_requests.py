"""A small request makes small work: while it is sent again and again, everybody else is served."""

from __future__ import annotations

import pytest
from tests.security.attacks import ATTACKS, attack
from tests.security.fortress import Fortress

TIMES = 10
SLOWEST = 5.0
"""Seconds that `/healthz` may wait on a busy machine. Each of these requests alone took longer than that, or for ever:
`python -m bench.attacks` prints what they take where nothing else runs."""
LIMIT = 0.25
"""Seconds of computing in which the loop serves nobody else: those do not depend on what else the machine does."""


@pytest.mark.parametrize("name", ATTACKS)
def test_everybody_else_is_served_while_it_is_sent(fortress: Fortress, name: str) -> None:
    found = attack(fortress, name, TIMES)
    assert len(found.statuses) == TIMES
    assert max(found.statuses) < 500, found.statuses
    assert len(found.waits) >= TIMES, "health was asked less often than the attack was sent"
    assert max(found.waits) < SLOWEST, sorted(found.waits)[-5:]
    assert found.held < LIMIT
    assert fortress.find_held_longest(0)[0] > 0, "nobody looked at the clock: a server that starts computes for a while"


def test_what_is_too_large_is_named_with_its_limit(fortress: Fortress) -> None:
    with fortress.client(fortress.token) as client:
        refused = ATTACKS["definitions that double, in tools"](client, 0)
        assert refused.status_code in (400, 422), refused.text
        assert "more than 50,000 parts" in refused.text
        audited = ATTACKS["definitions that double, in a transcript"](client, 0)
        assert "more than 50,000 parts" in audited.text
