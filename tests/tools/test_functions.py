"""A function becomes a tool: its schema, its arguments, its result, and what is told when it fails."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import enum
import functools
import inspect
import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field
from tests.patience import PATIENCE

from circumspect.errors import ConfigError, ToolError, ToolTimeout
from circumspect.tools import FunctionTool, IdempotencyKey, tool
from circumspect.values import Json


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Parcel(BaseModel):
    """A box."""

    title: str
    size: Size


@dataclass(frozen=True)
class Receipt:
    total: Decimal
    on: dt.date
    sizes: frozenset[Size]


@dataclass
class Row:
    name: str = "something"


def properties(made: FunctionTool[..., Any]) -> dict[str, Any]:
    return json.loads(json.dumps(made.spec.parameters))["properties"]


# --- the schema ------------------------------------------------------------------------------------------------------


def test_a_bare_decorator_reads_name_description_and_parameters() -> None:
    @tool
    def cancel(order_id: str, reason: str = "") -> str:
        """Cancel an order.

        Only before it ships.

        Args:
            order_id: The number of the order,
                five digits.
            reason (str): Why.

        Returns:
            A sentence.
        """
        return order_id

    assert cancel.spec.name == "cancel"
    assert cancel.spec.description == "Cancel an order.\n\nOnly before it ships."
    assert cancel.spec.parameters == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "The number of the order, five digits."},
            "reason": {"type": "string", "default": "", "description": "Why."},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }
    assert cancel.spec.required == {"order_id"}


def test_nothing_is_assumed_about_a_function_that_declares_nothing() -> None:
    @tool
    def anything() -> None: ...

    assert anything.spec.effect is None
    assert anything.spec.recovery == "blind"
    assert anything.spec.configured
    assert not anything.spec.open_world
    assert anything.spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_what_is_declared_is_in_the_spec() -> None:
    @tool(
        effect="destructive",
        recovery="keyed",
        timeout=10,
        phrases={"en": "cancel order {order_id}", "ru": "отменить заказ {order_id}"},
        open_world=True,
        configured=False,
        name="cancel_order",
        description="Cancels.",
    )
    async def cancel(order_id: str, key: IdempotencyKey) -> None:
        """Not this."""

    spec = cancel.spec
    assert (spec.name, spec.description, spec.effect, spec.recovery) == (
        "cancel_order",
        "Cancels.",
        "destructive",
        "keyed",
    )
    assert (spec.timeout, spec.open_world, spec.configured) == (10, True, False)
    assert spec.phrases == {"en": "cancel order {order_id}", "ru": "отменить заказ {order_id}"}


def test_types_become_formats_enums_and_bounds() -> None:
    @tool
    def book(
        day: dt.date,
        at: dt.datetime,
        service: Literal["sharpening", "fitting"],
        size: Size,
        email: Annotated[str, Field(json_schema_extra={"format": "email"}, description="Where to write.")],
        order_id: Annotated[str, Field(pattern="^[0-9]{5}$")],
        amount: Annotated[float, Field(ge=0.01)] | None = None,
    ) -> None:
        """Book.

        Args:
            email: Not this text: the annotation is closer.
            size: How large.
        """

    seen = properties(book)
    assert seen["day"] == {"type": "string", "format": "date"}
    assert seen["at"] == {"type": "string", "format": "date-time"}
    assert seen["service"] == {"type": "string", "enum": ["sharpening", "fitting"]}
    assert seen["size"] == {"type": "string", "enum": ["s", "l"], "description": "How large."}
    assert seen["email"] == {"type": "string", "format": "email", "description": "Where to write."}
    assert seen["order_id"]["pattern"] == "^[0-9]{5}$"
    assert seen["amount"] == {"anyOf": [{"type": "number", "minimum": 0.01}, {"type": "null"}], "default": None}
    assert book.spec.required == {"day", "at", "service", "size", "email", "order_id"}


def test_nested_types_are_written_out_and_a_property_named_title_survives() -> None:
    @tool
    def send(parcels: list[Parcel]) -> None: ...

    assert "$defs" not in send.spec.parameters
    assert properties(send)["parcels"]["items"] == {
        "type": "object",
        "description": "A box.",
        "properties": {"title": {"type": "string"}, "size": {"type": "string", "enum": ["s", "l"]}},
        "required": ["title", "size"],
    }


class Tree(BaseModel):
    children: list[Tree] = []


def test_a_type_that_contains_itself_keeps_its_definition() -> None:
    @tool
    def plant(tree: Tree) -> None: ...

    validator = jsonschema_rs.validator_for(dict(plant.spec.parameters))
    assert validator.is_valid({"tree": {"children": [{"children": []}]}})
    assert not validator.is_valid({"tree": {"children": [{"children": 3}]}})


def test_parameters_may_have_names_that_pydantic_keeps_for_itself() -> None:
    @tool
    def odd(json: str, copy: int, model_config: str, schema: str) -> list[object]:
        return [json, copy, model_config, schema]

    arguments: dict[str, Json] = {"json": "a", "copy": 1, "model_config": "b", "schema": "c"}
    assert odd.spec.required == arguments.keys()
    assert asyncio.run(odd.call(arguments, "k")) == ["a", 1, "b", "c"]


def test_a_field_as_the_default_value_is_understood() -> None:
    @tool
    def find(text: str = Field(description="What to find."), limit: int = Field(5, ge=1)) -> list[object]:
        return [text, limit]

    assert find.spec.required == {"text"}
    assert properties(find)["limit"] == {"type": "integer", "default": 5, "minimum": 1}
    assert asyncio.run(find.call({"text": "tent"}, "k")) == ["tent", 5]


def test_annotations_may_name_types_of_the_function_that_defines_the_tool() -> None:
    class Local(BaseModel):
        number: int

    @tool(effect="read")
    def look(local: Local) -> int:
        return local.number

    assert asyncio.run(look.call({"local": {"number": 7}}, "k")) == 7


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"effect": "readonly"}, "no effect 'readonly'"),
        ({"recovery": "retry"}, "no recovery 'retry'"),
        ({"recovery": "keyed"}, "takes none"),
        ({"recovery": "lookup"}, "lookup is missing"),
        ({"recovery": "blind", "lookup": lambda key, arguments: None}, "lookup is given"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": "10"}, "timeout is '10'"),
        ({"name": "cancel order"}, "cannot be the name"),
        ({"name": "отмена"}, "cannot be the name"),
        ({"phrases": {"xx": "stornieren"}}, "no language 'xx'"),
        ({"phrases": {"en": "cancel {order}"}}, "names 'order'"),
        ({"phrases": {"en": "cancel {order_id"}}, "phrase is broken"),
    ],
)
def test_a_declaration_that_cannot_hold_is_refused_with_a_remedy(options: dict[str, Any], problem: str) -> None:
    def cancel(order_id: str) -> None: ...

    with pytest.raises(ConfigError, match=problem) as refused:
        tool(**options)(cancel)
    assert refused.value.fix


def test_a_function_that_cannot_be_described_is_refused_with_a_remedy() -> None:
    def untyped(order_id): ...  # type: ignore[no-untyped-def]
    def many(*orders: str) -> None: ...
    def keywords(**orders: str) -> None: ...
    def positional(order: str, /) -> None: ...
    def unknown(order: Order) -> None: ...  # type: ignore[name-defined]  # noqa: F821
    def opaque(lock: threading.Event) -> None: ...

    for function in (untyped, many, keywords, positional, unknown, opaque):
        with pytest.raises(ConfigError) as refused:
            tool(function)
        assert refused.value.fix, function


# --- calling it ------------------------------------------------------------------------------------------------------


def test_a_tool_can_still_be_called_like_its_function() -> None:
    @tool(effect="read")
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert double(4) == 8
    assert double(number=5) == 10
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice."
    assert list(inspect.signature(double).parameters) == ["number"]


async def test_an_async_tool_can_still_be_awaited_like_its_function() -> None:
    @tool
    async def double(number: int) -> int:
        return 2 * number

    assert await double(4) == 8
    assert await double.call({"number": 4}, "k") == 8


async def test_arguments_arrive_as_the_types_the_function_asks_for() -> None:
    seen: list[Any] = []

    @tool
    def book(day: dt.date, price: Decimal, size: Size, parcel: Parcel, tags: set[str], note: str | None = None) -> None:
        seen.extend((day, price, size, parcel, tags, note))

    arguments: Mapping[str, Json] = MappingProxyType(
        {
            "day": "2026-11-20",
            "price": "12.50",
            "size": "l",
            "parcel": MappingProxyType({"title": "x", "size": "s"}),
            "tags": ("a", "a"),
        }
    )
    await book.call(arguments, "k")
    assert seen == [
        dt.date(2026, 11, 20),
        Decimal("12.50"),
        Size.LARGE,
        Parcel(title="x", size=Size.SMALL),
        {"a"},
        None,
    ]


async def test_arguments_that_do_not_fit_are_refused_without_repeating_them() -> None:
    ran = []

    @tool
    def pay(amount: int) -> None:
        ran.append(amount)

    with pytest.raises(ToolError, match="amount") as refused:
        await pay.call({"amount": "4111 1111 1111 1111"}, "k")
    assert "4111" not in str(refused.value)
    with pytest.raises(ToolError, match="extra"):
        await pay.call({"amount": 3, "extra": 1}, "k")
    assert ran == []


async def test_the_idempotency_key_is_given_to_the_function_and_hidden_from_the_model() -> None:
    @tool(recovery="keyed")
    def pay(amount: int, key: IdempotencyKey, again: IdempotencyKey | None = None) -> list[object]:
        return [amount, key, again]

    assert list(properties(pay)) == ["amount"]
    assert await pay.call({"amount": 3}, "x-1") == [3, "x-1", "x-1"]
    with pytest.raises(ToolError):
        await pay.call({"amount": 3, "key": "mine"}, "x-1")


async def test_a_parameter_called_key_is_the_models_unless_it_is_annotated() -> None:
    @tool
    def read_setting(key: str) -> str:
        return key

    assert await read_setting.call({"key": "theme"}, "x-1") == "theme"


async def test_a_sync_function_does_not_hold_up_the_event_loop() -> None:
    gate = threading.Event()

    @tool
    def wait() -> str:
        assert gate.wait(PATIENCE)
        return threading.current_thread().name

    pending = asyncio.create_task(wait.call({}, "k"))
    await asyncio.sleep(0)
    gate.set()
    assert await pending != threading.current_thread().name


async def test_a_sync_wrapper_around_an_async_function_is_awaited() -> None:
    async def inner() -> int:
        return 3

    @tool
    def outer() -> Any:
        return inner()

    assert await outer.call({}, "k") == 3


async def test_a_bound_method_and_a_wrapped_function_can_be_tools() -> None:
    class Shop:
        def price(self, item: str) -> str:
            return item.upper()

    @functools.wraps(Shop.price)
    def wrapped(*args: Any, **kwargs: Any) -> str:
        return Shop().price(*args, **kwargs)

    assert await tool(Shop().price).call({"item": "tent"}, "k") == "TENT"
    with pytest.raises(ConfigError, match="'self'"):
        tool(wrapped)


async def test_concurrent_calls_do_not_share_a_default() -> None:
    @tool
    def collect(item: str, into: list[str] = []) -> list[str]:  # noqa: B006
        into.append(item)
        return into

    assert await collect.call({"item": "a"}, "k") == ["a"]
    assert await collect.call({"item": "b"}, "k") == ["b"]


# --- results ---------------------------------------------------------------------------------------------------------


async def test_results_become_json() -> None:
    @tool
    def receipt() -> dict[str, Any]:
        return {
            "receipt": Receipt(Decimal("1.10"), dt.date(2026, 1, 2), frozenset({Size.LARGE})),
            "parcel": Parcel(title="x", size=Size.SMALL),
            "at": dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC),
            "proxy": MappingProxyType({"a": (1, 2)}),
            7: None,
        }

    assert await receipt.call({}, "k") == {
        "receipt": {"total": "1.10", "on": "2026-01-02", "sizes": ["l"]},
        "parcel": {"title": "x", "size": "s"},
        "at": "2026-01-02T03:04:00Z",
        "proxy": {"a": [1, 2]},
        "7": None,
    }


@pytest.mark.parametrize("value", [object(), 2**70, "\ud800", b"\xff", {"deep": [threading.Event()]}])
async def test_a_result_that_is_no_json_is_an_error_and_for_a_change_an_unknown_outcome(value: object) -> None:
    """The change has been made by then; "it said no" would invite a second one."""

    @tool(effect="read")
    def look() -> object:
        return value

    @tool(effect="write")
    def change() -> object:
        return value

    with pytest.raises(ToolError, match="JSON cannot carry") as failed:
        await look.call({}, "k")
    assert not isinstance(failed.value, ToolTimeout)
    with pytest.raises(ToolTimeout, match="JSON cannot carry"):
        await change.call({}, "k")


async def test_a_result_that_is_longer_than_any_over_http_is_not_read() -> None:
    """The change has been made, here as well."""

    @tool(effect="read")
    def look(length: int) -> str:
        return "x" * length

    @tool(effect="write")
    def change(length: int) -> str:
        return "x" * length

    for made in (look, change):
        assert len(await made.call({"length": 1_999_998}, "k")) == 1_999_998  # and two quotation marks
    with pytest.raises(ToolError, match="returned more than 2 MB") as failed:
        await look.call({"length": 1_999_999}, "k")
    assert not isinstance(failed.value, ToolTimeout)
    with pytest.raises(ToolTimeout, match="returned more than 2 MB"):
        await change.call({"length": 50_000_000}, "k")

    @tool(effect="read")
    def rows() -> list[Row]:
        return [Row()] * 200_000

    with pytest.raises(ToolError, match="returned more than 2 MB"):
        await rows.call({}, "k")


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ValueError("order is shipped"), KeyError("x"), StopIteration(), SystemExit(2), RecursionError()]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_any_exception_of_a_tool_is_a_tool_error_with_type_and_message(error: BaseException, kind: str) -> None:
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    made = tool(name="fail")(fail) if kind == "sync" else tool(name="fail")(fail_later)
    with pytest.raises(ToolError) as failed:
        await asyncio.wait_for(made.call({}, "k"), PATIENCE)
    assert not isinstance(failed.value, ToolTimeout)
    assert "Traceback" not in str(failed.value)
    if isinstance(error, ValueError):
        assert str(failed.value) == "fail failed: ValueError: order is shipped"


class Abort(BaseException):
    """What a library might raise to get past every handler."""


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Abort("no further")])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_what_no_handler_expects_leaves_the_outcome_unknown_and_the_process_alive(
    error: BaseException, kind: str
) -> None:
    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    made = tool(name="fail")(fail) if kind == "sync" else tool(name="fail")(fail_later)
    with pytest.raises(ToolTimeout, match=f"not known whether it happened: {type(error).__name__}"):
        await asyncio.wait_for(made.call({}, "k"), PATIENCE)


async def test_a_tool_that_catches_its_cancellation_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("circumspect.tools.functions.GRACE", 0.01)
    go, left = asyncio.Event(), asyncio.Event()

    @tool(effect="write", timeout=0.01)
    async def stubborn() -> None:
        while not go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go.wait()
        left.set()

    with pytest.raises(ToolTimeout, match="did not answer"):
        await asyncio.wait_for(stubborn.call({}, "k"), PATIENCE)
    waiting = asyncio.create_task(stubborn.call({}, "k"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, PATIENCE)
    go.set()
    await left.wait()


async def test_a_tool_that_broke_off_by_itself_does_not_break_the_turn_off() -> None:
    """Whether it had done its work by then, nobody knows."""

    @tool(effect="write")
    async def gives_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(ToolTimeout, match="broke off"):
        await gives_up.call({}, "k")


async def test_a_tools_own_refusal_is_passed_on_word_for_word() -> None:
    @tool
    def refuse() -> None:
        raise ToolError("Order 99999 has left.", fix="Return it.")

    with pytest.raises(ToolError, match=r"^Order 99999 has left\. Return it\.$"):
        await refuse.call({}, "k")


async def test_a_tool_that_does_not_answer_in_time_has_an_unknown_outcome() -> None:
    gate = threading.Event()

    @tool(timeout=0.05)
    def slow() -> None:
        gate.wait(PATIENCE)

    @tool(timeout=0.05)
    async def slow_too() -> None:
        await asyncio.sleep(10)

    try:
        for made in (slow, slow_too):
            with pytest.raises(ToolTimeout, match=r"did not answer within 0\.05 s"):
                await made.call({}, "k")
    finally:
        gate.set()


@pytest.mark.parametrize("error", [TimeoutError("read"), ConnectionResetError(), BrokenPipeError()])
async def test_a_connection_that_broke_leaves_the_outcome_unknown_even_when_a_library_wrapped_it(
    error: Exception,
) -> None:
    class LibraryError(Exception):
        pass

    @tool
    async def pay() -> None:
        try:
            raise error
        except OSError as inner:
            raise LibraryError("request failed") from inner

    with pytest.raises(ToolTimeout, match="not known whether it happened: LibraryError"):
        await pay.call({}, "k")


async def test_a_connection_that_was_refused_means_that_nothing_happened() -> None:
    @tool
    async def pay() -> None:
        raise ConnectionRefusedError("port 1")

    with pytest.raises(ToolError) as failed:
        await pay.call({}, "k")
    assert not isinstance(failed.value, ToolTimeout)


async def test_being_cancelled_is_not_a_failure_of_the_tool() -> None:
    @tool
    async def wait() -> None:
        await asyncio.sleep(10)

    pending = asyncio.create_task(wait.call({}, "k"))
    await asyncio.sleep(0)
    pending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pending


@pytest.mark.parametrize(
    ("message", "secret"),
    [
        ("401 for https://api.test/x?api_key=abc123def", "abc123def"),
        ("could not connect to postgresql://bob:hunter2@db/shop", "hunter2"),
        ("header Authorization: Bearer abcdef123456", "abcdef123456"),
        ('{"client_secret": "s3cr3t", "id": 1}', "s3cr3t"),
        ("password='open sesame' rejected", "sesame"),
        ("key sk-proj-abcdefghijklmnop is wrong", "abcdefghijklmnop"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc expired", "eyJzdWIiOiIxIn0"),
    ],
)
async def test_secrets_in_an_exception_are_struck_out(message: str, secret: str) -> None:
    @tool
    async def fail() -> None:
        raise RuntimeError(message)

    with pytest.raises(ToolError) as failed:
        await fail.call({}, "k")
    assert secret not in str(failed.value)
    assert "[hidden]" in str(failed.value)


async def test_ordinary_words_in_an_exception_stay_and_long_ones_are_cut() -> None:
    @tool
    async def fail(text: str) -> None:
        raise RuntimeError(text)

    ordinary = "Order 12345: no slot on 2026-11-20 at 10:30 (ticket #7), see a@b.example"
    with pytest.raises(ToolError, match="ticket #7") as failed:
        await fail.call({"text": ordinary}, "k")
    assert ordinary in str(failed.value)
    with pytest.raises(ToolError) as cut:
        await fail.call({"text": "x" * 10_000}, "k")
    assert len(str(cut.value)) < 400


# --- configured and lookup -------------------------------------------------------------------------------------------


def test_whether_a_tool_is_configured_is_asked_each_time_and_a_failing_answer_is_a_no() -> None:
    settings = {"token": ""}

    @tool(configured=lambda: bool(settings["token"]))
    def send() -> None: ...

    assert not send.spec.configured
    settings["token"] = "t"
    assert send.spec.configured
    assert send.spec is send.spec
    del settings["token"]
    assert not send.spec.configured

    @tool(configured=lambda: sys.exit("not here"))
    def leave() -> None: ...

    assert not leave.spec.configured


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_lookup_says_what_became_of_a_call(kind: str) -> None:
    done: dict[str, Json] = {"k1": {"paid": 3}}

    def find(key: str, arguments: Mapping[str, Json]) -> Json:
        assert arguments == {"amount": 3}
        return done.get(key)

    async def find_later(key: str, arguments: Mapping[str, Json]) -> Json:
        return find(key, arguments)

    @tool(lookup=find if kind == "sync" else find_later)
    def pay(amount: int) -> None: ...

    assert pay.spec.recovery == "lookup"
    assert await pay.lookup({"amount": 3}, "k1") == {"paid": 3}
    assert await pay.lookup({"amount": 3}, "k2") is None


async def test_a_tool_without_a_lookup_says_so() -> None:
    @tool
    def pay() -> None: ...

    with pytest.raises(ToolError, match="cannot be looked up"):
        await pay.lookup({}, "k")
