"""Text and values in one spelling, so that what the user typed can be compared with what a call carries.

`folded` is the spelling that everything is compared in: compatibility forms, case, digits of other scripts, dashes,
quotes, invisible characters and white space are evened out. `spellings` lists the ways in which a value may be
written; `Reading` reads dates, numbers and phone numbers out of a text, each only when somebody asks for it.

What may surprise: a value is never shortened or stemmed. "12345" is not found in "123456".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u05be", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u05f3\u0060\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u05f4", '"'),
    }
)


def folded(text: str) -> str:
    """The spelling in which texts are compared."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_SIGNS)
        text = "".join(map(_plain, text)) if not text.isascii() else text
    text = text.casefold()
    return text if text.isalnum() else " ".join(text.split())


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    """Digits of any script as 0-9; invisible characters (joiners, direction marks) as nothing."""
    if sign.isascii():
        return sign
    if (digit := unicodedata.decimal(sign, None)) is not None:
        return str(digit)
    return "" if unicodedata.category(sign) == "Cf" else sign


def occurs(needle: str, text: str) -> int:
    """Where `needle` stands in `text` as a whole word or phrase, both folded; -1 when it does not."""
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (_joins(before) and _joins(needle[0])) and not (_joins(after) and _joins(needle[-1])):
            return at
        at = text.find(needle, at + 1)
    return -1


def _joins(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


# --- numbers --------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,.' ]*\d|(?<![\w.])-?\d")
_WORDS = {
    word: number
    for number, words in enumerate(
        (
            "zero אפס ноль",
            "one אחד אחת один одна одну одного",
            "two שני שתי שניים שתיים два две двух both",
            "three שלוש שלושה три трех трёх",
            "four ארבע ארבעה четыре четырех четырёх",
            "five חמש חמישה пять пяти",
            "six שש שישה шесть шести",
            "seven שבע שבעה семь семи",
            "eight שמונה восемь восьми",
            "nine תשע תשעה девять девяти",
            "ten עשר עשרה десять десяти",
            "eleven одиннадцать",
            "twelve двенадцать",
        )
    )
    for word in words.split()
}


def number(text: str) -> Decimal | None:
    """A number however it is grouped: 1,234.50 · 1 234,50 · 1.234,50 · 98.7. None when it is not one."""
    text = text.strip().lstrip("$€£₪₽").strip()
    bare = text.replace(" ", "").replace("'", "")
    if "," in bare and "." in bare:
        comma = bare.rfind(",") > bare.rfind(".")
        bare = bare.replace("." if comma else ",", "").replace(",", ".")
    elif bare.count(",") == 1 and len(bare) - bare.index(",") - 1 != 3:
        bare = bare.replace(",", ".")
    else:
        bare = bare.replace(",", "")
    try:
        found = Decimal(bare)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def numbers_in(text: str) -> frozenset[Decimal]:
    """Every number in a folded text, small ones in words too. Digits inside an id or a word do not count."""
    found = {number(match.group().rstrip(",.' ")) for match in _NUMBER.finditer(text)}
    # A list such as "10, 20, 30" reads as one grouped number; each part counts as well.
    found |= {number(part) for match in _NUMBER.finditer(text) for part in re.split(r"[ ,']+", match.group())}
    found |= {Decimal(_WORDS[word]) for word in re.findall(r"[^\W\d_]+", text) if word in _WORDS}
    return frozenset(one for one in found if one is not None)


# --- dates and times ------------------------------------------------------------------------------------------------

_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "january jan ינואר января январь янв",
            "february feb פברואר февраля февраль фев",
            "march mar מרץ מרס марта март",
            "april apr אפריל апреля апрель апр",
            "may מאי мая май",
            "june jun יוני июня июнь",
            "july jul יולי июля июль",
            "august aug אוגוסט августа август авг",
            "september sept sep ספטמבר сентября сентябрь сен",
            "october oct אוקטובר октября октябрь окт",
            "november nov נובמבר ноября ноябрь ноя",
            "december dec דצמבר декабря декабрь дек",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True))
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})(?:[-/.](\d{4}|\d{2}))?(?!\d)")
_NAMED = re.compile(
    rf"(?<![\w])(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*(?:-|to|until|and|or)\s*(?:the )?(?P<day2>\d{{1,2}})"
    rf"(?:st|nd|rd|th)?)?\s*(?:of )?[בל]?(?P<month>{_MONTH})\b\.?|[בל]?(?P<month2>{_MONTH})\.? (?:the )?"
    rf"(?P<day3>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*(?:-|to|and|or)\s*(?P<day4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?)"
    rf"(?:,? ?(?:of )?(?P<year>\d{{4}}))?(?!\d)"
)
_BARE_DAY = re.compile(r"(?<!\w)the (\d{1,2})(?:st|nd|rd|th)\b")
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|asap|next|this|coming|following|day after|day before|in \w+ days?|"
    r"weeks?|months?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|same day|same date|сегодня|завтра|послезавтра|"
    r"следующ\w*|через|недел\w*|понедельник|вторник|сред[ау]|четверг|пятниц[ау]|суббот[ау]|воскресенье)\b"
    r"|היום|מחר|מחרתיים|בשבוע|הבא|יום (?:ראשון|שני|שלישי|רביעי|חמישי|שישי|שבת)"
)
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d{2}))?(?::\d{2})?\s*(am|pm|a\.m\.|p\.m\.)?(?![\d:])")

Day = tuple[int | None, int | None, int]
"""Year and month when they were said, and the day of the month."""


def _days(text: str) -> Iterator[Day]:
    for year, month, day in _ISO.findall(text):
        yield int(year), int(month), int(day)
    for first, second, year in _NUMERIC.findall(text):
        full = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
        yield full, int(second), int(first)
        yield full, int(first), int(second)
    for match in _NAMED.finditer(text):
        month = _MONTHS[match["month"] or match["month2"]]
        for day in (match["day"], match["day2"], match["day3"], match["day4"]):
            if day:
                yield (int(match["year"]) if match["year"] else None), month, int(day)
    for day in _BARE_DAY.findall(text):
        yield None, None, int(day)


def days_in(text: str) -> frozenset[Day]:
    """Every calendar day that a folded text names, however it is written. 05/06 is read both ways."""
    return frozenset(
        day for day in _days(text) if 1 <= day[2] <= 31 and (day[1] is None or 1 <= day[1] <= 12)
    )


def day_of(value: str) -> date | None:
    """The day of an ISO date or date-time; None for anything else."""
    match = re.match(r"(\d{4})-(\d{2})-(\d{2})(?:$|[T ])", value)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def clock_of(value: str) -> tuple[int, int] | None:
    """The time of day of `10:00`, `10:00:00` or an ISO date-time; None for anything else."""
    match = re.fullmatch(r"(?:\d{4}-\d{2}-\d{2}[T ])?(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?", value)
    return (int(match[1]), int(match[2])) if match else None


def clocks_in(text: str) -> frozenset[tuple[int, int]]:
    """Every time of day that a folded text may mean: `4 pm`, `16:00`, and 4:00 in the afternoon too."""
    found: set[tuple[int, int]] = set()
    for hours, minutes, half in _CLOCK.findall(text):
        hour, minute = int(hours), int(minutes or 0)
        if hour > 24 or minute > 59:
            continue
        if half.startswith("p"):
            found.add((hour % 12 + 12, minute))
        elif half:
            found.add((hour % 12, minute))
        else:
            found |= {(hour % 24, minute), ((hour + 12) % 24, minute)}
    return frozenset(found)


# --- phone numbers and ids ------------------------------------------------------------------------------------------

_PHONE = re.compile(r"\+?\(?\d[\d\s().\-]{5,20}\d")
_IDISH = re.compile(r"(?=\S*\d)[\w#@./:\-]{3,}|[\w.+\-]+@[\w\-]+\.[\w.\-]+")


def is_phone(value: str) -> bool:
    return bool(re.fullmatch(r"\+?[\d\s().\-]{7,22}", value.strip())) and 7 <= sum(map(str.isdigit, value)) <= 15


def phone_digits(value: str) -> str:
    """The last nine digits: with or without a country code it is the same telephone."""
    return "".join(filter(str.isdigit, value))[-9:]


def phones_in(text: str) -> frozenset[str]:
    return frozenset(phone_digits(match.group()) for match in _PHONE.finditer(text))


def looks_like_id(value: str) -> bool:
    """A single token that names one thing: it carries a digit, or it is an address."""
    return " " not in value and bool(_IDISH.fullmatch(value))


@lru_cache(maxsize=8192)
def spellings(value: str) -> tuple[str, ...]:
    """Ways in which a string may be written, folded. An id may lose its sign, dashes and spaces on the way."""
    plain = folded(value)
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


class Reading:
    """A folded text, and what can be read out of it. Each reading is made once, when first asked for."""

    def __init__(self, text: str) -> None:
        self.raw = text

    @cached_property
    def text(self) -> str:
        return folded(self.raw)

    @cached_property
    def squeezed(self) -> str:
        """Without white space, dashes and dots: how ids, card and account numbers are compared."""
        return re.sub(r"[\s.\-()]", "", self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        return numbers_in(self.text)

    @cached_property
    def days(self) -> frozenset[Day]:
        return days_in(self.text)

    @cached_property
    def clocks(self) -> frozenset[tuple[int, int]]:
        return clocks_in(self.text)

    @cached_property
    def phones(self) -> frozenset[str]:
        return phones_in(self.text)

    @cached_property
    def says_when(self) -> bool:
        """Days are named by their relation to another: tomorrow, next Monday, the same day."""
        return bool(_RELATIVE.search(self.text))

    def says(self, value: str) -> bool:
        """The value stands in the text, in one of its spellings, as a whole."""
        return any(occurs(form, self.text) >= 0 for form in spellings(value))

    def names_day(self, day: date) -> bool:
        return any(
            said in self.days
            for said in ((day.year, day.month, day.day), (None, day.month, day.day), (None, None, day.day))
        )
