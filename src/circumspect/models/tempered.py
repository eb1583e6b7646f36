"""A model whose temperature somebody else sets: the tenant by purpose, or whoever pairs two models.

What a client asked for stays, and so does a request that names no temperature at all: that one is somebody else's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import partial

from circumspect.ports import Model, Ports
from circumspect.values import ModelReply, ModelRequest, Purpose


class TemperedModel:
    def __init__(self, model: Model, temper: Callable[[ModelRequest], ModelRequest]) -> None:
        self._model, self._temper = model, temper

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self._model.complete(self._temper(request))

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        return self._model.stream(self._temper(request))


def set_temperatures(ports: Ports, temperatures: Mapping[Purpose, float]) -> Ports:
    temper = partial(_temper_by_purpose, temperatures)
    return replace(ports, model=TemperedModel(ports.model, temper))


def _temper_by_purpose(temperatures: Mapping[Purpose, float], request: ModelRequest) -> ModelRequest:
    own = temperatures.get(request.purpose)
    if own is None or request.temperature is None or request.options.temperature is not None:
        return request
    return replace(request, temperature=own)
