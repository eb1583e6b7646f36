"""A small request makes small work: while it is sent again and again, everybody else is served."""

from __future__ import annotations

import pytest
from tests.security.attacks import ATTACKS, attack
from tests.security.fortress import Fortress

TIMES = 10
OF_LONG = 3
"""Of those that are read in a process of their own, for as long as it may take."""
LIMIT = 0.25
"""Seconds of computing in which the loop serves nobody else: those do not depend on what else the machine does, as the
wait for `/healthz` does, which `python -m bench.attacks` prints."""


@pytest.mark.parametrize("name", ATTACKS)
def test_everybody_else_is_served_while_it_is_sent(fortress: Fortress, name: str) -> None:
    times = OF_LONG if "document" in name or "audited" in name else TIMES
    found = attack(fortress, name, times)
    assert len(found.statuses) == times
    assert max(found.statuses) < 500, found.statuses
    assert len(found.waits) >= times, "health was asked less often than the attack was sent"
    assert found.held < LIMIT
    assert fortress.find_held_longest(0)[0] > 0, "nobody looked at the clock: a server that starts computes for a while"


def test_what_is_too_large_is_named_with_its_limit(fortress: Fortress) -> None:
    with fortress.client(fortress.token) as client:
        refused = ATTACKS["definitions that double, in tools"](client, 0)
        assert refused.status_code in (400, 422), refused.text
        assert "more than 50,000 parts" in refused.text
        audited = ATTACKS["definitions that double, in a transcript"](client, 0)
        assert "more than 50,000 parts" in audited.text
