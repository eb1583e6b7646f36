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
from tests.server.house import House

from circumspect.config import Settings
from circumspect.server.app import create_app

schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
few = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("who", ["key", "operator"])
@schema.exclude(operation_id=["create_session", "delete_session"]).parametrize()
@few
def test_nothing_that_fits_the_description_breaks_the_server(case: schemathesis.Case, house: House, who: str) -> None:
    client = house.key() if who == "key" else house.operator("root")
    sent = case.as_transport_kwargs(base_url=house.url)
    headers = {**(sent.pop("headers", None) or {}), "Authorization": client.headers["Authorization"]}
    sent = {
        name: value for name, value in sent.items() if name in ("method", "url", "params", "json", "content", "data")
    }
    case.validate_response(client.request(**sent, headers=headers), checks=CHECKS)
