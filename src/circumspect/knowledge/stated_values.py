"""Text -> the values in it: money, durations, percentages, dates, times of day and counts, in every language.

Each comes with its place and in a form that can be compared: two weeks are 14 days, but ten working days are not ten
days. Numbers are read as written (1,950 · 1 950 · 1.950,00 · ₪20), and small ones as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from circumspect.knowledge.terms import stop_words
from circumspect.language.pack import join_patterns, join_words, packs, split_pairs

StatedValueKind = Literal[
    "money", "duration", "percentage", "date", "time", "count", "measure", "range", "weekday", "month", "year", "phone",
    "mail", "place", "name", "yes or no",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedValue:
    """`unit` is the currency, "hours" or "working days", "day.month" or "date", "exact", "either half" of
    the day or "around", or a count's noun; `written` is the text at [start, end). The kinds that `values` does not find
    are those of `stated_facts`."""

    kind: StatedValueKind
    unit: str
    amount: float
    start: int
    end: int
    written: str


_DIGITS = r"\d{1,3}(?:[,.\u00a0\u202f ’']\d{3}){1,5}(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_HOURS = {"minutes": 1 / 60, "hours": 1.0, "days": 24.0, "weeks": 168.0, "months": 730.5, "years": 8766.0}
_WORKING_DAYS = "working_days"
_HALF_A_DAY = 12 * 60
_SAME = 0.04
"""A month has 30 or 31 days."""
_UNITS = (_WORKING_DAYS, *_HOURS)


@dataclass(frozen=True, slots=True)
class _ValuePatterns:
    """How values are written in any of the languages."""

    numbers: Mapping[str, float]
    months: tuple[re.Pattern[str], ...]
    dates: tuple[re.Pattern[str], ...]
    ordinals: Mapping[str, int]
    """The days of a month in words."""
    time: re.Pattern[str]
    spoken: re.Pattern[str]
    """An hour in words, each in a group that is named for it."""
    money: re.Pattern[str]
    percent: re.Pattern[str]
    duration: re.Pattern[str]
    duals: Mapping[str, tuple[str, float]]
    dual: re.Pattern[str]
    count: re.Pattern[str]
    glued: re.Pattern[str]
    """What may be written together with a number in words."""


@cache
def _patterns() -> _ValuePatterns:
    spoken = [one.values for one in packs()]
    numbers = {word: float(value) for one in spoken for value, word in split_pairs(one.numbers)}
    in_words = join_patterns(sorted(map(re.escape, numbers), key=len, reverse=True))
    glued = f"{join_words(one.about.glued for one in packs())}?"
    number = rf"(?<![\w.,])(?P<number>{_DIGITS}|(?:{glued}-?)?{in_words}(?!\w))"
    stems = [join_words((one.month_stems[month],) for one in spoken) for month in range(12)]
    month = f"(?P<month>{join_patterns(stems)})"
    nth, of = f"{join_words(one.ordinals for one in spoken)}?", f"(?:{join_words(one.of for one in spoken)} )?"
    ordinals = list_ordinals()
    in_order = join_patterns(map(re.escape, ordinals))
    am, pm = (join_words(lists) for lists in ((one.am for one in spoken), (one.pm for one in spoken)))
    half, half2 = (f"(?:(?P<am{place}>{am})|(?P<pm{place}>{pm}))" for place in (1, 2))
    oclock = join_words(one.oclock for one in spoken)
    codes = dict.fromkeys(code for one in spoken for code in one.currency)
    before, after = (
        join_patterns(
            f"(?P<{code}{place}>{join_words(one.currency.get(code, ()) for one in spoken)})" for code in codes
        )
        for place in (1, 2)
    )
    unit = join_patterns(f"(?P<{name}>{join_words(one.unit[name] for one in spoken)})" for name in _UNITS)
    duals = {
        word: (unit, float(amount))
        for one in spoken
        for word, (amount, unit) in ((word, meant.split()) for word, meant in split_pairs(one.duals))
    }
    return _ValuePatterns(
        numbers,
        months=tuple(re.compile(stem, re.IGNORECASE) for stem in stems),
        dates=(
            re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})(?!\d)"),
            re.compile(r"(?<![\d.])(?P<day>\d{1,2})[./](?P<m>\d{1,2})[./](?P<year>\d{4})(?!\d)"),
            re.compile(rf"(?<!\d)(?P<day>\d{{1,2}}){nth} {of}{month}(?:,? (?P<year>\d{{4}}))?(?!\w)", re.IGNORECASE),
            re.compile(rf"(?<!\w)(?P<day>{in_order}) {of}{month}(?:,? (?P<year>\d{{4}}))?(?!\w)", re.IGNORECASE),
            re.compile(rf"(?<!\w){month} (?P<day>\d{{1,2}}){nth}(?:,? (?P<year>\d{{4}}))?(?!\w)", re.IGNORECASE),
        ),
        ordinals=ordinals,
        time=re.compile(
            rf"(?<![\w:.,])(?P<hour>[01]?\d|2[0-4])(?:[:.](?P<minute>[0-5]\d)\s?(?:{half}|{oclock})|:(?P<minute2>[0-5]\d)"
            rf"|\s?{half2}|\s?{oclock}(?:\s(?P<minute3>[0-5]\d))?)(?![\w:]|[.,]\d)",
            re.IGNORECASE,
        ),
        spoken=re.compile(
            "|".join(
                rf"(?<!\w)(?P<h{hour}_{place}>{said})(?!\w)"
                for place, (hour, said) in enumerate(split_pairs(line for one in spoken for line in one.spoken_hours))
            ),
            re.IGNORECASE,
        ),
        money=re.compile(
            rf"(?:{before}\s?(?P<before>{_DIGITS}))"
            rf"|(?:(?<![\w.,])(?P<after>{_DIGITS}|{in_words}(?=\s))\s?{after}(?!\w))",
            re.IGNORECASE,
        ),
        percent=re.compile(rf"{number}\s?{join_words(one.percent for one in spoken)}(?!\w)", re.IGNORECASE),
        duration=re.compile(rf"{number}[\s\u00a0-]*{unit}(?!\w)", re.IGNORECASE),
        duals=duals,
        dual=re.compile(rf"(?<!\w){glued}(?P<dual>{join_patterns(duals)})(?!\w)"),
        count=re.compile(rf"{number}[\s\u00a0]+(?P<noun>[^\W\d_]{{3,}})", re.IGNORECASE),
        glued=re.compile(f"^{glued}-?"),
    )


@cache
def list_ordinals() -> Mapping[str, int]:
    """Numbers in words that say which of several, the longest first: "twenty-first" before "first"."""
    found = {word: int(day) for one in packs() for day, word in split_pairs(one.values.ordinal_days)}
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def values(text: str) -> list[StatedValue]:
    """Every value, in the order of the text; none overlaps another."""
    found: list[StatedValue] = []
    for reader in (_dates, _times, _money, _percentages, _durations, _counts):
        taken = [(value.start, value.end) for value in found]
        found.extend(
            value for value in reader(text) if not any(value.start < end and start < value.end for start, end in taken)
        )
    return sorted(found, key=lambda value: value.start)


def number(written: str) -> float:
    """1,950 · 1 950 · 1.950,00 · 14 · 2.5 · ten."""
    word = written.casefold()
    if not word[0].isdigit():
        known = _patterns().numbers
        return known[word] if word in known else known[_patterns().glued.sub("", word)]
    digits = re.sub(r"[\s\u00a0\u202f’']", "", word)
    whole, sign, rest = digits, "", ""
    if cents := re.fullmatch(r"(.*?)([.,])(\d{1,2})", digits):
        whole, sign, rest = cents.groups()
    return float(re.sub(r"[.,]", "", whole) + ("." + rest if sign else ""))


def read_number_word(word: str) -> float:
    """ "eight" is 8; what is no number is 0."""
    return _patterns().numbers.get(word.casefold(), 0)


def _dates(text: str) -> Iterator[StatedValue]:
    for pattern in _patterns().dates:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = int(groups["m"]) if groups.get("m") else _month(groups["month"])
            day, year = _day(groups["day"]), int(groups["year"] or 0)
            if 1 <= month <= 12 and 1 <= day <= 31:
                unit = "date" if year else "day.month"
                yield StatedValue("date", unit, year * 10_000 + month * 100 + day, match.start(), match.end(), match[0])


def _times(text: str) -> Iterator[StatedValue]:
    for match in _patterns().time.finditer(text):
        hour, minute = int(match["hour"]), int(match["minute"] or match["minute2"] or match["minute3"] or 0)
        morning, afternoon = match["am1"] or match["am2"], match["pm1"] or match["pm2"]
        if morning or afternoon:
            hour = hour % 12 + (12 if afternoon else 0)
        exact = bool(morning or afternoon) or hour > 12 or match["hour"].startswith("0")
        unit = "exact" if exact else "either half"
        yield StatedValue("time", unit, hour % 24 * 60 + minute, match.start(), match.end(), match[0])
    for match in _patterns().spoken.finditer(text):
        hour = int((match.lastgroup or "h0")[1:].split("_")[0])
        yield StatedValue("time", "around", hour % 12 * 60, match.start(), match.end(), match[0])


def is_same_value(one: StatedValue, other: StatedValue) -> bool:
    """They measure the same and come to the same. A day without its year is that day of any; half past five may be in
    the morning or in the afternoon."""
    if one.kind != other.kind:
        return False
    match one.kind:
        case "date":
            years = {int(value.amount) // 10_000 for value in (one, other)} - {0}
            return one.amount % 10_000 == other.amount % 10_000 and len(years) < 2
        case "time":
            if "around" in (one.unit, other.unit):
                return one.amount // 60 % 12 == other.amount // 60 % 12
            apart = abs(one.amount - other.amount)
            return apart == 0 or (apart == _HALF_A_DAY and "either half" in (one.unit, other.unit))
        case "count":
            return one.amount == other.amount
        case "duration":
            return one.unit == other.unit and abs(one.amount - other.amount) <= _SAME * max(one.amount, other.amount)
    return one.unit == other.unit and one.amount == other.amount


def _day(written: str) -> int:
    return int(written) if written.isdigit() else _patterns().ordinals[written.casefold()]


def _month(name: str) -> int:
    return next(number for number, stem in enumerate(_patterns().months, 1) if stem.fullmatch(name))


def _money(text: str) -> Iterator[StatedValue]:
    for match in _patterns().money.finditer(text):
        sign = next(name for name, group in match.groupdict().items() if group and name not in ("before", "after"))
        amount = number(match["before"] or match["after"])
        yield StatedValue("money", sign[:3], amount, match.start(), match.end(), match[0])


def _percentages(text: str) -> Iterator[StatedValue]:
    for match in _patterns().percent.finditer(text):
        yield StatedValue("percentage", "%", number(match["number"]), match.start(), match.end(), match[0])


def _durations(text: str) -> Iterator[StatedValue]:
    for match in _patterns().duration.finditer(text):
        unit = next(name for name in _UNITS if match[name])
        yield _duration(unit, number(match["number"]), match)
    for match in _patterns().dual.finditer(text):
        unit, amount = _patterns().duals[match["dual"]]
        yield _duration(unit, amount, match)


def _duration(unit: str, amount: float, match: re.Match[str]) -> StatedValue:
    if unit == _WORKING_DAYS:
        return StatedValue("duration", "working days", amount, match.start(), match.end(), match[0])
    return StatedValue("duration", "hours", amount * _HOURS[unit], match.start(), match.end(), match[0])


def _counts(text: str) -> Iterator[StatedValue]:
    small = stop_words(text)
    for match in _patterns().count.finditer(text):
        # A number with a point in it, or at a line's beginning, is likelier to number than to count.
        numbers = re.search(r"[.,]\d{1,2}$", match["number"]) or not match.start()
        if numbers or match["noun"].casefold() in small:
            continue
        yield StatedValue(
            "count", match["noun"].casefold(), number(match["number"]), match.start(), match.end("number"), match[0]
        )
