"""Values in folded text, so that what the user typed can be compared with what a call carries.

`spellings` lists the ways in which a value may be written; `FoldedText` reads dates, numbers and phone numbers out of a
text, each only when somebody asks for it. The words for them are in `values.txt` of each language.

What may surprise: a value is never shortened or stemmed. "12345" is not found in "123456".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property, lru_cache

from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, join_words, packs, split_pairs

_LARGEST_IN_WORDS = 12
_SHORTEST_GLUED = 8
"""Characters. A short value behind a letter is another word."""


def find_word(needle: str, text: str) -> int:
    """Where `needle` stands in `text` as a whole word or phrase, both folded; -1 when it does not."""
    at = text.find(needle)
    while at >= 0:
        # A sign that goes on with the needle makes it a piece of something longer.
        before, after = text[at - 1 : at], text[at + len(needle) : at + len(needle) + 1]
        if (before in _APART or not (_joins(before) and _joins(needle[0]))) and (
            after in _APART or not (_joins(after) and _joins(needle[-1]))
        ):
            return at
        at = text.find(needle, at + 1)
    return -1


_APART = frozenset(("", " ", ",", ".", "\n"))
"""What stands beside most words."""


def find_glued(needle: str, text: str) -> bool:
    """The needle stands in the text behind a small word that its language writes together with it: "to 5 Herzl St."."""
    packs_of = [one for one in packs() if one.about.glued and one.script.letter.match(needle)]
    if not packs_of or len(needle) < _SHORTEST_GLUED:
        return False
    glued = join_words(one.about.glued for one in packs_of)
    return re.search(rf"(?<!\w){glued}{re.escape(needle)}(?!\w)", text) is not None


def _joins(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


# --- numbers --------------------------------------------------------------------------------------------------------


@cache
def _in_words() -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for value, word in split_pairs(line for one in packs() for line in (*one.values.numbers, *one.values.both)):
        found.setdefault(int(value), []).append(fold(word))
    return {value: tuple(words) for value, words in found.items() if value <= _LARGEST_IN_WORDS}


_DECIMAL_COMMA = (str.maketrans(",.", " ,"), str.maketrans(",.", ".,"))


@lru_cache(maxsize=2048)
def numerals(value: int | float) -> tuple[str, ...]:
    """The ways in which a number is written: 1234.5 · 1,234.50 · 1.234,50 · 1 234,5 · and small ones in words."""
    if value != value or value in (float("inf"), float("-inf")):
        return ()
    if value == int(value):
        whole = int(value)
        grouped = f"{whole:,}"
        forms = [str(whole), f"{whole}.0", f"{whole}.00", f"{whole},00", grouped, f"{grouped}.00"]
        forms += [grouped.replace(",", sign) for sign in " '."] + [f"{grouped.replace(',', '.')},00"]
        forms += _in_words().get(whole, ())
    else:
        plain, cents = repr(value), f"{value:.2f}"
        forms = [plain, plain.replace(".", ",")]
        if float(cents) == value:
            grouped = f"{value:,.2f}"
            forms += [cents, cents.replace(".", ","), grouped, grouped.replace(",", " ")]
            forms += [grouped.translate(signs) for signs in _DECIMAL_COMMA]
    return tuple(dict.fromkeys(forms))


def says_number(value: int | float, text: str) -> bool:
    """The number stands in a folded text by itself: 12 is neither in 312 nor in 12.5, nor in an id."""
    for form in numerals(value):
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            before, after = text[at - 1 : at] if at else "", text[end : end + 2]
            if not _joins(before) and not _joins(after[:1]) and not _goes_on(text, at, after):
                return True
            at = text.find(form, at + 1)
    return False


def _goes_on(text: str, at: int, after: str) -> bool:
    """The digits are a part of a longer number."""
    if after[:1] in (".", ",") and after[1:].isdigit():
        return True
    return at > 1 and text[at - 1] in ".," and text[at - 2].isdigit()


@cache
def _money() -> re.Pattern[str]:
    sign = join_words(lines for one in packs() for lines in one.values.currency.values())
    number = r"\d[\d.,']*\d|\d"
    return re.compile(
        rf"(?:{sign})\s?(?P<after>{number})|(?<![\w.,])(?P<before>{number})\s?(?:{sign})(?!\w)", re.IGNORECASE
    )


def amounts_in(text: str) -> tuple[float, ...]:
    """Every amount of money in a folded text: 250 in "$250", "250 euros" and "1.250,00 €"."""
    return tuple(read_number(match["after"] or match["before"]) for match in _money().finditer(text))


def read_number(written: str) -> float:
    """1,234.50 and 1.234,50 are the same: two digits or one after the last sign are decimals, three are not."""
    whole, sign, decimals = written, "", ""
    if match := re.fullmatch(r"(.*?)([.,])(\d{1,2})", written):
        whole, sign, decimals = match.groups()
    return float(f"{re.sub(r'[^0-9]', '', whole) or 0}{'.' if sign else ''}{decimals}")


# --- dates and times ------------------------------------------------------------------------------------------------

_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<!\d)(?<!\d[-/.])(\d{1,2})[-/.](\d{1,2})(?:[-/.](\d{4}|\d{2}))?(?!\d)")


@dataclass(frozen=True, slots=True)
class _DateWords:
    """How days and times are written in any of the languages."""

    months: Mapping[str, int]
    named: re.Pattern[str]
    bare_day: re.Pattern[str]
    clock: re.Pattern[str]
    afternoon: re.Pattern[str]


@cache
def _date_words() -> _DateWords:
    spoken = [one.values for one in packs()]
    months = {
        fold(name): number for one in spoken for number, names in enumerate(one.months, 1) for name in names.split()
    }
    month = "|".join(sorted(map(re.escape, months), key=len, reverse=True))
    nth = f"{join_words(one.ordinals for one in spoken)}?"
    until = join_words(one.day_range for one in spoken)
    of, the = (f"(?:{join_words(lists)} )?" for lists in ((one.of for one in spoken), (one.the for one in spoken)))
    glued = f"{join_words(one.before_month for one in spoken)}?"
    am, pm = join_words(one.am for one in spoken), join_words(one.pm for one in spoken)
    return _DateWords(
        months,
        named=re.compile(
            rf"(?<!\w)(?:(?P<day>\d{{1,2}}){nth}(?:\s*(?:-|{until})\s*{the}(?P<day2>\d{{1,2}}){nth})?"
            rf"\s*{of}{glued}(?P<month>{month})\b\.?|{glued}(?P<month2>{month})\.? {the}"
            rf"(?P<day3>\d{{1,2}}){nth}(?:\s*(?:-|{until})\s*(?P<day4>\d{{1,2}}){nth}(?!\d))?)"
            rf"(?:,? ?{of}(?P<year>\d{{4}}))?(?!\d)"
        ),
        bare_day=compile_words(one.bare_day for one in spoken),
        clock=re.compile(rf"(?<![\d:.])(\d{{1,2}})(?:[:.](\d{{2}}))?(?::\d{{2}})?\s*((?:{am}|{pm}))?(?![\d:])"),
        afternoon=re.compile(pm),
    )


Day = tuple[int | None, int | None, int]
"""Year and month when they were said, and the day of the month."""


def _days(text: str) -> Iterator[Day]:
    for year, month, day in _ISO.findall(text):
        yield int(year), int(month), int(day)
    for first, second, year in _NUMERIC.findall(text):
        full = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
        yield full, int(second), int(first)
        yield full, int(first), int(second)
    for match in _date_words().named.finditer(text):
        month = _date_words().months[match["month"] or match["month2"]]
        for day in (match["day"], match["day2"], match["day3"], match["day4"]):
            if day:
                yield (int(match["year"]) if match["year"] else None), month, int(day)
    for match in _date_words().bare_day.finditer(text):
        yield None, None, next(int(day) for day in match.groups() if day)


def days_in(text: str) -> frozenset[Day]:
    """Every calendar day that a folded text names, however it is written. 05/06 is read both ways."""
    return frozenset(day for day in _days(text) if 1 <= day[2] <= 31 and (day[1] is None or 1 <= day[1] <= 12))


def day_of(value: str) -> date | None:
    """The day of an ISO date or date-time; None for anything else."""
    match = re.match(r"(\d{4})-(\d{2})-(\d{2})(?:$|[T ])", value)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def clock_of(value: str) -> tuple[int, int] | None:
    """The time of day of `10:00`, `10:00:00` or an ISO date-time; None for anything else."""
    match = re.fullmatch(
        r"(?:\d{4}-\d{2}-\d{2}[T ])?(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?", value
    )
    return (int(match[1]), int(match[2])) if match else None


def clocks_in(text: str) -> frozenset[tuple[int, int]]:
    """Every time of day that a folded text may mean: `4 pm`, `16:00`, and 4:00 in the afternoon too."""
    words, found = _date_words(), set[tuple[int, int]]()
    for hours, minutes, half in words.clock.findall(text):
        hour, minute = int(hours), int(minutes or 0)
        if hour > 24 or minute > 59:
            continue
        if half and words.afternoon.fullmatch(half):
            found.add((hour % 12 + 12, minute))
        elif half:
            found.add((hour % 12, minute))
        else:
            found |= {(hour % 24, minute), ((hour + 12) % 24, minute)}
    return frozenset(found)


# --- measured numbers -----------------------------------------------------------------------------------------------

_FEW_DIGITS = 3
"""With more "order 12345 weeks ago" is an order, and "item 12345 M" has a size."""


def is_measured(text: str, start: int, end: int) -> bool:
    """The number at this place is so much of something: a unit of time, money or measure stands behind it."""
    if not text[start:end].replace(".", "").replace(",", "").isdigit():
        return False
    unit = _unit_behind().match(text, end)
    if unit is None:
        return False
    is_weak = unit["time"] or (len(unit.group().strip()) == 1 and unit.group().strip().isalpha())
    return not is_weak or end - start <= _FEW_DIGITS


def leave_out_measured(text: str) -> str:
    """The text without the numbers that only say how much of something: "30 hours" names no booking 30."""
    return _NUMERAL.sub(lambda hit: "" if is_measured(text, *hit.span()) else hit[0], text)


_NUMERAL = re.compile(r"(?<![\w.,])(?<![a-z]-)\d++(?:[.,]\d++)*+(?!\w)")


@cache
def _unit_behind() -> re.Pattern[str]:
    """A unit that no number of its own follows: in "order 123 $20" the sign is of what comes."""
    spoken = [one.values for one in packs()]
    time = join_words(lines for one in spoken for lines in one.unit.values())
    much = join_words(lines for one in spoken for lines in (*one.currency.values(), *one.measure.values(), one.percent))
    return re.compile(rf"[\s\u00a0-]?(?:(?P<time>{time})|{much})(?![\w-]|\s?\d)", re.IGNORECASE)


# --- phone numbers and ids ------------------------------------------------------------------------------------------

_HOST = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}")
"""An address of a machine, whose dots count."""
_PHONE = re.compile(r"\+?\(?\d[\d\s().\-]{5,20}\d")
_IDISH = re.compile(r"(?=\S*\d)[\w#@./:\-]{3,}|[\w.+\-]+@[\w\-]+\.[\w.\-]+")


def is_phone(value: str) -> bool:
    value = value.strip()
    if _HOST.fullmatch(value):
        return False
    return bool(re.fullmatch(r"\+?[\d\s().\-]{7,22}", value)) and 7 <= sum(map(str.isdigit, value)) <= 15


def phone_digits(value: str) -> str:
    """The last nine digits: with or without a country code it is the same telephone."""
    return "".join(filter(str.isdigit, value))[-9:]


def phones_in(text: str) -> frozenset[str]:
    return frozenset(phone_digits(match.group()) for match in _PHONE.finditer(text))


def looks_like_id(value: str) -> bool:
    """A single token that names one thing: it carries a digit, or it is an address."""
    return " " not in value and bool(_IDISH.fullmatch(value))


@lru_cache(maxsize=2048)
def spellings(value: str) -> tuple[str, ...]:
    """Ways in which a string may be written, folded. An id may lose its sign, dashes and spaces on the way."""
    plain = fold(value)
    forms = [plain]
    if "_" in plain:
        forms.append(plain.replace("_", " "))
    if plain[:1] in "#@$":
        forms.append(plain[1:].strip())
    if "://" in plain:
        forms.append(plain.split("://", 1)[1].rstrip("/"))
    if plain.endswith("/"):
        forms.append(plain.rstrip("/"))
    return tuple(dict.fromkeys(form for form in forms if form))


class FoldedText:
    """A folded text, and what can be read out of it. Each reading is made once, when first asked for."""

    def __init__(self, text: str) -> None:
        self.raw = text

    @cached_property
    def text(self) -> str:
        return fold(self.raw)

    @cached_property
    def unmeasured_text(self) -> str:
        return leave_out_measured(self.text)

    @cached_property
    def compact_text(self) -> str:
        """Without white space, dashes and dots: how ids, card and account numbers are compared."""
        return self.text.replace(" ", "").replace(".", "").replace("-", "").replace("(", "").replace(")", "")

    @cached_property
    def days(self) -> frozenset[Day]:
        return days_in(self.text)

    @cached_property
    def clocks(self) -> frozenset[tuple[int, int]]:
        return clocks_in(self.text)

    @cached_property
    def phones(self) -> frozenset[str]:
        return phones_in(self.text)

    def says(self, value: str) -> bool:
        """The value stands in the text, in one of its spellings, as a whole."""
        return any(find_word(form, self.text) >= 0 for form in spellings(value))

    def names_clock(self, clock: tuple[int, int]) -> bool:
        hour = clock[0]
        return (str(hour) in self.text or str(hour % 12 or 12) in self.text) and clock in self.clocks

    def names_day(self, day: date) -> bool:
        return str(day.day) in self.text and any(
            said in self.days
            for said in ((day.year, day.month, day.day), (None, day.month, day.day), (None, None, day.day))
        )
