"""The hash of a call ignores key order and nothing else."""

import hashlib

import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from circumspect.hashing import digest
from circumspect.values import ToolCall

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


def shuffled(value, rnd):
    if isinstance(value, dict):
        items = [(key, shuffled(item, rnd)) for key, item in value.items()]
        rnd.shuffle(items)
        return dict(items)
    return [shuffled(item, rnd) for item in value] if isinstance(value, list) else value


def exactly(value):
    """A value in which 1, 1.0, True and "1" are four different things."""
    if isinstance(value, dict):
        return ("object", frozenset((key, exactly(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(exactly(item) for item in value))
    return (type(value).__name__, repr(value))


@given(json_values, st.randoms())
def test_the_hash_ignores_key_order(value, rnd):
    assert digest(value) == digest(shuffled(value, rnd))


@given(json_values, json_values)
def test_the_hash_ignores_nothing_else(left, right):
    assume(exactly(left) != exactly(right))
    assert digest(left) != digest(right)


def tag_types(value: object) -> object:
    """What the digest says of types, in JSON that the standard's own writer can write."""
    match value:
        case str():
            return value if is_text(value) else {"\0str": ascii(value)}
        case bool() | None:
            return value
        case int() | float():
            return {"\0" + type(value).__name__: repr(value)}
        case dict():
            return {escape_key(key): tag_types(item) for key, item in value.items()}
        case _:
            return [tag_types(item) for item in value]


def is_text(value: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in value)


def escape_key(key: str) -> str:
    key = key if is_text(key) else "\0str" + ascii(key)
    return "\0" + key if key.startswith("\0") else key


@given(json_values)
def test_the_hash_is_taken_over_canonical_json(value):
    assert digest(value) == hashlib.sha256(rfc8785.dumps(tag_types(value))).hexdigest()


def test_keys_are_sorted_as_the_standard_says():
    """By UTF-16, in which a sign beyond the first 65,536 comes before the last of those."""
    value = {"\ufb33": "a", "\U0001f600": "b"}
    assert digest(value) == hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def test_types_matter():
    assert len({digest(value) for value in (1, 1.0, True, "1", [1], {"": 1}, None)}) == 7


def test_a_key_that_imitates_a_type_tag_is_another_value():
    assert digest({"\0int": "1"}) != digest(1)
    assert digest({"\0\0int": "1"}) != digest({"\0int": "1"})


def test_integers_beyond_what_json_can_carry_are_told_apart():
    assert digest(2**53) != digest(2**53 + 1)


def test_the_tool_is_part_of_the_hash():
    assert ToolCall("cancel_order", {"order_id": "1"}).hash != ToolCall("refund", {"order_id": "1"}).hash


def test_the_providers_call_id_is_not_part_of_the_hash():
    assert ToolCall("refund", {"a": 1}, id="x").hash == ToolCall("refund", {"a": 1}, id="y").hash
