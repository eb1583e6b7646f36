"""Text -> the values in it: money, durations, percentages, dates and counts, in English, Russian and Hebrew.

Each comes with its place and in a form that can be compared: two weeks are 14 days, but ten working days are not ten
days. Numbers are read as written (1,950 · 1 950 · 1.950,00 · ₪20), and small ones as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from circumspect.knowledge.terms import stop_words

StatedValueKind = Literal["money", "duration", "percentage", "date", "count"]


@dataclass(frozen=True, slots=True)
class StatedValue:
    """`unit` is the currency, "hours" or "working days", "day.month" or "date", or a count's noun; `written` is the
    text at [start, end)."""

    kind: StatedValueKind
    unit: str
    amount: float
    start: int
    end: int
    written: str


_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "sixty": 60,
    "ninety": 90,
    "один": 1, "одного": 1, "одной": 1, "два": 2, "две": 2, "двух": 2, "три": 3, "трёх": 3, "трех": 3, "четыре": 4,
    "четырёх": 4, "четырех": 4, "пять": 5, "пяти": 5, "шесть": 6, "шести": 6, "семь": 7, "семи": 7, "восемь": 8,
    "восьми": 8, "девять": 9, "девяти": 9, "десять": 10, "десяти": 10, "двенадцать": 12, "двенадцати": 12,
    "четырнадцать": 14, "четырнадцати": 14, "пятнадцати": 15, "двадцать": 20, "двадцати": 20, "тридцать": 30,
    "тридцати": 30, "шестьдесят": 60, "шестидесяти": 60,
    "אחד": 1, "אחת": 1, "שני": 2, "שתי": 2, "שניים": 2, "שלושה": 3, "שלוש": 3, "שלושת": 3, "ארבעה": 4, "ארבע": 4,
    "חמישה": 5, "חמש": 5, "שישה": 6, "שש": 6, "שבעה": 7, "שבע": 7, "שמונה": 8, "תשעה": 9, "תשע": 9, "עשרה": 10,
    "עשר": 10, "עשרת": 10, "שלושים": 30, "עשרים": 20, "שישים": 60, "תשעים": 90,
}  # fmt: skip
_DUALS = {
    "יומיים": ("days", 2),
    "שבועיים": ("weeks", 2),
    "חודשיים": ("months", 2),
    "שנתיים": ("years", 2),
    "שעתיים": ("hours", 2),
}

_DIGITS = r"\d{1,3}(?:[,.\u00a0\u202f ’']\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_NUMBER = rf"(?P<number>{_DIGITS})"
_SPOKEN = "|".join(sorted(_WORDS, key=len, reverse=True))
_ANY_NUMBER = rf"(?<![\w.,])(?P<number>{_DIGITS}|(?:[ולבמהכש]-?)?(?:{_SPOKEN})(?!\w))"

_CURRENCIES = {
    "ILS": r"₪|ILS|NIS|shekels?|шекел\w*|шек\.|ש[\"״']{1,2}ח|שקל(?:ים)?(?: חדשים)?",
    "USD": r"US\$|\$|USD|dollars?|доллар\w*|דולר(?:ים)?",
    "EUR": r"€|EUR|euros?|евро|יורו|אירו",
    "GBP": r"£|GBP|pounds?(?: sterling)?|фунт\w*",
    "RUB": r"₽|RUB|руб(?:л\w+|\.)?|р\.(?!\w)",
}
_CURRENCY = "|".join(f"(?P<{code}{{n}}>{pattern})" for code, pattern in _CURRENCIES.items())
_MONEY = re.compile(
    rf"(?:(?:{_CURRENCY.replace('{n}', '1')})\s?(?P<before>{_DIGITS}))"
    rf"|(?:(?<![\w.,])(?P<after>{_DIGITS})\s?(?:{_CURRENCY.replace('{n}', '2')})(?!\w))",
    re.IGNORECASE,
)

_UNITS = {
    "working days": r"(?:working|business|work)[ -]days?|рабоч\w+ д(?:ень|ня|ней|ням|нями)|ימי (?:עסקים|עבודה)",
    "minutes": r"minutes?|mins?\b|минут\w*|мин\.|דקות|דקה|דק[׳']",
    "hours": r"hours?|hrs?\b|час(?:а|ов|ам|у)?|שעות|שעה",
    "days": r"(?:calendar )?days?|(?:календарн\w+ )?(?:день|дня|дней|дням|днями)|сут(?:ки|ок)|ימים|יום|ימי(?: לוח)?",
    "weeks": r"weeks?|недел\w+|שבועות|שבוע",
    "months": r"months?|месяц\w*|חודשים|חודש",
    "years": r"years?|год(?:а|у|ы|ов)?|лет|שנים|שנה|שנות",
}
_UNIT = "|".join(f"(?P<{name.replace(' ', '_')}>{pattern})" for name, pattern in _UNITS.items())
_DURATION = re.compile(rf"{_ANY_NUMBER}[\s\u00a0-]*(?:{_UNIT})(?!\w)", re.IGNORECASE)
_DUAL = re.compile(rf"(?<!\w)[ולבמהכש]?(?P<dual>{'|'.join(_DUALS)})(?!\w)")
_HOURS = {"minutes": 1 / 60, "hours": 1.0, "days": 24.0, "weeks": 168.0, "months": 730.5, "years": 8766.0}

_PERCENT = re.compile(rf"{_ANY_NUMBER}\s?(?:%|per ?cent|процент\w*|אחוז(?:ים)?)(?!\w)", re.IGNORECASE)

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan|янв|ינואר", "feb|фев|פברואר", "mar|мар|מרץ", "apr|апр|אפריל", "may|ма[йя]|מאי", "jun|июн|יוני",
         "jul|июл|יולי", "aug|авг|אוגוסט", "sep|сен|ספטמבר", "oct|окт|אוקטובר", "nov|ноя|נובמבר", "dec|дек|דצמבר"), 1
    )
    for name in names.split("|")
}  # fmt: skip
_MONTH = r"(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|(?:янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)[а-я]*|ב?(?:ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|ספטמבר|אוקטובר|נובמבר|דצמבר))"  # noqa: E501
_DATES = (
    re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})(?!\d)"),
    re.compile(r"(?<![\d.])(?P<day>\d{1,2})[./](?P<m>\d{1,2})[./](?P<year>\d{4})(?!\d)"),
    re.compile(
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?(?!\w)", re.IGNORECASE
    ),
    re.compile(rf"(?<!\w){_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?(?!\w)", re.IGNORECASE),
)
_COUNT = re.compile(rf"{_ANY_NUMBER}[\s\u00a0]+(?P<noun>[^\W\d_]{{3,}})", re.IGNORECASE)


def values(text: str) -> list[StatedValue]:
    """Every value, in the order of the text; none overlaps another."""
    found: list[StatedValue] = []
    for reader in (_dates, _money, _percentages, _durations, _counts):
        taken = [(value.start, value.end) for value in found]
        found.extend(
            value for value in reader(text) if not any(value.start < end and start < value.end for start, end in taken)
        )
    return sorted(found, key=lambda value: value.start)


def number(written: str) -> float:
    """1,950 · 1 950 · 1.950,00 · 14 · 2.5 · ten."""
    word = written.casefold()
    if not word[0].isdigit():
        return float(_WORDS[word] if word in _WORDS else _WORDS[re.sub(r"^[ולבמהכש]-?", "", word)])
    digits = re.sub(r"[\s\u00a0\u202f’']", "", word)
    whole, sign, rest = digits, "", ""
    if cents := re.fullmatch(r"(.*?)([.,])(\d{1,2})", digits):
        whole, sign, rest = cents.groups()
    return float(re.sub(r"[.,]", "", whole) + ("." + rest if sign else ""))


def _dates(text: str) -> Iterator[StatedValue]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = int(groups["m"]) if groups.get("m") else _month(groups["month"])
            day, year = int(groups["day"]), int(groups["year"] or 0)
            if 1 <= month <= 12 and 1 <= day <= 31:
                unit = "date" if year else "day.month"
                yield StatedValue("date", unit, year * 10_000 + month * 100 + day, match.start(), match.end(), match[0])


def _month(name: str) -> int:
    name = name.casefold().removeprefix("ב") if name[0] == "ב" else name.casefold()
    if name in _MONTHS:
        return _MONTHS[name]
    return 5 if name.startswith(("май", "мая")) else _MONTHS[name[:3]]


def _money(text: str) -> Iterator[StatedValue]:
    for match in _MONEY.finditer(text):
        code = next(name[:3] for name, group in match.groupdict().items() if group and name[:3] in _CURRENCIES)
        amount = number(match["before"] or match["after"])
        yield StatedValue("money", code, amount, match.start(), match.end(), match[0])


def _percentages(text: str) -> Iterator[StatedValue]:
    for match in _PERCENT.finditer(text):
        yield StatedValue("percentage", "%", number(match["number"]), match.start(), match.end(), match[0])


def _durations(text: str) -> Iterator[StatedValue]:
    for match in _DURATION.finditer(text):
        unit = next(name for name in _UNITS if match[name.replace(" ", "_")])
        yield _duration(unit, number(match["number"]), match)
    for match in _DUAL.finditer(text):
        unit, amount = _DUALS[match["dual"]]
        yield _duration(unit, amount, match)


def _duration(unit: str, amount: float, match: re.Match[str]) -> StatedValue:
    if unit == "working days":
        return StatedValue("duration", unit, amount, match.start(), match.end(), match[0])
    return StatedValue("duration", "hours", amount * _HOURS[unit], match.start(), match.end(), match[0])


def _counts(text: str) -> Iterator[StatedValue]:
    for match in _COUNT.finditer(text):
        # A number with a point in it, or at a line's beginning, is likelier to number than to count.
        if match["noun"].casefold() in stop_words() or re.search(r"[.,]\d{1,2}$", match["number"]) or not match.start():
            continue
        yield StatedValue(
            "count", match["noun"].casefold(), number(match["number"]), match.start(), match.end("number"), match[0]
        )
