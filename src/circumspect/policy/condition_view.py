"""What the names in a condition stand for: a proposed call and the conversation -> values, looked up when asked for.

Only successful results of trusted tools establish anything: a web page cannot say that somebody is a gold member, and
neither can a client that sends its own history with a call of ours.
Nothing is converted before a condition names it, and every session is indexed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from circumspect.policy.cel.values import read_datetime
from circumspect.policy.expressions import ExpressionError, Program, resolve_place, zone_of
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.places import ANY, EACH, ExpressionPath, ReadTree, merge_read_trees
from circumspect.policy.keys.scope import ConditionScope, FactKeeping
from circumspect.values import History, Json, PastCall, ToolCall, ToolSpec

_WHOLE: Final = 2**53
"""Beyond it a decimal number cannot tell two whole ones apart, so they stay whole."""
_LARGEST: Final = 2**64
_DEEPEST = 64
_LONGEST = 10_000
_MANY: Final = frozenset((EACH, ANY))
_SIMPLE: Final = frozenset((str, bool, float, type(None)))


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class HistoryIndex:
    """A session, indexed. It lives as long as the session, or the conversation, and holds nothing that refers back."""

    __slots__ = ("_read", "by_tool", "examined", "vouched")

    def __init__(self, events: Iterable[PastCall] = ()) -> None:
        self.by_tool: dict[str, list[PastCall]] = {}
        """Successful calls of trusted tools."""
        self.vouched: dict[str, list[PastCall]] = {}
        """All calls that somebody answers for, failed ones included."""
        for event in events:
            self.add(event)
        self._read: dict[int, Any] = {}
        self.examined: tuple[tuple[Any, ...], Any] | None = None
        """What the rules last found out about a call of this session, and all that it depended on."""

    def add(self, event: PastCall) -> None:
        if not event.vouched:
            return
        self.vouched.setdefault(event.call.tool, []).append(event)
        if event.ok and event.trusted:
            self.by_tool.setdefault(event.call.tool, []).append(event)

    def result(self, event: PastCall) -> Any:
        """What came back, read once."""
        found = self._read.get(id(event), MISSING)
        if found is MISSING:
            found = self._read[id(event)] = decode_if_json(event.result)
        return found


def index_history(session: History) -> HistoryIndex:
    found: HistoryIndex | None = session.__dict__.get("_known")
    if found is None:
        found = session.__dict__["_known"] = HistoryIndex(session.past_calls)
    return found


def attach(session: History, known: HistoryIndex) -> History:
    """Give a session the index that has grown along with it, so that it is not made again."""
    session.__dict__["_known"] = known
    return session


def decode_if_json(result: Json) -> Any:
    """Text that is a JSON object or list, as what it is."""
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except orjson.JSONDecodeError:
            return result
    return result


@dataclass(slots=True)
class View:
    """What the names in a condition stand for, looked up when asked for."""

    facts: Facts
    scope: ConditionScope
    known: HistoryIndex
    extra: Mapping[str, Any] = field(default_factory=dict)
    """`call` in a requirement, `result` in a postcondition."""
    tools: dict[str, Mapping[Any, Any]] = field(default_factory=dict)
    roots: dict[str, Any] = field(default_factory=dict)

    def root(self, name: str) -> Any:
        match name:
            case "args":
                return self.facts.call.arguments
            case "facts":
                return _Facts(self)
            case "latest":
                return _Latest(self)
            case "results":
                return _Results(self)
        found = self.roots.get(name, self)
        if found is self:
            found = self.roots[name] = self._root(name)
        return found

    def _root(self, name: str) -> Any:
        match name:
            case "calls":
                return [
                    {"tool": one.call.tool, "args": one.call.arguments, "ok": one.ok}
                    for one in self.facts.session.past_calls
                    if one.vouched
                ]
            case "user":
                return self._list_user_messages()
            case "person":
                known = {} if self.facts.person is None else {"id": self.facts.person}
                return {**known, "claims": self.facts.claims}
            case "now":
                return _moment(self.facts.now, self.scope)
            case "tenant":
                return self.scope.tenant
        if name in self.extra:
            return self.extra[name]
        return self.at(resolve_place(name, self.scope)) if name in self.scope.let else MISSING

    def at(self, path: ExpressionPath) -> Any:
        """The value at a place, or MISSING."""
        found = self.root(path.root)
        for step in path.steps:
            key = self.at(step) if isinstance(step, ExpressionPath) else step
            found = step_into(found, key)
            if found is MISSING:
                return MISSING
        return found

    def values(self, compiled: Program) -> dict[str, Any]:
        """The variables of an evaluation: only what the condition reads. What is not known is left out."""
        found = {}
        for name, wanted in compiled.read.items():
            value = self.root(name)
            if value is not MISSING:
                found[name] = self._prune(value, wanted, compiled.arithmetic)
        return found

    def _prune(self, value: Any, wanted: ReadTree, decimal: bool) -> Any:
        """The value with only those parts that are read."""
        kind = type(value)
        if wanted is None or kind in _SIMPLE:
            return _plain(value, decimal)
        if kind is list or kind is tuple:
            if len(value) > _LONGEST or not wanted.keys() <= _MANY:
                return _plain(value, decimal)
            inner = wanted.get(EACH, {}) if ANY not in wanted else merge_read_trees(wanted.get(EACH, {}), wanted[ANY])
            return [item if type(item) in _SIMPLE else self._prune(item, inner, decimal) for item in value]
        if kind is not dict and kind not in _VIEWS and not isinstance(value, Mapping):
            return _plain(value, decimal)
        if ANY in wanted:
            inner = wanted[ANY] if wanted.keys() <= _MANY else None
            return {key: self._prune(item, inner, decimal) for key, item in value.items()}
        found = dict.fromkeys(value) if EACH in wanted else {}
        for step, inner in wanted.items():
            key = self.at(step) if type(step) is ExpressionPath else step
            part = step_into(value, key)
            if part is not MISSING:
                found[key] = part if type(part) in _SIMPLE else self._prune(part, inner, decimal)
        return found

    def _list_user_messages(self) -> list[str]:
        said = [one.text for one in self.facts.session.utterances if one.speaker == "user"]
        newest = self.facts.words
        return [*said, newest] if newest and (not said or said[-1] != newest) else said


class _Facts(Mapping[str, Any]):
    """`facts.TOOL`: results by key."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __getitem__(self, tool: str) -> Any:
        found = self._view.tools.get(tool)
        if found is None:
            found = self._view.tools[tool] = _by_key(tool, self._view)
        if not found:
            raise KeyError(tool)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._view.known.by_tool)

    def __len__(self) -> int:
        return len(self._view.known.by_tool)


class _Newest(Mapping[Any, Any]):
    """`facts.TOOL[key]`: the newest result for a key, read when asked for."""

    def __init__(self, events: Mapping[Any, PastCall], known: HistoryIndex) -> None:
        self._events = events
        self._known = known

    def __getitem__(self, key: Any) -> Any:
        return self._known.result(self._events[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)


def _by_key(tool: str, view: View) -> _Newest:
    source, known = view.scope.facts.get(tool), view.known
    events: Sequence[PastCall] = known.by_tool.get(tool, ())
    if source and source.updated_by:
        newer = [one for name in source.updated_by for one in known.by_tool.get(name, ())]
        whole = [one for one in newer if isinstance(known.result(one), Mapping)]
        events = sorted([*events, *whole], key=lambda event: event.index)
    found: dict[Any, PastCall] = {}
    for event in events:
        key = _key(event.call, source)
        if isinstance(key, str | int | float) and not isinstance(key, bool):
            found[key] = event
    return _Newest(found, known)


class _Results(_Facts):
    """`results.TOOL`: every result, oldest first."""

    def __getitem__(self, tool: str) -> Any:
        known = self._view.known
        return [known.result(event) for event in known.by_tool[tool]]


class _Latest(_Facts):
    """`latest.TOOL`: the newest result, whatever it was called with."""

    def __getitem__(self, tool: str) -> Any:
        known = self._view.known
        return known.result(known.by_tool[tool][-1])


_VIEWS = frozenset((_Facts, _Newest, _Results, _Latest))


def _key(call: ToolCall, source: FactKeeping | None) -> Json:
    arguments = call.arguments
    name = source.key if source and source.key else _pick_key(arguments)
    return arguments.get(name) if name else None


def find_key_parameter(spec: ToolSpec) -> str | None:
    """The parameter by which the results of the tool are kept where the policy names none."""
    return _pick_key(spec.properties)


def _pick_key(names: Iterable[str]) -> str | None:
    """The only one, or the only one that ends in `id`."""
    known = list(names)
    ids = known if len(known) == 1 else [name for name in known if name.lower().endswith("id")]
    return ids[0] if len(ids) == 1 else None


def step_into(value: Any, key: Any) -> Any:
    """The part of a value under a key, or MISSING."""
    try:
        if type(value) is dict or isinstance(value, (_Facts, _Newest, Mapping)):
            return value[key]
        if isinstance(value, Sequence) and not isinstance(value, str) and type(key) is int and key >= 0:
            return value[key]
    except (KeyError, IndexError, TypeError):
        pass
    return MISSING


def _plain(value: Any, decimal: bool, depth: int = 0) -> Any:
    """The value in the types that a condition takes. Raises where it is too long or too deep to look at."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            raise ExpressionError("the number is too large")
        return float(value) if decimal and -_WHOLE <= value <= _WHOLE else int(value)
    if isinstance(value, datetime):
        return read_datetime(value)
    if not isinstance(value, dict | list | tuple | Mapping):
        raise ExpressionError(f"{type(value).__name__} is no JSON value")
    if depth > _DEEPEST or len(value) > _LONGEST:
        raise ExpressionError("too much to look at")
    if not isinstance(value, dict | Mapping):
        return [_plain(item, decimal, depth + 1) for item in value]
    return {key: _plain(item, decimal, depth + 1) for key, item in value.items()}


def _moment(now: datetime, scope: ConditionScope) -> datetime:
    return now if now.tzinfo else now.replace(tzinfo=zone_of(scope.timezone))


def view(facts: Facts, extra: Mapping[str, Any] | None = None) -> View:
    """What the conditions of a call see. `extra` are names that only some conditions may use."""
    scope = facts.policy.scope if facts.policy else ConditionScope()
    return View(facts, scope, index_history(facts.session), extra or {})
