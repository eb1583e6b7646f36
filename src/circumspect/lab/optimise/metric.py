"""What a review is worth: citation accuracy .4, reasoning coherence .3, calibration .2, status correctness .1.

Every part is computed, none is judged by a model:

citations    Of the text that was claimed as quotes, the share that is gold, and of the deciding sentence the share that
             was quoted; their harmonic mean, counted in characters. A quote that stands nowhere is claimed text that is
             not gold, so making quotes up costs more than quoting less.
coherence    The mean of four checks: the first verdict is the one that stood; the quotes had been shown by a tool
             before they were claimed; the facts that decide are named, and no field that is not there; the rationale
             speaks of what was quoted and of the facts, and names no other verdict.
calibration  1 - (confidence - right)², the Brier score: nothing beats saying what one believes.
status       The verdict is the label's.

Without a label (`unlabelled`) the first two are computed as far as they can be and weigh what they weigh; that is what
a watch over stored evaluations sees.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points

from circumspect.errors import ConfigError
from circumspect.lab.optimise.values import Example, GoldLabel, QuoteSpan, ReviewMetric, ReviewOutcome, ReviewScore
from circumspect.review.citations import plain
from circumspect.review.values import STATUSES

WEIGHTS: Mapping[str, float] = {"citations": 0.4, "coherence": 0.3, "calibration": 0.2, "status": 0.1}
GROUP = "circumspect.metrics"
DEFAULT = "review"
_WORD = re.compile(r"[^\W_]{4,}|\d+(?:[.,]\d+)*")


def review(example: Example, outcome: ReviewOutcome) -> ReviewScore:
    """The metric of C14."""
    label = example.label
    right = float(outcome.status == label.verdict)
    parts = {
        "citations": citation_accuracy(label, outcome),
        "coherence": coherence(label, outcome),
        "calibration": 1.0 - (outcome.confidence - right) ** 2,
        "status": right,
    }
    return ReviewScore(weigh_parts(parts), parts, feedback(example, outcome))


def score_unlabelled(outcome: ReviewOutcome) -> ReviewScore:
    """Where nobody said what was right: do the quotes stand, and does the reasoning hang together?"""
    lost = _find_lost_quotes(outcome)
    parts = {
        "citations": 1 - len(lost) / len(outcome.claimed) if outcome.claimed else float(outcome.status == "UNCERTAIN"),
        "coherence": coherence(GoldLabel(outcome.status), outcome),
    }
    return ReviewScore(weigh_parts(parts), parts)


def weigh_parts(parts: Mapping[str, float]) -> float:
    """The parts that are there, by their weights; they need not add up to one."""
    whole = sum(WEIGHTS[name] for name in parts)
    return sum(WEIGHTS[name] * value for name, value in parts.items()) / whole


# --- citations ------------------------------------------------------------------------------------------------------


def citation_accuracy(label: GoldLabel, outcome: ReviewOutcome) -> float:
    if not label.gold:
        return float(not outcome.claimed or bool(outcome.quotes))
    standing, gold = _spans(outcome.quotes), _spans(label.gold)
    claimed = sum(_length(spans) for spans in standing.values()) + sum(
        len(quote) for quote in _find_lost_quotes(outcome)
    )
    shared = sum(_length(_common(spans, gold.get(name, []))) for name, spans in standing.items())
    deciding = label.gold[0]
    reached = _length(_common(standing.get(deciding.document, []), [(deciding.start, deciding.end)]))
    if not shared or not reached:
        return 0.0
    precision, recall = shared / claimed, reached / (deciding.end - deciding.start)
    return 2 * precision * recall / (precision + recall)


def _find_lost_quotes(outcome: ReviewOutcome) -> list[str]:
    """Claims that stand nowhere. A quote is the document's own text, so both are compared as they are searched."""
    standing = [plain(one.quote) for one in outcome.quotes]
    return [claim for claim in outcome.claimed if not any(_core(claim) in quote for quote in standing)]


def _core(claim: str) -> str:
    return plain(claim).strip(" \"'….")


Spans = list[tuple[int, int]]


def _spans(passages: Iterable[QuoteSpan]) -> dict[str, Spans]:
    """By document, in order, without overlaps."""
    found: dict[str, Spans] = {}
    for one in sorted(passages, key=lambda passage: (passage.document, passage.start, passage.end)):
        spans = found.setdefault(one.document, [])
        if spans and one.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], one.end))
        else:
            spans.append((one.start, one.end))
    return found


def _common(ones: Spans, others: Spans) -> Spans:
    overlaps = ((max(a, c), min(b, d)) for a, b in ones for c, d in others)
    return [(start, end) for start, end in overlaps if start < end]


def _length(spans: Spans) -> int:
    return sum(end - start for start, end in spans)


# --- coherence ------------------------------------------------------------------------------------------------------


def coherence(label: GoldLabel, outcome: ReviewOutcome) -> float:
    checks = (
        _score_first_verdict(outcome),
        _score_shown(outcome),
        _score_facts(label, outcome),
        _score_rationale(outcome),
    )
    return sum(checks) / len(checks)


def _score_first_verdict(outcome: ReviewOutcome) -> float:
    return float(bool(outcome.proposed) and outcome.proposed[0] == outcome.status and len(outcome.proposed) == 1)


def _score_shown(outcome: ReviewOutcome) -> float:
    shown = plain(outcome.shown)
    return sum(_core(claim) in shown for claim in outcome.claimed) / len(outcome.claimed) if outcome.claimed else 0.0


def _score_facts(label: GoldLabel, outcome: ReviewOutcome) -> float:
    """The share of the deciding facts that is named, times the share of the named ones that are there."""
    claimed = outcome.claimed_fields
    real = (
        sum(any(_below(field, name) for field in outcome.fields) for name in claimed) / len(claimed) if claimed else 0
    )
    if not label.facts:
        return float(real)
    named = sum(_is_named(fact, outcome) for fact in label.facts) / len(label.facts)
    return named * real


def _is_named(fact: str, outcome: ReviewOutcome) -> bool:
    return any(_below(field, fact) or _below(fact, field) for field in outcome.fields)


def _below(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}.")


def _score_rationale(outcome: ReviewOutcome) -> float:
    said = _words([outcome.rationale])
    others = [status for status in STATUSES if status != outcome.status]
    if any(re.search(rf"\b{status}\b", outcome.rationale) for status in others):
        return 0.0
    quotes = bool(said & _words(one.quote for one in outcome.quotes))
    facts = bool(
        said & _words([*outcome.values, *(name.replace(".", " ").replace("_", " ") for name in outcome.fields)])
    )
    return (quotes + facts) / 2


def _words(texts: Iterable[str]) -> set[str]:
    return {word.casefold() for text in texts for word in _WORD.findall(text)}


# --- in words -------------------------------------------------------------------------------------------------------


def feedback(example: Example, outcome: ReviewOutcome) -> str:
    """What was wrong, why, and what the label says; the first thing first. For whoever writes the instructions."""
    label, said = example.label, []
    if outcome.status != label.verdict:
        proposed = outcome.proposed[-1] if outcome.proposed else "nothing"
        code = f" ({proposed} was proposed; code made it {outcome.status}: {outcome.reason})" if outcome.reason else ""
        said.append(f"The verdict {outcome.status}{code} is wrong, {label.verdict} is right: {label.why}")
        if label.trap:
            said.append(f"What makes it hard: {label.trap.replace('_', ' ')}.")
        if label.missing:
            said.append(f"The case does not say: {', '.join(label.missing)}. Silence is neither yes nor no.")
    else:
        said.append(f"The verdict {outcome.status} is right.")
    lost = _find_lost_quotes(outcome)
    said += [f"This quote is in no document, it is not word for word: {quote[:160]!r}." for quote in lost[:2]]
    if not outcome.claimed:
        said.append("Nothing was quoted.")
    if label.gold and not _reaches(label.gold[0], outcome.quotes):
        said.append(f"The sentence that decides was not quoted: {label.gold[0].quote[:240]!r}.")
    elif label.gold and citation_accuracy(label, outcome) < 0.6 and not lost:
        said.append("More was quoted than the sentences that decide.")
    if outcome.claimed and _score_shown(outcome) < 1:
        said.append("Quotes were claimed before any tool had shown them: the policy was not searched first.")
    absent = [fact for fact in label.facts if not _is_named(fact, outcome)]
    if absent:
        said.append(f"Facts that decide were not named as evidence: {', '.join(absent)}.")
    if _score_rationale(outcome) < 1:
        said.append("The rationale does not speak of the quoted sentence and of the values of the facts.")
    right = outcome.status == label.verdict
    if (outcome.confidence - right) ** 2 > 0.09:
        said.append(f"Confidence was {outcome.confidence:.2f} for a verdict that is {'right' if right else 'wrong'}.")
    return " ".join(said)


def _reaches(gold: QuoteSpan, quotes: Sequence[QuoteSpan]) -> bool:
    return any(one.document == gold.document and one.start < gold.end and gold.start < one.end for one in quotes)


# --- others ---------------------------------------------------------------------------------------------------------


def find_metric(name: str = DEFAULT) -> ReviewMetric:
    """Ours, one that a package registers under `circumspect.metrics`, or `module:function`."""
    if name == DEFAULT:
        return review
    try:
        if ":" in name:
            module, _, attribute = name.partition(":")
            found = getattr(import_module(module), attribute)
        else:
            found = next(point for point in entry_points(group=GROUP) if point.name == name).load()
    except StopIteration:
        raise ConfigError(
            f"No metric is called {name!r}.", fix=f"Use {DEFAULT}, module:function, or an entry point of {GROUP}."
        ) from None
    except (ImportError, AttributeError, ValueError) as problem:
        raise ConfigError(f"The metric {name!r} cannot be loaded: {problem}.", fix="Check module and name.") from None
    if not callable(found):
        raise ConfigError(f"{name!r} is not a function.", fix="Name one that takes an example and an outcome.")
    metric: ReviewMetric = found
    return metric


def apply_metric(metric: ReviewMetric, example: Example, outcome: ReviewOutcome) -> ReviewScore:
    """A score from 0 to 1, whatever the metric gives; raises `ValueError` where it gives none."""
    given = metric(example, outcome)
    score = given if isinstance(given, ReviewScore) else ReviewScore(float(given))
    if not math.isfinite(score.total) or not 0 <= score.total <= 1:
        raise ValueError(f"the metric gave {score.total!r}, which is not from 0 to 1")
    return score
