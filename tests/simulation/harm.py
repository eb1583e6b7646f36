"""What must never be, looked for when everything has calmed down: what really happened, beside what people were told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.simulation.statements import Statement, read_statements
from tests.simulation.workers import ask_database
from tests.simulation.world import Told, World

from circumspect.reasons import ReasonCode

_TOLD_TO_COLLEAGUES = "SELECT escalations.conversation FROM escalations JOIN outbox USING (id)"
"""A colleague finds it in the list, and a notification leaves."""


def find_harm(world: World) -> list[str]:
    calls = ask_database("SELECT id, state, conversation FROM tool_executions WHERE effect <> 'read' ORDER BY id")
    escalated = {conversation for (conversation,) in ask_database(_TOLD_TO_COLLEAGUES)}
    unfinished = ask_database("SELECT id, conversation FROM turns WHERE status <> 'done' ORDER BY id")
    harms = [f"lost: {one}" for one in world.given_up]
    harms += [f"stuck: {turn} of {conversation} has no end" for turn, conversation in unfinished]
    harms += _find_wrong_effects(world)
    harms += _find_wrong_records(world, calls, escalated)
    for told in world.told:
        harms += _find_untrue_words(told, world, escalated)
    return harms


def _find_wrong_effects(world: World) -> list[str]:
    times = Counter((effect.tenant, effect.tool, effect.order) for effect in world.effects)
    harms = [f"twice: {tool} {order} happened {count} times" for (_, tool, order), count in times.items() if count > 1]
    for effect in world.effects:
        agreed = world.consents.get((effect.tool, effect.order))
        if agreed is None or agreed > effect.at:
            harms.append(f"unconfirmed: {effect.tool} {effect.order}")
        if effect.key not in world.begun:
            harms.append(f"unconfirmed: {effect.tool} {effect.order} was never written down")
    return harms


def _find_wrong_records(world: World, calls: Sequence[tuple[str, str, str]], escalated: set[str]) -> list[str]:
    done = {effect.key for effect in world.effects}
    harms = []
    for key, state, conversation in calls:
        if state == "started":
            harms.append(f"stuck: {key} is still under way")
        if state == ("failed" if key in done else "succeeded"):
            harms.append(f"untrue: the ledger says that {key} {state}")
        if state == "indeterminate" and conversation not in escalated:
            harms.append(f"untold: nobody was told of {key}")
    return harms


def _find_untrue_words(told: Told, world: World, escalated: set[str]) -> list[str]:
    harms = [
        f"{'untold' if said.kind == 'colleague' else 'untrue'}: {told.conversation} at {told.at:.1f}: {said.text!r}"
        for said in read_statements(told.text, told.order)
        if not _is_so(said, told, world, escalated)
    ]
    strange = {order for talk, order in world.spoken_of if talk != told.conversation}
    harms += [f"elsewhere: {told.conversation} hears of {order}" for order in strange if order in told.text]
    if ReasonCode.INTERNAL_ERROR in told.reasons:
        harms.append(f"broken: {told.conversation} at {told.at:.1f}")
    return harms


def _is_so(said: Statement, told: Told, world: World, escalated: set[str]) -> bool:
    done = [one for one in world.effects if one.order == said.order]
    match said.kind:
        case "done":
            return any(one.at <= told.at for one in done)
        case "not done":
            # A call that somebody agreed to later makes nothing untrue that was said before.
            late = all(world.begun.get(one.key, one.at) >= told.at for one in done)
            return late or (told.has_other and said.order not in said.text)
        case "colleague":
            return told.conversation in escalated
