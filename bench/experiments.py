"""What the statistics of experiments do in a simulated month, where the truth is known.

python -m bench.experiments [--experiments 1000] [--months 10]

An A/A test, looked at again and again, beside a plain z test that is looked at as often and beside one that takes
turns for units. A better arm: found after how many conversations, against the horizon of a fixed test. A harmful arm
that the main metric likes: after how many conversations the guard ends it. A rollout up the ladder. A table of power.

An A/A experiment is a fresh draw of the arms over a month of 100,000 turns; several share a month, since making one
takes seconds and the draw is what differs. A conversation is the unit; figures are looked at after every hundred of
them.
"""

from __future__ import annotations

import argparse
import math
import time
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, compress, islice
from random import Random
from statistics import median

from bench.report import Aim, Section, Table, facts, show, show_facts
from bench.simulation import (
    BETTER,
    DAYS,
    HARMFUL,
    METRICS,
    START,
    TODAY,
    Behaviour,
    SimulatedConversation,
    by_lot,
    conversations,
    measures,
    month,
    play,
    units,
)
from circumspect.hashing import stable_share
from circumspect.lab.trials.distributions import normal_two_sided
from circumspect.lab.trials.estimates import ArmData
from circumspect.lab.trials.rollout import Rollout, RolloutStep, next_step
from circumspect.lab.trials.statistics import (
    ArmComparison,
    ComparisonPlan,
    Guard,
    Stop,
    compare,
    count_needed_units,
    find_stop,
    find_unseen_metrics,
)

MAIN = METRICS["escalated"]
GUARDS = (Guard(METRICS["wrong"]), Guard(METRICS["cost"]))
LOOK = 100
BASELINE, EFFECT = 0.138, 0.018
"""Of `escalated` today, and by how much the better arm lowers it; both as the simulated month has them."""
PLAN = ComparisonPlan(horizon=count_needed_units(MAIN, BASELINE, -EFFECT), effect=EFFECT)
NOISE = 3
"""How many standard errors of the count a false-positive rate may exceed the nominal level by before it is called
so."""


# --- does it cry wolf? ----------------------------------------------------------------------------------------------


Block = Mapping[str, tuple[list[float], float]]
"""What is kept of the units between two looks: a column for each sum that the tests need, and that sum over both
arms."""


def false_alarms(experiments: int, months: int) -> Section:
    found: Counter[str] = Counter()
    done = 0
    for number in range(months):
        blocks = _blocks(1000 + number)
        lots = Random(f"split {number}")
        while done < experiments * (number + 1) // months:
            done += 1
            found.update(_alarms(blocks, lots))
    noise = math.sqrt(PLAN.alpha * (1 - PLAN.alpha) / done)
    names = {
        "escalated": "sequential, escalated",
        "cost": "sequential, cost (a mean)",
        "guards": "guards: wrong actions and cost, together",
        "fixed": "fixed, once, at the end of the month",
        "peeking": "plain z, escalated, as soon as p < 0.05",
        "turns": "plain z, right decisions, once, but with turns for units",
    }
    rows = tuple(
        (text, str(found[name]), f"{found[name] / done:.1%}", f"{PLAN.alpha:.0%}", _looks(name))
        for name, text in names.items()
    )
    rates = {name: found[name] / done for name in names}
    worst = max(rates["escalated"], rates["cost"], rates["guards"])
    return Section(
        "false_alarms",
        f"A/A: {done:,} experiments in which there is nothing to find",
        f"Both arms behave alike. {months} months of 100,000 turns, arms drawn anew for each experiment; the standard "
        f"error of these rates is {noise:.1%}.",
        (Table(("test", "alarms", "rate", "nominal", "looks"), rows),),
        (
            Aim("false-positive rate at or under the nominal level", f"{worst:.1%}", worst <= PLAN.alpha),
            Aim(
                "the fixed test is where its level says",
                f"{rates['fixed']:.1%}",
                abs(rates["fixed"] - PLAN.alpha) < NOISE * noise,
            ),
        ),
        rates,
    )


def _blocks(seed: int) -> list[Block]:
    blocks: list[Block] = []
    played = (tuple(play(conversation, TODAY, "")) for conversation in conversations(seed))
    while some := tuple(islice(played, LOOK)):
        found = [measures(turns) for turns in some]
        columns = {name: [one[name] for one in found] for name in ("escalated", "wrong", "cost", "turns")}
        columns["cost squared"] = [cost**2 for cost in columns["cost"]]
        columns["right turns"] = [float(sum(turn.right for turn in turns)) for turns in some]
        blocks.append({name: (values, sum(values)) for name, values in columns.items()})
    return blocks


_BITS = bytes.maketrans(b"01", b"\0\1")


def _alarms(blocks: Sequence[Block], lots: Random) -> set[str]:
    """Which tests raise one in this draw of the arms."""
    raised: set[str] = set()
    old, new = defaultdict[str, float](float), defaultdict[str, float](float)
    control: dict[str, ArmData] = {}
    treatment: dict[str, ArmData] = {}
    for block in blocks:
        size = len(block["turns"][0])
        drawn = f"{lots.getrandbits(size):0{size}b}".encode().translate(_BITS)
        units_drawn = sum(drawn)
        new["n"] += units_drawn
        old["n"] += size - units_drawn
        for name, (values, everything) in block.items():
            part = sum(compress(values, drawn))
            new[name] += part
            old[name] += everything - part
        control, treatment = _data(old), _data(new)
        for name in ("escalated", "cost"):
            if name not in raised and _decided(compare(control[name], treatment[name], METRICS[name], PLAN)):
                raised.add(name)
        if "guards" not in raised and find_stop(control, treatment, GUARDS):
            raised.add("guards")
        if "peeking" not in raised and _plain(control["escalated"], treatment["escalated"]) <= PLAN.alpha:
            raised.add("peeking")
    if _decided(
        compare(control["escalated"], treatment["escalated"], MAIN, ComparisonPlan("fixed", PLAN.alpha, PLAN.horizon))
    ):
        raised.add("fixed")
    if _plain(control["right turns"], treatment["right turns"]) <= PLAN.alpha:
        raised.add("turns")
    return raised


def _data(sums: Mapping[str, float]) -> dict[str, ArmData]:
    n = int(sums["n"])
    return {
        "escalated": ArmData(n, sums["escalated"], sums["escalated"]),
        "wrong": ArmData(n, sums["wrong"], sums["wrong"]),
        "cost": ArmData(n, sums["cost"], sums["cost squared"]),
        "right turns": ArmData(int(sums["turns"]), sums["right turns"], sums["right turns"]),
    }


def _decided(said: ArmComparison) -> bool:
    return said.decision in ("better", "worse")


def _plain(old: ArmData, new: ArmData) -> float:
    if min(old.n, new.n) < PLAN.minimum // 2:
        return 1.0
    common = old.merge(new).mean
    error = math.sqrt(common * (1 - common) * (1 / old.n + 1 / new.n))
    return normal_two_sided((new.mean - old.mean) / error) if error else 1.0


def _looks(name: str) -> str:
    return "1" if name in ("fixed", "turns") else "about 250"


# --- is what is there found? ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ending:
    units: int
    """Of both arms."""
    arm_units: int
    at: datetime
    said: ArmComparison
    stop: Stop | None
    wrong: float
    """Conversations of the new arm in which something wrong was done."""


def run_until_decided(seed: int, new: Behaviour, share: float, guards: Sequence[Guard] = ()) -> Ending:
    """A month with a constant share, until something is decided or it is over."""
    arms = {"control": TODAY, "new": new}
    counted = {arm: {name: ArmData() for name in METRICS} for arm in arms}
    assign = by_lot(f"bench {seed}", {"control": 1 - share, "new": share})
    number, unit = 0, None
    said, stop = None, None
    for number, unit in enumerate(units(month(seed, arms, assign)), 1):
        _count(counted[unit.arm], unit.metrics)
        if number % LOOK == 0:
            said = compare(counted["control"][MAIN.name], counted["new"][MAIN.name], MAIN, PLAN)
            stop = find_stop(counted["control"], counted["new"], guards)
            if stop or (not guards and _decided(said)):
                break
    if unit is None or said is None:
        raise ValueError("The month was empty.")
    wrong = counted["new"]["wrong"]
    return Ending(number, wrong.n, unit.at, said, stop, wrong.total)


def _count(counted: dict[str, ArmData], metrics: Mapping[str, float]) -> None:
    for name, value in metrics.items():
        counted[name] = counted[name].add(value)


def better_arm(months: int) -> Section:
    endings = [run_until_decided(2000 + number, BETTER, 0.5) for number in range(months)]
    found = [ending for ending in endings if ending.said.decision == "better"]
    horizon = 2 * PLAN.horizon
    rows = tuple(
        (
            str(number),
            ending.said.decision,
            f"{ending.units:,}",
            f"{(ending.at - START) / timedelta(days=1):.1f}",
            f"{ending.said.difference:+.4f}",
            f"{ending.said.low:+.4f} … {ending.said.high:+.4f}",
        )
        for number, ending in enumerate(endings, 1)
    )
    middle = median(ending.units for ending in endings)
    return Section(
        "better_arm",
        "A better arm: fewer conversations escalated, half and half",
        f"The truth is about {BASELINE:.1%} to {BASELINE - EFFECT:.1%}. A fixed test for that, with 80 % power, "
        f"takes {horizon:,} conversations. Looked at after every {LOOK}.",
        (Table(("month", "decision", "conversations", "days", "difference", "limits"), rows),),
        (
            Aim("found within the month", f"{len(found)} of {months}", len(found) == months),
            Aim("median conversations, against the fixed horizon", f"{middle:,.0f} against {horizon:,}", None),
        ),
    )


def harmful_arm(months: int) -> Section:
    rows = []
    stopped = []
    for number in range(months):
        seed = 3000 + number
        of_the_month = len(conversations(seed))
        ending = run_until_decided(seed, HARMFUL, 0.1, GUARDS)
        stopped.append(ending)
        why = "-" if ending.stop is None else ending.stop.guard.metric.name
        rows.append(
            (
                str(number + 1),
                why,
                f"{ending.units:,}",
                str(ending.arm_units),
                f"{(ending.at - START) / timedelta(days=1):.1f}",
                f"{ending.units / of_the_month:.1%}",
                f"{ending.wrong:.0f}",
                f"{ending.said.difference:+.3f}",
            )
        )
    unguarded = wrong_without_guards(3000, HARMFUL, 0.1)
    early = all(ending.stop is not None and ending.at < START + timedelta(days=DAYS / 2) for ending in stopped)
    return Section(
        "harmful_arm",
        "A harmful arm: escalates less, and does the wrong thing more than twice as often",
        "At 10 % of the traffic, with a guard on wrong actions (6 % of today's conversations, 12.5 % of this arm's). "
        f"By the main metric alone it looks better. Without guards it would do something wrong in {unguarded:.0f} "
        "conversations of a month at this share.",
        (
            Table(
                ("month", "guard", "conversations", "of the arm", "days", "of the month", "wrong", "main metric"),
                tuple(rows),
            ),
        ),
        (
            Aim(
                "stopped before half the month",
                f"{sum(one.stop is not None for one in stopped)} of {months}, "
                f"median {median(one.arm_units for one in stopped):.0f} conversations of the arm",
                early,
            ),
        ),
    )


def wrong_without_guards(seed: int, new: Behaviour, share: float) -> float:
    assign = by_lot(f"bench {seed}", {"control": 1 - share, "new": share})
    return sum(
        unit.metrics["wrong"]
        for unit in units(month(seed, {"control": TODAY, "new": new}, assign))
        if unit.arm == "new"
    )


# --- up the ladder --------------------------------------------------------------------------------------------------


def climb(seed: int, new: Behaviour) -> Iterator[tuple[datetime, int, RolloutStep]]:
    """Every change of share, looked at after every hundred conversations that are over."""
    arms = {"control": TODAY, "new": new}
    share, since, stopped = 10, START, False
    period: dict[str, int] = {}
    counted: dict[str, dict[str, list[ArmData]]] = {arm: {name: [ArmData()] for name in METRICS} for arm in arms}
    periods = 0

    def assign(conversation: SimulatedConversation) -> str:
        period[conversation.id] = periods
        return by_lot(f"climb {seed}", {"control": 1 - share / 100, "new": share / 100})(conversation)

    for number, unit in enumerate(units(month(seed, arms, assign)), 1):
        at = period.pop(unit.conversation)
        for name, value in unit.metrics.items():
            counted[unit.arm][name][at] = counted[unit.arm][name][at].add(value)
        if number % LOOK:
            continue
        old, fresh = counted["control"], counted["new"]
        state = Rollout(
            share,
            fresh[MAIN.name][periods].n,
            unit.at - since,
            stopped=stopped,
            unseen=find_unseen_metrics(old, fresh, GUARDS),
        )
        step = next_step(state, compare(old[MAIN.name], fresh[MAIN.name], MAIN, PLAN), find_stop(old, fresh, GUARDS))
        if step.share != share:
            yield unit.at, number, step
            share, since, stopped = step.share, unit.at, step.move == "down"
            periods += 1
            for side in counted.values():
                for kept in side.values():
                    kept.append(ArmData())


def rollouts() -> Section:
    rows = []
    ends = {}
    for name, behaviour in (("better", BETTER), ("harmful", HARMFUL), ("the same", TODAY)):
        steps = list(climb(4000, behaviour))
        ends[name] = steps[-1][2].share if steps else 10
        for at, number, step in steps:
            rows.append((name, f"{(at - START) / timedelta(days=1):.1f}", f"{number:,}", f"{step.share} %", step.why))
        if not steps:
            rows.append((name, "-", "-", "10 %", "No change."))
    return Section(
        "rollouts",
        "Up the ladder: 10, 50, 100 %",
        "The same month three times. Arms are compared within each share, so a bad day after a change of it is "
        "nobody's merit or fault.",
        (Table(("new arm", "day", "conversations", "share", "why"), tuple(rows)),),
        (
            Aim("the better arm ends at 100 %", f"{ends['better']} %", ends["better"] == 100),
            Aim("the harmful arm ends at 0 %", f"{ends['harmful']} %", ends["harmful"] == 0),
        ),
    )


# --- shadow ---------------------------------------------------------------------------------------------------------

SHADOWED = 0.1


def shadows(seed: int = 5000) -> Section:
    """A second configuration beside the live one: the same turn decided twice, so that every difference is its own."""
    rows, aims = [], []
    for name, behaviour in (("the same", TODAY), ("better", BETTER), ("harmful", HARMFUL)):
        seen, differ, escalated, acted = 0, 0, ArmData(), ArmData()
        for conversation in conversations(seed):
            pairs = zip(play(conversation, TODAY, "live"), play(conversation, behaviour, "shadow"), strict=True)
            for live, shadow in pairs:
                if stable_share("shadow", live.id) >= SHADOWED:
                    continue
                seen += 1
                differ += live.decision != shadow.decision
                escalated = escalated.add((shadow.decision == "escalate") - (live.decision == "escalate"))
                acted = acted.add((shadow.decision == "act") - (live.decision == "act"))
        rows.append((name, f"{seen:,}", f"{differ:,}", _paired(escalated), _paired(acted)))
        aims.append(
            Aim(f"shadow, {name}: {'nothing' if name == 'the same' else 'something'} differs", f"{differ:,}",
                (differ == 0) is (name == "the same"))
        )  # fmt: skip
    return Section(
        "shadow",
        f"In the shadow of the live configuration, {SHADOWED:.0%} of the turns",
        "What the second one would have decided, per turn, with the 95 % limits of the paired difference. A shadow "
        "acts on nobody: whether its actions would have been right is not seen, so a harmful arm shows as one that "
        "acts more.",
        (Table(("second configuration", "turns", "decided otherwise", "escalates", "acts"), tuple(rows)),),
        tuple(aims),
    )


def _paired(differences: ArmData) -> str:
    half = 1.96 * math.sqrt(differences.variance / differences.n)
    return f"{100 * differences.mean:+.2f} ± {100 * half:.2f} points"


# --- power ----------------------------------------------------------------------------------------------------------


def power(experiments: int) -> Section:
    rows = []
    for effect in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        rate = BASELINE - effect * EFFECT
        sequential, fixed = [], 0
        lots = Random(f"power {effect}")
        old_steps, new_steps = _binomial_steps(BASELINE), _binomial_steps(rate)
        for _ in range(experiments):
            old = new = ArmData()
            when = math.inf
            once = False
            while new.n < 3 * PLAN.horizon and (when == math.inf or new.n <= PLAN.horizon):
                old, new = old.merge(_draw(old_steps, lots)), new.merge(_draw(new_steps, lots))
                if when == math.inf and _decided(compare(old, new, MAIN, PLAN)):
                    when = new.n
                if not once and new.n >= PLAN.horizon:
                    once = True
                    fixed += _decided(compare(old, new, MAIN, ComparisonPlan("fixed", PLAN.alpha, PLAN.horizon)))
            sequential.append(when)
        within = sum(when <= PLAN.horizon for when in sequential) / experiments
        longer = sum(when < math.inf for when in sequential) / experiments
        middle = median(sequential)
        rows.append(
            (
                f"{BASELINE:.1%} → {rate:.1%}",
                f"{fixed / experiments:.0%}",
                f"{within:.0%}",
                f"{longer:.0%}",
                f"{2 * middle:,.0f}" if middle < math.inf else "-",
                f"{2 * PLAN.horizon:,}",
            )
        )
    return Section(
        "power",
        "Power: what the freedom to look costs and brings",
        f"{experiments} experiments a line, arms alike in size, looked at after every {2 * LOOK} units, up to three "
        "times the horizon.",
        (
            Table(
                ("escalated", "fixed", "sequential by then", "by 3 times that", "median units", "fixed units"),
                tuple(rows),
            ),
        ),
    )


def _binomial_steps(rate: float) -> list[float]:
    return list(accumulate(math.comb(LOOK, k) * rate**k * (1 - rate) ** (LOOK - k) for k in range(LOOK)))


def _draw(steps: Sequence[float], lots: Random) -> ArmData:
    hits = bisect(steps, lots.random())
    return ArmData(LOOK, hits, hits)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.experiments", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=1000, help="A/A experiments")
    parser.add_argument("--months", type=int, default=10, help="simulated months for each question")
    options = parser.parse_args()
    show_facts(facts())
    began = time.monotonic()
    print(f"\nmain metric {MAIN.name}, alpha {PLAN.alpha}, horizon {PLAN.horizon:,} an arm, {DAYS} days a month")
    show(false_alarms(options.experiments, options.months))
    show(better_arm(options.months))
    show(harmful_arm(options.months))
    show(rollouts())
    show(shadows())
    show(power(200))
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
