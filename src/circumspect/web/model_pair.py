"""Two models: a smart one that thinks and a fast one that does, each standing in for the other.

`think` asks the smart model, then its fallback, then the fast one; `do` asks the fast model, once more, then the smart
one. What comes back says how far down that list the answer was found, so that whoever asked can trust it less.

The one choice that may surprise: a thought of the fast model is called degraded even where it reads well. Nobody can
tell by reading it, and the thresholds that follow from the flag are the only place where the difference counts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from circumspect.models.fallback import FallbackModel
from circumspect.models.opening import open_model
from circumspect.models.tempered import TemperedModel
from circumspect.ports import Model
from circumspect.values import ModelReply, ModelRequest

SMART, FAST = 0.3, 0.7


class PairReply(NamedTuple):
    """A reply, and which model it is from."""

    reply: ModelReply
    degraded: bool = False
    """The fast model thought, for the smart ones could not be had."""
    fallbacks: int = 0
    """How many tries failed before this one."""


@dataclass(frozen=True)
class ModelPair:
    """The `smart` and the `fast` model. Both may be one and the same; then nobody stands in for anybody."""

    smart: Model
    fast: Model
    smart_fallback: Model | None = None
    smart_temperature: float = SMART
    fast_temperature: float = FAST

    @property
    def name(self) -> str:
        return "+".join(dict.fromkeys((self.smart.name, self.fast.name)))

    async def think(self, request: ModelRequest) -> PairReply:
        """Raises a `ModelError` when none of the three can answer."""
        chain = _distinct((self.smart, self.smart_fallback, self.fast))
        reply, tries = await _ask_chain(chain, replace(request, temperature=self.smart_temperature))
        smart = self.fast in (self.smart, self.smart_fallback)
        return PairReply(reply, chain[tries] is self.fast and not smart, tries)

    async def do(self, request: ModelRequest) -> PairReply:
        """Raises a `ModelError` when neither can answer."""
        chain = (self.fast, *_distinct((self.fast, self.smart)))
        reply, tries = await _ask_chain(chain, replace(request, temperature=self.fast_temperature))
        return PairReply(reply, fallbacks=tries)

    @property
    def doing(self) -> Model:
        """`do` as a model by itself, for steps that know of one model only. A step that wants the same answer every
        time (a critique, at 0) keeps its temperature."""
        chain = (self.fast, *_distinct((self.fast, self.smart)))
        return FallbackModel([TemperedModel(model, partial(_temper, self.fast_temperature)) for model in chain])

    async def aclose(self) -> None:
        await FallbackModel(_distinct((self.smart, self.smart_fallback, self.fast))).aclose()


def open_pair(
    smart: str | Model | None = None, fallback: str | Model | None = None, fast: str | Model | None = None
) -> ModelPair:
    """The pair of those names. Without a name for the smart one it is the default model; without one for the fast one
    it is the smart one. Raises `ConfigError` as `open_model` does."""
    thinking = open_model(smart)
    return ModelPair(
        smart=thinking,
        fast=thinking if fast is None else open_model(fast),
        smart_fallback=None if fallback is None else open_model(fallback),
    )


def _temper(temperature: float, request: ModelRequest) -> ModelRequest:
    """At this temperature, unless the answer must not vary."""
    return replace(request, temperature=temperature) if request.temperature else request


class _Noted:
    """A model that notes that it is being asked."""

    def __init__(self, model: Model, place: int, asked: list[int]) -> None:
        self._model, self._place, self._asked = model, place, asked

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        self._asked.append(self._place)
        return await self._model.complete(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self._asked.append(self._place)
        return self._model.stream(request)


async def _ask_chain(chain: Sequence[Model], request: ModelRequest) -> tuple[ModelReply, int]:
    """The reply, and the place in the chain of the model that gave it."""
    asked: list[int] = []
    noted = FallbackModel([_Noted(model, place, asked) for place, model in enumerate(chain)])
    return await noted.complete(request), asked[-1]


def _distinct(models: Sequence[Model | None]) -> tuple[Model, ...]:
    """Each model once: one that just failed is not asked the same again."""
    found: list[Model] = []
    for model in models:
        if model is not None and not any(model is one for one in found):
            found.append(model)
    return tuple(found)
