"""A model's name, read: `provider:model[@URL][;option=value…]` in, a `Spec` out. Commas make a fallback chain.

    openai:gpt-4o
    openai:qwen2.5-coder@http://127.0.0.1:8080/v1;tools=json_schema
    openai:gpt-4o,anthropic:claude-sonnet-4-5

Options: `tools=native|json_schema`, `schema=native|prompted`, `key=NAME_OF_AN_ENVIRONMENT_VARIABLE`,
`timeout=SECONDS`, which a model on a slow machine needs wherever only its name can be given.

The one choice that may surprise: a key given for a provider's own address is never sent to another one. A server named
by URL gets the key that `key=` (or a setting) names, or none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from circumspect.errors import ConfigError
from circumspect.models.traits import SCHEMA_CHANNELS, TOOL_CHANNELS, UNKNOWN, ModelTraits

_SHAPE = (
    "Write it as provider:model, for example openai:gpt-4o or openai:NAME@http://127.0.0.1:8080/v1, or use offline."
)
_BEFORE_URL = re.compile(r"@(?=https?://)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECONDS = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Spec:
    """One model of one provider."""

    provider: str
    model: str
    base_url: str | None = None
    facts: ModelTraits = UNKNOWN
    key_variable: str | None = None
    timeout: float | None = None

    @property
    def name(self) -> str:
        """How the model is called in records and errors: no path, no query, nothing that could be a secret."""
        at = f"@{urlsplit(self.base_url).netloc}" if self.base_url else ""
        return f"{self.provider}:{self.model}{at}"


def split_chain(text: str) -> tuple[str, ...]:
    """The models of a comma-separated chain, in order."""
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def parse(text: str) -> Spec:
    """One name, without commas. Raises `ConfigError` for anything that is not exactly understood."""
    head, *options = (part.strip() for part in text.split(";"))
    name, *url = _BEFORE_URL.split(head, maxsplit=1)
    provider, colon, model = name.partition(":")
    provider, model = provider.strip().lower(), model.strip()
    if not (colon and provider and model):
        raise ConfigError(f"{name!r} is not the name of a model.", fix=_SHAPE)
    spec = Spec(provider, model, check_url(url[0]) if url else None)
    for option in filter(None, options):
        spec = _with_option(spec, option)
    return spec


def check_url(url: str) -> str:
    """The address, without a trailing slash; one with a user or password in it is refused."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError("The model's address is not a URL.", fix="Write it like http://127.0.0.1:8080/v1.")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "The model's address has a user name or password in it.",
            fix="Take it out, put the key into an environment variable and name that with ;key=VARIABLE.",
        )
    return url.strip().rstrip("/")


def _with_option(spec: Spec, option: str) -> Spec:
    key, _, value = (part.strip() for part in option.partition("="))
    if key == "tools" and value in TOOL_CHANNELS:
        tools = ModelTraits(tools="json_schema" if value == "json_schema" else "native")
        return replace(spec, facts=spec.facts.or_else(tools))
    if key == "schema" and value in SCHEMA_CHANNELS:
        schema = ModelTraits(schema="prompted" if value == "prompted" else "native")
        return replace(spec, facts=spec.facts.or_else(schema))
    if key == "key" and _VARIABLE.fullmatch(value):
        return replace(spec, key_variable=value)
    if key == "timeout" and _SECONDS.fullmatch(value) and float(value) > 0:
        return replace(spec, timeout=float(value))
    raise ConfigError(
        f"Option {key!r} of a model's name is not understood.",
        fix="Use ;tools=native|json_schema, ;schema=native|prompted, ;key=ENVIRONMENT_VARIABLE or ;timeout=SECONDS.",
    )
