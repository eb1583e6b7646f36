"""How a provider is reached: address, key, patience. A frozen value, given once to `open_model`.

The one choice that may surprise: `timeout` bounds the whole call, all tries and the waits between them included,
because the person who waits for an answer does not care how many tries it took.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from circumspect.errors import ConfigError
from circumspect.models.pricing import ModelPrice
from circumspect.models.traits import UNKNOWN, ModelTraits


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    base_url: str | None = None
    """Address of a server that speaks the provider's language; `provider:model@URL` says the same."""
    api_key: str | None = field(default=None, repr=False)
    """Default: the provider's own environment variable."""
    facts: ModelTraits = UNKNOWN
    """What you know better than our defaults."""
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    """What your own servers cost, by the model's name; it counts before the list price."""
    timeout: float = 60.0
    """Seconds for one call, from the first byte sent to the last one read, all tries and waits included."""
    try_timeout: float | None = None
    """Seconds for one try. None lets one try have all that is left of `timeout`."""
    connect_timeout: float = 5.0
    tries: int = 3
    longest_wait: float = 30.0
    """The most that a provider's `Retry-After` is obeyed, in seconds."""
    sleep: Callable[[float], Awaitable[None]] | None = field(default=None, repr=False)
    """What waits between tries; None is `asyncio.sleep`. Tests give one that returns at once."""

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ConfigError(f"tries is {self.tries}.", fix="Use 1 or more; 1 means no retry.")
        for name in ("timeout", "try_timeout", "connect_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"{name} is {seconds}.", fix="Give a number of seconds above 0.")
