"""A request of an OpenAI client that names nothing and is sent again is the same request, until it was answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import PATIENCE
from tests.server.house import SECRET

from circumspect import IdempotencyKey, tool
from circumspect.clock import FixedClock
from circumspect.errors import StoreError
from circumspect.models.scripted import ScriptedModel, says
from circumspect.server import credentials
from circumspect.server.app import create_app
from circumspect.server.apply_tenant import apply_file
from circumspect.server.config import Settings
from circumspect.server.openai_format import ChatRequest
from circumspect.server.services import Services, open_services
from circumspect.server.stores import access
from circumspect.server.stores.access import KeyRow
from circumspect.server.unanswered_requests import identify
from circumspect.stores import people
from circumspect.values import ModelRequest, TenantId

SHOP = TenantId("shop")
CONVERSATION_FREE, CALL_FREE, DELIVERED = 25, 80, 3
TENANT = """
version: 1
id: shop
business: {name: Shop}
tools: [{python: "tests.server.test_repeated_requests:book"}]
policy: {tools: {book: {effect: write, confirm: never}}}
"""
BOOK = {"model": "circumspect", "messages": [{"role": "user", "content": "book slot 9"}]}
HI = {"model": "circumspect", "messages": [{"role": "user", "content": "hi"}]}


class Hold:
    """Where a turn is held up while a test looks the other way."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def pass_through(self) -> None:
        self.reached.set()
        await asyncio.wait_for(self.open.wait(), PATIENCE)


class Office:
    booked: list[str]
    tool: Hold
    model: Hold


OFFICE = Office()


@tool(effect="write", recovery="keyed")
async def book(slot: str, key: IdempotencyKey) -> str:
    """Book a slot."""
    if key not in OFFICE.booked:
        OFFICE.booked.append(key)
        await OFFICE.tool.pass_through()
    return "booked"


def play(request: ModelRequest) -> str:
    if request.purpose == "critique":
        return '{"decision": "PROCEED", "reasoning": ""}'
    if request.messages[-1].role == "tool":
        return says("It is arranged.")
    words = request.messages[-1].text
    return says("", tool="book", params={"slot": "9"}) if "book" in words else says("Hello.")


class Model(ScriptedModel):
    async def complete(self, request: ModelRequest) -> Any:
        await OFFICE.model.pass_through()
        return await super().complete(request)


@pytest.fixture
async def services(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    OFFICE.booked, OFFICE.tool, OFFICE.model = [], Hold(), Hold()
    OFFICE.tool.open.set()
    OFFICE.model.open.set()
    (tmp_path / "shop.yaml").write_text(TENANT)
    settings = Settings(database=f"sqlite:///{tmp_path}/r.db", secret_key=SECRET)
    async with open_services(settings, clock=clock) as opened:
        await apply_file(tmp_path / "shop.yaml", opened.store, settings, clock=clock)
        setup = await opened.directory.setup(SHOP)
        played = replace(setup, ports=replace(setup.ports, model=Model(play)))

        async def setup_of(_: TenantId) -> Any:
            return played

        monkeypatch.setattr(opened.directory, "setup", setup_of)
        yield opened


@pytest.fixture
async def client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(services.settings)
    app.state.services = services
    id_, key = credentials.new_key()
    row = KeyRow(id_, SHOP, "test", ("chat",), services.clock.now().timestamp())
    await services.store.tx(access.add_key, row, credentials.hash_token(key))
    transport, headers = httpx.ASGITransport(app), {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://shop", headers=headers) as opened:
        yield opened


async def ask(client: httpx.AsyncClient, body: Any, **more: Any) -> httpx.Response:
    return await client.post("/v1/chat/completions", json={**body, **more}, timeout=PATIENCE)


async def count_conversations(services: Services) -> int:
    return len(await services.store.tx(people.list_conversations, (SHOP,), None, 100))


async def reach(hold: Hold) -> None:
    await asyncio.wait_for(hold.reached.wait(), PATIENCE)


async def wait_for(comes: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not comes():
            await asyncio.sleep(0.01)


async def test_a_request_whose_worker_died_is_the_same_when_it_comes_again(
    services: Services, client: httpx.AsyncClient, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    OFFICE.tool.open.clear()
    first = asyncio.create_task(ask(client, BOOK))
    await reach(OFFICE.tool)

    async def gone(*_: Any) -> None:
        raise StoreError("The worker is dead.")

    with monkeypatch.context() as dead:
        dead.setattr(services.store, "finish_call", gone)
        dead.setattr(services.store, "close_turn", gone)
        dead.setattr(services.store, "give_back", gone)
        await services.turns.drain(0)
        first.cancel()
        with suppress(asyncio.CancelledError, StoreError):
            await first
    OFFICE.tool.open.set()

    second = asyncio.create_task(ask(client, BOOK))
    await asyncio.sleep(0.5)
    assert not second.done(), "for all that anybody knows the first is being answered"
    clock.advance(seconds=CONVERSATION_FREE)
    assert ((await second).status_code, (await second).json()["code"]) == (409, "call_under_way")
    clock.advance(seconds=CALL_FREE)
    third = await ask(client, BOOK, stream=False)
    assert third.json()["choices"][0]["message"]["content"] == "Done: book (slot: 9)."
    assert len(OFFICE.booked) == 1
    assert await count_conversations(services) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_gave_up_before_the_answer_gets_it_when_it_asks_again(
    services: Services, client: httpx.AsyncClient, clock: FixedClock, stream: bool
) -> None:
    OFFICE.tool.open.clear()
    first = asyncio.create_task(ask(client, BOOK, stream=stream))
    await reach(OFFICE.tool)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    OFFICE.tool.open.set()
    await wait_for(lambda: len(services.turns) == 0)
    clock.advance(seconds=DELIVERED)
    second = (await ask(client, BOOK)).json()
    assert second["choices"][0]["message"]["content"] == "It is arranged."
    assert len(OFFICE.booked) == 1
    assert await count_conversations(services) == 1
    told = {"role": "assistant", "content": "It is arranged."}
    following = {**BOOK, "messages": [*BOOK["messages"], told, {"role": "user", "content": "thanks"}]}
    assert (await ask(client, following)).status_code == 200
    assert await count_conversations(services) == 1, "the talk goes on where it was"


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_answered_may_be_asked_for_again(
    services: Services, client: httpx.AsyncClient, stream: bool
) -> None:
    for _ in range(2):
        assert (await ask(client, BOOK, stream=stream)).status_code == 200
    assert len(OFFICE.booked) == 2
    assert await count_conversations(services) == 2


async def test_two_who_begin_with_the_same_words_have_a_conversation_each(
    services: Services, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    OFFICE.model.open.clear()
    first = asyncio.create_task(ask(client, HI))
    await reach(OFFICE.model)
    second = asyncio.create_task(ask(client, HI))
    await asyncio.sleep(0.5)
    OFFICE.model.open.set()
    answers = [(await one).json() for one in (first, second)]
    assert [one["choices"][0]["message"]["content"] for one in answers] == ["Hello.", "Hello."]
    assert len({one["circumspect"]["conversation_id"] for one in answers}) == 2


def test_another_sender_history_or_tool_makes_another_request() -> None:
    def key(*owner: str, named: str | None = None, **more: Any) -> str:
        return identify(owner, ChatRequest.model_validate({**HI, **more}).content, named)

    longer = [*HI["messages"], {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "hi"}]
    lookup = {"type": "function", "function": {"name": "look"}}
    first = key("shop", "key-1", "ann")
    assert first == key("shop", "key-1", "ann", stream=True)
    others = [
        key("shop", "key-1", "bob"), key("shop", "key-2", "ann"), key("shop", "key-1", "ann", messages=longer),
        key("shop", "key-1", "ann", tools=[lookup]), key("shop", "key-1", "ann", named="c1"),
    ]  # fmt: skip
    assert len({first, *others}) == 6
