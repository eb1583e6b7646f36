"""What a call cost: counted by the provider, priced by list, estimated when nobody counted."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from tests.models.conftest import CANCEL, Open, asks
from tests.models.provider_server import ProviderServer
from tests.models.wire_formats import Answer

from circumspect.models import ProviderSettings, open_model
from circumspect.models.pricing import estimate_tokens, price, read_price, request_tokens
from circumspect.models.providers import ProviderModel
from circumspect.values import ModelUsage


@pytest.fixture
async def listed(server: ProviderServer, monkeypatch: pytest.MonkeyPatch, provider: str):  # type: ignore[no-untyped-def]
    """A model under its provider's own name, whose address the environment gives."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    model = open_model({"openai": "openai:gpt-4o", "anthropic": "anthropic:claude-sonnet-4-5"}[provider])
    assert isinstance(model, ProviderModel)
    yield model
    await model.aclose()


async def test_a_listed_model_has_its_list_price(server: ProviderServer, listed: ProviderModel, provider: str) -> None:
    server.plays(Answer("hi", usage=(1_000_000, 100_000)))
    usage = (await listed.complete(asks())).usage
    # Dollars per million tokens in and out, long stable for both models.
    per_million = {"openai": (2.5, 10.0), "anthropic": (6.0, 22.5)}[provider]
    assert usage.cost_usd == pytest.approx(per_million[0] + per_million[1] / 10)


async def test_cached_tokens_are_cheaper(server: ProviderServer, listed: ProviderModel) -> None:
    server.plays(Answer("hi", usage=(10_000, 10)), Answer("hi", usage=(10_000, 10), cached=8_000))
    full, cached = [(await listed.complete(asks())).usage for _ in range(2)]
    assert (full.input_tokens, cached.input_tokens, cached.cached_tokens) == (10_000, 10_000, 8_000)
    assert 0 < cached.cost_usd < full.cost_usd


async def test_a_model_nobody_lists_costs_nothing(server: ProviderServer, opened: Open) -> None:
    server.plays(Answer("hi", usage=(1000, 1000)))
    usage = (await opened("openai", name="my-own-model").complete(asks())).usage
    assert (usage.input_tokens, usage.cost_usd) == (1000, 0.0)


async def test_ones_own_server_has_no_list_price_whatever_its_model_is_called(
    server: ProviderServer, opened: Open
) -> None:
    assert (await opened("openai", name="gpt-4o").complete(asks())).usage.cost_usd == 0.0


@pytest.mark.parametrize("name", ["my-own-model", "openai:my-own-model@{at}"])
async def test_ones_own_server_costs_what_one_says(server: ProviderServer, name: str) -> None:
    server.plays(Answer("hi", usage=(1_000_000, 500_000)))
    own = ProviderSettings(
        api_key="k", prices=dict([read_price(f"{name.format(at=urlsplit(server.url).netloc)}=0.4/1.2")])
    )
    model = open_model(f"openai:my-own-model@{server.url}/v1", settings=own)
    assert isinstance(model, ProviderModel)
    assert (await model.complete(asks())).usage.cost_usd == pytest.approx(0.4 + 0.6)
    await model.aclose()


@pytest.mark.parametrize("wrong", ["qwen", "qwen=1", "=1/2", "qwen=a/b", "qwen=-1/2", "qwen=nan/1", "qwen=1/inf"])
def test_a_price_that_is_none_is_refused_in_words(wrong: str) -> None:
    with pytest.raises(ValueError, match="MODEL=IN/OUT"):
        read_price(wrong)


@pytest.mark.parametrize("streaming", [False, True])
async def test_what_was_not_counted_is_estimated(server: ProviderServer, model: ProviderModel, streaming: bool) -> None:
    server.plays(Answer("a" * 400, usage=None))
    request = asks("b" * 4000)
    reply = [piece async for piece in model.stream(request)][-1] if streaming else await model.complete(request)
    usage = reply.usage  # type: ignore[union-attr]
    assert usage.estimated
    assert usage.output_tokens == 100
    assert 1000 <= usage.input_tokens <= 1020


def test_russian_and_hebrew_have_fewer_letters_to_a_token() -> None:
    assert estimate_tokens("a" * 80) == 20
    assert estimate_tokens("я" * 80) == estimate_tokens("ש" * 80) == 40
    assert estimate_tokens("") == 0


def test_tools_and_schemas_count_as_input() -> None:
    assert request_tokens(asks(tools=(CANCEL,))) > request_tokens(asks()) + 20
    assert request_tokens(asks(schema=CANCEL.parameters)) > request_tokens(asks()) + 10


def test_more_cached_than_sent_is_no_reason_to_fail() -> None:
    usage = ModelUsage("m", input_tokens=10, output_tokens=1, cached_tokens=50)
    assert price(provider="openai", url=None, models=("gpt-4o",), usage=usage) > 0
