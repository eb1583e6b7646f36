"""Arguments in the types of a tool's schema: exactly the same value, or as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.arguments import find_problems, materialise
from circumspect.policy.coercion import _coerce_object, coerce_arguments
from circumspect.values import Json, ToolSpec

PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^[0-9]{5}$"},
        "amount": {"type": "number"},
        "count": {"type": "integer"},
        "gift": {"type": "boolean"},
        "reason": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"type": ["string", "number"]},
        "speed": {"type": "string", "enum": ["normal", "express"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"zip": {"type": "string"}, "floor": {"type": "integer"}}},
        "language": {"type": "string", "default": "en"},
        "free": {},
    },
    "required": ["order_id"],
    "additionalProperties": False,
}
SPEC = ToolSpec("refund_order", "Refund an order.", PARAMETERS)

SAME = {
    "a number for a text": ({"order_id": 12345}, {"order_id": "12345"}),
    "a long number for a text": ({"reason": 12345678901234567890}, {"reason": "12345678901234567890"}),
    "a text for a number": ({"amount": "20"}, {"amount": 20}),
    "a text with cents": ({"amount": "20.50"}, {"amount": 20.5}),
    "a negative number": ({"amount": "-3.25"}, {"amount": -3.25}),
    "space around a number": ({"amount": " 20 "}, {"amount": 20}),
    "a text for a whole number": ({"count": "3"}, {"count": 3}),
    "the word true": ({"gift": "true"}, {"gift": True}),
    "the word False": ({"gift": "False"}, {"gift": False}),
    "nothing for what may be left out": ({"reason": None}, {}),
    "nothing that has a default": ({"language": None}, {}),
    "a number for a text or nothing": ({"code": 77}, {"code": "77"}),
    "a choice in another case": ({"speed": "Express"}, {"speed": "express"}),
    "the sign of a number": ({"order_id": "#12345"}, {"order_id": "12345"}),
    "the sign of a number in Russian": ({"order_id": "№12345"}, {"order_id": "12345"}),
    "numbers in a list": ({"tags": ["a", 7]}, {"tags": ["a", "7"]}),
    "inside of an object": ({"place": {"zip": 10115, "floor": "2"}}, {"place": {"zip": "10115", "floor": 2}}),
    "an object as a text": ({"place": '{"zip": "10115"}'}, {"place": {"zip": "10115"}}),
    "a list as a text": ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
}

OTHERWISE = {
    "a number in words": {"amount": "twenty"},
    "about": {"amount": "12.5 or so"},
    "a currency": {"amount": "20 USD"},
    "thousands": {"amount": "1,000"},
    "a decimal comma": {"amount": "20,5"},
    "an exponent as a text": {"amount": "1e3"},
    "leading zeros": {"amount": "007"},
    "more digits than a number holds": {"amount": "0.1000000000000000055"},
    "not a number": {"amount": "NaN"},
    "an exponent for an id": {"order_id": 1e3},
    "cents for a text": {"reason": 12.5},
    "a truth for a text": {"reason": True},
    "a list for a text": {"reason": ["late"]},
    "a part for a whole number": {"count": "2.0"},
    "half for a whole number": {"count": 2.5},
    "yes": {"gift": "yes"},
    "no": {"gift": "no"},
    "one": {"gift": 1},
    "nothing": {"gift": 0},
    "nothing for what is required": {"order_id": None},
    "the word null": {"amount": "null"},
    "two that would do": {"either": True},
    "half of a choice": {"speed": "exp"},
    "a choice that is none": {"speed": "slow"},
    "one for a list": {"tags": "a"},
    "no object": {"place": "10115"},
    "no parameter of the tool": {"unknown": 5},
    "a sign before another number": {"order_id": "#123"},
}


@pytest.mark.parametrize(("said", "meant"), SAME.values(), ids=SAME)
def test_the_same_value_is_brought_into_its_type_and_that_is_told(said, meant):
    arguments, notes = coerce_arguments(SPEC, said)
    assert json.dumps(arguments) == json.dumps(meant)
    assert len(notes) >= 1


@pytest.mark.parametrize("said", OTHERWISE.values(), ids=OTHERWISE)
def test_what_would_have_to_be_guessed_stays_as_it_is(said):
    assert coerce_arguments(SPEC, said) == (said, ())


@pytest.mark.parametrize(
    "said", [{"order_id": "12345"}, {"amount": 20.0}, {"note": None}, {"code": None}, {"free": "1"}, {"either": "5"}]
)
def test_what_fits_is_not_touched(said):
    arguments, notes = coerce_arguments(SPEC, said)
    assert (arguments, notes) == (said, ())
    assert arguments is said


def test_what_will_run_has_its_types_and_its_defaults():
    arguments, notes = materialise(SPEC, {"order_id": 12345, "amount": "20", "reason": None})
    assert arguments == {"order_id": "12345", "amount": 20, "language": "en"}
    assert not find_problems(SPEC, arguments)
    assert len(notes) == 3


@given(
    st.dictionaries(
        st.sampled_from(sorted(PARAMETERS["properties"])),  # type: ignore[arg-type, index]
        st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=4),
    )
)
def test_bringing_into_type_is_done_once_and_changes_no_number_or_text(said):
    once, _ = coerce_arguments(SPEC, said)
    assert coerce_arguments(SPEC, once)[1] == ()
    for name, value in once.items():
        if type(value) is not type(said[name]) and isinstance(value, str | int | float):
            assert str(value) == str(said[name]).strip() or float(value) == float(said[name]) or value in (True, False)


_WRITTEN = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99999) | st.floats(-9, 9) | st.sampled_from(["#12345", "Express", "7"])
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["zip", "floor", "x"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*SPEC.properties, "unknown"]), _WRITTEN, max_size=6))
def test_what_is_taken_at_a_glance_is_what_a_closer_look_takes(arguments: dict[str, Json]) -> None:
    notes: list[str] = []
    looked_into = _coerce_object(arguments, SPEC.parameters, notes, "", 0)
    assert coerce_arguments(SPEC, arguments) == ((looked_into if notes else arguments), tuple(notes))
