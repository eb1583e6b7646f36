"""Calls in words: how a proposed action is named to a person.

A question shows everything that a yes is for: each value whole, a long one in a block after the sentence. A report of
what happened says the same with long values cut short.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import orjson

from circumspect.language import catalogue
from circumspect.language.folding import QUOTES
from circumspect.language.pack import join_patterns
from circumspect.quoted_values import Marks, marks_of, quote_block, quote_value, spell_out
from circumspect.values import Json, Language, ToolCall, ToolSpec

_PLACEHOLDER = re.compile(rf'(["{QUOTES}]?)\{{(\w+)\}}(["{QUOTES}]?)')
"""With the quotation marks that a template puts around it."""
_LONGEST = 200
_ODD = re.compile(r"[^\W_]_[^\W_]|[a-z][A-Z]")
"""What no word looks like, and the name of a tool does."""
_OTHER_NAMES: Mapping[str, frozenset[str]] = {
    "order-id": frozenset(("order", "order-number", "order-no", "order-nr", "order-code")),
    "email": frozenset(("e-mail", "mail", "email-address", "customer-email", "user-email")),
    "phone": frozenset(("phone-number", "telephone", "mobile", "mobile-number", "customer-phone")),
    "date": frozenset(("day", "appointment-date", "visit-date", "booking-date")),
    "time": frozenset(("hour", "start-time", "appointment-time")),
    "name": frozenset(("full-name", "customer-name", "guest-name")),
    "address": frozenset(("new-address", "delivery-address", "shipping-address", "street-address")),
    "amount": frozenset(("sum", "refund-amount", "amount-to-refund")),
    "product": frozenset(("product-name", "product-id", "item", "item-name", "item-id", "article")),
    "service": frozenset(("service-name", "service-type")),
    "quantity": frozenset(("count", "number-of-items", "qty")),
    "booking-id": frozenset(("booking", "booking-number", "reservation-id", "reservation", "reservation-number")),
    "appointment-id": frozenset(("appointment", "appointment-number", "visit-id")),
    "customer-id": frozenset(("customer", "customer-number", "client-id", "user-id", "account-id", "account-number")),
}
"""By the catalogue's name of a parameter, what tools call it."""


@dataclass(frozen=True, slots=True)
class Description:
    """A call as a phrase that names every argument, and the blocks of long values that the phrase refers to."""

    phrase: str
    blocks: tuple[str, ...] = ()

    def follow(self, sentence: str) -> str:
        """The sentence that the phrase was put into, with the blocks after it."""
        return "\n\n".join((sentence, *self.blocks))


def describe_call(
    call: ToolCall,
    spec: ToolSpec | None,
    language: Language,
    phrase: Mapping[str, str] | None = None,
    wholes: Mapping[str, str] | None = None,
) -> Description:
    """The call with every argument whole: "cancel order 12345 (reason: “too late”)". `wholes` are what parameters
    that it leaves open come to."""
    long: list[str] = []

    def show(name: str, value: Json, marks: Marks | None) -> str:
        if isinstance(value, str) and ("\n" in value or len(value) > _LONGEST):
            text = value
        elif len(text := _show(value, language, marks)) <= _LONGEST:
            return text
        long.append(f"[{len(long) + 1}] {label(name, language)}:\n{quote_block(text, language)}")
        return f"[{len(long)}]"

    said = _fill(call, spec, language, phrase, show, _describe_open(call, spec, language, wholes or {}))
    return Description(said, tuple(long))


def _describe_open(
    call: ToolCall, spec: ToolSpec | None, language: Language, wholes: Mapping[str, str]
) -> Mapping[str, str]:
    """Parameters that the call leaves open, and what that means: a sum, or all there is."""
    known = {name: catalogue.say(language, "whole-amount-of", sum=amount) for name, amount in wholes.items()}
    optional = spec.properties.keys() - spec.required if spec else ()
    open_sums = {
        name: catalogue.say(language, "whole-amount")
        for name in sorted(optional)
        if call.arguments.get(name) is None and _name_in_catalogue(name) == "amount"
    }
    return {**open_sums, **known}


def action(call: ToolCall, spec: ToolSpec | None, language: Language, phrase: Mapping[str, str] | None = None) -> str:
    """The same in one line, long values cut short."""

    def show(_: str, value: Json, marks: Marks | None) -> str:
        if isinstance(value, str) and len(value) > _LONGEST:
            return _show(value[: _LONGEST - 1] + "…", language, marks or marks_of(language))
        return render_value(_show(value, language, marks))

    return _fill(call, spec, language, phrase, show)


def _fill(
    call: ToolCall,
    spec: ToolSpec | None,
    language: Language,
    phrase: Mapping[str, str] | None,
    show: Callable[[str, Json, Marks | None], str],
    left_open: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The phrase of the call with its values in place; arguments that it does not name stand after it, and what those
    that are `left_open` mean."""
    given = {name: value for name, value in call.arguments.items() if name not in left_open}

    def fill(hit: re.Match[str]) -> str:
        opening, name, closing = hit.groups()
        if name not in given:
            return ""
        if opening and closing:
            return show(name, given[name], (opening, closing))
        return f"{opening}{show(name, given[name], None)}{closing}"

    template = _template(call.tool, spec, language, phrase)
    named = {hit[2] for hit in _PLACEHOLDER.finditer(template)}
    # Tidied before the values are in it: these stay as they are.
    template = _tidy_spaces(_PLACEHOLDER.sub(lambda hit: hit[0] if hit[2] in given else "", template))
    unspoken = spec.unspoken if spec else frozenset[str]()
    rest = [
        f"{label(name, language)}: {show(name, value, None)}"
        for name, value in given.items()
        if name not in named and name not in unspoken and not _is_left_open(name, value, spec)
    ]
    rest += [f"{label(name, language)}: {words}" for name, words in left_open.items()]
    return _PLACEHOLDER.sub(fill, template) + (f" ({', '.join(rest)})" if rest else "")


def _is_left_open(name: str, value: Json, spec: ToolSpec | None) -> bool:
    """Nobody said anything here: the tool's own default, and an empty one."""
    schema = spec.properties.get(name, {}) if spec else {}
    return value in (None, "", [], {}) and "default" in schema and schema["default"] == value


def title(tool: str, spec: ToolSpec | None, language: Language, phrase: Mapping[str, str] | None = None) -> str:
    """What the tool does, with no values: "cancel an order"; where nobody gave it a title, its phrase with gaps."""
    if spec and (given := spec.titles.get(language)):
        return given
    return _tidy_spaces(_PLACEHOLDER.sub("…", _template(tool, spec, language, phrase)))


def _template(tool: str, spec: ToolSpec | None, language: Language, phrase: Mapping[str, str] | None) -> str:
    return (phrase or {}).get(language) or (spec.phrases.get(language) if spec else None) or _humanise(tool)


def _show(value: Json, language: Language, marks: Marks | None = None) -> str:
    match value:
        case None:
            return "–"
        case str():
            return quote_value(value, language, marks)
        case Mapping():
            inside = ", ".join(f"{quote_value(name, language)}: {_show(one, language)}" for name, one in value.items())
            return f"{{{inside}}}"
        case Sequence():
            return f"[{', '.join(_show(one, language) for one in value)}]"
        case _:
            return compact(value)


def label(parameter: str, language: Language) -> str:
    key = f"field-{parameter.replace('_', '-').lower()}"
    return catalogue.say(language, key) if catalogue.has(language, key) else spell_out(parameter.replace("_", " "))


def ask_for(parameter: str, language: Language) -> str:
    """A whole question for one value: "Which order do you mean?"; empty where the catalogue has none."""
    key = f"which-{_name_in_catalogue(parameter)}"
    return catalogue.say(language, key) if catalogue.has(language, key) else ""


def _name_in_catalogue(parameter: str) -> str:
    name = _humanise(parameter).replace(" ", "-")
    return next((known for known, others in _OTHER_NAMES.items() if name in others), name)


def find_odd_name(text: str, tools: Mapping[str, ToolSpec]) -> re.Match[str] | None:
    """The first name of a tool or parameter in the text that only machines use: `cancel_order`. Those that are plain
    words are left out."""
    odd = _find_odd_names(text, tools)
    return odd.search(text) if odd else None


def _find_odd_names(text: str, tools: Mapping[str, ToolSpec]) -> re.Pattern[str] | None:
    """A pattern of those that stand in the text: a client may have brought thousands."""
    if not _ODD.search(text):
        return None
    every = (name for spec in tools.values() for name in (spec.name, *spec.properties))
    names = sorted((name for name in every if name in text and _ODD.search(name)), key=len, reverse=True)
    if not names:
        return None
    return re.compile(rf"`?(?<![\w@/.]){join_patterns(map(re.escape, names))}(?![\w@])(?:\([^()]*\))?`?")


def name_plainly(
    text: str, tools: Mapping[str, ToolSpec], language: Language, phrases: Callable[[str], Mapping[str, str]]
) -> str:
    """The text with such names in words: `cancel_order` is "cancel an order", `order_id` is "order number"."""

    def rename(hit: re.Match[str]) -> str:
        name = hit[0].strip("`").partition("(")[0]
        return title(name, tools[name], language, phrases(name)) if name in tools else label(name, language)

    odd = _find_odd_names(text, tools)
    return odd.sub(rename, text) if odd else text


def show_value(value: Json, language: Language) -> str:
    """A value as a question shows it, cut short."""
    return render_value(_show(value, language))


def render_value(value: Json) -> str:
    """A value on one line, cut short; for words that nobody agrees to."""
    text = " ".join((value if isinstance(value, str) else compact(value)).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def compact(value: object) -> str:
    """JSON on one line; also for what orjson will not write (integers beyond 64 bits, lone surrogates)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, default=str)


def _humanise(tool: str) -> str:
    return re.sub(r"[_\-.]+|(?<=[a-z])(?=[A-Z])", " ", tool).strip().lower()


def _tidy_spaces(text: str) -> str:
    return " ".join(text.split()).replace(" ,", ",").replace("( )", "").replace("()", "").strip()
