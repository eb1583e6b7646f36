"""A `Spec` and settings in, a `ProviderModel` out: which address, which key, which of pydantic-ai's model classes.

The one choice that may surprise: `openai:` speaks Chat Completions, not the newer Responses API, because every
OpenAI-compatible server speaks it too and one wire format is one thing to test. `openai-responses:` is there for those
who want the other; it and every further prefix of pydantic-ai's (`groq:`, `mistral:`, `google:` …) is passed to it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers import infer_provider_class

from circumspect.errors import ConfigError
from circumspect.models.http_client import http_client
from circumspect.models.known_providers import unknown_provider
from circumspect.models.lean_wire import AnthropicWire, OpenAIWire
from circumspect.models.provider_errors import ModelIdentity
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.providers import Connection, ProviderModel
from circumspect.models.pydantic_wire import PydanticWire
from circumspect.models.spec import Spec, check_url
from circumspect.models.traits import ModelTraits, find_traits

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_NO_KEY = "not-needed"
"""The SDKs insist on a key; a server of one's own often has none."""


def connect(spec: Spec, settings: ProviderSettings) -> ProviderModel:
    """The model that `spec` names. Raises `ConfigError` when it cannot be reached as configured."""
    if settings.base_url is not None and spec.base_url is None:
        spec = replace(spec, base_url=check_url(settings.base_url))
    if spec.timeout is not None:
        settings = replace(settings, timeout=spec.timeout)
    facts = spec.facts.or_else(settings.facts).or_else(
        find_traits(spec.provider, spec.model, own_url=spec.base_url is not None)
    )
    key, hint = _key(spec, settings)
    patience = min(settings.try_timeout or settings.timeout, settings.timeout)
    named = ModelIdentity(spec.name, hint, key, own_server=spec.base_url is not None, patience=patience)

    def open_connection() -> Connection:
        match spec.provider:
            case "openai":
                return _openai(spec, settings, facts, key)
            case "anthropic":
                return _anthropic(spec, settings, facts, key)
        return _other(spec, facts, key)

    return ProviderModel(open_connection, named=named, settings=settings)


def _key(spec: Spec, settings: ProviderSettings) -> tuple[str | None, str]:
    """The key, and what to tell a person to check about it."""
    if settings.api_key:
        return settings.api_key, "the api_key setting"
    variable = spec.key_variable or (None if spec.base_url else _KEYS.get(spec.provider))
    if variable is None:
        return None, "its key (name the variable that holds it with ;key=VARIABLE)"
    key = os.environ.get(variable)
    optional = spec.provider == "openai" and not spec.key_variable and os.environ.get("OPENAI_BASE_URL")
    if not key and not optional:
        raise ConfigError(
            f"No API key for {spec.name}.", fix=f"Set {variable}, or choose another model (offline needs no key)."
        )
    return key, variable


def _openai(spec: Spec, settings: ProviderSettings, facts: ModelTraits, key: str | None) -> Connection:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # A stream that ends without saying why it ended may have been cut off: that must not pass for an answer.
    abilities = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if facts.schema == "native":
        abilities["supports_json_schema_output"] = True
    url = spec.base_url or os.environ.get("OPENAI_BASE_URL") or None
    http, patience = http_client(settings)
    client = AsyncOpenAI(api_key=key or _NO_KEY, base_url=url, max_retries=0, timeout=patience, http_client=http)
    if spec.base_url is None:
        provider: OpenAIProvider | OpenAICompatibleProvider = OpenAIProvider(openai_client=client)
    else:
        # Not a name that a price list knows: what one's own server costs is not on it.
        provider = OpenAICompatibleProvider("own-server", openai_client=client)
        abilities["openai_chat_supports_max_completion_tokens"] = False
    model = OpenAIChatModel(spec.model, provider=provider, profile=abilities)
    facts = facts.or_else(_read_traits(model.profile))
    lean = OpenAIWire(model, key or _NO_KEY, facts, settings)
    return Connection(facts, PydanticWire(model, client.close, facts, any_schema=True), lean)


def _anthropic(spec: Spec, settings: ProviderSettings, facts: ModelTraits, key: str | None) -> Connection:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    http, patience = http_client(settings)
    client = AsyncAnthropic(
        api_key=key or _NO_KEY, base_url=spec.base_url, max_retries=0, timeout=patience, http_client=http
    )
    abilities = ModelProfile(supports_json_schema_output=True) if facts.schema == "native" else None
    model = AnthropicModel(spec.model, provider=AnthropicProvider(anthropic_client=client), profile=abilities)
    facts = facts.or_else(_read_traits(model.profile))
    return Connection(
        facts, PydanticWire(model, client.close, facts), AnthropicWire(model, key or _NO_KEY, facts, settings)
    )


def _other(spec: Spec, facts: ModelTraits, key: str | None) -> Connection:
    given: dict[str, Any] = {"api_key": key, "base_url": spec.base_url}
    given = {name: value for name, value in given.items() if value is not None}
    try:
        model = infer_model(
            f"{spec.provider}:{spec.model}", provider_factory=lambda name: infer_provider_class(name)(**given)
        )
    except ImportError as missing:
        raise ConfigError(f"A package for {spec.provider} is missing.", fix=str(missing)) from None
    except ValueError:
        raise unknown_provider(spec.provider) from None
    except TypeError:
        raise ConfigError(
            f"{spec.provider} takes no address or key this way.", fix="Use its own environment variables."
        ) from None
    except UserError as wrong:
        raise ConfigError(f"{spec.name} cannot be opened.", fix=wrong.message) from None

    async def close() -> None:
        async with model:
            pass

    facts = facts.or_else(_read_traits(model.profile))
    return Connection(facts, PydanticWire(model, close, facts, single_try=False))


def _read_traits(abilities: ModelProfile) -> ModelTraits:
    """What pydantic-ai knows about a model."""
    return ModelTraits(
        tools="native" if abilities.get("supports_tools", True) else "json_schema",
        schema="native" if abilities.get("supports_json_schema_output", False) else "prompted",
    )
