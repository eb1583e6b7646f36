"""One tenant's back end stops answering, under many of its conversations at once; another tenant goes on talking."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tests.faults.back_end import BackEnd
from tests.faults.checker import Harm, Report
from tests.faults.history import Said
from tests.faults.shops import SHOPS, TIMEOUT, make_shop
from tests.faults.site import Site
from tests.patience import PATIENCE, wait_until

CALLS = 14
HELD = next(shop for shop in SHOPS if shop.name == "requests-blind")
NEIGHBOUR = next(shop for shop in SHOPS if shop.name == "requests-keyed")


@dataclass
class Neighbourhood:
    held: int = 0
    """Calls that wait for the back end while the neighbour is served."""
    messages: int = 0
    slowest: float = 0.0
    """Seconds that the neighbour waited."""
    report: Report = field(default_factory=Report)


def make_options(back_end: BackEnd) -> dict[str, object]:
    """Of a site for this: everything as it is by default."""
    back_end.keyed.add(NEIGHBOUR.name)
    tenants = {shop.name: make_shop(shop, back_end.url, TIMEOUT) for shop in (HELD, NEIGHBOUR)}
    return {"tenants": tenants, "effects": lambda: list(back_end.effects)}


def hold_one_tenant(site: Site, back_end: BackEnd, talks: int = 4) -> Neighbourhood:
    made = Neighbourhood()
    site.start()
    waiting = []
    for number in range(CALLS):
        wish, yes = _make_talk(HELD.name, number)
        site.converse(HELD.name, wish.conversation)
        site.insist(wish)
        waiting.append(yes)
    back_end.held.add(HELD.name)
    answers = [site.begun(yes, site.workers[-1]) for yes in waiting]
    wait_until(lambda: back_end.waiting)
    late = []
    for number in range(talks):
        for said in _make_talk(NEIGHBOUR.name, 100 + number):
            began = time.monotonic()
            site.converse(said.tenant, said.conversation)
            site.insist(said)
            made.messages += 1
            made.slowest = max(made.slowest, time.monotonic() - began)
            made.held = max(made.held, back_end.waiting)
            if not back_end.waiting:
                late.append(
                    Harm("other tenants", f"{said.conversation} was answered when the other tenant's calls had ended")
                )
    back_end.held.clear()
    for one in answers:
        one.result(PATIENCE)
    for yes in waiting:
        site.insist(yes)
    made.messages += 2 * CALLS
    made.report = site.check()
    made.report.harms += late
    return made


def _make_talk(tenant: str, number: int) -> tuple[Said, Said]:
    name, order = f"{tenant}-{number}", str(70_000 + number)
    return (
        Said(tenant, name, f"cancel order {order}", f"{name}-1", order),
        Said(tenant, name, "yes", f"{name}-2", order, agrees=True),
    )
