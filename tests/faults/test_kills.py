"""kill -9 of the worker at every point of a destructive turn: nothing twice, nothing lost, nothing unasked.

What a tool's recovery class decides does not depend on the database, so that PostgreSQL has one of them here; the bench
kills for all of them on both.
"""

from __future__ import annotations

import pytest
from tests.faults.killing import LEASES, Kills, asked_and_said_yes, killed_everywhere
from tests.faults.shops import RECOVERIES
from tests.faults.site import Site
from tests.patience import ENDURANCE

pytestmark = pytest.mark.timeout(ENDURANCE)
"""Each kill is followed by the start of a worker, which takes a second or two of computing."""


def died_around(kills: Kills, *writes: str) -> bool:
    return all(
        place in kills.points
        for write in writes
        for place in (f"before {write}", f"before the commit of {write}", f"after the commit of {write}")
    )


@pytest.mark.parametrize(
    ("database", "recovery"),
    [*(("sqlite", one) for one in RECOVERIES), pytest.param("postgres", "lookup", marks=pytest.mark.postgres)],
    indirect=["database"],
)
def test_a_worker_killed_anywhere_in_the_turn_that_runs_the_call(site: Site, recovery: str) -> None:
    kills = killed_everywhere(site, recovery, message=1)
    print(f"{len(kills.points)} kills: {dict(kills.findings.states)}, {kills.findings.effects} effects")
    assert died_around(kills, "open_turn", "begin_call", "finish_call", "close_turn")
    assert {"in the tool, before its effect", "in the tool, after its effect"} <= set(kills.points)
    assert kills.findings.faults == {}
    assert kills.findings.calls == kills.findings.talks, "every yes was used once"
    if recovery == "keyed":
        assert kills.findings.states == {"succeeded": kills.findings.talks}
    if recovery == "lookup":
        assert {count for _, count in kills.doubts} == {0}, "what can be found was found"
    if recovery == "blind":
        assert {count for _, count in kills.doubts} == {0, 1}
    for trail, _ in kills.doubts:
        assert "after the commit of begin_call" in trail, "only a call that was under way can be in doubt"
        assert "after the commit of finish_call" not in trail, "what was recorded is not in doubt"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_worker_killed_anywhere_in_the_turn_that_asks(site: Site) -> None:
    kills = killed_everywhere(site, "blind", message=0)
    print(f"{len(kills.points)} kills: {dict(kills.findings.states)}, {kills.findings.effects} effects")
    assert died_around(kills, "open_turn", "close_turn")
    assert {"before model.complete", "after model.complete"} <= set(kills.points)
    assert kills.findings.faults == {}
    assert kills.findings.states == {"succeeded": kills.findings.talks}
    assert kills.findings.effects == kills.findings.talks


def test_a_yes_that_is_sent_again_after_its_worker_died_ends_as_its_call_did(site: Site) -> None:
    said = asked_and_said_yes("lookup", "c1")
    site.start()
    site.converse("lookup", "c1")
    site.insist(said[0])
    site.hold("after")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    site.kill(site.workers[-1])
    assert not answer.result().status
    site.move_clock(LEASES)
    result = site.insist(said[1])
    assert result["reply"].startswith("Done: ")
    assert result["outcome"] == "acted"
