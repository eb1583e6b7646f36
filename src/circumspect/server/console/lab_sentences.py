"""Sentences of the lab in the visitor's language: one of `lab.trials` in, the same from our words out.

Why a guard stopped an arm and what the ladder waits for are English sentences with figures in them, and the first are
stored that way. So they are known by their form. A sentence of no known form is shown as it is, and marked as English.
"""

from __future__ import annotations

import re

from circumspect.lab.trials.estimates import ExperimentMetric
from circumspect.lab.trials.measures import METRICS
from circumspect.server.console.i18n import Translator
from circumspect.server.console.known_sentences import TranslatedSentence

DECISIONS = {"better": "better", "worse": "worse", "no difference": "none", "no difference yet": "yet"}
_DECISION = "no difference yet|no difference|better|worse"
_FORMS = {
    "bound": r"(?P<metric>\w+) is (?P<new>\S+) after (?P<units>\d+) units; the bound is (?P<bound>\S+)\.",
    "more": r"(?P<metric>\w+) is (?P<new>\S+) after (?P<units>\d+) units; "
    r"control has (?P<old>\S+) and (?P<more>\S+) more is allowed\.",
    "control": r"(?P<metric>\w+) is (?P<new>\S+) after (?P<units>\d+) units; control has (?P<old>\S+)\.",
    "stopped": r"It was stopped; only a person can start it again\.",
    "worse": r"(?P<metric>.+) is worse than in control\.",
    "all": r"All units get it\.",
    "held": r"A person wants it to stay here\.",
    "split": r"Units do not fall into the arms as they should; find out why before believing any figure\.",
    "units": r"(?P<units>\d+) of (?P<needed>\d+) units seen at (?P<share>\d+) %\.",
    "days": r"At (?P<share>\d+) % for (?P<days>\S+) of (?P<needed>\S+) days\.",
    "unseen": r"Too little is known yet about (?P<metrics>.+)\.",
    "accepts": rf"(?P<metric>.+): (?P<said>{_DECISION}); it takes (?P<accepted>(?:(?: or )?(?:{_DECISION}))+)\.",
    "up": rf"Guards hold; (?P<units>\d+) units seen at (?P<share>\d+) %; (?P<metric>.+): (?P<said>{_DECISION})\.",
}
_KNOWN = {name: re.compile(form) for name, form in _FORMS.items()}
_GUARD = "A guard stopped it: "
_AMOUNTS = ("new", "old", "bound", "more")


def translate_lab_sentence(sentence: str, words: Translator) -> TranslatedSentence:
    plain = sentence.removeprefix(_GUARD)
    for name, form in _KNOWN.items():
        if found := form.fullmatch(plain):
            return TranslatedSentence(words.t(f"lab-{name}", **_values(found.groupdict(), words)))
    return TranslatedSentence(sentence, english=True)


def amount(value: float | None, metric: ExperimentMetric, words: Translator, *, sign: bool = False) -> str:
    """As the metric is written. With a sign it is a difference, and one of shares is in points, which its column says:
    from 30 to 20 % is not 10 % less."""
    if value is None:
        return "–"
    if metric.kind == "proportion":
        text = words.number(100 * value, 1) if sign else words.percent(value, 1)
    elif metric.name == "cost":
        text = words.money(value)
    else:
        text = words.number(value, 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2)
    return f"+{text}" if sign and value > 0 else text


def points(share: float, words: Translator) -> str:
    return words.t("points", value=words.number(100 * share, 1))


def _values(found: dict[str, str], words: Translator) -> dict[str, str]:
    metric = METRICS.get(found.get("metric", ""))
    return {name: _value(name, value, metric, words) for name, value in found.items()}


def _value(name: str, value: str, metric: ExperimentMetric | None, words: Translator) -> str:
    if name in _AMOUNTS and metric is not None:
        shared = name == "more" and metric.kind == "proportion"
        return points(float(value), words) if shared else amount(float(value), metric, words)
    if name == "metric":
        return words.t(f"metric-{value}") if metric else words.t("lab-main-metric")
    if name == "metrics":
        return ", ".join(words.t(f"metric-{one}") if one in METRICS else one for one in value.split(", "))
    if name == "said":
        return words.t(f"lab-says-{DECISIONS[value]}")
    if name == "accepted":
        return " / ".join(words.t(f"lab-says-{DECISIONS[one]}") for one in value.split(" or "))
    if name == "share":
        return words.percent(int(value) / 100)
    return words.number(float(value), 1 if "." in value else 0)
