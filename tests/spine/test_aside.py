"""What is long is read beside the event loop: one person's message keeps nobody else waiting."""

from __future__ import annotations

import json
import threading
from contextvars import ContextVar
from datetime import UTC, datetime

import pytest
from tests.loop_time import measure_loop

from circumspect.aside import LONG, compute_aside, weigh_tools
from circumspect.clock import RandomIds, SystemClock
from circumspect.demo import samples
from circumspect.demo.offline import request_view
from circumspect.demo.offline.model import OfflineModel
from circumspect.models.scripted import ScriptedModel
from circumspect.pipeline import run_turn
from circumspect.policy.load import load
from circumspect.ports import Model, Ports, Tools
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode
from circumspect.server.client_turns import ClientTools
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.values import (
    ConversationId,
    Incoming,
    Json,
    Mode,
    ModelReply,
    ModelUsage,
    ToolCall,
    ToolSpec,
    TurnId,
    TurnResult,
)

LIMIT = 0.25
LETTERS = 19_900
TEXTS = {
    "wishes": "cancel order 12345. ",
    "wishes, in Hebrew and one sentence": "לבטל הזמנה 12345 ",
    "wishes, in Russian": "отменить заказ 12345. ",
    "several wishes": "please cancel order 12345 and refund it, then send it to 5 High Street. ",
    "denials": "do not cancel it, but ",
    "numbers": "1 ",
    "stops": ". ",
    "spaces": " ",
    "questions": "can I cancel order 12345? ",
    "quotations": '"a" ',
    "addresses": "a.b@c.de ",
}
WISH = "Please cancel order 12345, and not order 12346. "


def _large_tool(at: int) -> ToolSpec:
    properties = {f"p{at}_{number}": {"type": "string"} for number in range(1_500)}
    return ToolSpec("cancel_order", "Cancels an order.", {"type": "object", "properties": properties})


async def _take_turns(
    texts: list[str], tool: ToolSpec | None = None, model: Model | None = None, mode: Mode = "adaptive"
) -> list[TurnResult]:
    sample, store = samples.load("shop", directory=None, now=datetime.now(UTC)), await SqlStore.open("sqlite://")
    policy = load(sample.policy_path.read_text(), specs=sample.tools.specs(), name="policy")
    tools: Tools = ClientTools({tool.name: tool}) if tool else sample.tools
    ports, said = Ports(model or OfflineModel(), tools, store, SystemClock(), RandomIds()), []
    setup = TurnSetup(sample.tenant, policy, PROFILES, ports, mode=mode)
    for at, text in enumerate(texts):
        conversation, turn = ConversationId("c1"), TurnId(f"t{at}")
        incoming = Incoming(sample.tenant.id, conversation, turn, text, datetime.now(UTC), person="p1")
        said.append(await run_turn(incoming, setup))
        assert model or said[-1].outcome not in ("failed", "blocked"), said
    await store.close()
    return said


def _call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool, arguments)


def _nest(depth: int) -> Json:
    found: Json = "12345"
    for _ in range(depth):
        found = [found]
    return found


ORDERS = [str(number) for number in range(12_000, 12_500)]
ANSWERS: dict[str, tuple[str, list[ToolCall]]] = {
    "five hundred calls": ("Done.", [_call("cancel_order", order_id=one) for one in ORDERS]),
    "five hundred of nothing": ("Done.", [_call(f"tool{one}", order_id=one) for one in ORDERS]),
    "as many calls as are looked at": ("Done.", [_call("get_order_status", order_id=one) for one in ORDERS[:25]]),
    "arguments of many parts": ("Done.", [_call("cancel_order", **{f"a{one}": one for one in ORDERS * 10})]),
    "more parts than are looked at": ("Done.", [_call("cancel_order", ids=ORDERS * 40)]),
    "a long argument": ("Done.", [_call("cancel_order", order_id="12345 " * 30_000)]),
    "deep arguments": ("Done.", [_call("cancel_order", order_id=_nest(800))]),
    "a long reply": ("I have cancelled order 12345. " * 6_500, []),
    "a long reply of figures": ("It costs 12.50 euros, or 13 pence. " * 5_500, []),
    "a long reply of braces": ('{"confidence' * 16_000, []),
    "a reply that is too long": ("It costs 12.50 euros. " * 50_000, []),
}


@pytest.fixture(scope="module")
def warm() -> None:
    """Patterns are compiled and modules loaded once in a process; a server does so before it is ready."""
    with pytest.MonkeyPatch.context() as patch:
        measure_loop(
            lambda: _take_turns(["Please cancel order 12345.", "yes", "לבטל הזמנה 12345", "Где мой заказ?"]), patch
        )


@pytest.mark.parametrize("words", TEXTS)
def test_no_message_keeps_the_loop_from_others(words: str, warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{words}: " + (TEXTS[words] * LETTERS)[:LETTERS]
    found = measure_loop(lambda: _take_turns([text]), monkeypatch)
    assert found.longest < LIMIT
    assert found.held < LIMIT, "a thread kept Python's lock"


def test_no_conversation_keeps_the_loop_from_others(warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Order {at}. {WISH * 40}" for at in range(5)]
    found = measure_loop(lambda: _take_turns(texts), monkeypatch)
    assert found.longest < LIMIT


def test_no_schema_keeps_the_loop_from_others(warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure_loop(lambda: _take_turns(["cancel order 12345"], _large_tool(0)), monkeypatch)
    assert found.longest < LIMIT


@pytest.mark.parametrize(("name", "mode"), [*((one, "adaptive") for one in ANSWERS), ("a long reply", "standard")])
def test_no_answer_of_a_model_keeps_the_loop_from_others(
    name: str, mode: Mode, warm: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, calls = ANSWERS[name]
    answer = ModelReply(text, ModelUsage("m", 1, 1, 0, 0.0, 0.0), tuple(calls), "tool_calls" if calls else "stop")
    model = ScriptedModel(lambda _: answer)
    found = measure_loop(lambda: _take_turns(["cancel order 12345"], model=model, mode=mode), monkeypatch)
    assert found.longest < LIMIT
    assert found.held < LIMIT, "a thread kept Python's lock"


async def test_arguments_that_are_too_large_are_the_models_mistake() -> None:
    for name in ("more parts than are looked at", "deep arguments"):
        text, calls = ANSWERS[name]
        answer = ModelReply(text, ModelUsage("m", 1, 1, 0, 0.0, 0.0), tuple(calls), "tool_calls")
        (said,) = await _take_turns(["cancel order 12345"], model=ScriptedModel(lambda _, answer=answer: answer))
        assert said.outcome == "failed"
        assert ReasonCode.MODEL_FAILED in said.reason_codes


async def test_what_is_short_is_computed_where_it_stands() -> None:
    assert await compute_aside(LONG, threading.get_ident) == threading.get_ident()


async def test_what_is_long_is_computed_elsewhere_in_the_same_context() -> None:
    mark: ContextVar[str] = ContextVar("mark")
    mark.set("mine")
    thread, kept = await compute_aside(LONG + 1, lambda: (threading.get_ident(), mark.get()))
    assert thread != threading.get_ident()
    assert kept == "mine"
    with pytest.raises(ZeroDivisionError):
        await compute_aside(LONG + 1, lambda: 1 // 0)


def test_a_tool_weighs_what_its_names_do() -> None:
    assert weigh_tools([_large_tool(0)]) > LONG
    assert weigh_tools(samples.load("shop", directory=None, now=datetime.now(UTC)).tools.specs().values()) < LONG


def test_what_the_offline_model_remembers_of_schemas_is_bounded() -> None:
    for at in range(600):
        schema = json.dumps({"properties": {f"p{at}": {"description": "x" * 20_000}}})
        request_view._tool("cancel_order", "", schema, "")
    assert request_view._known_tools.weight <= request_view._known_tools.heaviest
    assert len(request_view._known_tools) <= 512
