"""Several models as one: who answers when one cannot."""

from __future__ import annotations

import pytest
from tests.models.conftest import Open, asks
from tests.models.provider_server import Cut, ProviderServer, Status
from tests.models.wire_formats import Answer

from circumspect.errors import ModelError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models import ScriptedModel, open_model
from circumspect.models.fallback import FallbackModel
from circumspect.values import ModelReply

TROUBLE = [ModelUnavailable("down"), ModelRefused("no"), ModelGarbled("?!")]


@pytest.mark.parametrize("trouble", TROUBLE, ids=lambda error: error.code)
async def test_the_next_model_answers_and_the_reply_says_so(trouble: ModelError) -> None:
    first, second = ScriptedModel([trouble], name="first"), ScriptedModel(["hello"], name="second")
    reply = await FallbackModel([first, second]).complete(asks())
    assert (reply.text, reply.usage.model) == ("hello", "second")
    assert len(first.requests) == len(second.requests) == 1


async def test_a_model_that_answers_is_not_followed_by_another() -> None:
    first, second = ScriptedModel(["hello"]), ScriptedModel(["never"])
    await FallbackModel([first, second]).complete(asks())
    assert not second.requests


async def test_a_programming_error_is_not_papered_over() -> None:
    with pytest.raises(ZeroDivisionError):
        await FallbackModel([ScriptedModel([ZeroDivisionError()]), ScriptedModel(["never"])]).complete(asks())


async def test_tries_of_all_models_are_counted(server: ProviderServer, opened: Open) -> None:
    chain = FallbackModel([opened("openai"), opened("anthropic")])
    server.plays(Status(500), Status(500), Status(500), Answer("here"))
    reply = await chain.complete(asks())
    assert (reply.text, reply.usage.attempts) == ("here", 4)
    assert reply.usage.model.startswith("anthropic:")


async def test_when_all_fail_the_error_names_them_and_is_transient_if_any_is(
    server: ProviderServer, opened: Open
) -> None:
    chain = FallbackModel([opened("openai", tries=1), opened("anthropic")])
    server.plays(Status(500), Status(401))
    with pytest.raises(ModelUnavailable) as caught:
        await chain.complete(asks())
    assert "openai:" in str(caught.value)
    assert "anthropic:" in str(caught.value)
    spent = caught.value.usage
    assert spent is not None
    assert spent.attempts == 2
    with pytest.raises(ModelRefused):
        await FallbackModel([ScriptedModel([ModelGarbled("?")]), ScriptedModel([ModelRefused("no")])]).complete(asks())


async def test_a_stream_moves_on_only_before_its_first_piece(server: ProviderServer, opened: Open) -> None:
    chain = FallbackModel([opened("openai", tries=1), opened("anthropic")])
    server.plays(Status(500), Answer("one two three"))
    *pieces, reply = [piece async for piece in chain.stream(asks())]
    assert pieces == ["one t", "wo th", "ree"]
    assert isinstance(reply, ModelReply)
    assert (reply.usage.attempts, reply.usage.model.split(":")[0]) == (2, "anthropic")

    server.plays(Cut(Answer("one two three"), 4), Answer("never"))
    with pytest.raises(ModelUnavailable):
        _ = [piece async for piece in chain.stream(asks())]
    assert len(server.requests) == 3


async def test_a_stream_of_a_chain_that_all_failed_fails() -> None:
    chain = FallbackModel([ScriptedModel([ModelRefused("no")]), ScriptedModel([ModelUnavailable("down")])])
    with pytest.raises(ModelUnavailable):
        _ = [piece async for piece in chain.stream(asks())]


async def test_a_comma_separated_name_is_a_chain(server: ProviderServer) -> None:
    chain = open_model(f"openai:a@{server.url}/v1;tools=json_schema, anthropic:b@{server.url}")
    assert isinstance(chain, FallbackModel)
    assert [name.split("@")[0] for name in chain.name.split(",")] == ["openai:a", "anthropic:b"]
    server.plays(Status(404), Answer("hello"))
    assert (await chain.complete(asks())).usage.model.startswith("anthropic:b@")
    await chain.aclose()


async def test_a_list_may_mix_names_and_models(server: ProviderServer) -> None:
    last = ScriptedModel(["hello from the script"])
    chain = open_model([f"openai:a@{server.url}/v1", last])
    server.plays(Status(401))
    assert (await chain.complete(asks())).text == "hello from the script"
    assert isinstance(chain, FallbackModel)
    await chain.aclose()
