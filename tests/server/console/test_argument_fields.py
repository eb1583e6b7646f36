"""Arguments as fields of a form: each by its schema, and exactly what was there comes back."""

from __future__ import annotations

import pytest

from circumspect.server.console.argument_fields import PREFIX, list_fields, read_fields
from circumspect.server.problems import HttpProblem
from circumspect.values import ToolSpec

SCHEMA = {
    "type": "object",
    "required": ["order_id"],
    "properties": {
        "order_id": {"type": "string", "description": "Which order."},
        "amount": {"type": "number", "description": "In dollars; all of it when left open."},
        "days": {"type": "integer"},
        "method": {"type": "string", "enum": ["card", "voucher"]},
        "urgent": {"type": "boolean"},
        "lines": {"type": "array"},
    },
}
GIVEN = {"order_id": "0012", "amount": None, "method": "card", "urgent": True, "lines": [{"sku": 1}], "own": "x"}


@pytest.fixture
def fields():
    return list_fields(ToolSpec("refund", "", SCHEMA, effect="destructive"), GIVEN)


def send(fields, **changed: str):
    form = {PREFIX + one.name: one.written for one in fields}
    return read_fields(fields, {**form, **{PREFIX + name: value for name, value in changed.items()}})


def test_each_parameter_is_a_field_of_its_kind(fields):
    kinds = {one.name: one.kind for one in fields}
    assert kinds == {
        "order_id": "text", "amount": "number", "days": "integer", "method": "choice", "urgent": "choice",
        "lines": "json", "own": "text",
    }  # fmt: skip
    assert [one.name for one in fields if one.is_open] == ["amount", "days"]
    assert [one.name for one in fields if one.required] == ["order_id"]


def test_what_nobody_touched_comes_back_as_it_was_with_its_types(fields):
    assert send(fields) == {name: value for name, value in GIVEN.items() if value is not None}
    assert read_fields(fields, {}) == send(fields)


def test_what_was_written_has_the_type_of_its_parameter(fields):
    sent = send(fields, order_id="0099", amount="12.50", days="3", method="voucher", urgent="false", lines="[]")
    assert sent == {
        "order_id": "0099", "amount": 12.5, "days": 3, "method": "voucher", "urgent": False, "lines": [], "own": "x",
    }  # fmt: skip


def test_a_field_that_is_emptied_is_left_open_and_one_that_must_be_there_is_not(fields):
    assert "method" not in send(fields, method="")
    assert send(fields, order_id="")["order_id"] == ""


@pytest.mark.parametrize(("name", "text"), [("amount", "a lot"), ("amount", "true"), ("lines", "[1"), ("days", "[1]")])
def test_what_cannot_be_read_is_refused(fields, name, text):
    with pytest.raises(HttpProblem):
        send(fields, **{name: text})


def test_a_changed_value_is_told_from_one_that_stayed():
    spec = ToolSpec("refund", "", SCHEMA, effect="destructive")
    found = list_fields(spec, {"order_id": "1", "amount": 5}, {"order_id": "1", "amount": None})
    assert [(one.name, one.was) for one in found if one.changed] == [("amount", None)]
