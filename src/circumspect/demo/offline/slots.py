"""Which value goes where: a message and a tool in, arguments out. Only what the message says, never a guess.

Typed values (dates, e-mail addresses) find their parameter by kind, codes by what was said next to them. A lone number
fills what is missing, or corrects what was given before. Two candidates for one place are a conflict, not a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from circumspect.demo.offline.free_text import address_in, choice_in, keys_in, person_in, reason_in, wares_in
from circumspect.demo.offline.lexicon import ParsedText, merge_words, read
from circumspect.demo.offline.request_view import OfferedTool, Param
from circumspect.demo.offline.slot_kinds import WORDS, ParameterKind, kind_of, missing, subject, types_of
from circumspect.demo.offline.slot_values import Code, MessageValues
from circumspect.values import Json

_MONEY_VERBS = frozenset(("amount", "refund", "pay", "price", "transfer", "payment", "balance"))
_ID_DIGITS = 4
"""A number of at least so many digits is more likely an identifier than an amount."""


@dataclass
class Slots:
    """What is known so far about the call that is being put together."""

    given: dict[str, Json] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    """Kinds (`date`, `time`) of which the newest message said something that cannot be pinned down."""
    conflicts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    leftover: bool = False
    """The newest message has values that no known parameter takes."""
    settled: set[str] = field(default_factory=set)
    """Parameters whose value was repeated to the user and stood."""
    day: str = ""
    hour: str = ""


@dataclass(frozen=True, slots=True)
class MessageReading:
    utterance: ParsedText
    values: MessageValues


def fill(slots: Slots, tool: OfferedTool, heard: MessageReading, *, answering: bool) -> bool:
    """Put what was heard into the slots. `answering`: the message follows a question about this very call.

    True when anything was taken from it.
    """
    before = dict(slots.given)
    filling = _Filling(slots, tool, heard, answering)
    slots.conflicts.clear()
    slots.unclear = frozenset(kind for kind, _ in heard.values.moments.unclear)
    filling.fill_typed_values()
    filling.fill_codes()
    filling.fill_free_words()
    slots.leftover = filling.leftover
    return slots.given != before or bool(slots.conflicts)


class _Filling:
    """One message being sorted into the parameters of one tool."""

    def __init__(self, slots: Slots, tool: OfferedTool, heard: MessageReading, answering: bool) -> None:
        self.slots, self.tool, self.heard, self.answering = slots, tool, heard, answering
        self.leftover = False
        self.spent: frozenset[str] = frozenset()
        self.fresh: dict[str, str] = {}
        self.kinds: dict[str, ParameterKind] = {param.name: kind_of(param) for param in tool.params}

    def find_params(self, *kinds: ParameterKind) -> list[Param]:
        return [param for param in self.tool.params if self.kinds[param.name] in kinds]

    def find_open_params(self, *kinds: ParameterKind) -> list[Param]:
        return [param for param in missing(self.tool, self.slots.given) if self.kinds[param.name] in kinds]

    def give(self, param: Param, text: str) -> bool:
        value = convert_value(param, self.kinds[param.name], text)
        if value is not None:
            self.slots.given[param.name] = value
            self.fresh[param.name] = text
        return value is not None

    def spread(self, kind: ParameterKind, found: Sequence[str]) -> None:
        """Values of one kind over the parameters of that kind, in order."""
        params = self.find_params(kind)
        distinct = list(dict.fromkeys(found))
        if not params:
            self.leftover |= bool(distinct)
        elif len(params) == 1 and len(distinct) > 1:
            self.slots.conflicts[params[0].name] = tuple(distinct)
        else:
            waiting = self.find_open_params(kind) or params
            for param, text in zip(waiting if len(distinct) < len(params) else params, distinct, strict=False):
                self.give(param, text)

    def fill_typed_values(self) -> None:
        values, slots = self.heard.values, self.slots
        self.spread("email", [text for text, _ in values.emails])
        self.spread("phone", [text for text, _ in values.phones])
        days = [day.isoformat() for day, _ in values.moments.dates]
        hours = [hour for hour, _ in values.moments.times]
        slots.day, slots.hour = (days or [slots.day])[-1], (hours or [slots.hour])[-1]
        moments = self.find_params("moment")
        if moments and slots.day and slots.hour and (days or hours):
            self.give(moments[0], f"{slots.day}T{slots.hour}:00")
        if not moments:
            self.spread("date", days)
            self.spread("time", hours)
        amounts = [amount.text for amount in values.amounts]
        self.spread("amount", amounts)
        if values.amounts and (currencies := self.find_params("currency")):
            self.give(currencies[0], values.amounts[0].currency)
        for param in self.find_params("choice"):
            chosen = choice_in(self.heard.utterance, param, self.tool)
            if chosen is not None:
                slots.given[param.name] = chosen
                self.spent |= keys_in(read(str(chosen)))

    def fill_codes(self) -> None:
        codes = [code for code in self.heard.values.codes if not code.ruled_out]
        for param in self.find_params("code"):
            about = subject(param.name)
            if "array" in types_of(param.schema):
                codes = self._all_of(param, codes)
                continue
            fitting = [code for code in codes if code.about & about and _may_name(code)]
            texts = tuple(dict.fromkeys(code.text for code in fitting))
            if len(texts) > 1:
                self.slots.conflicts[param.name] = texts
            elif texts:
                self.give(param, texts[0])
            codes = [code for code in codes if code not in fitting]
        codes = self._phones(codes)
        codes = self._sums(codes)
        codes = [code for code in codes if not self._is_about_something_else(code)]
        self._loose(codes)
        if not self.heard.values.codes:
            self._fill_number_words()

    def _all_of(self, param: Param, codes: list[Code]) -> list[Code]:
        texts = [code.text for code in codes if _may_name(code)]
        if texts:
            self.slots.given[param.name] = texts
        return [code for code in codes if code.text not in texts]

    def _phones(self, codes: list[Code]) -> list[Code]:
        """A plain run of digits is a phone number only where one is asked for and nothing else could take it."""
        for param in self.find_open_params("phone"):
            for code in codes:
                is_long = code.text.isdigit() and 9 <= len(code.text) <= 15 and not self.find_open_params("code")
                if "phone" in code.about or is_long:
                    self.give(param, code.text)
                    return [other for other in codes if other is not code]
        return codes

    def _sums(self, codes: list[Code]) -> list[Code]:
        for param in self.find_params("amount"):
            for code in codes:
                like_an_id = len(code.text) >= _ID_DIGITS and not _is_decimal(code) and self.find_open_params("code")
                if code.is_number and code.about & _MONEY_VERBS and not like_an_id:
                    self.give(param, code.text)
                    return [other for other in codes if other is not code]
        for param in self.find_params("quantity"):
            for code in codes:
                if code.text.isdigit() and "quantity" in code.about:
                    self.give(param, code.text)
                    return [other for other in codes if other is not code]
        return codes

    def _is_about_something_else(self, code: Code) -> bool:
        """ "appointment 77" is no order number."""
        things = code.about - self.tool.takes - {*self.tool.objects} - _MONEY_VERBS - {self.tool.action}
        elsewhere = bool(things) and not code.about & {"status", "check", "search", "product", "delivery"}
        self.leftover |= elsewhere
        return elsewhere

    def _loose(self, codes: list[Code]) -> None:
        """Numbers that nothing was said about: they fill what is missing, and correct the identifier otherwise."""
        texts = list(dict.fromkeys(code.text for code in codes))
        if not texts or (
            self.find_params("wares", "address") and not self.find_open_params("code", "amount", "quantity")
        ):
            return
        waiting = self.find_open_params("code")
        money = [code for code in codes if code.about & _MONEY_VERBS and not waiting]
        self.leftover |= bool(money) and not self.find_params("amount")
        ids = [code.text for code in codes if _may_name(code) and code not in money]
        if waiting and len(ids) > 1:
            ids = [text for text in ids if len(text) >= _ID_DIGITS or not text.isdigit()] or ids
        if waiting and ids:
            self._take_one(waiting[0], ids)
            texts = [text for text in texts if text not in ids]
        elif (
            not waiting
            and not self.find_open_params("amount", "quantity")
            and ids
            and (codes_of := self.find_params("code"))
        ):
            said = self.fresh.get(codes_of[0].name)
            self._take_one(codes_of[0], ids if said is None else (said, *ids))
            texts = [text for text in texts if text not in ids]
        numbers = [text for text in texts if text.replace(".", "").replace(",", "").isdigit()]
        for kind in ("amount", "quantity"):
            if numbers and (sums := self.find_open_params(kind)):
                self._take_one(sums[0], numbers)
                return
        self.leftover |= bool(texts)

    def _take_one(self, param: Param, texts: Iterable[str]) -> None:
        distinct = tuple(dict.fromkeys(texts))
        if len(distinct) == 1:
            self.give(param, distinct[0])
        else:
            self.slots.conflicts[param.name] = distinct

    def _fill_number_words(self) -> None:
        """ "a table for two"."""
        for param in self.find_open_params("quantity"):
            for token in self.heard.utterance.tokens:
                if (number := merge_words("numbers").get(token.text)) is not None:
                    self.give(param, str(number))
                    return

    def fill_free_words(self) -> None:
        said = self.heard
        for param in self.find_params(*WORDS):
            kind, waiting = self.kinds[param.name], param.required and param.name not in self.slots.given
            asked = waiting and self.answering
            found: str | None = None
            if kind == "person":
                found = person_in(said.utterance, said.values, bare=asked, spent=self.spent)
            elif kind == "reason":
                found = reason_in(said.utterance, bare=asked)
            elif kind == "address":
                found = address_in(said.utterance, said.values, bare=asked)
            elif asked or (kind == "wares" and (waiting or not self.answering)):
                found = wares_in(said.utterance, said.values, self.tool)
            if not found and waiting and self.tool.action == "escalate":
                found = said.utterance.text.strip()  # a colleague gets the user's own words
            if found:
                self.give(param, found)
                if asked:
                    return  # one answer in free words answers one question


def convert_value(param: Param, kind: ParameterKind, text: str) -> Json:
    """The text as the schema wants it; None where it cannot be that."""
    types = types_of(param.schema)
    if "array" in types:
        return [text]
    wants_number = types & {"integer", "number"} or (not types and kind in ("amount", "quantity"))
    if not wants_number or "string" in types:
        return text
    plain = text.replace(",", "") if "." in text or _has_thousands(text) else text.replace(",", ".")
    try:
        number = float(plain)
    except ValueError:
        return None
    if number.is_integer():
        return int(number)
    return None if types == {"integer"} else number


def _has_thousands(text: str) -> bool:
    """1,250 is a thousand and more; 49,90 is not."""
    head, _, tail = text.rpartition(",")
    return bool(head) and len(tail) == 3


def _is_decimal(code: Code) -> bool:
    return "." in code.text or "," in code.text


def _may_name(code: Code) -> bool:
    return not (code.measured or _is_decimal(code))


def describe_arguments(given: Mapping[str, Json], labels: Mapping[str, str]) -> str:
    """ "order number: 12345; date: 2026-03-31"."""
    return "; ".join(f"{labels[name]}: {text_of(value)}" for name, value in given.items())


def text_of(value: Json) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(text_of(item) for item in value)
    return " ".join(str(value).split())
