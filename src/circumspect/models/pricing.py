"""What a call cost: the provider's own count where it gave one, an estimate where it did not, and the list price.

In: a request, a reply's text and what the provider counted. Out: `ModelUsage`.

The one choice that may surprise: an unknown model costs 0.0. A price that is not known must not stop an answer, and a
made-up one would be believed. What one's own server costs can be said (`ModelPrice`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from circumspect.errors import ModelError
from circumspect.models.wire_text import compact
from circumspect.values import ModelRequest, ModelUsage, ToolCall

_BYTES_PER_TOKEN = 4
"""In UTF-8. English has about four letters to a token, Russian and Hebrew about two, of two bytes each."""


def estimate_tokens(*texts: str) -> int:
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN) for text in texts if text)


def request_tokens(request: ModelRequest) -> int:
    """What a request is about to cost, roughly."""
    said = (text for message in request.messages for text in (message.text, _render_calls(message.calls)))
    tools = (f"{tool.name} {tool.description} {compact(tool.parameters)}" for tool in request.tools)
    return estimate_tokens(request.system, *said, *tools, compact(request.schema) if request.schema else "")


def price(*, provider: str, url: str | None, models: tuple[str, ...], usage: ModelUsage) -> float:
    """US dollars by list price; 0.0 for what is not listed. The first of `models` that is listed counts."""
    listed = _find_listed(provider, url, models)
    if listed is None:
        return 0.0
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.input_tokens) or None,
    )
    model, where = listed
    try:
        return float(genai_prices.calc_price(counted, model, **where).total_price)
    except (LookupError, ValueError):
        return 0.0


@lru_cache(maxsize=256)
def _find_listed(provider: str, url: str | None, models: tuple[str, ...]) -> tuple[str, dict[str, Any]] | None:
    """The name and place under which the list has the model."""
    import genai_prices

    places: list[dict[str, Any]] = [{"provider_api_url": url}] if url else []
    for model in dict.fromkeys(filter(None, models)):
        for where in (*places, {"provider_id": provider}):
            try:
                genai_prices.calc_price(genai_prices.Usage(input_tokens=1), model, **where)
            except (LookupError, ValueError):
                continue
            return model, where
    return None


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars for a million tokens, where it is not the list price: of one's own server, or by contract."""

    input: float
    output: float

    def price(self, usage: ModelUsage) -> float:
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


def read_price(text: str) -> tuple[str, ModelPrice]:
    """`NAME=IN/OUT`. Raises `ValueError` that says what is wrong with it."""
    name, _, said = text.rpartition("=")
    into, _, out = said.partition("/")
    try:
        price_ = ModelPrice(float(into), float(out))
    except ValueError:
        price_ = ModelPrice(-1, -1)
    if not name.strip() or not all(0 <= one <= 1e6 for one in (price_.input, price_.output)):
        raise ValueError(f"'{text}' is not MODEL=IN/OUT, in US dollars for a million tokens: qwen=0.2/0.6")
    return name.strip(), price_


@dataclass(slots=True)
class UsageTally:
    """What all tries of one call have cost so far. A try that was answered but could not be read was paid for too."""

    usage: ModelUsage

    def count_attempt(self) -> None:
        self.usage = replace(self.usage, attempts=self.usage.attempts + 1)

    def add_usage(self, usage: ModelUsage) -> None:
        self.usage = combine_usage(self.usage, usage)


def combine_usage(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    """Two usages as one, under the name of the first."""
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        cost_usd=one.cost_usd + other.cost_usd,
        seconds=one.seconds + other.seconds,
        attempts=one.attempts + other.attempts,
        estimated=one.estimated or other.estimated,
    )


def _render_calls(calls: tuple[ToolCall, ...]) -> str:
    return " ".join(f"{call.tool} {compact(call.arguments)}" for call in calls)


def with_usage(error: ModelError, usage: ModelUsage) -> ModelError:
    """The error, carrying what was spent before it was given up."""
    error.usage = usage
    return error
