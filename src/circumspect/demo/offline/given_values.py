"""Was it said? The name of a field and what the user said so far -> the value for it, or None.

A value is a piece of what was said, letter by letter. Names of fields are those of a page or of a text, in any words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from circumspect.demo.offline.free_text import address_in, person_in
from circumspect.demo.offline.lexicon import ParsedText, either, field_pattern, fold_letters, is_stop, lexicons, read
from circumspect.demo.offline.page_view import ElementLine, find_shared_keys, keys_of
from circumspect.demo.offline.slot_values import MessageValues, values

_IBAN = re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b")
LOCAL_PHONE = re.compile(r"(?<![\w-])\d{3}[- ]\d{4}(?![\w-])")
_POSTAL = re.compile(r"\b[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|(?<![\w-])\d{5,7}(?![\w-])")
_TITLE = re.compile(r"(?:(?<=[^\W\d_] )|(?<=, ))[A-Z][a-z]{2,}\b(?: [A-Z][a-z'’-]+\b){0,3}")


@dataclass(frozen=True)
class UserMessages:
    """What the user said, the newest message last."""

    messages: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(self.messages)

    @cached_property
    def readings(self) -> tuple[tuple[ParsedText, MessageValues], ...]:
        return tuple((one, values(one, None)) for one in map(read, self.messages))

    @cached_property
    def dates(self) -> tuple[str, ...]:
        return tuple(day.isoformat() for _, found in self.readings for day, _ in found.moments.dates)


def find_field_value(field: ElementLine, talk: UserMessages, dates_before: int = 0) -> str | None:
    """`dates_before` is how many fields for dates came before this one: each takes the next date that was said."""
    name = fold_letters(field.name)
    if field.value:
        return field.value
    if field_pattern("secret").search(name):
        return None
    if field.options:
        return _option(field.options, talk)
    labelled = re.search(
        rf"{re.escape(name)}\s*(?:{_linking()}|[=:-])\s*(?P<value>[^,;.\n]{{1,80}})", fold_letters(talk.text)
    )
    if labelled:
        return talk.text[labelled.start("value") : labelled.end("value")].strip()
    return _find_by_kind(field, name, talk, dates_before)


def is_date(field: ElementLine) -> bool:
    return field.type == "date" or any(
        field_pattern(kind).search(fold_letters(field.name)) for kind in ("birth", "day")
    )


def _find_by_kind(field: ElementLine, name: str, talk: UserMessages, dates_before: int) -> str | None:
    """By what kind of thing the field is for."""
    kinds = keys_of(field.name)
    if is_date(field):
        return talk.dates[dates_before] if dates_before < len(talk.dates) else None
    if field.type == "email" or "email" in kinds:
        return next((text for _, found in talk.readings for text, _ in found.emails), None)
    if field.type == "tel" or "phone" in kinds:
        return _phone(talk)
    if "iban" in name:
        found = _IBAN.search(talk.text)
        return found[0] if found else None
    if kinds & {"amount", "quantity", "price"} or field.type == "number":
        return next((one.text for _, heard in talk.readings for one in heard.amounts), None)
    if field_pattern("post").search(name):
        found = _POSTAL.search(talk.text)
        return found[0] if found else None
    if "address" in kinds or "street" in name or field_pattern("place").search(name):
        return _address(talk, city=bool(field_pattern("place").search(name)))
    return _find_name_part(name, talk) if field_pattern("person").search(name) else _code(kinds, talk)


def _option(options: Sequence[str], talk: UserMessages) -> str | None:
    said = keys_of(talk.text)
    named = [one for one in options if (keys := keys_of(one)) and find_shared_keys(keys, said) == keys]
    return named[0] if len(named) == 1 else None


def _phone(talk: UserMessages) -> str | None:
    whole = next((text for _, found in talk.readings for text, _ in found.phones), None)
    local = LOCAL_PHONE.search(talk.text)
    return whole or (local[0] if local else None)


def _address(talk: UserMessages, *, city: bool) -> str | None:
    for utterance, found in talk.readings:
        stated = _compile_address().search(fold_letters(utterance.text))
        text = utterance.text[slice(*stated.span("text"))] if stated else address_in(utterance, found, bare=False)
        if text and any(sign.isdigit() for sign in text):
            parts = [part.strip() for part in text.split(",")]
            return (parts[1] if len(parts) > 1 else None) if city else parts[0]
    return None


def _find_name_part(name: str, talk: UserMessages) -> str | None:
    """A field for part of a name takes that part; one name by itself is a first name."""
    whole = _person(talk)
    parts = whole.split() if whole else []
    if field_pattern("last").search(name):
        return parts[-1] if len(parts) > 1 else _surname(talk)
    return parts[0] if parts and field_pattern("first").search(name) else whole


def _surname(talk: UserMessages) -> str | None:
    """Said by itself, when it was asked for: "Kumar, born 12 April"."""
    for text in talk.messages[1:]:
        if hit := _compile_surname().match(fold_letters(text)):
            name = text[slice(*hit.span("name"))]
            if not read(name).mentions:
                return name
    return None


def _person(talk: UserMessages) -> str | None:
    for utterance, found in talk.readings:
        if named := person_in(utterance, found, bare=False):
            return named
    # "Add patient Jaswanth": a word with a capital that no list knows, anywhere but at the beginning.
    for text in talk.messages:
        for hit in _TITLE.finditer(text):
            if not read(hit[0]).mentions and not is_stop(fold_letters(hit[0])):
                return hit[0]
    return None


def _code(kinds: frozenset[str], talk: UserMessages) -> str | None:
    """A number that was said to be about such a thing."""
    return next((one.text for _, found in talk.readings for one in found.codes if one.about & kinds), None)


# --- the patterns, made once from the word lists ----------------------------------------------------------------------


@cache
def _linking() -> str:
    """Words between the name of a thing and what it is."""
    return either(word for lists in lexicons() for word in lists.fields["is"])


@cache
def _compile_surname() -> re.Pattern[str]:
    called = either(word for lists in lexicons() for word in lists.fields["surname"])
    return re.compile(rf"\s*+(?:(?:{called})\s*+(?:(?:{_linking()}|:)\s*+)?)?(?P<name>[^\W\d_]{{2,}})\s*+(?:[,.;]|$)")


@cache
def _compile_address() -> re.Pattern[str]:
    called = field_pattern("address").pattern
    then = either(word for lists in lexicons() for word in lists.pages["and"])
    value = rf"(?P<text>[^.;\n]{{4,80}}?)(?=\s+(?:{then})\s|[.;\n]|$)"
    return re.compile(rf"(?:{called})\w{{0,20}}(?:\s++(?:{_linking()}))?\s*+(?::\s*+)?{value}")
