"""Where the values of a call come from: each is traced to the user's words, a tool result, a default, or nowhere.

`OriginLedger` is a conversation in a form that answers "who said this?" quickly; it grows with the conversation.
`trace` gives one `Traced` per argument value: what is stored and shown, and what `grounding_rules.py` decides by.

What may surprise: words are compared, not meanings. A value that the model composed, counted or reckoned is called so;
only of ids and destinations can it be said that nobody gave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import Literal

from circumspect.frozen_slots import fill_directly
from circumspect.language.folding import fold
from circumspect.language.wanted import leave_out_forbidden
from circumspect.language.written_values import (
    FoldedText,
    clock_of,
    day_of,
    find_glued,
    find_word,
    is_phone,
    looks_like_id,
    phone_digits,
    says_number,
    spellings,
)
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.fields import IndexedResult, result_of
from circumspect.policy.grounding.words import bag
from circumspect.values import History, Json, JsonObject, PastCall, ToolCall, ToolSpec, Utterance

ValueOrigin = Literal[
    "user", "field", "text", "stranger_field", "stranger", "default", "choice", "derived", "composed", "echo", "nowhere"
]
ArgumentKind = Literal["destination", "id", "date", "number", "words", "text", "choice"]

_DESTINATION = bag(
    "recipient recipients cc bcc email emails mail address address1 addresses account iban bic swift wallet url uri "
    "link href webhook endpoint host domain path directory folder channel room chat user username participant "
    "participants attendee attendees invitee invitees member members phone tel mobile payee beneficiary forward"
)
_NOT_DESTINATION = bag("type name count number limit id ids line lines text message subject body title")
_OWN_DOTS = re.compile(r"[.@/:]")
_SCALARS = frozenset((str, int, float, bool))
_ID = bag("id ids iban account number code token key sku password username ref reference uuid")


@fill_directly
@dataclass(frozen=True, slots=True)
class Traced:
    """One value of a call and where it was first seen."""

    argument: str
    value: Json
    kind: ArgumentKind
    origin: ValueOrigin
    index: int = -1
    """Of the message it was seen in; -1 when it was not."""
    field: str = ""
    """The path of the field, when it is one."""


class Joined(FoldedText):
    """Several texts read as one. What was read out of each is not read again.

    No form of a value holds a line break, so what is in none of the texts is not in all of them together.
    """

    def __init__(self, parts: Sequence[FoldedText]) -> None:
        super().__init__("")
        self.parts = parts
        self.count = len(parts)

    @cached_property
    def text(self) -> str:
        return "\n".join([part.text for part in self.parts])

    @cached_property
    def unmeasured_text(self) -> str:
        return "\n".join([part.unmeasured_text for part in self.parts])

    @cached_property
    def compact_text(self) -> str:
        return "\n".join([part.compact_text for part in self.parts])

    @cached_property
    def phones(self) -> frozenset[str]:
        return frozenset().union(*(part.phones for part in self.parts))

    def names_day(self, day: date) -> bool:
        return any(part.names_day(day) for part in self.parts)

    def names_clock(self, clock: tuple[int, int]) -> bool:
        return any(part.names_clock(clock) for part in self.parts)


@fill_directly
@dataclass(frozen=True, slots=True)
class Listing:
    """The newest of so many results in which an id is one to choose from, and the newest in which it is in a list."""

    read: int = 0
    choice: IndexedResult | None = None
    listed: IndexedResult | None = None


class OriginLedger:
    """What a conversation has said so far, in a form that answers "where does this value come from?" quickly.

    It grows with the conversation: `add` costs nothing until somebody asks.
    """

    def __init__(self) -> None:
        self.words: list[tuple[int, FoldedText]] = []
        self.results: list[tuple[PastCall, IndexedResult]] = []
        self.about: dict[str, list[tuple[PastCall, IndexedResult]]] = {}
        """The same by the texts among the arguments of their calls."""
        self.by_tool: dict[str, list[PastCall]] = {}
        self.listing: dict[str, Listing] = {}
        """For an id, what lists it among the results so far."""
        self.last: tuple[ToolCall, tuple[Traced, ...]] | None = None
        self.marks: dict[int, tuple[object, Mapping[str, str]]] = {}
        """Of records of these results, by their `id`, each beside the record that it is about."""
        self._user: Joined | None = None

    def add(self, event: Utterance | PastCall, raw: str | None = None) -> None:
        """Note what was said or done. `raw` is the text that a result was read from, if any."""
        if type(event) is PastCall:
            found = (event, result_of(event.result, raw))
            self.results.append(found)
            self.by_tool.setdefault(event.call.tool, []).append(event)
            for value in {one for one in event.call.arguments.values() if type(one) is str}:
                self.about.setdefault(value, []).append(found)
        elif type(event) is Utterance and event.speaker == "user":
            self.words.append((event.index, as_folded_text(event.text)))

    @property
    def user(self) -> Joined:
        """Everything the user said."""
        if self._user is None or self._user.count != len(self.words):
            self._user = Joined([reading for _, reading in self.words])
        return self._user

    @property
    def user_text(self) -> str:
        """All of the user's words, folded."""
        return self.user.text

    @property
    def strangers(self) -> Iterator[tuple[PastCall, IndexedResult]]:
        """What others can have written: it may demand something, whether or not it can ground a value."""
        return ((event, result) for event, result in self.results if not (event.trusted and event.vouched))

    @property
    def grounds(self) -> Iterator[tuple[PastCall, IndexedResult]]:
        """The results that a value may come from, newest first."""
        return ((event, result) for event, result in reversed(self.results) if event.vouched)


@lru_cache(maxsize=512)
def _make_folded_text(text: str) -> FoldedText:
    return FoldedText(text)


def as_folded_text(text: str) -> FoldedText:
    return _make_folded_text(text) if len(text) <= 65_536 else FoldedText(text)


def ledger_of(session: History) -> OriginLedger:
    """The session's ledger: made once, and kept where the session keeps what it has worked out."""
    kept: OriginLedger | None = session.__dict__.get("ledger")
    if kept is None:
        kept = OriginLedger()
        for event in session.events:
            kept.add(event)
        session.__dict__["ledger"] = kept
    return kept


def attach(session: History, ledger: OriginLedger) -> History:
    """Give a session the ledger that has grown along with it, so that it is not made again."""
    session.__dict__["ledger"] = ledger
    return session


# --- what an argument is --------------------------------------------------------------------------------------------


def values(arguments: JsonObject, prefix: str = "") -> Iterator[tuple[str, str, Json]]:
    """Every scalar in the arguments: its path, the name that says what it is, and the value."""
    for name, value in arguments.items():
        if type(value) in _SCALARS:
            yield f"{prefix}{name}", name, value
        else:
            yield from _inside(f"{prefix}{name}", name, value, 0)


def list_values(call: ToolCall) -> tuple[tuple[str, str, Json], ...]:
    """Those of a call, listed once and remembered with it."""
    known: tuple[tuple[str, str, Json], ...] | None = call.__dict__.get("values")
    if known is None:
        known = call.__dict__["values"] = tuple(values(call.arguments))
    return known


def _inside(path: str, name: str, value: Json, depth: int) -> Iterator[tuple[str, str, Json]]:
    kind = type(value)
    if kind in _SCALARS:
        yield path, name, value
    elif (kind is dict or isinstance(value, Mapping)) and depth < 50:
        for key, item in value.items():  # type: ignore[union-attr]
            yield from _inside(f"{path}.{key}", key, item, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str) and depth < 50:
        for at, item in enumerate(value):
            yield from _inside(f"{path}[{at}]", name, item, depth + 1)
    else:
        yield path, name, value


@lru_cache(maxsize=4096)
def names_a_destination(name: str) -> bool:
    """The parameter says where something goes or who gets it: recipient, account, url, path, channel, user."""
    words = words_of(name)
    if not words or words[-1] in ("2", "3", "4"):  # a further line of an address may be blank or anything
        return False
    return (
        words == ("to",)
        or words[-1] in _DESTINATION
        or (bool(_DESTINATION.intersection(words)) and not _NOT_DESTINATION.intersection(words[1:]))
    )


@lru_cache(maxsize=4096)
def names_an_id(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words[-1] in _ID


def kind_of(name: str, value: Json, schema: JsonObject) -> ArgumentKind:
    if value is None or value == "" or "enum" in schema or "const" in schema or isinstance(value, bool):
        return "choice"
    if not isinstance(value, str):
        # A small number may be counted off a list; a long one was read or made up.
        return "id" if isinstance(value, int) and abs(value) >= 100 and names_an_id(name) else "number"
    return _kind_of_text(name, value)


def _kind_of_text(name: str, value: str) -> ArgumentKind:
    if value.count(" ") > 8 or "\n" in value.strip():
        return "text"
    if names_a_destination(name):
        return "destination"
    if day_of(value) or clock_of(value):
        return "date"
    return "id" if (names_an_id(name) and " " not in value) or looks_like_id(value) else "words"


def _schema_of(spec: ToolSpec | None, path: str) -> JsonObject:
    """The schema of the value at a path, remembered with the tool."""
    if spec is None:
        return {}
    known: dict[str, JsonObject] | None = spec.__dict__.get("schemas")
    if known is None:
        known = spec.__dict__["schemas"] = {}
    schema = known.get(path)
    if schema is None:
        schema = known[path] = _schema_at(spec, path)
    return schema


def _schema_at(spec: ToolSpec, path: str) -> JsonObject:
    parts = re.split(r"\.|\[\d+\]", path)
    schema: Json = spec.properties.get(parts[0], {})
    for part in parts[1:]:
        if not isinstance(schema, Mapping):
            return {}
        if part:
            inside = schema.get("properties")
            schema = inside.get(part, {}) if isinstance(inside, Mapping) else {}
        if isinstance(schema, Mapping) and "items" in schema:
            schema = schema["items"]
    if isinstance(schema, Mapping) and "items" in schema and isinstance(schema["items"], Mapping):
        schema = schema["items"]
    return schema if isinstance(schema, Mapping) else {}


# --- where a value comes from ---------------------------------------------------------------------------------------


def trace(facts: Facts) -> tuple[Traced, ...]:
    """One entry per value of the call, in order."""
    ledger = ledger_of(facts.session)
    if ledger.last is None or ledger.last[0] is not facts.call:
        spec = facts.spec
        changes = facts.effect not in ("read", None)
        found = [_trace(ledger, spec, path, name, value, changes) for path, name, value in list_values(facts.call)]
        ledger.last = (facts.call, tuple(found))
    return ledger.last[1]


def _trace(
    ledger: OriginLedger, spec: ToolSpec | None, path: str, name: str, value: Json, changes: bool = True
) -> Traced:
    schema = _schema_of(spec, path)
    if type(value) is str and value and "enum" not in schema and "const" not in schema:
        sought = _text_needle(name, value)
        kind = sought.kind
    else:
        kind = kind_of(name, value, schema)
        if kind == "choice":
            return Traced(path, value, kind, "choice")
        sought = needle(kind, value)
    # What is in all of the user's words together is looked for in each message, and what is not, in none.
    words = ledger.words
    if len(words) < 2 or is_said(ledger.user, sought):
        for index, reading in reversed(words):
            if is_said(reading, sought):
                if not (changes and _is_forbidden(reading, sought)):
                    return Traced(path, value, kind, "user", index)
                if kind in ("id", "destination"):
                    return Traced(path, value, kind, "nowhere", index)
                break
    if "default" in schema and schema["default"] == value:
        return Traced(path, value, kind, "default")
    stranger: Traced | None = None
    echo: Traced | None = None
    quoted, forms = sought.quoted, sought.forms
    for event, result in ledger.grounds:
        # A quick look before the careful one.
        if (text := result.plain) and (quoted not in text if quoted else not any(form in text for form in forms)):
            continue
        if field := _field(result, forms, event.trusted):
            if _is_echo(event, sought):
                echo = echo or _trace_echo(ledger, Traced(path, value, kind, "echo", event.index, field))
                continue
            if event.trusted:
                return Traced(path, value, kind, "field", event.index, field)
            stranger = stranger or Traced(path, value, kind, "stranger_field", event.index, field)
    if stranger:
        return stranger
    if kind != "text":
        for event, result in sorted(ledger.grounds, key=lambda one: (not one[0].trusted, -one[0].index)):
            if _stands_in(result, sought) and not _is_echo(event, sought):
                return Traced(path, value, kind, "text" if event.trusted else "stranger", event.index)
    if kind in ("text", "words"):
        return Traced(path, value, kind, "composed")
    if kind in ("date", "number"):
        return Traced(path, value, kind, "derived")
    return echo or Traced(path, value, kind, "nowhere")


@dataclass(frozen=True, slots=True)
class Needle:
    """A value in every form in which it may be found. Made once, looked for in many places."""

    kind: ArgumentKind
    forms: tuple[str, ...]
    number: int | float | None = None
    day: date | None = None
    clock: tuple[int, int] | None = None
    phone: str = ""
    bare: str = ""
    """Without spaces and dashes, when it is long enough to be told from other numbers."""
    quoted: str = ""
    """As it stands in a JSON text, when that is the only way it can stand there."""


def needle(kind: ArgumentKind, value: Json) -> Needle:
    """The forms of a value, made once for each."""
    if isinstance(value, (str, int, float)):
        # 1, 1.0 and True are one key, and three needles.
        return _needle(kind, value, type(value).__name__)
    return Needle(kind, (str(value),))


@lru_cache(maxsize=2048)
def _needle(kind: ArgumentKind, value: str | int | float, _: str) -> Needle:
    if not isinstance(value, str):
        whole = isinstance(value, float) and value.is_integer()
        return Needle(kind, (str(int(value)), str(value)) if whole else (str(value),), number=value)
    forms = spellings(value)
    if kind == "date":
        return Needle(kind, forms, day=day_of(value), clock=clock_of(value), quoted=_quote(forms))
    if kind in ("id", "destination"):
        # In an address, a host or a path, a dot more or less is another one.
        bare = "" if _OWN_DOTS.search(value) else re.sub(r"[\s\-()#]", "", fold(value))
        return Needle(
            kind,
            forms,
            phone=phone_digits(value) if is_phone(value) else "",
            bare=bare if len(bare) >= 6 and looks_like_id(bare) else "",
            quoted=_quote(forms),
        )
    return Needle(kind, forms, quoted=_quote(forms))


@lru_cache(maxsize=2048)
def _text_needle(name: str, value: str) -> Needle:
    """Of a text under this name, of the kind that both together make it."""
    return needle(_kind_of_text(name, value), value)


def _quote(forms: Sequence[str]) -> str:
    plain = len(forms) == 1 and forms[0].isascii() and '"' not in forms[0] and "\\" not in forms[0]
    return f'"{forms[0]}"' if plain and not forms[0].replace(".", "").isdigit() else ""


def is_said(reading: FoldedText, sought: Needle) -> bool:
    text = reading.text
    if sought.kind == "id" and sought.forms[0].isdigit():
        text = reading.unmeasured_text
    if sought.number is not None:
        return says_number(sought.number, text)
    for form in sought.forms:
        if form in text and (find_word(form, text) >= 0 or find_glued(form, text)):
            return True
    if sought.day or sought.clock:
        return (not sought.day or reading.names_day(sought.day)) and (
            not sought.clock or reading.names_clock(sought.clock)
        )
    if sought.phone and sought.phone in reading.phones:
        return True
    return bool(sought.bare) and sought.bare in reading.compact_text


def _is_forbidden(reading: FoldedText, sought: Needle) -> bool:
    """The user named the value only to say what is not to be done, or not to whom."""
    left = leave_out_forbidden(reading.raw)
    return left != reading.raw and not is_said(as_folded_text(left), sought)


def _stands_in(result: IndexedResult, sought: Needle) -> bool:
    """Somewhere inside a result: in its prose, or in a longer field."""
    if result.is_structured_text:
        # Numbers of a structure are fields, and were looked for as such.
        return (
            sought.number is None
            and any(result.holds(form) for form in sought.forms)
            and is_said(result.reading, sought)
        )
    return is_said(result.reading, sought)


def _trace_echo(ledger: OriginLedger, echo: Traced) -> Traced:
    """People leave the letters of an id out: one that a tool knows is the user's when they said all of its digits."""
    digits = re.sub(r"\D", "", str(echo.value))
    said = len(digits) >= 5 and find_word(digits, ledger.user_text) >= 0
    return replace(echo, origin="user") if said else echo


def _is_echo(event: PastCall, sought: Needle) -> bool:
    """The call was given this very id: that it comes back tells nothing of where the model had it from."""
    if sought.kind not in ("id", "destination"):
        return False
    return any(fold(str(given)) in sought.forms for _, _, given in list_values(event.call))


def _field(result: IndexedResult, forms: Sequence[str], trusted: bool) -> str:
    for form in forms:
        if field := result.field(form):
            return field
        if trusted and form in result.lines:
            return "(line)"
    return ""
