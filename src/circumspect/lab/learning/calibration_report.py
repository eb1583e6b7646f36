"""What a calibration found, for a terminal, for a program and as a page. Numbers in, text out.

The page is one file with no outside resources and no script; its diagrams are SVG drawn here, each with the numbers
beside it as a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

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

_STYLE = """
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-block-start:2rem}
table{border-collapse:collapse;margin-block:.5rem}td,th{padding:.15rem .7rem;text-align:end}
td:first-child,th:first-child{text-align:start}
.pair{display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start}
svg{inline-size:20rem;block-size:20rem}
.axis{stroke:currentColor;stroke-opacity:.35}.perfect{stroke:currentColor;stroke-dasharray:4 4;stroke-opacity:.5}
.before{fill:light-dark(#c2410c,#fb923c);fill-opacity:.75}.after{fill:light-dark(#1d4ed8,#60a5fa);fill-opacity:.75}
text{fill:currentColor;font-size:11px}pre{padding:1rem;border:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.soft{opacity:.7}.loosens{font-weight:700}
"""
SIDE, EDGE = 320, 34


def page(report: CalibrationReport) -> str:
    return "".join(_page(report))


def _page(report: CalibrationReport) -> Iterator[str]:
    title = escape(f"Calibration of {report.tenant}")
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{report.kinds.total():,} labels. {escape(_by_whom(report))}. {report.left_out:,} more do not count. "
    yield "Everything below is measured on decisions that were held out.</p>"
    if report.fits:
        before, after = overall(report.fits)
        yield f"<p>All together: {escape(_measures(before, after))}</p>"
    for one in report.fits:
        yield from _pair(one)
    if report.few:
        yield "<h2>Not calibrated</h2><ul>"
        yield from (f"<li>{escape(_format_key(few.key))}: {escape(few.shortfall)}</li>" for few in report.few)
        yield "</ul>"
    yield "<h2>Suggestions</h2><pre>"
    yield escape("\n".join(_describe_suggestions(report)).strip())
    yield "</pre>"
    if report.bands:
        yield "<table><tr><th>answer from<th>answered<th>wrong<th>asked<th>to a person</tr>"
        for row in report.bands.table:
            wrong = "–" if row.error is None else f"{row.error:.1%}"
            yield f"<tr><td>{row.answer_from:.2f}<td>{row.answered:.1%}<td>{wrong}"
            yield f"<td>{row.asked:.1%}<td>{row.escalated:.1%}</tr>"
        yield "</table>"
    for title, some in (
        ("Escalations that were not needed", report.handing.unnecessary),
        ("Answers that a person should have given", report.handing.missed),
    ):
        yield f"<h2>{title}: {len(some):,}</h2><table>"
        for label in some[:500]:
            yield f"<tr><td>{label.at:%Y-%m-%d}<td>{escape(label.conversation)}<td>{escape(label.turn)}"
            yield f"<td>{escape(_why(label))}</tr>"
        yield "</table>"
    yield "</body></html>\n"


def _pair(fit: Fit) -> Iterator[str]:
    after = measure_quality(apply_map(fit.held, fit.map))
    yield f"<h2>{escape(_format_key(fit.key))}</h2><p>{escape(_measures(fit.before, fit.after))}</p>"
    yield f'<div class="pair">{reliability(fit.before.bins, after.bins)}<div>'
    yield "<table><tr><th>stated<th>mean<th>right<th>decisions</tr>"
    for one in fit.before.bins:
        yield f"<tr><td>{one.low:.1f}–{one.high:.1f}<td>{one.confidence:.3f}<td>{one.right:.3f}<td>{one.count:,}</tr>"
    yield "</table></div></div>"
    yield '<p class="soft">Orange: as stated. Blue: by the map. On the dashed line: right as often as stated.</p>'


def reliability(before: Sequence[Bin], after: Sequence[Bin]) -> str:
    """The share that was right over what was stated; the larger a dot, the more decisions."""
    most = max((one.count for one in (*before, *after)), default=1)
    drawn = [
        f'<line class="axis" x1="{EDGE}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(0)}"/>',
        f'<line class="axis" x1="{EDGE}" y1="{_y(0)}" x2="{EDGE}" y2="{_y(1)}"/>',
        f'<line class="perfect" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>',
    ]
    for mark in (0.0, 0.5, 1.0):
        drawn.append(f'<text x="{_x(mark)}" y="{SIDE - 16}" text-anchor="middle">{mark:g}</text>')
        drawn.append(f'<text x="{EDGE - 6}" y="{_y(mark) + 4}" text-anchor="end">{mark:g}</text>')
    drawn.append(f'<text x="{_x(0.5)}" y="{SIDE - 2}" text-anchor="middle">confidence</text>')
    for look, bins in (("before", before), ("after", after)):
        for one in bins:
            size = 3 + 9 * (one.count / most) ** 0.5
            tip = f"{look}: stated {one.confidence:.3f}, right {one.right:.3f}, {one.count:,} decisions"
            drawn.append(
                f'<circle class="{look}" cx="{_x(one.confidence)}" cy="{_y(one.right)}" r="{size:.1f}">'
                f"<title>{tip}</title></circle>"
            )
    return f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="Reliability diagram">{"".join(drawn)}</svg>'


def _x(share: float) -> float:
    return round(EDGE + share * (SIDE - EDGE - 14), 1)


def _y(share: float) -> float:
    return round(SIDE - EDGE - share * (SIDE - EDGE - 14), 1)
