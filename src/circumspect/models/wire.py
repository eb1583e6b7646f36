"""How a request reaches a provider, and what comes back: the seam between one call's patience and the wire formats.

`LeanWire` writes the two formats that nearly everybody speaks by itself; `PydanticWire` hands whatever else to
pydantic-ai. Both give a `WireAnswer`, which nobody has judged yet.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from circumspect.values import ModelRequest

WireFinish = Literal["stop", "length", "filtered", "failed"]


@dataclass(frozen=True, slots=True)
class WireCall:
    """A call as the model wrote it: `arguments` may be anything."""

    tool: str
    arguments: Any
    id: str


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """A whole answer, before anybody judged it or counted what it cost."""

    text: str
    calls: tuple[WireCall, ...] = ()
    finish: WireFinish | None = "stop"
    """None where a stream ended without saying why: it broke."""
    refusal: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""


class Wire(Protocol):
    @property
    def provider(self) -> str:
        """By the name that a price list would know."""
        ...

    @property
    def url(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def ask(self, request: ModelRequest, seconds: float) -> WireAnswer: ...

    def stream(self, request: ModelRequest, seconds: float) -> AsyncGenerator[str | WireAnswer, None]:
        """Pieces of text as they come, then the whole answer."""
        ...

    async def close(self) -> None: ...
