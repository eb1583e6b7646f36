"""Units as policies and the names of facts write them -> what they measure, and how much of it, exactly.

Two amounts are comparable where they measure the same: 41 lb and 20 kg are, 41 USD and 20 EUR are not. Factors are
exact by definition, so nothing is lost at a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class MeasureUnit:
    measures: str
    """"mass", "length", …; each currency measures itself, and so does each thing that is counted."""
    factor: Fraction


def _make(measures: str, **factors: str) -> dict[str, MeasureUnit]:
    return {name: MeasureUnit(measures, Fraction(factor)) for name, factor in factors.items()}


DAY = MeasureUnit("time", Fraction(1))
MONTH = MeasureUnit("months", Fraction(1))
_SINGULAR = {
    **_make("mass", mg="1/1000", milligram="1/1000", g="1", gram="1", kg="1000", kilogram="1000", kilo="1000",
            lb="45359237/100000", lbs="45359237/100000"),
    **_make("length", mm="1/1000", millimetre="1/1000", cm="1/100", centimetre="1/100", m="1", metre="1", meter="1",
            km="1000", kilometre="1000", kilometer="1000", ft="381/1250", foot="381/1250", feet="381/1250",
            mile="1609344/1000"),
    **_make("time", minute="1/1440", hour="1/24", day="1", week="7"),
    **_make("months", month="1", year="12"),
    **_make("business days", business_day="1", working_day="1"),
    **_make("nights", night="1"),
    **_make("temperature", c="1", celsius="1"),
    **_make("percent", percent="1", pct="1"),
    **_make("EUR", eur="1", euro="1"),
    **_make("USD", usd="1"),
    **_make("GBP", gbp="1"),
    **_make("ILS", ils="1"),
    **_make("CHF", chf="1"),
}  # fmt: skip
_SIGNS = {"%": "percent", "per cent": "percent", "°c": "c", "€": "eur", "£": "gbp"}


def find_unit(written: str) -> MeasureUnit | None:
    """The unit that a word or sign stands for: "km", "kilometres", "business days", "%"."""
    plain = " ".join(written.lower().replace("calendar ", "").split())
    plain = _SIGNS.get(plain, plain).replace(" ", "_")
    return _SINGULAR.get(plain) or _SINGULAR.get(plain.removesuffix("s"))
