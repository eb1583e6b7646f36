"""The demo's conversations of the sample desks: run through the engine as a worker would, at past moments.

The desks' own documents, rules and settings decide. Their calendar, CRM and outbox are not those that the server has:
they are in a folder that is gone afterwards, so that a demo books nothing.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import yaml

from circumspect.business import business_tools
from circumspect.clock import FixedClock, RandomIds
from circumspect.demo.samples import desks
from circumspect.models import open_model
from circumspect.pipeline import run_turn
from circumspect.server.directory import Directory
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.values import ConversationId, Incoming, TenantId, TurnId

if TYPE_CHECKING:
    from circumspect.server.config import Settings


async def seed_desks(
    store: SqlStore, settings: Settings, mark: str, now: datetime, span: timedelta, dice: random.Random
) -> int:
    """How many conversations were added; none of a desk that is not there."""
    scripts = yaml.safe_load((desks.DIRECTORY / "conversations.yaml").read_text("utf-8"))
    made, ids, clock = 0, RandomIds(), FixedClock(now)
    directory = Directory(store, settings, open_vault(settings), clock, ids)
    try:
        for name in desks.NAMES:
            if await store.get_tenant(TenantId(name)) is None:
                continue
            setup = await directory.setup(TenantId(name))
            moments = sorted(now - span * dice.random() - timedelta(minutes=20) for _ in scripts[name])
            for number, (script, at) in enumerate(zip(scripts[name], moments, strict=True), start=1):
                clock.at = at
                with TemporaryDirectory(prefix="circumspect-demo-") as folder:
                    if any("{day}" in line for line in script):
                        await desks.fill_desk(name, Path(folder), clock)
                    tools = business_tools(desks.configure_desk(name, Path(folder), clock))
                    ports = replace(setup.ports, model=open_model("offline"), tools=tools, clock=clock)
                    for line in script:
                        clock.advance(seconds=dice.randint(8, 70))
                        incoming = Incoming(
                            TenantId(name),
                            ConversationId(f"{mark}{name}-{number:03}"),
                            TurnId(ids.new("turn")),
                            line.format(day=_find_workday(clock.now())),
                            clock.now(),
                            person=f"{mark}{name}-{number % 7 + 1:02}",
                        )
                        await run_turn(incoming, replace(setup, ports=ports))
                made += 1
    finally:
        await directory.close()
    return made


def _find_workday(now: datetime) -> str:
    """One on which both desks are open."""
    day = now + timedelta(days=3)
    while day.weekday() not in (0, 1, 2):
        day += timedelta(days=1)
    return f"{day:%Y-%m-%d}"
