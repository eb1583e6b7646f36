"""What a calibration found, for a terminal, for a program and as a page. Numbers in, text out.

The page's diagrams are SVG, each with the numbers beside it as a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from circumspect.lab.learning.calibration import (
    Bin,
    ConfidenceQuality,
    Fit,
    TooFew,
    apply_map,
    measure_quality,
    overall,
)
from circumspect.lab.learning.outcomes import DecisionLabel, Group, HandingOver, Whose
from circumspect.lab.learning.suggestions import Banded, BandSuggestion, Capped, CapSuggestion, difference
from circumspect.reports import render
from circumspect.values import Json

BAR = 30
GROUPS: tuple[Group, ...] = ("outcomes", "colleagues", "users")
SHOWN = 10
"""How many escalations and answers a terminal gets to see."""


@dataclass(frozen=True)
class CalibrationReport:
    tenant: str
    kinds: Counter[str]
    """How many labels of each kind."""
    by: Counter[Group]
    """How many are of whom."""
    whose: Whose
    """Whose thumbs and corrections count."""
    left_out: int
    """Thumbs and corrections that do not."""
    unstated: int
    """Labels of decisions that stated no confidence."""
    fits: Sequence[Fit]
    few: Sequence[TooFew]
    handing: HandingOver
    caps: Sequence[CapSuggestion] = ()
    bands: BandSuggestion | None = None
    error: float = 0.05
    """What was asked for."""

    def to_json(self) -> dict[str, Json]:
        before, after = overall(self.fits)
        return {
            "tenant": self.tenant,
            "labels": dict(sorted(self.kinds.items())),
            "labels_by": {group: self.by[group] for group in GROUPS},
            "thumbs_of": self.whose,
            "left_out": self.left_out,
            "without_confidence": self.unstated,
            "overall": {"before": before.to_json(), "after": after.to_json()} if self.fits else None,
            "calibrated": [one.to_json() for one in self.fits],
            "refused": [one.to_json() for one in self.few],
            "suggestions": {
                "error": self.error,
                "caps": [one.to_json() for one in self.caps],
                "bands": self.bands.to_json() if self.bands else None,
                "difference": "\n".join(difference(self.caps, self.bands)),
            },
            "unnecessary_escalations": [_label_to_json(one) for one in self.handing.unnecessary],
            "escalations_known": self.handing.escalations,
            "should_have_been_escalated": [_label_to_json(one) for one in self.handing.missed],
            "answers_known": self.handing.answers,
        }


def _label_to_json(label: DecisionLabel) -> dict[str, Json]:
    return {
        "conversation": label.conversation,
        "turn": label.turn,
        "why": label.why,
        "by": label.group,
        "tool": label.tool or None,
        "confidence": label.confidence,
        "at": label.at.isoformat(),
    }


# --- for a terminal -------------------------------------------------------------------------------------------------


def lines(report: CalibrationReport) -> Iterator[str]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds.most_common())
    yield f"{report.kinds.total():,} labels of {report.tenant}" + (f": {kinds}" if kinds else "")
    yield _by_whom(report)
    if report.left_out:
        yield (
            f"{report.left_out:,} thumbs and corrections of users and visitors do not count, since anybody can open a "
            "widget. --labels-by everyone counts them."
        )
    if report.unstated:
        yield f"{report.unstated:,} of them are about decisions that stated no confidence."
    if report.fits:
        before, after = overall(report.fits)
        yield ""
        yield f"all together  {_measures(before, after)}"
    for one in report.fits:
        yield ""
        yield from _diagram(one)
    for few in report.few:
        yield ""
        yield f"{_format_key(few.key)}: not calibrated; {few.shortfall}"
    yield from _describe_suggestions(report)
    yield from _describe_escalations(report.handing)


def _by_whom(report: CalibrationReport) -> str:
    return f"By whom: {', '.join(f'{report.by[group]:,} {group}' for group in GROUPS)}"


def _why(label: DecisionLabel) -> str:
    return f"{label.why}, by a {label.group.removesuffix('s')}" if label.opinion else label.why


def _format_key(key: tuple[str, str]) -> str:
    tool, decision = key
    return f"{decision} · {tool}" if tool else decision


def _measures(before: ConfidenceQuality, after: ConfidenceQuality) -> str:
    return (
        f"ECE {_share(before.error)} -> {_share(after.error)} (equal mass {_share(before.mass_error)} -> "
        f"{_share(after.mass_error)}; by chance alone {_share(after.by_chance)})  "
        f"Brier {_share(before.brier)} -> {_share(after.brier)}"
    )


def _diagram(fit: Fit) -> Iterator[str]:
    yield f"{_format_key(fit.key)}  learnt from {len(fit.train):,}, measured on {len(fit.held):,} others"
    yield f"  {_measures(fit.before, fit.after)}"
    if not fit.helps:
        yield "  The map is no better than what was stated: it is not kept."
    yield f"  {'stated':>10}  {'right':>6}  {'0':<{BAR - 1}}1   decisions"
    for one in fit.before.bins:
        yield f"  {one.low:4.2f}-{one.high:4.2f}   {one.right:6.3f}  {_bar(one)}  {one.count:,}"
    yield f"  {'':18}  | is what was stated, # what was right"


def _bar(one: Bin) -> str:
    filled = ["#" if at < round(one.right * BAR) else " " for at in range(BAR)]
    filled[min(BAR - 1, int(one.confidence * BAR))] = "|"
    return "".join(filled)


def _describe_suggestions(report: CalibrationReport) -> Iterator[str]:
    found = list(difference(report.caps, report.bands))
    yield ""
    if not found:
        yield "No cap and no band should be changed by what is known." if report.fits else "Nothing is suggested."
    else:
        yield f"Suggested, for at most {report.error:.0%} wrong. Nothing is changed: apply by hand what you agree with."
        yield from (f"  {line}" for line in found)
        yield ""
    for one in report.caps:
        yield f"  {one.tool}: {_describe_cap(one.now)}  ->  {_describe_cap(one.then)}{_loosens(one.loosens)}"
    bands = report.bands
    if bands and not bands.reached:
        yield f"  No confidence keeps wrong answers at {report.error:.0%}: {_describe_bands(bands.then)}."
    elif bands and bands.changes:
        yield f"  bands: {_describe_bands(bands.now)}  ->  {_describe_bands(bands.then)}{_loosens(bands.loosens)}"


def _describe_cap(one: Capped) -> str:
    wrong = "" if one.error is None else f", {one.error:.1%} of the others wrong"
    return f"cap {one.cap:g}: {one.checked:.1%} get a second opinion{wrong}"


def _describe_bands(one: Banded) -> str:
    wrong = "" if one.error is None else f" with {one.error:.1%} wrong"
    return (
        f"from {one.answer_from:g} {one.answered:.1%} answered{wrong}, {one.asked:.1%} asked, "
        f"below {one.escalate_below:g} {one.escalated:.1%} to a person"
    )


def _loosens(loosens: bool) -> str:
    return "   LOOSENS" if loosens else ""


def _describe_escalations(handing: HandingOver) -> Iterator[str]:
    for title, some, every, what in (
        ("Escalations that were not needed", handing.unnecessary, handing.escalations, "escalations"),
        ("Answers that a person should have given", handing.missed, handing.answers, "answers and actions"),
    ):
        yield ""
        yield f"{title}: {len(some):,} of {every:,} {what} of which it is known"
        for one in some[:SHOWN]:
            sure = "" if one.confidence is None else f", confidence {one.confidence:.2f}"
            yield f"  {one.at:%Y-%m-%d}  {one.conversation}  {one.turn}: {_why(one)}{sure}"
        if len(some) > SHOWN:
            yield f"  … and {len(some) - SHOWN:,} more (--json has them all)"


def _share(value: float) -> str:
    return f"{value:.4f}"


# --- as a page ------------------------------------------------------------------------------------------------------

MOST_LISTED = 500


def page(report: CalibrationReport) -> str:
    return render(
        "calibration",
        title=f"Calibration of {report.tenant}",
        subtitle=f"{report.kinds.total():,} labels. {_by_whom(report)}. {report.left_out:,} more do not count. "
        "Everything below is measured on decisions that were held out.",
        overall=_measures(*overall(report.fits)) if report.fits else "",
        fits=[
            (_format_key(fit.key), _measures(fit.before, fit.after), fit.before.bins, _mapped_bins(fit))
            for fit in report.fits
        ],
        few=[(_format_key(few.key), few.shortfall) for few in report.few],
        suggestions="\n".join(_describe_suggestions(report)).strip(),
        bands=report.bands,
        handing=(
            ("Escalations that were not needed", report.handing.unnecessary),
            ("Answers that a person should have given", report.handing.missed),
        ),
        most_listed=MOST_LISTED,
        describe_label=_why,
    )


def _mapped_bins(fit: Fit) -> Sequence[Bin]:
    return measure_quality(apply_map(fit.held, fit.map)).bins
