"""A provider on loopback, models that talk to it, and a sleep that only remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.models.provider_server import ProviderServer

from circumspect.models import ProviderSettings, open_model
from circumspect.models.providers import ProviderModel
from circumspect.values import ChatMessage, ModelRequest, ToolSpec

NAMES = {"openai": "gpt-4o", "anthropic": "claude-opus-4-8"}
PATHS = {"openai": "/v1", "anthropic": ""}

CANCEL = ToolSpec(
    "cancel_order",
    "Cancel an order.",
    {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
)

Open = Callable[..., ProviderModel]


def asks(*said: ChatMessage | str, **fields: object) -> ModelRequest:
    messages = tuple(ChatMessage("user", item) if isinstance(item, str) else item for item in said or ("hello",))
    return replace(ModelRequest("draft", "draft.1", "You are polite.", messages), **fields)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What happens to be set on a machine decides no test. No certificates: reading them takes longer than a test."""
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for prefix in ("OPENAI", "ANTHROPIC"):
        for name in ("API_KEY", "BASE_URL", "AUTH_TOKEN"):
            monkeypatch.delenv(f"{prefix}_{name}", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("CIRCUMSPECT_MODEL", raising=False)


@pytest.fixture
async def server() -> AsyncIterator[ProviderServer]:
    async with ProviderServer() as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    """How long was waited between tries, had anybody waited."""
    return []


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def opened(server: ProviderServer, waits: list[float]) -> AsyncIterator[Open]:
    """Opens models of the local server; closes them afterwards."""
    models: list[ProviderModel] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    def open_one(provider: str = "openai", options: str = "", *, name: str = "", **settings: object) -> ProviderModel:
        spec = f"{provider}:{name or NAMES[provider]}@{server.url}{PATHS[provider]}{options}"
        model = open_model(spec, settings=ProviderSettings(sleep=wait, **settings))  # type: ignore[arg-type]
        assert isinstance(model, ProviderModel)
        models.append(model)
        return model

    yield open_one
    for model in models:
        await model.aclose()


@pytest.fixture
def model(opened: Open, provider: str) -> ProviderModel:
    return opened(provider)
