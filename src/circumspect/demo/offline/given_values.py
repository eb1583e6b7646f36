"""Was it said? The name of a field and what the user said so far -> the value for it, or None.

A value is a piece of what was said, letter by letter. Names of fields are those of a page or of a text, in any words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from circumspect.demo.offline.free_text import address_in, person_in
from circumspect.demo.offline.lexicon import (
    ParsedText,
    either,
    field_pattern,
    fold_letters,
    is_stop,
    lexicons,
    lexicons_of,
    mentions,
    read,
)
from circumspect.demo.offline.page_view import ElementLine, find_shared_keys, keys_of
from circumspect.demo.offline.slot_values import MessageValues, values

_IBAN = re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b")
LOCAL_PHONE = re.compile(r"(?<![\w-])\d{3}[- ]\d{4}(?![\w-])")
_POSTAL = re.compile(r"\b[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|(?<![\w-])\d{5,7}(?![\w-])")
_SENTENCE_END = re.compile(r"[.!?:\n]")
_QUOTED = r"[\"“„«](?P<quoted>[^\"“”„«»\n]{1,200})[\"”“»]"
_LONGEST_NAME = 4
"""Words."""


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
    return _find_labelled(name, talk) or _find_by_kind(field, name, talk, dates_before)


def is_to_be_filled(fields: Sequence[ElementLine], talk: UserMessages) -> bool:
    """A form asks for something: a field is required, or is no search and was said or is filled in already."""
    return any(one.required for one in fields) or any(
        one.value or find_field_value(one, talk) is not None
        for one in fields
        if one.role in ("textbox", "spinbutton") and one.type != "search"
    )


def is_date(field: ElementLine) -> bool:
    return field.type == "date" or any(
        field_pattern(kind).search(fold_letters(field.name)) for kind in ("birth", "day")
    )


def _find_labelled(name: str, talk: UserMessages) -> str | None:
    """What was said with the name of the field: "the reference is rent May", 'the message "Hello"', "4 guests"."""
    label, text = re.escape(name.strip(" *:")), fold_letters(talk.text)
    if not label:
        return None
    link = rf"(?:{_linking()}|[=:-])"
    if hit := re.search(rf"(?<!\w){label}\s*+(?:{link}\s*+)?{_QUOTED}", text):
        return talk.text[slice(*hit.span("quoted"))].strip()
    if hit := re.search(rf"{label}\s*{link}\s*(?P<value>[^,;.\n]{{1,80}})", text):
        return talk.text[slice(*hit.span("value"))].strip()
    if hit := re.search(rf"(?<!\w){label} (?P<value>[^\W\d_]{{2,40}})(?=[,;.\n]|$)", text):
        value = talk.text[slice(*hit.span("value"))]
        return value if value[0].isupper() else None
    counted = re.search(rf"(?<![\w.,-])(?P<number>\d{{1,9}}) {label}(?!\w)", text)
    return counted["number"] if counted else None


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
        counted = _code(kinds & {"quantity"}, talk)
        return counted or next((one.text for _, heard in talk.readings for one in heard.amounts), None)
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
    """A field for part of a name takes that part, one for both all of it; one name by itself is a first name."""
    whole = _person(talk)
    parts = whole.split() if whole else []
    first, last = (field_pattern(kind).search(name) for kind in ("first", "last"))
    if first and last:
        return whole
    if last:
        return parts[-1] if len(parts) > 1 else _surname(talk)
    return parts[0] if parts and first else whole


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
    for at, (utterance, found) in enumerate(talk.readings):
        if named := _find_written_name(utterance, found, is_answer=at > 0):
            return named
    return next(filter(None, map(_find_bare_name, talk.messages[1:])), None)


def _find_bare_name(answer: str) -> str | None:
    """An answer that is nothing but words that no list knows, up to a comma: where names have no capitals, or bend."""
    said = read(re.split(r"[,;\n]", answer, maxsplit=1)[0].strip(" ."))
    unknown = [one for one in said.tokens if not one.text[0].isdigit() and len(one.text) > 1 and not is_stop(one.text)]
    is_name = 1 <= len(said.tokens) <= _LONGEST_NAME and len(unknown) == len(said.tokens)
    return said.text if is_name and not said.mentions and not any(map(_orders, said.text.split())) else None


def _find_written_name(utterance: ParsedText, found: MessageValues, *, is_answer: bool) -> str | None:
    """Words with a capital that no list knows, all of them: "Add patient Jaswanth Kumar", 'the name "Dana Levi"'.

    At the beginning of a sentence a capital says nothing, so there it is a name behind an order ("Add Dana Levi"), or
    where nothing else is said ("Dana Levi, 12 May"); who begins in another way is asked.
    """
    text, tokens = utterance.text, utterance.tokens
    for first, last in _capitalised_runs(utterance, found):
        begins = first == 0 or bool(_SENTENCE_END.search(text[tokens[first - 1].end : tokens[first].start]))
        start = first
        while begins and start <= last and _orders(tokens[start].text):
            start += 1
        ends = last + 1 == len(tokens) or any(
            mark in text[tokens[last].end : tokens[last + 1].start] for mark in ",;.\n"
        )
        alone = ends and (is_answer or 0 < first < last)
        name = text[tokens[start].start : tokens[last].end] if start <= last else ""
        if (begins and start == first and not alone) or any(_is_label_word(word) for word in name.split()):
            continue
        if name and not read(name).mentions and not is_stop(fold_letters(name)) and last - start < _LONGEST_NAME:
            return name
    return None


def _capitalised_runs(utterance: ParsedText, found: MessageValues) -> Iterator[tuple[int, int]]:
    """First and last token of each run of words with a capital, with nothing but a space between them.

    Only where names do not bend: in Russian "for Dana" is another word than "Dana", and the name has to be asked for.
    """
    text, tokens, first = utterance.text, utterance.tokens, -1
    for at, token in enumerate(tokens):
        fits = text[token.start].isupper() and not lexicons_of(token.text)[0].forms.endings
        fits = fits and not any(start <= token.start < end for start, end in found.spans)
        if first >= 0 and not (fits and text[tokens[at - 1].end : token.start] == " "):
            yield first, at - 1
            first = -1
        if fits and first < 0:
            first = at
    if first >= 0:
        yield first, len(tokens) - 1


def _is_label_word(word: str) -> bool:
    """A word that buttons and links are named with: "New"."""
    return any(fold_letters(word) in family for lists in lexicons() for family in lists.pages["families"])


def _orders(word: str) -> bool:
    return bool(read(word).mentions) or mentions(word, "orders", lexicons_of(word))


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
