"""The API does what its description says, for whatever schemathesis makes up: no 5xx, no undeclared status or shape."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.house import House, say
from tests.server.rows import approval, escalation

from circumspect.server.app import create_app
from circumspect.server.config import Settings

schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
few = settings(
    max_examples=10,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def real(house: House) -> dict[str, str]:
    """Ids that exist: what is made up finds nothing, and so tries little."""
    client = house.key()
    talk = house.conversation(client)
    say(client, talk, "hello")
    made = client.post("/v1/admin/keys", json={"name": "spare"}).json()
    return {
        "conversation_id": talk,
        "escalation_id": escalation(house, "shop", talk),
        "approval_id": approval(house, "shop", talk),
        "tenant_id": "shop",
        "key_id": made["id"],
        "version": "1",
    }


def test_no_name_in_the_description_tells_where_our_code_is() -> None:
    """Two bodies of one name get that of their module in front, and it changes for every client when a file moves."""
    names = create_app(Settings()).openapi()["components"]["schemas"]
    assert [name for name in names if "__" in name] == []


@pytest.mark.parametrize("who", ["key", "operator"])
@schema.exclude(operation_id=["create_session", "delete_session"]).parametrize()
@few
def test_nothing_that_fits_the_description_breaks_the_server(
    case: schemathesis.Case, house: House, real: dict[str, str], who: str
) -> None:
    client = house.key() if who == "key" else house.operator("root")
    if case.method != "DELETE" and case.path_parameters:
        case.path_parameters = {name: real.get(name, value) for name, value in case.path_parameters.items()}
    if who == "operator" and case.query is not None and "tenant" in case.query:
        case.query["tenant"] = "shop"
    sent = case.as_transport_kwargs(base_url=house.url)
    headers = {**(sent.pop("headers", None) or {}), "Authorization": client.headers["Authorization"]}
    kept = ("method", "url", "params", "json", "content", "data")
    answer = client.request(**{name: sent[name] for name in kept if name in sent}, headers=headers)
    case.validate_response(answer, checks=CHECKS)
