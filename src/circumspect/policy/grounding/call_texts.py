"""Calls that ran, as texts that sentences are held against: what they were about and what came back.

What may surprise: a call is known by its identity, as `fields.result_of` knows a result. The text holds on to its call,
so the identity stays its own, and a call never changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property

from circumspect.language.folding import fold
from circumspect.values import Json, PastCall

KEPT = 512


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
        listed = isinstance(result, list)
        return tuple(fold(one if listed else f"{one} {self._about}") for one in _list_records(result))

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


def list_leaves(value: Json, depth: int = 0) -> Iterator[str]:
    """Every scalar in it that says something."""
    if isinstance(value, Mapping) and depth < 6:
        for each in value.values():
            yield from list_leaves(each, depth + 1)
    elif isinstance(value, list) and depth < 6:
        for each in value:
            yield from list_leaves(each, depth + 1)
    elif value not in (None, ""):
        yield str(value)


def _list_records(value: Json, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < 6:
        nested = [each for each in value.values() if isinstance(each, Mapping | list) and each]
        for each in nested:
            yield from _list_records(each, depth + 1)
        yield " ".join(
            f"{name.replace('_', ' ')} {each}"
            for name, each in value.items()
            if each and not isinstance(each, Mapping | list)
        )
    elif isinstance(value, list) and depth < 6:
        for each in value:
            yield from _list_records(each, depth + 1)
    elif value:
        yield str(value)
