"""The name of a provider -> whether anything answers to it; where nothing does, the nearest name that something does.

Asked of pydantic-ai, so that a new version of it needs nothing here. The two that we speak to ourselves need no import.
"""

from __future__ import annotations

import difflib
from typing import get_args

from circumspect.errors import ConfigError

_OURS = ("openai", "anthropic")


def check_provider(name: str) -> None:
    """Raises `ConfigError` for a provider that nobody knows. One whose package is missing is known."""
    if name in _OURS:
        return
    try:
        from pydantic_ai.providers import infer_provider_class

        infer_provider_class(name)
    except ImportError:
        return
    except ValueError:
        raise unknown_provider(name) from None


def unknown_provider(name: str) -> ConfigError:
    near = " or ".join(f"'{one}:'" for one in difflib.get_close_matches(name, list_provider_names(), n=2))
    usual = "Use openai:, anthropic: or another prefix that pydantic-ai knows, or offline."
    return ConfigError(f"There is no provider {name!r}.", fix=f"Did you mean {near}?" if near else usual)


def list_provider_names() -> tuple[str, ...]:
    from pydantic_ai.models import KnownModelName, OpenAIChatCompatibleProvider

    models = (one.partition(":") for one in get_args(KnownModelName.__value__))
    named = (provider for provider, colon, _ in models if colon)
    return tuple(dict.fromkeys((*_OURS, *named, *get_args(OpenAIChatCompatibleProvider.__value__))))
