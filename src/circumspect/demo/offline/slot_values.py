"""What a message carries: e-mail addresses, phone numbers, dates, amounts, codes and quoted words, each with its place.

A code keeps what was said right before it ("order number 12345" is about an order) and whether it was ruled out ("not
12345"). Which parameter a value belongs to is decided elsewhere; here nothing is invented and nothing is thrown away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache

from circumspect.demo.offline.date_words import MessageSpan, Moments, is_free, moments
from circumspect.demo.offline.lexicon import ParsedText, concepts, either, fold_letters, is_stop, merge_words
from circumspect.language.written_values import is_measured

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://\S+")
_PHONE = re.compile(r"(?<![\w#-])(?:\+\d[\d\s().-]{5,18}\d|0\d{1,3}[\s-]\d[\d\s-]{4,10}\d|0\d{8,10})(?![\w])")
_CODE = re.compile(
    r"(?<![A-Za-z0-9_.,])#?(?:[A-Za-z]{1,6}[-_]?)?\d(?:[\dA-Za-z]|[-_](?=[\dA-Za-z]))*(?:[.,]\d{1,2}(?!\d))?"
)
_QUOTED = re.compile(r"[\"“”«„]([^\"“”«»„]{2,80})[\"”“»]|(?<!\w)'([^']{2,80})'(?!\w)")
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "₪": "ILS", "₽": "RUB"}
_NUMBER = re.compile(r"\d+(?:[.,]\d{1,2})?")


@dataclass(frozen=True, slots=True)
class Code:
    """A run of digits, perhaps with letters. `about` are the concepts said right before (or after) it."""

    text: str
    span: MessageSpan
    about: frozenset[str]
    ruled_out: bool = False
    measured: bool = False
    """It says how much of something ("30 hours") and names nothing."""

    @property
    def is_number(self) -> bool:
        return _NUMBER.fullmatch(self.text) is not None


@dataclass(frozen=True, slots=True)
class Amount:
    text: str
    currency: str
    span: MessageSpan


@dataclass(frozen=True, slots=True)
class MessageValues:
    emails: tuple[tuple[str, MessageSpan], ...]
    phones: tuple[tuple[str, MessageSpan], ...]
    moments: Moments
    amounts: tuple[Amount, ...]
    codes: tuple[Code, ...]
    quoted: tuple[tuple[str, MessageSpan], ...]

    @property
    def spans(self) -> tuple[MessageSpan, ...]:
        """Where values stand, so that what is left can be read as words. Quotations are words."""
        found = [span for _, span in (*self.emails, *self.phones, *self.moments.dates, *self.moments.times)]
        found += [span for _, span in self.moments.unclear]
        found += [amount.span for amount in self.amounts]
        found += [code.span for code in self.codes]
        return tuple(sorted(found))

    def __bool__(self) -> bool:
        return bool({*self.spans} - {code.span for code in self.codes if code.measured})


def values(utterance: ParsedText, today: date | None) -> MessageValues:
    text = utterance.text
    quoted = tuple((match[1] or match[2], match.span()) for match in _QUOTED.finditer(text))
    if not any(letter.isdigit() for letter in text) and "@" not in text:
        return MessageValues((), (), moments(text, today), (), (), quoted)
    taken: list[MessageSpan] = []
    emails = _take_matches(_EMAIL, text, taken)
    _take_matches(_URL, text, taken)
    phones = _take_matches(_PHONE, text, taken)
    when = moments("".join(_blank_out(text, taken)), today)
    taken += [span for _, span in (*when.dates, *when.times, *when.unclear)]
    amounts = []
    for match in _money().finditer(fold_letters(text)):
        if is_free(match.span(), taken):
            taken.append(match.span())
            unit = match["sign"] or match["sign2"] or match["word"]
            currency = _SIGNS.get(unit) or merge_words("currencies")[unit]
            number = match["before"] or match["after"]
            # "order 123 250 rub" could be 123250 of them: then neither number is read.
            if " " not in number or not _stands_for_a_thing(match, utterance):
                amounts.append(Amount("".join(number.split()), currency, match.span()))
    codes = []
    for match in _CODE.finditer(text):
        if is_free(match.span(), taken):
            codes.append(_code(match, utterance))
    return MessageValues(emails, phones, when, tuple(amounts), tuple(codes), quoted)


def _stands_for_a_thing(match: re.Match[str], utterance: ParsedText) -> bool:
    return bool(_code(match, utterance).about & (concepts().things - {"amount"}))


def _take_matches(pattern: re.Pattern[str], text: str, taken: list[MessageSpan]) -> tuple[tuple[str, MessageSpan], ...]:
    found = tuple(
        (match.group().strip(), match.span()) for match in pattern.finditer(text) if is_free(match.span(), taken)
    )
    taken += [span for _, span in found]
    return found


def _blank_out(text: str, taken: list[MessageSpan]) -> list[str]:
    letters = list(text)
    for start, end in taken:
        letters[start:end] = " " * (end - start)
    return letters


def _code(match: re.Match[str], utterance: ParsedText) -> Code:
    start, end = match.span()
    before = next((at for at in range(len(utterance.tokens) - 1, -1, -1) if utterance.tokens[at].end <= start), -1)
    after = next((at for at, token in enumerate(utterance.tokens) if token.start >= end), len(utterance.tokens))
    said_before, ruled_out = _about(utterance, before, -1, start)
    about = said_before or (_about(utterance, after, 1, start)[0] if end < len(utterance.text) else frozenset())
    measured = is_measured(fold_letters(utterance.text), start, end)
    return Code(match.group().rstrip(".,"), match.span(), about, ruled_out, measured)


def _about(utterance: ParsedText, at: int, step: int, start: int) -> tuple[frozenset[str], bool]:
    """The nearest concept within a few words on one side, past words such as "number", "is" and "my"."""
    known = concepts()
    ruled_out = False
    for _ in range(4):
        if not 0 <= at < len(utterance.tokens):
            break
        mention = next((each for each in utterance.mentions if each.first <= at <= each.last), None)
        if mention is None:
            if not is_stop(utterance.tokens[at].text) or step > 0:
                break
        elif mention.concepts & (known.things | known.actions):
            return mention.concepts & (known.things | known.actions), ruled_out
        elif mention.concepts & {"negation", "instead", "no"} and step < 0:
            # "not 12345" rules it out; "no, 12345" does not.
            ruled_out |= "," not in utterance.text[utterance.tokens[at].end : start]
        elif "number" not in mention.concepts and not is_stop(utterance.tokens[at].text):
            break
        at += step
    return frozenset(), ruled_out


@cache
def _money() -> re.Pattern[str]:
    word = either(merge_words("currencies"))
    number = r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,2})?|\d{1,3}(?:[ \u00a0]\d{3}){1,5}(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
    return re.compile(
        rf"(?P<sign>[$€£₪₽])\s?(?P<before>{number})"
        rf"|(?<![\w.,])(?P<after>{number})\s?(?:(?P<sign2>[$€£₪₽])|(?P<word>{word})(?![^\W_]))"
    )
