"""A destructive turn, its worker killed at each point it passes, one after the other, until it passes them all."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

from tests.faults.findings import Findings
from tests.faults.history import Said
from tests.faults.site import Site

CONVERSATION_LEASE = 25.0
"""Moving the clock by this much ends the lease of a dead worker's conversation, which is 20 s."""
LEASES = 80.0
"""Moving it by this much ends that of its call as well, which is 75 s."""
MOST = 200


@dataclass
class Kills:
    """What came of it."""

    points: list[str] = field(default_factory=list)
    """Where the worker died, in order."""
    outcomes: Counter[str] = field(default_factory=Counter)
    doubts: list[tuple[list[str], int]] = field(default_factory=list)
    """The points before an outcome that nobody knows, and how often the effect had happened."""
    findings: Findings = field(default_factory=Findings)


_orders = itertools.count(12345)


def asked_and_said_yes(tenant: str, name: str) -> tuple[Said, Said]:
    order = str(next(_orders))
    return (
        Said(tenant, name, f"cancel order {order}", f"{name}-1", order),
        Said(tenant, name, "yes", f"{name}-2", order, agrees=True),
    )


def killed_everywhere(site: Site, tenant: str, *, message: int) -> Kills:
    """Kill at every point of the first message (which proposes) or of the second (the yes, which runs it)."""
    kills, talks, trails = Kills(), [], {}
    for at in range(1, MOST):
        name = f"{tenant}-{message}-{at}"
        said = asked_and_said_yes(tenant, name)
        if not site.workers:
            site.start()
        site.converse(tenant, name)
        talks.append((tenant, name, list(said)))
        for one in said[:message]:
            assert site.insist(one)["outcome"] == "asked"
        told = site.send(said[message], worker := site.workers[-1], kill=True)
        if not told.status or site.died(worker, 0.2):
            assert site.died(worker), "the worker lives and did not answer"
            trails[name] = (site.folder / "trail").read_text("utf-8").splitlines()
            kills.points.append(trails[name][-1])
            site.move_clock(CONVERSATION_LEASE)
            site.send(said[message], site.start())
            site.move_clock(LEASES)
        result = site.insist(said[message])
        kills.outcomes[result["outcome"]] += 1
        if message == 0:
            assert result["outcome"] == "asked", result
            result = site.insist(said[1])
            assert result["outcome"] == "acted", result
        assert site.insist(said[1]) == result, "the same key gets the same answer"
        if name not in trails:
            break
    else:
        raise AssertionError(f"more than {MOST} points")
    kills.findings = site.looked_over(talks)
    kills.doubts = [(trails[name], count) for name, count in kills.findings.doubts.items()]
    return kills
