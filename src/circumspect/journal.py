"""The journal of a turn: what every step saw or decided, as one typed event each, and how an event is stored and read.

    step ─▶ Journal.write(event) ─▶ JournalEntry ─▶ the column `meta` of a message ─▶ read_event ─▶ event ─▶ reader

An event's `content` is what a person reads; its other fields are stored beside it under their own names. `read_event`
is the one place that knows stored keys: whoever reads a journal gets attributes. What this version cannot read (a newer
one wrote it, or it is damaged) comes back as a `RemarkEvent`, so that an old or odd conversation still opens.

Wings and policies declare events of their own by subclassing `Event` beside the values that those carry.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from circumspect.reasons import ReasonCode
from circumspect.values import (
    AnswerSource,
    Effect,
    EntryKind,
    Execution,
    ExecutionState,
    IntentId,
    JournalEntry,
    Json,
    JsonObject,
    Mode,
    ModelUsage,
    ToldOutcome,
    ToolCall,
    TurnOutcome,
    Usage,
    VerdictKind,
)


class Journal:
    """The journal of one turn. Steps append; nothing is ever taken back."""

    def __init__(self, watch: Callable[[JournalEntry], None] | None = None) -> None:
        self.watch = watch
        self.entries: list[JournalEntry] = []
        self.calls: list[ModelUsage] = []
        self.reasons: dict[ReasonCode, None] = {}
        self.ran: list[Execution] = []
        self.unwritten: list[Execution] = []
        """Calls whose end could not be stored when they ended."""
        self.withdrawn: IntentId | None = None
        """A question that waited and that nobody can say yes to any more, however the turn ends."""
        self.critiques = 0
        self.context_rounds = 0

    def write(self, event: Event, *reasons: ReasonCode) -> None:
        entry = JournalEntry(event.kind, event.content, reasons[0] if reasons else None, event.to_json())
        self.entries.append(entry)
        if self.watch:
            self.watch(entry)
        self.reasons.update(dict.fromkeys(reasons))

    def add_usage(self, usage: ModelUsage | None) -> None:
        """A model call was paid for, whether or not it led to anything."""
        if usage is not None:
            self.calls.append(usage)

    def usage(self, mode: Mode) -> Usage:
        return Usage(mode, tuple(self.calls), self.critiques, self.context_rounds)


# --- what every event is --------------------------------------------------------------------------------------------

E = TypeVar("E", bound="Event")
_EVENTS: dict[EntryKind, list[type[Event]]] = {}
_KINDS: dict[type[Event], frozenset[EntryKind]] = {}
"""In which entries an event of a class can be, found once; anew after another class was declared."""


@dataclass(frozen=True)
class Event:
    """What a step saw or decided. A field whose default is None is not stored while it is None."""

    name: ClassVar[str]
    """For templates, which cannot ask for a class: a `RulingEvent` is a `Ruling`."""
    mark: ClassVar[str]
    """The stored key that tells this event from others of its kind; empty where its kind has no other."""
    _kind: ClassVar[EntryKind]
    content: str

    def __init_subclass__(cls, kind: EntryKind | None = None, mark: str = "") -> None:
        """An event without a kind is a base of others. Of a kind, the one that was declared last is tried first."""
        cls.name = cls.__name__.removesuffix("Event")
        if kind is not None:
            cls._kind, cls.mark = kind, mark
            _EVENTS.setdefault(kind, []).insert(0, cls)
            _KINDS.clear()

    @property
    def kind(self) -> EntryKind:
        return self._kind

    def to_json(self) -> dict[str, Json]:
        """What is stored beside the words."""
        return _encode(self)


@dataclass(frozen=True)
class RemarkEvent(Event):
    """Words with nothing beside them. Read from a store: also whatever this version cannot read."""

    about: EntryKind
    unread: JsonObject = field(default_factory=dict)

    @property
    def kind(self) -> EntryKind:
        return self.about

    def to_json(self) -> dict[str, Json]:
        return dict(self.unread)


class StoredEvent(Protocol):
    """An entry of a journal, or the message that it was stored as."""

    @property
    def kind(self) -> EntryKind: ...
    @property
    def content(self) -> str: ...
    @property
    def meta(self) -> JsonObject: ...


def read_event(stored: StoredEvent) -> Event:
    """The event as it was written: the first of its kind whose mark is there and whose fields fit."""
    meta = stored.meta if isinstance(stored.meta, _OBJECT) else {}
    for event in _EVENTS.get(stored.kind, ()):
        if event.mark in meta or not event.mark:
            with contextlib.suppress(_Misfit):
                return cast(Event, _decode(event, meta, stored.content))
    return RemarkEvent(stored.content, stored.kind, meta)


def find_events(stored: Iterable[StoredEvent], wanted: type[E]) -> Iterator[E]:
    """The events of one class, in their order. Entries that can be none are not read."""
    kinds = _KINDS.get(wanted)
    if kinds is None:
        some = (kind for kind, classes in _EVENTS.items() if any(issubclass(one, wanted) for one in classes))
        kinds = _KINDS[wanted] = frozenset(some)
    for one in stored:
        if one.kind in kinds and isinstance(event := read_event(one), wanted):
            yield event


# --- what was said --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class UserMessageEvent(Event, kind="message", mark="principal"):
    """A message of somebody who said, or whose token says, who they are."""

    principal: str
    claims: JsonObject | None = None


@dataclass(frozen=True, kw_only=True)
class ButtonAnswerEvent(UserMessageEvent, kind="message", mark="button"):
    """A yes or no that the user gave by a button; its words are those on the button."""

    button: str
    """The question that it answers, by its intent's id."""


@dataclass(frozen=True, kw_only=True)
class ImportedMessageEvent(Event, kind="message", mark="imported"):
    """A message from before the conversation came to us, by the word of the client."""

    imported: Literal[True] = True


@dataclass(frozen=True, kw_only=True)
class ReplyEvent(Event, kind="message", mark="outcome"):
    """The words that a turn ended with."""

    outcome: TurnOutcome
    reason_codes: tuple[str, ...]
    sources: tuple[AnswerSource, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PersonReplyEvent(Event, kind="message", mark="by"):
    """The words of a colleague who took the conversation over."""

    by: Literal["person"] = "person"
    operator: str


# --- what a turn does, in the order in which it does it -------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NoticeEvent(Event, kind="notice"):
    """Something went otherwise than it should."""

    problem: str | None = None
    critical: bool | None = None
    """Set where a search failed: whether the question was one that is not answered without it."""


@dataclass(frozen=True, kw_only=True)
class ClientOutcomeEvent(Event, kind="context", mark="execution"):
    """What the last action on the user's page did, as the page itself told."""

    execution: str
    verified: Json


@dataclass(frozen=True, kw_only=True)
class IntentEvent(Event, kind="intent", mark="intent"):
    """What became of a yes or no; `content` is one word for it."""

    intent: str | None


@dataclass(frozen=True, kw_only=True)
class ContextEvent(Event, kind="context", mark="round"):
    """More was given to the model."""

    round: int
    keys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ContextKeyEvent(Event, kind="context", mark="key"):
    """The model asked for something that is not there."""

    key: str


@dataclass(frozen=True, kw_only=True)
class PromptEvent(Event):
    """A model answered; `prompt` names the words that it was asked with, several joined by `+`."""

    prompt: str = ""
    mendings: tuple[str, ...] | None = None
    """What had to be mended before the answer could be read, one line each."""


@dataclass(frozen=True, kw_only=True)
class ModelCallEvent(PromptEvent, kind="model", mark="prompt"):
    """Its answer is `content`."""

    purpose: str | None = None


@dataclass(frozen=True)
class CallRecord:
    """A call that a model proposed, as the journal keeps it."""

    tool: str
    arguments: JsonObject

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.tool, self.arguments)


def record_calls(calls: Sequence[ToolCall]) -> tuple[CallRecord, ...]:
    return tuple(CallRecord(call.tool, call.arguments) for call in calls)


@dataclass(frozen=True, kw_only=True)
class DraftEvent(PromptEvent, kind="model", mark="calls"):
    """A draft of standard mode: the model's words and the calls it wants."""

    calls: tuple[CallRecord, ...]


@dataclass(frozen=True, kw_only=True)
class AssessmentEvent(PromptEvent, kind="assessment"):
    """A draft of adaptive mode, with how the model judges it."""

    confidence: float
    tool_call: str | None
    tool_params: JsonObject
    missing_params: tuple[str, ...]
    is_destructive: bool
    needs_confirmation: bool
    needs_more_context: tuple[str, ...]
    native_calls: tuple[CallRecord, ...]


@dataclass(frozen=True)
class FindingRecord:
    """What one rule said, as the journal keeps it."""

    rule: str
    verdict: VerdictKind
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class RulingEvent(Event, kind="policy"):
    """A proposed call, and what the rules made of it."""

    tool: str
    arguments: JsonObject
    verdict: VerdictKind
    effect: Effect
    confidence: float | None
    problem: str = ""
    policy: str = ""
    at: str | None = None
    page: str | None = None
    """Set when it was decided about a web page: without that page it cannot be decided again."""
    mendings: tuple[str, ...] | None = None
    """Arguments that were brought into the type that the tool's schema asks for, one line each."""
    missing: tuple[str, ...] | None = None
    """Set when the user was asked."""
    findings: tuple[FindingRecord, ...]


@dataclass(frozen=True, kw_only=True)
class CritiqueEvent(PromptEvent, kind="critique", mark="decision"):
    """A second opinion on a call."""

    decision: str
    message: str
    tool: str


@dataclass(frozen=True, kw_only=True)
class UnreadableCritiqueEvent(Event, kind="critique", mark="text"):
    text: str


@dataclass(frozen=True, kw_only=True)
class LookEvent(Event, kind="tool", mark="tool"):
    """A read that code made by itself: to see whether a call took effect, or who the customer is."""

    tool: str
    arguments: JsonObject
    error: str
    result: Json = None


@dataclass(frozen=True, kw_only=True)
class ExecutionEvent(Event, kind="tool", mark="execution"):
    """A call that policy let through, as it ended."""

    execution: str
    tool: str
    arguments: JsonObject
    state: ExecutionState
    result: Json
    error: str


@dataclass(frozen=True, kw_only=True)
class ToldOutcomeEvent(Event, kind="tool", mark="told_by"):
    """What a person found out about a call whose outcome nobody knew."""

    execution: str
    tool: str
    outcome: ToldOutcome
    told_by: str


# --- events to JSON and back ----------------------------------------------------------------------------------------


class _Misfit(Exception):
    """What is stored does not fit the event."""


class _StoredField(NamedTuple):
    name: str
    key: str
    """Its own name, but for words that Python keeps for itself."""
    is_optional: bool
    """Not stored while it is None."""
    has_default: bool
    encode: Callable[[Any], Any] | None
    """None where the value is JSON as it is."""
    decode: Callable[[Any], Any]

    @property
    def is_plain(self) -> bool:
        return self.encode is None and not self.is_optional and self.key == self.name


class _StoredFields(NamedTuple):
    every: tuple[_StoredField, ...]
    special: tuple[_StoredField, ...]
    """Those that are not stored just as they are."""


_FIELDS: dict[type[Any], _StoredFields] = {}


def _stored_fields(owner: type[Any]) -> _StoredFields:
    """All fields but the words, worked out once for a class of events or records."""
    if owner not in _FIELDS:
        # `Json` names itself, which cannot be resolved; and any JSON value is one.
        hints = get_type_hints(owner, localns={"Json": object, "JsonObject": Mapping})
        every = tuple(
            _StoredField(
                one.name,
                one.metadata.get("stored_as", one.name),
                one.default is None and issubclass(owner, Event),
                one.default is not MISSING or one.default_factory is not MISSING,
                _encoder(hints[one.name]),
                _decoder(hints[one.name]),
            )
            for one in fields(owner)
            if one.name != "content"
        )
        _FIELDS[owner] = _StoredFields(every, tuple(one for one in every if not one.is_plain))
    return _FIELDS[owner]


def _encode(owner: Any) -> dict[str, Any]:
    """An event without its words, or a record, as JSON."""
    every, special = _FIELDS.get(type(owner)) or _stored_fields(type(owner))
    stored = {**vars(owner)} if hasattr(owner, "__dict__") else {one.name: getattr(owner, one.name) for one in every}
    stored.pop("content", None)
    for name, key, is_optional, _, encode, _ in special:
        value = stored.pop(name)
        if value is not None or not is_optional:
            stored[key] = encode(value) if encode and value is not None else value
    return stored


def _encoder(hint: Any) -> Callable[[Any], Any] | None:
    """How a field of this type is written; None where its value is JSON as it is."""
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        item = _encoder(arguments[0])
        return (lambda value: [item(one) for one in value]) if item else list
    if NoneType in arguments:
        return next((encode for one in arguments if (encode := _encoder(one))), None)
    return getattr(hint, "to_json", _encode) if is_dataclass(hint) else None


def _decode(owner: type[Any], stored: JsonObject, *words: str) -> Any:
    found = {}
    for name, key, _, has_default, _, decode in (_FIELDS.get(owner) or _stored_fields(owner)).every:
        if key in stored:
            found[name] = decode(stored[key])
        elif not has_default:
            raise _Misfit(key)
    return owner(*words, **found)


def _decoder(hint: Any) -> Callable[[Any], Any]:
    """How a field of this type is read; raises `_Misfit` where what is stored is something else."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is object:
        return lambda stored: stored
    if origin is Literal:
        return lambda stored: stored if stored in arguments else _refuse(stored)
    if NoneType in arguments:
        [some] = [_decoder(one) for one in arguments if one is not NoneType]
        return lambda stored: None if stored is None else some(stored)
    if origin is tuple:
        item = _decoder(arguments[0])
        return lambda stored: tuple([item(one) for one in _check(stored, isinstance(stored, (list, tuple)))])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda stored: hint(_check(stored, isinstance(stored, str) and stored in hint._value2member_map_))
    if is_dataclass(hint):
        return lambda stored: _decode(cast(type[Any], hint), _check(stored, isinstance(stored, _OBJECT)))
    if hint is float:
        return _number
    plain = _OBJECT if (origin or hint) is Mapping else hint
    return lambda stored: stored if isinstance(stored, plain) else _refuse(stored)


def _number(stored: Any) -> float:
    try:
        return float(_check(stored, isinstance(stored, (int, float)) and not isinstance(stored, bool)))
    except OverflowError:
        raise _Misfit(stored) from None


_OBJECT = (dict, Mapping)
"""The first is what it nearly always is, and much faster to ask for."""


def _check(stored: Any, fits: bool) -> Any:
    return stored if fits else _refuse(stored)


def _refuse(stored: Any) -> NoReturn:
    raise _Misfit(stored)
