"""Text -> everything it states that another text could state otherwise: `values`, and also weekdays, months, years,
measures, ranges, telephones, addresses, and what has a number for its name ("room 12").

`values` is what an answer's figures are held to; these are only compared with each other, so they may be read more
boldly. A weekday or month is one value for each day or month, so that "Monday to Friday" is five.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from circumspect.knowledge.stated_values import StatedValue, StatedValueKind, list_ordinals, number, values
from circumspect.knowledge.terms import stem_word, words
from circumspect.language.folding import fold
from circumspect.language.pack import join_patterns, join_words, packs, split_pairs

_MEASURES = {
    "kg": ("g", 1000.0),
    "g": ("g", 1.0),
    "lb": ("g", 453.6),
    "t": ("g", 1_000_000.0),
    "km": ("m", 1000.0),
    "m": ("m", 1.0),
    "cm": ("m", 0.01),
    "mm": ("m", 0.001),
    "mile": ("m", 1609.3),
    "foot": ("m", 0.3048),
    "inch": ("m", 0.0254),
    "l": ("l", 1.0),
    "ml": ("l", 0.001),
    "mb": ("mb", 1.0),
    "gb": ("mb", 1000.0),
    "tb": ("mb", 1_000_000.0),
    "sqm": ("sqm", 1.0),
}
_AMOUNT = r"\d{1,3}(?:[,.\u00a0 ]\d{3}){1,4}(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++|(?:https?://|www\.)[^\s)\]]++")
_PHONE = re.compile(r"(?<![\w.,])\+?\(?\d[\d ()/.-]{4,20}\d(?!\w)")
_SHORTEST_PHONE = 6
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d:/-]|[.,]\d)")
_BARE = re.compile(r"(?<![\w.,:/-])\d{1,6}(?![\w:/-]|[.,]\d)")
_FIRM: frozenset[StatedValueKind] = frozenset(("date", "time", "money", "percentage"))
"""Kinds that are not taken for anything else."""
_A_WEEK, _A_YEAR = 7, 12


@dataclass(frozen=True, slots=True)
class _FactPatterns:
    weekdays: re.Pattern[str]
    day_groups: tuple[tuple[range, re.Pattern[str]], ...]
    months: re.Pattern[str]
    through: re.Pattern[str]
    """Between the first and the last of several."""
    span: re.Pattern[str]
    measure: re.Pattern[str]
    numbered: tuple[re.Pattern[str], ...]
    street: re.Pattern[str]
    no_charge: re.Pattern[str]


@cache
def _patterns() -> _FactPatterns:
    spoken, told = [one.values for one in packs()], [one.conflicts for one in packs()]
    days = [join_words((one.weekdays[day],) for one in spoken) for day in range(_A_WEEK)]
    months = [join_patterns(name for one in spoken for name in one.months[month].split()) for month in range(_A_YEAR)]
    through = join_words(one.range for one in told)
    glued = f"{join_words(one.about.glued for one in packs())}{{0,2}}"
    units = join_patterns(f"(?P<{name}>{join_words(one.measure[name] for one in spoken)})" for name in _MEASURES)
    labels, in_order = join_words(one.numbered for one in told), join_patterns(list_ordinals())
    return _FactPatterns(
        weekdays=re.compile("|".join(rf"(?<!\w)(?P<d{day}>{said})(?!\w)" for day, said in enumerate(days, 1))),
        day_groups=tuple(
            (range(int(days[0]), int(days[-1]) + 1), re.compile(rf"(?<!\w)(?:{said})(?!\w)"))
            for one in spoken
            for days, said in split_pairs(one.day_groups)
        ),
        months=re.compile(
            "|".join(rf"(?<!\w){glued}(?P<m{month}>{said})(?!\w)" for month, said in enumerate(months, 1)),
            re.IGNORECASE,
        ),
        through=re.compile(rf"(?:\.|(?<!\s))\s*+(?:[-–—]|{through})\s*+(?:-\s*+)?", re.IGNORECASE),
        span=re.compile(
            rf"(?<![\w:.,/-])(?P<low>\d{{1,4}})\s?(?:[-–—]|\s{through}[\s-]?)\s?(?P<high>\d{{1,4}})(?![\w:/-]|[.,]\d)",
            re.IGNORECASE,
        ),
        measure=re.compile(rf"(?<![\w.,])(?P<number>{_AMOUNT})[\s\u00a0]?{units}(?!\w)"),
        numbered=(
            re.compile(
                rf"(?<!\w)(?:{glued}(?P<label>{labels})|[№#])[\s\u00a0]{{0,2}}(?:№\s?)?"
                rf"(?P<id>\d{{1,4}}[a-z]?|(?<=[\s\u00a0№#])[^\W\d_])(?!\w|[.,:]\d)(?:\s{through}[\s-]?(?P<next>\d{{1,4}})(?!\w|[.,:]\d))?",
                re.IGNORECASE,
            ),
            # "5th grade"; where nouns are inflected a number alone says the same, since a count has another form.
            re.compile(
                rf"(?<![\w.,:])(?P<id>\d{{1,3}})(?:(?:-?[^\W\d_]{{1,2}}|\.)\s|\s(?=[^\x00-\x7f]))"
                rf"(?P<label>{labels})(?!\w)",
                re.IGNORECASE,
            ),
            # "The third floor".
            re.compile(rf"(?<!\w)(?P<id>{in_order})[\s\u00a0](?P<label>{labels})(?!\w)", re.IGNORECASE),
            # "Course B".
            re.compile(r"(?<!\w)(?P<label>[^\W\d_]{3,20}) (?P<id>[B-H]|A(?=[:,.)]|\s*$))(?![\w.])"),
        ),
        street=re.compile(rf"(?<!\w){join_words(one.street for one in told)}(?!\w)"),
        no_charge=re.compile(rf"(?<!\w){join_words(one.no_charge for one in told)}(?!\w)", re.IGNORECASE),
    )


@lru_cache(maxsize=512)
def list_facts(text: str) -> tuple[StatedValue, ...]:
    """In the order of the text; none overlaps another."""
    found = [*_mails(text), *_streets(text)]
    read = values(text)
    # "10 working days" are no days of the week.
    _add(found, (one for one in read if one.kind in _FIRM or one.unit == "working days"))
    for reader in (_phones, _labels, _ranges, _measures, _weekdays, _months, _free):
        _add(found, reader(text))
    _add(found, read)
    _add(found, _years(text))
    _add(found, _bare_numbers(text))
    return tuple(sorted(found, key=lambda one: one.start))


def _add(found: list[StatedValue], more: Iterable[StatedValue]) -> None:
    taken = [(one.start, one.end) for one in found]
    found.extend(one for one in more if not any(one.start < end and start < one.end for start, end in taken))


def list_labels(facts: Iterable[StatedValue]) -> dict[str, frozenset[str]]:
    """What is numbered, with its numbers: "branch 3"."""
    found: dict[str, frozenset[str]] = {}
    for one in facts:
        if one.kind == "place" and len(parts := one.unit.split()) == 2:
            found[parts[0]] = found.get(parts[0], frozenset()) | {parts[1]}
    return found


def without_facts(text: str, stated: Iterable[StatedValue]) -> str:
    """A stroke where each stood: the words around it are no neighbours."""
    pieces, at = [], 0
    for one in sorted(stated, key=lambda one: one.start):
        if one.start >= at:
            pieces.append(text[at : one.start])
            at = one.end
    return " | ".join((*pieces, text[at:]))


def _mails(text: str) -> Iterator[StatedValue]:
    for hit in _MAIL.finditer(text):
        written = hit.group().rstrip(".,;:/")
        yield StatedValue("mail", fold(written), 0, hit.start(), hit.start() + len(written), written)


def _streets(text: str) -> Iterator[StatedValue]:
    for hit in _patterns().street.finditer(text):
        yield StatedValue("place", " ".join(sorted(words(hit.group()))), 0, *hit.span(), hit.group())


def _labels(text: str) -> Iterator[StatedValue]:
    for hit in (hit for pattern in _patterns().numbered for hit in pattern.finditer(text)):
        # "Hall B" has a name; "hall a" is a hall and the next word.
        written = hit["id"].casefold()
        id_ = str(list_ordinals().get(written, written))
        if hit["id"].isalpha() and not hit["id"].isupper() and id_ == written:
            continue
        # Any sign for "number" is one label: what it numbers stands before it, inflected.
        label = stem_word(hit["label"].casefold()) if hit["label"] and hit["label"][-1].isalpha() else "#"
        further = hit.groupdict().get("next")
        end = hit.end("id") if further else hit.end()
        yield StatedValue("place", f"{label} {id_}", 0, hit.start(), end, text[hit.start() : end])
        if further:
            yield StatedValue("place", f"{label} {further}", 0, *hit.span("next"), further)


def _phones(text: str) -> Iterator[StatedValue]:
    for hit in _PHONE.finditer(text):
        digits = re.sub(r"\D", "", hit.group())
        if len(digits) >= _SHORTEST_PHONE:
            yield StatedValue("phone", digits, 0, *hit.span(), hit.group())


def _ranges(text: str) -> Iterator[StatedValue]:
    """The two ends, as two values."""
    for hit in _patterns().span.finditer(text):
        low, high = float(hit["low"]), float(hit["high"])
        if low < high and not _YEAR.fullmatch(hit["low"]):
            yield StatedValue("range", "", low, *hit.span("low"), hit["low"])
            yield StatedValue("range", "", high, *hit.span("high"), hit["high"])


def _measures(text: str) -> Iterator[StatedValue]:
    for hit in _patterns().measure.finditer(text):
        unit, factor = next(how for name, how in _MEASURES.items() if hit[name])
        yield StatedValue("measure", unit, number(hit["number"]) * factor, *hit.span(), hit.group())


def _weekdays(text: str) -> Iterator[StatedValue]:
    yield from _read_series("weekday", text, [*_patterns().weekdays.finditer(text)], _A_WEEK)
    for days, pattern in _patterns().day_groups:
        for hit in pattern.finditer(text):
            yield from (StatedValue("weekday", "", day, *hit.span(), hit.group()) for day in days)


def _months(text: str) -> Iterator[StatedValue]:
    # "may" is a verb: a month in Latin letters has a capital.
    hits = [one for one in _patterns().months.finditer(text) if one[0][0].isupper() or not one[0].isascii()]
    yield from _read_series("month", text, hits, _A_YEAR)


def _read_series(kind: StatedValueKind, text: str, hits: list[re.Match[str]], size: int) -> Iterator[StatedValue]:
    """One value for each, and for all between two that are its ends."""
    previous: re.Match[str] | None = None
    for hit in hits:
        here = _place(hit)
        yield StatedValue(kind, "", here, *hit.span(), hit.group())
        if previous is not None and _is_through(text[previous.end() : hit.start()]):
            day = _place(previous) % size + 1
            while day != here:
                yield StatedValue(kind, "", day, *hit.span(), hit.group())
                day = day % size + 1
        previous = hit


def _is_through(between: str) -> bool:
    return bool(_patterns().through.fullmatch(between)) and between.strip(" .") not in _ands()


@cache
def _ands() -> frozenset[str]:
    """Two days with an "and" between them are two, not all between them."""
    return frozenset(word for one in packs() for word in one.documents.clause)


def _place(hit: re.Match[str]) -> int:
    return int((hit.lastgroup or "d0")[1:])


def _years(text: str) -> Iterator[StatedValue]:
    for hit in _YEAR.finditer(text):
        yield StatedValue("year", "", float(hit.group()), *hit.span(), hit.group())


def _free(text: str) -> Iterator[StatedValue]:
    """Nothing to pay, in any currency."""
    for hit in _patterns().no_charge.finditer(text):
        yield StatedValue("money", "", 0, *hit.span(), hit.group())


def _bare_numbers(text: str) -> Iterator[StatedValue]:
    """Numbers that nothing is said of: "Maximum number of people: 60"."""
    for hit in _BARE.finditer(text):
        yield StatedValue("count", "", float(hit.group()), *hit.span(), hit.group())
