"""The sample shop's tools, each against the real back end, through the schema that a policy would check."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest

from circumspect.demo import samples
from circumspect.demo.samples.sample_files import read
from circumspect.demo.samples.shop_tools import matching
from circumspect.errors import ToolError

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)

SCRIPT = {"en": re.compile("[A-Za-z]"), "he": re.compile("[א-ת]"), "ru": re.compile("[А-яё]")}

GOOD: dict[str, dict[str, Any]] = {
    "get_order_status": {"order_id": "12345"},
    "list_orders": {"email": "dana.levi@example.com"},
    "check_inventory": {"product": "KK-209"},
    "list_free_slots": {"date": "2026-11-17", "service": "knife sharpening"},
    "cancel_order": {"order_id": "12345", "reason": "Found it cheaper"},
    "refund": {"order_id": "12330", "amount": 10.5},
    "update_address": {"order_id": "12346", "address": "5 Allenby Street, Haifa"},
    "book_appointment": {
        "date": "2026-11-17",
        "time": "10:30",
        "service": "boot fitting",
        "name": "דנה לוי",
        "phone": "+972-52-555-0101",
    },
    "delete_account": {"email": "maya.cohen@example.com"},
}


@pytest.fixture(params=samples.names())
def sample(request: pytest.FixtureRequest) -> samples.Sample:
    return samples.load(request.param, directory=None, now=NOW)


@pytest.fixture
def shop() -> samples.Sample:
    return samples.load("shop", directory=None, now=NOW)


async def call(sample: samples.Sample, name: str, /, **arguments: Any) -> Mapping[str, Any]:
    schema = dict(sample.tools.specs()[name].parameters)
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(arguments)
    result = await sample.tools.call(name, arguments, f"key-{name}")
    assert isinstance(result, Mapping)
    return result


@pytest.mark.parametrize("name", GOOD)
async def test_every_tool_works_and_speaks_the_tenants_language(sample: samples.Sample, name: str) -> None:
    result = await call(sample, name, **GOOD[name])
    assert all(key.isascii() and key.islower() for key in result)
    message = re.sub(r"\S+@\S+", "", str(result["message"]))
    assert SCRIPT[sample.tenant.language].search(message)
    if sample.tenant.language != "en":
        assert not re.search(r"[{}]", message)


@pytest.mark.parametrize("name", [name for name in GOOD if not name.startswith(("get", "list", "check"))])
async def test_every_change_happens_once_for_a_key(sample: samples.Sample, name: str) -> None:
    answers = await asyncio.gather(*(sample.tools.call(name, GOOD[name], "k") for _ in range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert await sample.tools.call(name, GOOD[name], "k") == answers[0]


async def test_the_story_of_order_12345(shop: samples.Sample) -> None:
    before = await call(shop, "get_order_status", order_id="12345")
    assert (before["status"], before["payment"], before["due_on"]) == ("processing", "paid", "2026-11-20")
    done = await call(shop, "cancel_order", order_id="12345")
    assert done["status"] == "cancelled"
    assert done["refunded"] == before["total"]
    assert "12345" in done["message"]
    assert f"₪{before['total']:.2f}" in done["message"]
    assert (await call(shop, "get_order_status", order_id="12345"))["status"] == "cancelled"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_order_status", {"order_id": "00000"}),
        ("cancel_order", {"order_id": "99999"}),
        ("cancel_order", {"order_id": "12330"}),
        ("cancel_order", {"order_id": "12338"}),
        ("refund", {"order_id": "12345"}),
        ("refund", {"order_id": "99999"}),
        ("refund", {"order_id": "12295"}),
        ("refund", {"order_id": "12338"}),
        ("refund", {"order_id": "12330", "amount": 100000}),
        ("refund", {"order_id": "12330", "amount": 10.555}),
        ("update_address", {"order_id": "99999", "address": "5 Allenby Street, Haifa"}),
        ("book_appointment", GOOD["book_appointment"] | {"date": "2026-11-21"}),
        ("book_appointment", GOOD["book_appointment"] | {"date": "2026-11-01"}),
        ("book_appointment", GOOD["book_appointment"] | {"time": "10:00"}),
        ("delete_account", {"email": "dana.levi@example.com"}),
        ("delete_account", {"email": "nobody@example.com"}),
    ],
)
async def test_a_refusal_is_a_sentence_in_the_tenants_language(
    sample: samples.Sample, name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ToolError) as refused:
        await call(sample, name, **arguments)
    told = re.sub(r"\S+@\S+", "", str(refused.value))
    assert SCRIPT[sample.tenant.language].search(told)
    assert "failed" not in told
    assert not re.search(r"[{}]", told)
    if "order_id" in arguments and "amount" not in arguments:
        assert arguments["order_id"] in told


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cancel_order", {"order_id": "123456"}),
        ("cancel_order", {"order_id": 12345}),
        ("cancel_order", {"order_id": "12345", "key": "mine"}),
        ("refund", {"amount": 0}),
        ("refund", {"amount": "10"}),
        ("delete_account", {"email": "maya"}),
        ("book_appointment", {"date": "17.11.2026"}),
        ("book_appointment", {"date": "2026-02-30"}),
        ("book_appointment", {"time": "10:30:00"}),
        ("book_appointment", {"time": "25:00"}),
        ("book_appointment", {"service": "haircut"}),
        ("book_appointment", {"phone": "call me"}),
        ("update_address", {"address": "x"}),
        ("check_inventory", {"product": ""}),
    ],
)
async def test_the_schema_refuses_what_has_the_wrong_form(
    shop: samples.Sample, name: str, change: dict[str, Any]
) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        await call(shop, name, **GOOD[name] | change)


@pytest.mark.parametrize("name", GOOD)
async def test_a_missing_required_argument_is_found_by_the_schema(shop: samples.Sample, name: str) -> None:
    for required in shop.tools.specs()[name].required:
        with pytest.raises(jsonschema_rs.ValidationError, match=required):
            await call(shop, name, **{key: value for key, value in GOOD[name].items() if key != required})


def test_every_tool_declares_its_effect_its_recovery_and_its_phrases(sample: samples.Sample) -> None:
    specs = sample.tools.specs()
    assert specs.keys() == GOOD.keys()
    for spec in specs.values():
        assert spec.effect in ("read", "write", "destructive")
        assert spec.effect == "read" or spec.recovery == "keyed"
        assert spec.description
        assert spec.phrases.keys() == SCRIPT.keys()
        for language, phrase in spec.phrases.items():
            assert SCRIPT[language].search(phrase.split("{")[0])
            assert phrase.format(**GOOD[spec.name])
        assert all(schema.get("description") for schema in spec.properties.values())
    assert {name for name, spec in specs.items() if spec.effect == "destructive"} == {
        "cancel_order",
        "refund",
        "delete_account",
    }


def test_every_message_says_the_same_in_every_language() -> None:
    messages = read("messages")
    for kind in ("phrases", "services", "statuses", "answers", "refusals"):
        for code, texts in messages[kind].items():
            assert texts.keys() == SCRIPT.keys(), code
            named = [set(re.findall(r"{(\w+)}", text)) for text in texts.values()]
            assert named[0] == named[1] == named[2], code
            numbers = [sorted(re.findall(r"\d+", text)) for text in texts.values()]
            assert numbers[0] == numbers[1] == numbers[2], code
            for language in ("he", "ru"):
                assert SCRIPT[language].search(texts[language]), code


@pytest.mark.parametrize(
    ("asked", "skus"),
    [
        ("kk-209", {"KK-209"}),
        ("do you have sleeping bags?", {"KK-103", "KK-104"}),
        ("the chef's knife", {"KK-204"}),
        ("kettles", {"KK-209", "KK-210"}),
        ("יש לכם את הקומקומים?", {"KK-209", "KK-210"}),
        ("שק שינה נגב", {"KK-103"}),
        ("чугунную сковородку", {"KK-201"}),
        ("палатка на двоих Кармель", {"KK-101"}),
        ("surfboard", set()),
        ("??", set()),
    ],
)
def test_products_are_found_by_what_customers_call_them(shop: samples.Sample, asked: str, skus: set[str]) -> None:
    assert {product.sku for product in matching(asked, shop.backend.products())} == skus


async def test_what_is_sold_out_comes_with_a_date_and_what_is_unknown_with_a_clear_no(shop: samples.Sample) -> None:
    sold_out = await call(shop, "check_inventory", product="KK-104")
    assert sold_out["products"][0]["restock_on"] == "2026-11-27"
    assert "27 November 2026" in sold_out["message"]
    unknown = await call(shop, "check_inventory", product="surfboard")
    assert unknown == {"products": [], "message": "We do not sell anything called “surfboard”."}


async def test_orders_of_a_stranger_are_an_empty_list(shop: samples.Sample) -> None:
    assert (await call(shop, "list_orders", email="nobody@example.com"))["orders"] == []


def test_a_tenant_whose_language_the_shop_does_not_speak_is_answered_in_english():
    from circumspect.demo.samples.shop_backend import Backend
    from circumspect.demo.samples.shop_tools import shop_tools

    german = {one.spec.name: one for one in shop_tools(Backend(now=NOW), "de")}
    told = asyncio.run(german["get_order_status"].call({"order_id": "12345"}, "k"))
    assert "12345" in str(told)
