"""replay: a ruling that was made, and a policy -> the same ruling, made again.

What the model said is read from the journal. What code decided is decided again, by the very code that decides it in a
live turn, over the past as it was at that moment. No model, no tool, no clock: whatever asked for one would fail.

What may surprise: the conversation goes on as it was recorded, even where a call would now be held or let through. And
an opinion of the model's that was never asked for cannot be made up: `ReplayedRuling.open` says that one would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from circumspect.clock import FixedClock
from circumspect.journal import Journal
from circumspect.lab.replay.past_calls import ExecutionLookup, find_no_executions
from circumspect.lab.replay.recorded_turns import SECOND_OPINION, Ruling
from circumspect.policy.facts import Facts
from circumspect.policy.judge import Rule
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import RULES
from circumspect.ports import Ports
from circumspect.profiles import PROFILES
from circumspect.setup import TurnSetup
from circumspect.steps.enforce import rule_on
from circumspect.values import Business, Enforced, Mode, Tenant, ToolSpec, Verdict

_NOTED = frozenset(("confidence_is_capped", "the_model_is_sure", SECOND_OPINION))
"""Names in the journal that are not a rule's."""


@dataclass(frozen=True, slots=True)
class ReplayedRuling:
    """A ruling made once more. `enforced` has the stored second opinion in it where one would be asked for."""

    enforced: Enforced
    alone: Verdict
    """Of the rules alone."""
    criticised: bool
    open: bool
    """A second opinion would be asked for, and none is stored: the verdict is what it would be if it agreed."""


async def rule_again(
    ruling: Ruling,
    policy: Policy,
    specs: Mapping[str, ToolSpec],
    *,
    rules: Sequence[Rule] = RULES,
    elsewhere: ExecutionLookup = find_no_executions,
) -> ReplayedRuling:
    """The same proposal, at the same moment, under this policy and these tools.

    What rules said that are not among `rules` (an application's own) cannot be decided again, and stays as it was.
    """
    moment = ruling.moment
    if moment is None:
        raise ValueError(f"this ruling cannot be made again: {ruling.problem}")
    nobody: Any = None
    past: Any = moment.past.with_elsewhere(elsewhere)
    ports = Ports(model=nobody, tools=nobody, store=past, clock=FixedClock(moment.now), ids=nobody)
    notes = Journal()
    notes.ran.extend(moment.ran)
    everyone = (*rules, *_carry_over_rules(ruling, rules))
    setup = TurnSetup(Tenant(ruling.tenant, Business("")), policy, PROFILES, ports, everyone)
    enforced, _ = await rule_on(
        ruling.call, moment.drafted, moment.screened, moment.profile, specs, notes, setup,
        confirmed=ruling.confirmed, earlier=moment.earlier,
    )  # fmt: skip
    wanted, alone = enforced.critique, enforced.verdict
    if wanted and ruling.opinion:
        enforced = enforced.tighten(ruling.opinion)
    return ReplayedRuling(enforced, alone, wanted, wanted and ruling.opinion is None)


def _carry_over_rules(ruling: Ruling, rules: Sequence[Rule]) -> Iterator[Rule]:
    modes: frozenset[Mode] = frozenset(PROFILES)
    for finding in ruling.findings:
        ours = finding.rule in _NOTED or any(one.name == finding.rule for one in rules)
        if finding.reason and not ours:
            yield Rule(finding.rule, "", finding.reason, _always(finding.verdict), modes)


def _always(verdict: Verdict) -> Callable[[Facts], Verdict]:
    return lambda _: verdict
