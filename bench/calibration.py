"""What calibration does where the truth is known, and what it can do on recorded conversations.

python -m bench.calibration [--months 1] [--data DIR]

A simulated month states confidences that are off in known ways. Maps are learnt from seven conversations of ten and
measured on the others, by tool and decision, beside two things: the error that chance alone would show on so few
decisions, and the map that the simulation used, which nobody could better. Then the suggestions.

With --data (or CIRCUMSPECT_BENCH_DATA) a folder of labelled recordings (tau_airline.jsonl.gz, tau_retail.jsonl.gz)
is looked at too. Recordings carry no confidence of a model, so that cannot be calibrated on them. What is there is our
own verdict; read as a confidence (let through 1, asked about .5, handed over .25, denied 0) it can be held against the
labels, with whole tasks held out.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from bench.report import Aim, Section, Table, show
from bench.simulation import TODAY, month, true_chance
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.hashing import stable_share
from circumspect.lab.learning.calibration import ConfidenceQuality, Fit, Observation, fit, measure_quality, overall
from circumspect.lab.learning.suggestions import bands, caps, difference
from circumspect.policy.keys.tool_policy import cap_of
from circumspect.policy.load import load
from circumspect.policy.understanding.confidence import Bands
from circumspect.stores.labels import HELD_OUT, split_of

POLICIES = Path(__file__).parents[1] / "examples" / "policies"
RECORDINGS = {"tau_airline": "tau_airline.yaml", "tau_retail": "tau_retail.yaml"}
AS_CONFIDENCE = {"allow": 1.0, "ask": 0.5, "escalate": 0.25, "deny": 0.0}
_TASK = re.compile(r"/(t\d+)/")


def simulated(seed: int) -> list[Observation]:
    return [
        Observation(
            turn.confidence, turn.right, turn.tool, turn.decision, split_of(turn.tenant, turn.conversation) == "held"
        )
        for turn in month(seed, {"today": TODAY}, lambda conversation: "today")
    ]


def months(number: int) -> Section:
    rows: list[tuple[str, ...]] = []
    left_out: list[tuple[str, ...]] = []
    halved = possible = both = every = 0
    totals: list[tuple[ConfidenceQuality, ConfidenceQuality]] = []
    began = time.perf_counter()
    learning = 0.0
    for seed in range(1, number + 1):
        observations = simulated(seed)
        started = time.perf_counter()
        fits, few = fit(observations)
        learning += time.perf_counter() - started
        totals.append(overall(fits))
        for one in fits:
            every += 1
            half = one.after.error <= one.before.error / 2
            by_truth = _truth(one) <= one.before.error / 2
            halved += half
            possible += by_truth
            both += half and by_truth
            rows.append(_row(f"{seed}: " + _named(one), one))
        left_out += [(f"{seed}: {refused.key[1]} {refused.key[0]}", refused.shortfall) for refused in few]
        before, after = totals[-1]
        rows.append((f"{seed}: all together", "", f"{before.count:,}", *_figures(before, after), "", ""))
    ratio = max(after.error / before.error for before, after in totals)
    header = ("month: decision", "learnt from", "held out", "ECE before", "after", "equal mass", "after")
    return Section(
        "calibration",
        "Calibration on a simulated month",
        "ECE on held-out conversations of 100,000 turns, over ten bins. 'by chance' is what perfectly calibrated "
        "confidences would show on as many decisions; 'truth' is the ECE of the map that the simulation used.",
        (
            Table((*header, "Brier", "after", "by chance", "truth"), tuple(rows)),
            Table(("refused", "because"), tuple(left_out)),
        ),
        (
            Aim("ECE of all decisions together at least halved", f"{ratio:.2f} of before at most", ratio <= 0.5),
            Aim("ECE halved for every tool and decision", f"{halved} of {every}", halved == every),
            Aim("halved wherever the map of the simulation halves it", f"{both} of {possible}", both == possible),
        ),
        {"seconds": time.perf_counter() - began, "learning": learning},
    )


def _named(one: Fit) -> str:
    tool, decision = one.key
    return f"{decision} {tool}".strip()


def _row(name: str, one: Fit) -> tuple[str, ...]:
    return (
        name,
        f"{len(one.train):,}",
        f"{len(one.held):,}",
        *_figures(one.before, one.after),
        f"{one.after.by_chance:.4f}",
        f"{_truth(one):.4f}",
    )


def _truth(one: Fit) -> float:
    """The ECE of the map that the simulation used, on the same decisions."""
    tool, decision = one.key
    known = [
        Observation(true_chance(tool, cast(Any, decision), min(max(had.confidence, 0.01), 0.99)), had.right)
        for had in one.held
    ]
    return measure_quality(known).error


def _figures(before: ConfidenceQuality, after: ConfidenceQuality) -> tuple[str, ...]:
    return (
        f"{before.error:.4f}",
        f"{after.error:.4f}",
        f"{before.mass_error:.4f}",
        f"{after.mass_error:.4f}",
        f"{before.brier:.4f}",
        f"{after.brier:.4f}",
    )


def suggested(seed: int = 1) -> Section:
    fits, _ = fit(simulated(seed))
    policy = load(DIRECTORY / "policy.yaml")
    now = {one.key[0]: cap_of("destructive", policy.of(one.key[0], None)) for one in fits if one.key[0]}
    answers = next(one for one in fits if one.key == ("", "answer"))
    rows: list[tuple[str, ...]] = []
    for one in caps(fits, now):
        for name, side in (("today", one.now), ("suggested", one.then)):
            error = "-" if side.error is None else f"{side.error:.1%}"
            loosens = "LOOSENS" if one.loosens and side is one.then else ""
            rows.append((f"{one.tool}, {name}", f"{side.cap:g}", f"{side.checked:.1%}", error, loosens))
    banded: list[tuple[str, ...]] = []
    for wanted in (0.05, 0.1, 0.15):
        found = bands(answers, Bands(), wanted)
        then = found.then
        error = "-" if then.error is None else f"{then.error:.1%}"
        reached = "" if found.reached else "not reached"
        banded.append(
            (
                f"at most {wanted:.0%} wrong",
                f"{then.answer_from:g}",
                f"{then.escalate_below:g}",
                f"{then.answered:.1%}",
                error,
                f"{then.asked:.1%}",
                f"{then.escalated:.1%}",
                reached or ("LOOSENS" if found.loosens else ""),
            )
        )
    lines = tuple((line,) for line in difference(caps(fits, now), bands(answers, Bands(), 0.1)))
    return Section(
        "suggestions",
        "What would be suggested",
        "Chosen on what was learnt from, counted on what was held out. Nothing is changed by anybody but a person.",
        (
            Table(("tool", "cap", "second opinions", "wrong without one", ""), tuple(rows)),
            Table(
                ("bands", "answer from", "escalate below", "answered", "wrong", "asked", "to a person", ""),
                tuple(banded),
            ),
            Table(("by hand, for at most 10% wrong",), lines),
        ),
    )


def recorded(folder: Path) -> Section:
    rows: list[tuple[str, ...]] = []
    aims: list[Aim] = []
    for name, policy in RECORDINGS.items():
        path = next(
            (one for one in (folder / f"{name}.jsonl.gz", folder / "replay" / f"{name}.jsonl.gz") if one.is_file()),
            None,
        )
        if path is None:
            rows.append((name, "not there"))
            continue
        found = list(_verdicts(path, POLICIES / policy))
        fits, few = fit(found)
        for one in fits:
            worth = ", ".join(
                f"{word} {one.map(value):.2f}"
                for word, value in AS_CONFIDENCE.items()
                if any(had.confidence == value for had in one.train)
            )
            rows.append(
                (
                    name,
                    f"{len(one.train):,}",
                    f"{len(one.held):,}",
                    *_figures(one.before, one.after),
                    f"{one.after.by_chance:.4f}",
                    worth,
                )
            )
            ratio = one.after.error / one.before.error
            aims.append(Aim(f"{name}: ECE of our verdicts at least halved", f"{ratio:.2f} of before", ratio <= 0.5))
        rows += [(name, "refused: " + one.shortfall) for one in few]
    header = (
        "recordings",
        "learnt from",
        "held out",
        "ECE before",
        "after",
        "equal mass",
        "after",
        "Brier",
        "after",
        "by chance",
    )
    return Section(
        "recordings",
        "Recorded conversations: what can be calibrated on them",
        "The recordings hold no confidence of a model: calibrating one does NOT APPLY to them. Below is the only score "
        "there is, our verdict on every proposed write read as a confidence, held against the labels; whole tasks are "
        "held out. 'worth' is the share of right calls behind each verdict.",
        (Table((*header, "worth"), tuple(rows)),),
        tuple(aims),
    )


def _verdicts(path: Path, policy: Path) -> Iterator[Observation]:
    from circumspect.audit.auditor import audit
    from circumspect.audit.ground_truth import read_expected
    from circumspect.audit.rulings import AuditedCall
    from circumspect.policy.load import load

    for row in audit([path], load(policy), claims=False):
        expected = read_expected(row.label) if isinstance(row, AuditedCall) else None
        if not isinstance(row, AuditedCall) or expected is None or not row.label.get("write"):
            continue
        task = _TASK.search(row.id)
        held = stable_share("recordings", path.name, task[1] if task else row.id) < HELD_OUT
        yield Observation(AS_CONFIDENCE[row.verdict], expected == "PROCEED", "", "act", held)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m bench.calibration", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--months", type=int, default=1, help="how many simulated months of 100,000 turns")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("CIRCUMSPECT_BENCH_DATA"), help="folder of recordings"
    )
    options = parser.parse_args(arguments)
    show(months(options.months))
    show(suggested())
    if options.data:
        show(recorded(Path(options.data)))
    else:
        print("\nNo recordings: give their folder with --data or CIRCUMSPECT_BENCH_DATA.")


if __name__ == "__main__":
    main()
