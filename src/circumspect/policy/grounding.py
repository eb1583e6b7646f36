"""Where the values of a call come from: each is traced to the user's words, a tool result, a default, or nowhere.

`trace` gives one `Traced` per argument value, the ledger that is stored and shown. `GROUNDING_RULES` hold a call that
would act on a value nobody gave, or on what strangers wrote (tools marked untrusted: web pages, mail, reviews, files).

Provenance is kept by field. An argument that says where something goes counts when the user typed it or when it is a
whole field of a result; a fragment of a stranger's prose does not, unless the user pointed at that very source and the
source states the value ("IBAN: ...", "my e-mail is ...") rather than telling the reader to use it.

What may surprise: words are compared, not meanings. A value that was composed, counted or reckoned by the model is
called so and let through; only ids and destinations must have been seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Literal

from circumspect.policy.actions import actions_of, commands, is_asked, objects_of, words_of
from circumspect.policy.facts import Facts
from circumspect.policy.fields import Result, result_of
from circumspect.policy.judge import Rule, rule
from circumspect.policy.normalise import (
    Day,
    Reading,
    clock_of,
    day_of,
    folded,
    is_phone,
    looks_like_id,
    number,
    occurs,
    phone_digits,
    spellings,
)
from circumspect.reasons import ReasonCode
from circumspect.turn import Allow, Ask, Confirm, Happened, Heard, Json, JsonObject, Session, ToolCall, ToolSpec, Verdict

Origin = Literal[
    "user", "field", "text", "stranger_field", "stranger", "default", "choice", "derived", "composed", "nowhere"
]
Kind = Literal["destination", "id", "date", "number", "words", "text", "choice"]

_DESTINATION = frozenset(
    "recipient recipients cc bcc email emails mail address address1 addresses account iban bic swift wallet url uri "
    "link href webhook endpoint host domain path directory folder channel room chat user username participant "
    "participants attendee attendees invitee invitees member members phone tel mobile payee beneficiary forward".split()
)
_NOT_DESTINATION = frozenset("type name count number limit id ids line lines text message subject body title".split())
_ID = frozenset("id ids iban account number code token key sku password username ref reference uuid".split())
_EMBEDDED = re.compile(
    r"[\w.+\-]+@[\w\-]+\.[\w.\-]+\w|(?:https?://|www\.)[^\s<>\"')]+[\w/]|(?<!\w)[a-z]{2}\d{2}[a-z0-9]{10,30}(?!\w)"
)
_DELEGATED = re.compile(
    r"\b(?:do|perform|follow|complete|execute|carry out|handle|take care of|act on|work through)\b[^.?!]{0,40}"
    r"\b(?:actions?|tasks?|instructions?|steps?|to-?dos?|requests?|it says|it asks)\b"
    r"|(?:выполни|сделай)\w*[^.?!]{0,40}(?:указани|инструкц|задани|действи|просьб)"
    r"|(?:בצע|תבצע|מלא)[^.?!]{0,40}(?:הוראות|משימות|פעולות)"
)


@dataclass(frozen=True, slots=True)
class Traced:
    """One value of a call and where it was first seen."""

    argument: str
    value: Json
    kind: Kind
    origin: Origin
    index: int = -1
    """Of the message it was seen in; -1 when it was not."""
    field: str = ""
    """The path of the field, when it is one."""


class Joined(Reading):
    """Several texts read as one. What was read out of each is not read again."""

    def __init__(self, parts: Sequence[Reading]) -> None:
        super().__init__("")
        self.parts = parts
        self.count = len(parts)

    @cached_property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts)

    @cached_property
    def squeezed(self) -> str:
        return "\n".join(part.squeezed for part in self.parts)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        return frozenset().union(*(part.numbers for part in self.parts))

    @cached_property
    def days(self) -> frozenset[Day]:
        return frozenset().union(*(part.days for part in self.parts))

    @cached_property
    def clocks(self) -> frozenset[tuple[int, int]]:
        return frozenset().union(*(part.clocks for part in self.parts))

    @cached_property
    def phones(self) -> frozenset[str]:
        return frozenset().union(*(part.phones for part in self.parts))


class Ledger:
    """What a conversation has said so far, in a form that answers "where does this value come from?" quickly.

    It grows with the conversation: `add` costs nothing until somebody asks.
    """

    def __init__(self) -> None:
        self.words: list[tuple[int, Reading]] = []
        self.results: list[tuple[Happened, Result]] = []
        self.last: tuple[ToolCall, tuple[Traced, ...]] | None = None
        self._user: Joined | None = None

    def add(self, event: Heard | Happened, raw: str | None = None) -> None:
        """Note what was said or done. `raw` is the text that a result was read from, if any."""
        if isinstance(event, Happened):
            self.results.append((event, result_of(event.result, raw)))
        elif event.speaker == "user":
            self.words.append((event.index, reading_of(event.text)))

    @property
    def user(self) -> Joined:
        """Everything the user said."""
        if self._user is None or self._user.count != len(self.words):
            self._user = Joined([reading for _, reading in self.words])
        return self._user

    @property
    def said(self) -> str:
        """All of the user's words, folded."""
        return self.user.text

    @property
    def strangers(self) -> Iterator[tuple[Happened, Result]]:
        return ((event, result) for event, result in self.results if not event.trusted)


@lru_cache(maxsize=2048)
def _shared(text: str) -> Reading:
    return Reading(text)


def reading_of(text: str) -> Reading:
    return _shared(text) if len(text) <= 65_536 else Reading(text)


def ledger_of(session: Session) -> Ledger:
    """The session's ledger: made once, and kept where the session keeps what it has worked out."""
    kept = session.__dict__.get("ledger")
    if not isinstance(kept, Ledger):
        kept = Ledger()
        for event in session.events:
            kept.add(event)
        session.__dict__["ledger"] = kept
    return kept


def attach(session: Session, ledger: Ledger) -> Session:
    """Give a session the ledger that has grown along with it, so that it is not made again."""
    session.__dict__["ledger"] = ledger
    return session


# --- what an argument is --------------------------------------------------------------------------------------------


def values(arguments: JsonObject, prefix: str = "") -> Iterator[tuple[str, str, Json]]:
    """Every scalar in the arguments: its path, the name that says what it is, and the value."""
    for name, value in arguments.items():
        yield from _inside(f"{prefix}{name}", name, value, 0)


def _inside(path: str, name: str, value: Json, depth: int) -> Iterator[tuple[str, str, Json]]:
    if isinstance(value, str | int | float):
        yield path, name, value
    elif isinstance(value, Mapping) and depth < 50:
        for key, item in value.items():
            yield from _inside(f"{path}.{key}", key, item, depth + 1)
    elif isinstance(value, Sequence) and depth < 50:
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
    return words == ("to",) or words[-1] in _DESTINATION or (
        bool(_DESTINATION.intersection(words)) and not _NOT_DESTINATION.intersection(words[1:])
    )


@lru_cache(maxsize=4096)
def names_an_id(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words[-1] in _ID


def kind_of(name: str, value: Json, schema: JsonObject) -> Kind:
    if isinstance(value, bool) or value is None or value == "" or "enum" in schema or "const" in schema:
        return "choice"
    if not isinstance(value, str):
        return "id" if names_an_id(name) else "number"
    return _kind_of(name, value)


@lru_cache(maxsize=8192)
def _kind_of(name: str, value: str) -> Kind:
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
    known: dict[str, JsonObject] = spec.__dict__.setdefault("schemas", {})
    if path not in known:
        known[path] = _schema_at(spec, path)
    return known[path]


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
        found = tuple(_trace(ledger, facts.spec, *one) for one in values(facts.call.arguments))
        ledger.last = (facts.call, found)
    return ledger.last[1]


def _trace(ledger: Ledger, spec: ToolSpec | None, path: str, name: str, value: Json) -> Traced:
    schema = _schema_of(spec, path)
    kind = kind_of(name, value, schema)
    if kind == "choice":
        return Traced(path, value, kind, "choice")
    sought = needle(kind, value)
    if _said(ledger.user, sought):
        for index, reading in reversed(ledger.words):
            if _said(reading, sought):
                return Traced(path, value, kind, "user", index)
    if "default" in schema and schema["default"] == value:
        return Traced(path, value, kind, "default")
    stranger: Traced | None = None
    for event, result in reversed(ledger.results):
        if field := _field(result, sought.forms, event.trusted):
            if event.trusted:
                return Traced(path, value, kind, "field", event.index, field)
            stranger = stranger or Traced(path, value, kind, "stranger_field", event.index, field)
    if stranger:
        return stranger
    if kind != "text":
        for event, result in sorted(ledger.results, key=lambda one: (not one[0].trusted, -one[0].index)):
            if _said(result.reading, sought):
                return Traced(path, value, kind, "text" if event.trusted else "stranger", event.index)
    if kind in ("text", "words"):
        return Traced(path, value, kind, "composed")
    return Traced(path, value, kind, "derived" if kind in ("date", "number") else "nowhere")


@dataclass(frozen=True, slots=True)
class Needle:
    """A value in every form in which it may be found. Made once, looked for in many places."""

    kind: Kind
    forms: tuple[str, ...]
    number: Decimal | None = None
    day: date | None = None
    clock: tuple[int, int] | None = None
    phone: str = ""
    bare: str = ""
    """Without spaces and dashes, when it is long enough to be told from other numbers."""


def needle(kind: Kind, value: Json) -> Needle:
    return _needle(kind, value, type(value).__name__) if isinstance(value, str | int | float) else Needle(kind, (str(value),))


@lru_cache(maxsize=8192)
def _needle(kind: Kind, value: str | int | float, _: str) -> Needle:
    if not isinstance(value, str):
        whole = isinstance(value, float) and value.is_integer()
        return Needle(kind, (str(int(value)), str(value)) if whole else (str(value),), number=number(str(value)))
    forms = spellings(value)
    if kind == "date":
        return Needle(kind, forms, day=day_of(value), clock=clock_of(value))
    if kind in ("id", "destination"):
        bare = re.sub(r"[\s.\-()#]", "", folded(value))
        return Needle(
            kind,
            forms,
            phone=phone_digits(value) if is_phone(value) else "",
            bare=bare if len(bare) >= 6 and looks_like_id(bare) else "",
        )
    return Needle(kind, forms)


def _said(reading: Reading, sought: Needle) -> bool:
    if sought.number is not None:
        return sought.number in reading.numbers
    text = reading.text
    for form in sought.forms:
        if form in text and occurs(form, text) >= 0:
            return True
    if sought.day or sought.clock:
        return (not sought.day or reading.names_day(sought.day)) and (not sought.clock or sought.clock in reading.clocks)
    if sought.phone and sought.phone in reading.phones:
        return True
    return bool(sought.bare) and sought.bare in reading.squeezed


def _field(result: Result, forms: Sequence[str], trusted: bool) -> str:
    for form in forms:
        if field := result.field(form):
            return field
        if trusted and form in result.lines:
            return "(line)"
    return ""


# --- what strangers wrote -------------------------------------------------------------------------------------------


def stated_by_a_named_source(ledger: Ledger, value: str) -> bool:
    """The user pointed at the source (a file, a page, a sender), and it states the value instead of demanding it."""
    forms = spellings(value)
    return any(
        _states(text, forms)
        for event, result in ledger.strangers
        if _named(event, ledger)
        for text in result.prose or (str(event.result),)
    )


def _named(event: Happened, ledger: Ledger) -> bool:
    """One of the values that the source was found by is the user's own word."""
    return any(
        isinstance(value, str) and len(value) >= 3 and _all_words(folded(value), ledger.said)
        for _, _, value in values(event.call.arguments)
    )


def _all_words(value: str, said: str) -> bool:
    return occurs(value, said) >= 0 or all(occurs(word, said) >= 0 for word in value.split())


def _states(text: str, forms: Sequence[str]) -> bool:
    demanded = " ".join(command.context for command in commands(text))
    return any(
        re.search(rf"[^\W\d][\w '\-]{{0,40}}(?:[:=]| is| are)\s*[\"'(<]?{re.escape(form)}(?![\w@])", folded(text))
        for form in forms
        if occurs(form, demanded) < 0
    )


def demanded_by_a_stranger(facts: Facts, ledger: Ledger) -> str:
    """The sentence of a stranger that this call obeys, or nothing.

    A sentence is obeyed when it commands what the tool does, and either carries a value of the call that the user never
    said, or names the tool's object while the user's words do not ask for that.
    """
    actions = actions_of(facts.call.tool)
    nouns = objects_of(facts.call.tool)
    reads = facts.effect == "read"
    said = ledger.said
    delegated = bool(_DELEGATED.search(said))
    asked = is_asked(facts.call.tool, said) and (
        not nouns
        or any(_noun(noun, said) for noun in nouns)
        or any(one.origin == "user" for one in trace(facts) if one.kind in ("destination", "id", "words", "text"))
    )
    for event, result in ledger.strangers:
        if delegated and facts.effect != "destructive" and _named(event, ledger):
            continue
        for text in result.prose:
            for command in commands(text):
                if not command.actions & actions:
                    continue
                if _carries(facts, command.context, said, destinations_only=reads):
                    return command.sentence
                if not reads and not asked and any(_noun(noun, command.sentence) for noun in nouns):
                    return command.sentence
    return ""


def _noun(noun: str, text: str) -> bool:
    stem = noun[:-1] if noun.endswith("s") else noun
    return bool(re.search(rf"(?<!\w){re.escape(stem)}s?(?!\w)", text))


def _carries(facts: Facts, sentence: str, said: str, *, destinations_only: bool) -> bool:
    theirs, ours = reading_of(sentence), reading_of(said)
    for traced in trace(facts):
        if traced.kind == "choice" or (destinations_only and traced.kind != "destination"):
            continue
        if traced.kind == "text" or (isinstance(traced.value, str) and traced.value.count(" ") >= 2):
            text = folded(str(traced.value))
            pieces = [match.group() for match in _EMBEDDED.finditer(text)]
            words = re.findall(r"[\w']+", text)
            pieces += [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
            plain_theirs, plain_ours = " ".join(re.findall(r"[\w']+", sentence)), " ".join(re.findall(r"[\w']+", said))
            if any(
                (occurs(piece, sentence) >= 0 and occurs(piece, said) < 0)
                or (occurs(piece, plain_theirs) >= 0 and occurs(piece, plain_ours) < 0)
                for piece in pieces
            ):
                return True
        elif _said(theirs, sought := needle(traced.kind, traced.value)) and not _said(ours, sought):
            return True
    return False


# --- the rules ------------------------------------------------------------------------------------------------------


def _wanted_source(facts: Facts, argument: str) -> str | None:
    """What the policy file says about this parameter: user, trusted or any; None when it says nothing."""
    if facts.policy is None or not facts.policy.params:
        return None
    param = facts.policy.params.get(re.split(r"[.\[]", argument)[0])
    return param.source if param else None


def _unseen(facts: Facts, traced: Traced) -> bool:
    match _wanted_source(facts, traced.argument):
        case "any":
            return False
        case "user":
            return traced.origin not in ("user", "default", "choice")
        case "trusted":
            return traced.origin not in ("user", "field", "text", "default", "choice")
    return traced.origin == "nowhere"


@rule(ReasonCode.UNGROUNDED_PARAM)
def every_value_has_a_source(facts: Facts) -> Verdict:
    """Ids and destinations of a state-changing call were said by the user or returned by a tool, not made up."""
    if facts.effect in ("read", None) or facts.confirmed or facts.spec is None:
        return Allow()
    unseen = {one.argument: f"ungrounded:{one.value}" for one in trace(facts) if _unseen(facts, one)}
    return Ask(invalid=unseen) if unseen else Allow()


@rule(ReasonCode.UNTRUSTED_SOURCE)
def nothing_goes_where_strangers_say(facts: Facts) -> Verdict:
    """Where something goes was typed by the user or is a whole field of a result, not a piece of a stranger's text."""
    if facts.effect in ("read", None) or facts.confirmed:
        return Allow()
    ledger = ledger_of(facts.session)
    for one in trace(facts):
        if one.kind == "destination" and one.origin == "stranger" and _wanted_source(facts, one.argument) != "any":
            if not (is_asked(facts.call.tool, ledger.said) and stated_by_a_named_source(ledger, str(one.value))):
                return Confirm()
    return Allow()


@rule(ReasonCode.UNTRUSTED_SOURCE)
def nobody_else_asked_for_it(facts: Facts) -> Verdict:
    """The call does what the user asked for, not what a text that somebody else wrote tells its reader to do."""
    if facts.effect is None or facts.confirmed:
        return Allow()
    ledger = ledger_of(facts.session)
    if not any(True for _ in ledger.strangers):
        return Allow()
    if demanded_by_a_stranger(facts, ledger):
        return Confirm()
    if facts.effect != "read" and not is_asked(facts.call.tool, ledger.said) and _commanded(ledger):
        return Confirm()
    return Allow()


def _commanded(ledger: Ledger) -> bool:
    return any(commands(text) for _, result in ledger.strangers for text in result.prose)


GROUNDING_RULES: tuple[Rule, ...] = (
    every_value_has_a_source,
    nothing_goes_where_strangers_say,
    nobody_else_asked_for_it,
)
