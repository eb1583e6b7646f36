"""What is written comes back: JSON exactly, text as far as a database can hold it."""

from __future__ import annotations

import math
from collections import UserDict
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.errors import StoreError
from circumspect.reasons import ReasonCode
from circumspect.stores import codec

surrogates = st.characters(categories=["Cs"])
anything = st.text(st.characters() | surrogates)
# A high half followed by a low half is one character to JSON, so texts that hold such a pair come back joined.
texts = anything.map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


@given(values)
def test_json_comes_back_exactly(value):
    raw = codec.dumps(value)
    for stored in (raw, raw.encode()):
        back = codec.loads(stored)
        assert back == value
        assert repr(back) == repr(value)


@given(values)
def test_json_is_text_that_every_database_takes(value):
    raw = codec.dumps(value)
    assert "\0" not in raw
    assert raw.encode()


def test_mappings_sets_and_enums_are_json_too():
    value = {"a": MappingProxyType({"b": UserDict({"c": (1, 2)})}), "d": ReasonCode.TOOL_FAILED, "e": {7}}
    expected = {"a": {"b": {"c": [1, 2]}}, "d": "TOOL_FAILED", "e": [7]}
    assert codec.loads(codec.dumps(value)) == expected
    assert codec.loads(codec.dumps({**value, "big": 2**64})) == {**expected, "big": 2**64}


def test_what_is_not_json_does_not_cost_the_journal():
    value = {"nan": math.nan, "inf": math.inf, "odd": object, 7: "key"}
    back = codec.loads(codec.dumps(value))
    assert back == {"nan": None, "inf": None, "odd": str(object), "7": "key"}


@given(anything)
def test_cleaned_text_can_be_stored_and_cleaning_it_again_changes_nothing(text):
    cleaned = codec.clean(text)
    assert "\0" not in cleaned
    cleaned.encode()
    assert codec.clean(cleaned) == cleaned


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_ordinary_text_is_not_touched(text):
    assert codec.clean(text) == text
    codec.check_identifiers(text, None)


@pytest.mark.parametrize("odd", ["\0", "a\ud800"])
def test_an_odd_identifier_is_refused(odd):
    with pytest.raises(StoreError, match="Use ids"):
        codec.check_identifiers("fine", odd)


@given(st.datetimes(datetime(1980, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)))
def test_times_come_back_to_the_microsecond(at):
    assert codec.moment(codec.epoch(at)) == at


def test_times_of_other_zones_come_back_as_the_same_moment():
    from datetime import timezone

    at = datetime(2026, 3, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert codec.moment(codec.epoch(at)) == at


def test_a_reason_code_of_another_version_does_not_close_the_conversation():
    assert codec.reason("NO_LONGER_KNOWN") is None
    assert codec.reason("TOOL_FAILED") is ReasonCode.TOOL_FAILED
