"""A definition that cannot work, or could be tricked, is refused when it is loaded, and the message says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from circumspect.errors import ConfigError
from circumspect.outgoing import BlockedAddress
from circumspect.tools.definitions import read
from circumspect.tools.http_tool import HttpTool, HttpToolDefinition

ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "why": {"type": "string"}},
    "required": ["order_id"],
}
URL = "https://crm.example.com/orders/{order_id}"


def load(request: Any = None, **said: Any) -> HttpTool:
    data = {"name": "cancel_order", "parameters": ORDER, "request": {"url": URL} | (request or {})} | said
    return HttpTool(read(HttpToolDefinition, data))


def test_a_definition_becomes_a_spec():
    tool = load(
        description="Cancel an order.", effect="destructive", recovery="keyed", timeout=5, open_world=True,
        phrases={"en": "cancel order {order_id}"},
    )  # fmt: skip
    spec = tool.spec
    assert (spec.name, spec.description, spec.effect, spec.recovery) == (
        "cancel_order", "Cancel an order.", "destructive", "keyed",
    )  # fmt: skip
    assert (spec.timeout, spec.open_world, spec.configured) == (5, True, True)
    assert spec.phrases == {"en": "cancel order {order_id}"}
    assert spec.required == {"order_id"}
    assert tool.spec is spec


def test_an_effect_that_nobody_declares_stays_undeclared():
    assert load().spec.effect is None
    assert load().spec.recovery == "blind"


@pytest.mark.parametrize(
    ("request_", "said", "problem", "fix"),
    [
        ({"json": {"a": "{nobody}"}, "method": "POST"}, {}, "names '{nobody}', which is no parameter", "add it to the param"),
        ({"headers": {"X-A": "{nobody}"}}, {}, "names '{nobody}'", "{order_id}"),
        ({"query": {"a": ["x {nobody}"]}}, {}, "names '{nobody}'", "{order_id}"),
        ({"url": "https://crm.example.com/{nobody}"}, {}, "names '{nobody}'", "{order_id}"),
        ({}, {"lookup": {"url": "https://crm.example.com/{nobody}"}}, "the lookup names '{nobody}'", "{order_id}"),
        ({}, {"phrases": {"en": "cancel {nobody}"}}, "a phrase names '{nobody}'", "{order_id}"),
        ({"url": "https://crm.example.com/{why}"}, {}, "can be left out", "required"),
        ({"url": "https://{order_id}.example.com/"}, {}, "fixed http:// or https:// host", "Write the host out"),
        ({"url": "https://crm.example.com{order_id}/"}, {}, "fixed http:// or https:// host", "Write the host out"),
        ({"url": "{order_id}"}, {}, "fixed http:// or https:// host", "Write the host out"),
        ({"url": "ftp://crm.example.com/"}, {}, "fixed http:// or https:// host", "Write the host out"),
        ({"url": "https://a:b@crm.example.com/"}, {}, "fixed http:// or https:// host", "user name"),
        ({"url": URL + "{+why}"}, {}, "would not be encoded", "{?name}"),
        ({"url": URL + "{#why}"}, {}, "would not be encoded", "{?name}"),
        ({"url": URL + "/{why"}, {}, "not closed", "{parameter}"),
        ({"url": URL + "#top"}, {}, "no fragment", "Take out"),
        ({"json": {"a": "{order_id.__class__}"}, "method": "POST"}, {}, "more than a name", "only the name"),
        ({"json": {"a": "{order_id!r}"}, "method": "POST"}, {}, "more than a name", "only the name"),
        ({"json": {"a": "{"}, "method": "POST"}, {}, "is broken", "double a brace"),
        ({"text": "<a>{order_id}</a>", "method": "POST"}, {}, "nothing would be quoted", "json or form"),
        ({"headers": {"Host": "internal"}}, {}, "cannot set a header 'Host'", "another"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, {}, "cannot set a header", "another"),
        ({"headers": {"X-A\r\nX-B": "1"}}, {}, "cannot set a header", "another"),
        ({"headers": {"Authorization": "Bearer abc"}}, {}, "has a header 'Authorization'", "under 'auth'"),
        ({"result": "orders[?"}, {}, "is no JMESPath", "jmespath"),
        ({}, {"recovery": "lookup"}, "lookup is missing", "lookup request"),
        ({}, {"recovery": "blind", "lookup": {"url": URL}}, "lookup is given", "neither"),
        ({}, {"recovery": "local_tx"}, "called over HTTP", "'keyed'"),
        ({}, {"recovery": "keyed", "idempotency_header": None}, "sends none", "{idempotency_key}"),
        ({}, {"lookup": {"url": URL, "method": "DELETE"}}, "a lookup changes nothing", "GET"),
        ({}, {"phrases": {"fr": "annuler"}}, "no language 'fr'", "en"),
        ({}, {"parameters": {"type": "array"}}, "are not an object", "type: object"),
        ({}, {"parameters": {"properties": {"order_id": {"type": "strin"}}}}, "not a valid JSON schema", "Correct"),
        (
            {}, {"parameters": {"properties": {"order_id": {"$ref": "http://169.254.169.254/x"}}}},
            "refer to another document", "Write the schema out",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_at_load(request_: Any, said: Any, problem: str, fix: str):
    with pytest.raises(ConfigError) as refused:
        load(request_, **said)
    assert problem in refused.value.problem, refused.value
    assert fix in refused.value.fix, refused.value


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"naem": "x"}, "naem"),
        ({"effect": "red"}, "effect"),
        ({"name": "cancel order"}, "name"),
        ({"timeout": 0}, "timeout"),
        ({"request": {"url": URL, "method": "GET", "json": {}}}, "request"),
        ({"request": {"url": URL, "method": "POST", "json": {}, "form": {}}}, "request"),
        ({"auth": {}}, "auth"),
        ({"auth": {"bearer": {"secret": "a"}, "query": {"name": "k", "value": {"secret": "a"}}}}, "auth"),
        ({"auth": {"bearer": "plain-secret-value"}}, "auth"),
    ],
)
def test_a_key_that_nobody_knows_is_refused_and_no_value_is_repeated(said: Any, place: str):
    with pytest.raises(ConfigError) as refused:
        load(**said)
    assert place in refused.value.problem
    assert "plain-secret-value" not in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "[::1]", "2130706433"])
def test_a_private_address_is_refused_at_load_unless_it_is_allowed(host: str):
    definition = read(HttpToolDefinition, {"name": "x", "request": {"url": f"http://{host}:8000/a"}})
    with pytest.raises(BlockedAddress):
        HttpTool(definition)
    HttpTool(definition, allow=("127.0.0.0/8", "169.254.169.254", "::1"))


def test_a_tool_whose_secret_is_missing_is_not_configured():
    secrets: dict[str, str] = {}
    data = {"name": "x", "request": {"url": "https://a.example/"}, "auth": {"bearer": {"secret": "token"}}}
    tool = HttpTool(read(HttpToolDefinition, data), secrets=secrets.__getitem__)
    assert not tool.spec.configured
    secrets["token"] = "abc"
    assert tool.spec.configured
    assert "abc" not in repr(tool) + repr(tool.spec)
