"""`tools: - client:` in a tenant file: tools that clients run, declared so that the policy can be held against them."""

from __future__ import annotations

import json

import pytest
from tests.stores.words import NOON

from circumspect.clock import RandomIds
from circumspect.errors import ConfigError
from circumspect.server.adopt_tools import adopt_tools
from circumspect.server.directory import Directory
from circumspect.server.stores.seen_tools import list_seen_tools, put_seen_tools
from circumspect.server.tenants.file_findings import TenantFileError
from circumspect.server.vault import open_vault
from circumspect.values import TenantId, ToolSpec

SHOP = TenantId("shop")
SCHEMA = {"type": "object", "properties": {"flight_id": {"type": "string"}}, "required": ["flight_id"]}
RESULT = {"type": "object", "properties": {"booking_id": {"type": "string"}}}
FILE = """\
id: shop
business: {name: The Shop}
tools:
  - client:
      name: book_flight
      effect: write
      parameters: {type: object, properties: {flight_id: {type: string}}, required: [flight_id]}
policy:
  tools:
    book_flight: {confirm: always, params: {flight_id: {source: user}}}
"""


async def setup_of(store, settings, clock):
    directory = Directory(store, settings, open_vault(settings), clock, RandomIds(), check_seconds=0)
    try:
        return await directory.setup(SHOP)
    finally:
        await directory.close()


async def test_a_declared_tool_is_known_and_never_offered_to_the_model(apply, store, settings, clock):
    applied = await apply(FILE)
    assert (applied.warnings, "+ tool book_flight" in map(str, applied.changes)) == ((), True)
    setup = await setup_of(store, settings, clock)
    assert setup.clients["book_flight"].client
    assert setup.clients["book_flight"].effect == "write"
    assert "book_flight" not in setup.tools
    assert (await store.tool_specs(SHOP))["book_flight"].client
    assert (await apply(FILE)).changes == ()


async def test_the_policy_is_held_against_its_schema(apply):
    with pytest.raises(TenantFileError) as refused:
        await apply(FILE.replace("params: {flight_id", "params: {fligt_id"))
    (finding,) = refused.value.findings
    assert finding.endswith("tenant.yaml:10: 'book_flight' has no parameter 'fligt_id'; did you mean 'flight_id'?")


async def test_a_tool_that_nobody_declares_is_a_warning_until_a_client_was_seen_with_it(apply, store):
    text = FILE.replace("    book_flight: {", "    pay_fare: {effect: write}\n    book_flight: {")
    (warning,) = (await apply(text)).warnings
    assert "tenant.yaml:10: nobody declares a tool 'pay_fare'; If clients bring it along, declare it" in warning
    await store.tx(put_seen_tools, SHOP, {"pay_fare": ToolSpec("pay_fare", client=True)}, NOON)
    assert (await apply(text)).warnings == ()


async def test_several_that_nobody_declares_are_one_warning(apply):
    more = "".join(f"    {name}: {{effect: write}}\n" for name in ("pay_fare", "hire_car", "rent_room"))
    (warning,) = (await apply(FILE.replace("    book_flight: {", f"{more}    book_flight: {{"))).warnings
    assert (
        "tenant.yaml:10: nobody declares 3 of the tools that are named here: 'pay_fare', 'hire_car', 'rent_room'"
        in (warning)
    )
    assert "declare each" in warning


async def test_a_tool_that_was_seen_is_adopted_as_if_the_file_declared_it(apply, store, settings, clock):
    await apply(FILE)
    seen = ToolSpec("pay_fare", "Pay.", SCHEMA, client=True)
    await store.tx(put_seen_tools, SHOP, {"pay_fare": seen}, NOON)
    await store.tx(adopt_tools, SHOP, ["pay_fare"])
    setup = await setup_of(store, settings, clock)
    assert setup.clients["pay_fare"].parameters == SCHEMA
    assert "book_flight" in setup.clients
    assert await store.tx(list_seen_tools, SHOP) == []
    assert "- tool pay_fare" in map(str, (await apply(FILE, dry_run=True)).changes)


async def test_a_tool_that_the_policy_does_not_fit_is_not_adopted_and_the_tenant_is_served_on(
    apply, store, settings, clock
):
    await apply(
        FILE.replace("    book_flight: {", "    pay_fare: {effect: write, params: {card: {}}}\n    book_flight: {")
    )
    await store.tx(put_seen_tools, SHOP, {"pay_fare": ToolSpec("pay_fare", "Pay.", SCHEMA, client=True)}, NOON)
    with pytest.raises(ConfigError, match="does not fit") as refused:
        await store.tx(adopt_tools, SHOP, ["pay_fare"])
    assert "'pay_fare' has no parameter 'card'" in refused.value.fix
    assert await setup_of(store, settings, clock)
    with pytest.raises(ConfigError, match="No client brought"):
        await store.tx(adopt_tools, SHOP, ["never_seen"])


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "function", "function": {"name": "book_flight", "parameters": SCHEMA, "strict": True}},
        {"type": "function", "name": "book_flight", "parameters": SCHEMA},
        {"name": "book_flight", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
        {"name": "book_flight", "title": "Book", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    ],
    ids=["openai", "responses", "anthropic", "mcp"],
)
async def test_definitions_are_read_from_a_file_as_others_write_them(apply, write, store, settings, clock, shape):
    tools = [shape, {"name": "get_flight", "inputSchema": SCHEMA, "outputSchema": RESULT}]
    write(json.dumps({"tools": tools}), "tools.json")
    await apply(
        "id: shop\nbusiness: {name: The Shop}\ntools:\n  - client: tools.json\n"
        "policy: {tools: {book_flight: {effect: write}, get_flight: {effect: read}}}\n"
    )
    clients = (await setup_of(store, settings, clock)).clients
    assert clients["book_flight"].parameters == SCHEMA
    assert clients["book_flight"].effect is None
    assert clients["get_flight"].returns == RESULT


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("- client: nowhere.json", "tenant.yaml:4: nowhere.json cannot be read: there is no file"),
        ("- client: empty.json", "tenant.yaml:4: empty.json defines no tools"),
        ("- client: {name: a, parametres: {}}", "tenant.yaml:4: unknown key 'parametres'; did you mean 'parameters'?"),
        ("- client: {name: a, parameters: {type: 7}}", "tenant.yaml:4: a: the parameters are not"),
        ("- client: {name: a, returns: {type: 7}}", "tenant.yaml:4: a: the results are not a valid JSON schema"),
        ("- {client: {name: a}, python: 'm:n'}", "tenant.yaml:4: item 1 of 'tools': write exactly one of"),
        ("- client: {name: a}\n  - client: {name: a}", "tenant.yaml:5: there are two tools named 'a'"),
    ],
)
async def test_what_cannot_be_declared_is_said_with_its_line(apply, write, section, problem):
    write("[]", "empty.json")
    with pytest.raises(TenantFileError) as refused:
        await apply(f"id: shop\nbusiness: {{name: The Shop}}\ntools:\n  {section}\n")
    told = [line.replace(f"{write('[]', 'empty.json').parent}/", "") for line in refused.value.findings]
    assert any(line.startswith(problem) for line in told), told
