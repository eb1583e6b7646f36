"""Words of the console: a language in, texts, numbers, amounts and times written its way out.

Texts are Fluent files, one for each page and language, below `words/`, and the chat widget's in the language's own
folder; all files of a language make one bundle. What a translation lacks is said in English, and the page says so.
Numbers and dates are Babel's. Times are UTC everywhere, as the charts are.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources

from babel import Locale
from babel.dates import format_date, format_datetime, format_timedelta
from babel.numbers import format_currency, format_decimal, format_percent
from fluent.runtime import FluentBundle, FluentResource
from fluent.syntax.ast import Message, Placeable, Resource, Term, TextElement

from circumspect.language.catalogue import meaning
from circumspect.language.pack import pack
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import reason
from circumspect.values import LANGUAGES, Language

log = logging.getLogger(__name__)

COOKIE = "circumspect_language"
_LONGEST_HEADER = 500
"""Of languages that a browser asks for, in characters: a longer one has no more of ours in it."""
NAMES: dict[Language, str] = {one: str(Locale(one).get_display_name(one)).capitalize() for one in LANGUAGES}
"""Each language by its own name."""
OFFERED: dict[Language, str] = {
    one: name for one, name in NAMES.items() if resources.files(__package__).joinpath("words", one).is_dir()
}
"""Those that pages are written in."""
FluentValue = str | int | float


@dataclass(frozen=True, slots=True)
class Translator:
    """One language. Templates have its methods by name: `{{ t("nav-overview") }}`, `{{ number(1234) }}`."""

    language: Language
    borrowed: set[str] = field(default_factory=set, compare=False)
    """Names of texts that were said in English because the language lacks them."""

    @property
    def direction(self) -> str:
        return "rtl" if self.rtl else "ltr"

    @property
    def rtl(self) -> bool:
        return pack(self.language).right_to_left

    def t(self, key: str, /, **values: FluentValue) -> str:
        for candidate in dict.fromkeys((self.language, "en")):
            bundle = _bundle(candidate)
            if bundle.has_message(key) and (pattern := bundle.get_message(key).value) is not None:
                if candidate != self.language:
                    self.borrowed.add(key)
                text, problems = bundle.format_pattern(pattern, dict(values))
                if problems:
                    log.warning("message %s in %s: %s", key, candidate, problems[0])
                return str(text)
        raise KeyError(f"no message '{key}' in console/words")

    def meaning(self, code: ReasonCode | str) -> str:
        """One line on what a reason code means."""
        known = reason(code)
        return meaning(known, self.language) if known else str(code)

    def reason_name(self, code: ReasonCode | str) -> str:
        """A reason code in a few words; one that this version does not know is as it is."""
        known = reason(code)
        return self.t(f"code-{known.lower().replace('_', '-')}") if known else str(code)

    def number(self, value: float, digits: int = 0) -> str:
        pattern = "#,##0" + ("." + "0" * digits if digits else "")
        return str(format_decimal(value, format=pattern, locale=self.language))

    def figure(self, value: float) -> str:
        """A number of a chart: whole, or as its first four digits tell."""
        if math.isnan(value):
            return "–"
        return (
            self.number(value)
            if value == round(value)
            else str(format_decimal(float(f"{value:.4g}"), format="#,##0.########", locale=self.language))
        )

    def percent(self, share: float | None, digits: int = 0) -> str:
        if share is None:
            return "–"
        pattern = "0" + ("." + "0" * digits if digits else "") + "%"
        return str(format_percent(share, format=pattern, locale=self.language))

    def money(self, dollars: float) -> str:
        """Small amounts keep the digits that say something."""
        digits = 2 if dollars == 0 or abs(dollars) >= 1 else 4 if abs(dollars) >= 0.01 else 6
        pattern = f"$0.{'0' * digits}"
        return str(format_currency(dollars, "USD", format=pattern, locale=self.language, currency_digits=False))

    def amount(self, value: float, currency: str) -> str:
        """Money of a tenant's, in the currency that it names."""
        return str(format_currency(value, currency, locale=self.language))

    def day(self, at: datetime | date) -> str:
        return str(format_date(at, "d MMM", locale=self.language))

    def moment(self, at: datetime) -> str:
        return str(format_datetime(at.astimezone(UTC), "d MMM y, HH:mm 'UTC'", tzinfo=UTC, locale=self.language))

    def clock(self, at: datetime) -> str:
        return f"{at.astimezone(UTC):%H:%M}"

    def span(self, passed: timedelta) -> str:
        return str(format_timedelta(passed, threshold=1.2, locale=self.language))


def parse_language(value: object) -> Language | None:
    """The language of that name, if it is one of ours."""
    return next((one for one in LANGUAGES if one == value), None)


def pick_language(cookie: str | None, accept: str) -> Language:
    """What the person chose, else what the browser asks for first, else English."""
    if chosen := parse_language(cookie):
        return chosen
    wanted = (
        parse_language(part.split(";")[0].strip().lower()[:2].replace("iw", "he"))
        for part in accept[:_LONGEST_HEADER].split(",")
    )
    return next((one for one in wanted if one), "en")


def keys(language: Language) -> dict[str, frozenset[str]]:
    """Names of the texts of each page that has been translated, for the test that compares languages."""
    return {
        page: frozenset(one.id.name for one in texts.body if isinstance(one, Message | Term))
        for page, texts in _read_pages(language).items()
    }


def find_texts(language: Language, begin: str) -> list[tuple[str, Sequence[TextElement | Placeable]]]:
    """The texts whose names begin like this, in pieces."""
    return [
        (one.id.name, one.value.elements)
        for texts in _read_pages(language).values()
        for one in texts.body
        if isinstance(one, Message) and one.value is not None and one.id.name.startswith(begin)
    ]


@cache
def _bundle(language: Language) -> FluentBundle:
    bundle = FluentBundle([language], use_isolating=pack(language).right_to_left)
    for texts in _read_pages(language).values():
        bundle.add_resource(texts)
    return bundle


def _read_pages(language: Language) -> dict[str, Resource]:
    folder = resources.files(__package__).joinpath("words", language)
    own = sorted(folder.iterdir(), key=lambda one: one.name) if folder.is_dir() else ()
    files = (*own, resources.files("circumspect.language").joinpath(language, "widget.ftl"))
    return {file.name: FluentResource(file.read_text("utf-8")) for file in files if file.name.endswith(".ftl")}
