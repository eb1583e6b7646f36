"""Requests of other makers' clients: what is honoured, what is harmless and left aside, what is refused.

Such clients send more than matters here: hints about caches, tiers, what to store. A parameter that changes neither
what is said nor what is done is left aside and named in the answer's `X-Circumspect-Ignored`; one whose value is the
usual one is not even named. Whatever else is unknown is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, model_validator

from circumspect.values import Json


class ForeignRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    HARMLESS: ClassVar[Mapping[str, Sequence[Json]]] = {}
    """Parameters that can be left aside, and the values of each that say nothing."""
    _ignored: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _set_harmless_aside(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return handler(given)
        kept = {
            name: value
            for name, value in given.items()
            if name in cls.model_fields or (name not in cls.HARMLESS and value is not None)
        }
        made = handler(kept)
        aside = ((name, value) for name, value in given.items() if name in cls.HARMLESS)
        made._ignored = tuple(
            name for name, value in aside if value not in (None, [], {}) and value not in cls.HARMLESS[name]
        )
        return made

    @property
    def ignored(self) -> list[str]:
        """What was asked for and makes no difference here."""
        return list(self._ignored)


class EchoedPart(BaseModel):
    """A piece of a talk, often one that the client got from us and sends back. What else such a piece carries (ids,
    states, marks for a cache) says nothing about the talk."""

    model_config = ConfigDict(extra="ignore")
