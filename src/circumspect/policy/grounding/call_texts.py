"""Calls that ran, as texts that sentences are held against: what they were about and what came back.

What may surprise: a call is known by its identity, as `fields.result_of` knows a result. The text holds on to its call,
so the identity stays its own, and a call never changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import cast

from circumspect.language.folding import fold
from circumspect.values import Json, PastCall

KEPT = 512
_DEEPEST = 6
_SCALARS = frozenset((str, int, float, bool, type(None)))


class CallText:
    """What a call and its result say, folded. Each reading is made once, when first asked for."""

    def __init__(self, event: PastCall) -> None:
        self.event = event

    @cached_property
    def flat(self) -> str:
        """All of it in a row."""
        return fold(f"{self._about} {' '.join(list_leaves(self.event.result))}")

    @cached_property
    def records(self) -> tuple[str, ...]:
        """Each innermost record of the result with its names, and with what the call was about."""
        result = self.event.result
        about = "" if isinstance(result, list) else f" {self._about}"
        return tuple(fold(f"{one}{about}") for one in _list_records(result))

    @cached_property
    def _about(self) -> str:
        return " ".join(list_leaves(dict(self.event.call.arguments)))


_kept: OrderedDict[int, CallText] = OrderedDict()


def text_of(event: PastCall) -> CallText:
    """The text of a call: made once for all the replies that are held against it."""
    known = _kept.get(id(event))
    if known is None or known.event is not event:
        known = _kept[id(event)] = CallText(event)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    return known


def list_leaves(value: Json) -> list[str]:
    """Every scalar in it that says something."""
    found: list[str] = []
    _collect_leaves(value, found, 0)
    return found


def _collect_leaves(value: Json, found: list[str], depth: int) -> None:
    inside = _look_inside(value) if depth < _DEEPEST else None
    if inside is None:
        if value not in (None, ""):
            found.append(str(value))
        return
    for each in inside:
        if type(each) is not str:
            _collect_leaves(each, found, depth + 1)
        elif each:
            found.append(each)


def _list_records(value: Json) -> list[str]:
    found: list[str] = []
    _collect_records(value, found, 0)
    return found


def _collect_records(value: Json, found: list[str], depth: int) -> None:
    inside = _look_inside(value) if depth < _DEEPEST else None
    if inside is None:
        if value:
            found.append(str(value))
    elif isinstance(value, list):
        for each in value:
            _collect_records(each, found, depth + 1)
    else:
        told: list[str] = []
        for name, each in cast("Mapping[str, Json]", value).items():
            if not each:
                continue
            if type(each) is str or _look_inside(each) is None:
                told.append(f"{name.replace('_', ' ')} {each}")
            else:
                _collect_records(each, found, depth + 1)
        found.append(" ".join(told))


def _look_inside(value: Json) -> Iterable[Json] | None:
    """The values of a mapping or a list; None of what is neither. Almost all are plain ones, for which asking what
    they are costs most of it."""
    kind = type(value)
    if kind is dict:
        return cast("dict[str, Json]", value).values()
    if kind is list:
        return cast("list[Json]", value)
    if kind in _SCALARS:
        return None
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else None
