"""A schema is measured before anything walks it: what would make too much work is refused, and says why."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.audit.tool_defs import BadTools, specs_of
from circumspect.bounded_cache import BoundedCache
from circumspect.errors import ConfigError
from circumspect.gate import Gate
from circumspect.policy import validators
from circumspect.policy.arguments import find_problems
from circumspect.policy.policy_file import Policy
from circumspect.policy.understanding.wished_values import find_values
from circumspect.policy.validators import find_validator
from circumspect.schema_bounds import MOST_PARTS, is_plain_pattern, measure_schema, measure_value, weigh_pattern
from circumspect.values import ToolSpec


def doubling(times: int, key: str = "allOf") -> dict[str, Any]:
    """Each definition names the next one twice."""
    parts = {f"a{at}": {key: [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(times)}
    return {"type": "object", "$defs": {**parts, f"a{times}": {"type": "object"}}, "$ref": "#/$defs/a0"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


TREE = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#"}}, "name": {"type": "string"}},
}
ADDRESS = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
TOO_MUCH = {
    "doubling": (doubling(40), "written out"),
    "doubling of choices": (doubling(30, "anyOf"), "written out"),
    "doubling of fields": (
        {"$defs": {f"a{n}": {"properties": {"l": {"$ref": f"#/$defs/a{n + 1}"}, "r": {"$ref": f"#/$defs/a{n + 1}"}}}
                   for n in range(30)} | {"a30": {}}, "$ref": "#/$defs/a0"}, "written out"),
    "one value against thousands": ({"items": {"allOf": [{"minimum": 1}] * 2_200}}, "checked too often"),
    "deep": (nested(100), "nested too deeply"),
    "endless": ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "itself"),
    "a long chain": ({"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(1_400)} | {"a1400": {}},
                      "$ref": "#/$defs/a0"}, "lead too far"),
    "many choices": ({"properties": {"a": {"enum": list(range(MOST_PARTS))}}}, "too large"),
    "long texts": ({"description": "x" * 100 * MOST_PARTS}, "too large"),
    "a pattern of patterns": ({"properties": {"a": {"pattern": r"(\w{1,500}){50}"}}}, "patterns are too large"),
    "a long pattern": ({"properties": {"a": {"pattern": "a" * 3_000}}}, "pattern is too long"),
    "a pattern of names": ({"patternProperties": {r"(\w{1,500}){50}": {}}}, "patterns are too large"),
    "elsewhere": ({"$ref": "https://example.com/schema.json"}, "another document"),
}  # fmt: skip
FINE = {
    "nothing": {},
    "a tree": TREE,
    "a list of itself": {
        "$defs": {"n": {"properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/n"}]}}}},
        "properties": {"first": {"$ref": "#/$defs/n"}},
    },
    "shared definitions": {
        "$defs": {"money": {"type": "object", "properties": {"amount": {"type": "number"}}}},
        "properties": {f"field{at}": {"$ref": "#/$defs/money"} for at in range(200)},
    },
    "an anchor": {"$defs": {"a": {"$anchor": "here", "type": "string"}}, "properties": {"x": {"$ref": "#here"}}},
    "fields with names of keywords": {
        "properties": {"items": {"type": "array"}, "not": {}, "$ref": {"type": "string"}}
    },
    "ten levels": nested(10),
    "an address as others write it": {"properties": {"email": {"type": "string", "pattern": ADDRESS}}},
    "five hundred characters": {"properties": {"note": {"pattern": "^[^<>]{1,500}$"}}},
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_schema_that_makes_too_much_work_is_refused_and_says_why(name: str) -> None:
    schema, problem = TOO_MUCH[name]
    with pytest.raises(ConfigError, match=problem):
        find_validator(ToolSpec("t", parameters=schema))
    with pytest.raises(BadTools, match=problem):
        specs_of([{"name": "t", "parameters": schema}])
    with pytest.raises(ConfigError, match=problem):
        Gate(Policy(), tools=[{"name": "t", "parameters": schema}])


@pytest.mark.parametrize("name", FINE)
def test_a_schema_as_people_write_them_is_taken(name: str) -> None:
    find_validator(ToolSpec("t", parameters=FINE[name]))


def test_a_value_too_large_for_its_schema_is_malformed_and_not_checked() -> None:
    often = ToolSpec("t", parameters={"properties": {"a": {"items": {"allOf": [{"minimum": 1}] * 1_000}}, "b": {}}})
    assert find_problems(often, {"a": [0] * 5, "b": 1}) == {"a": "minimum:1"}
    assert find_problems(often, {"a": [0] * 50_000, "b": 1}) == {"a": "size"}


def test_a_schema_that_holds_itself_twice_bounds_how_deep_a_value_may_be() -> None:
    twice = ToolSpec("t", parameters={"properties": {"x": {"allOf": [{"$ref": "#"}] * 2}, "n": {"type": "string"}}})
    value: dict[str, Any] = {"n": 1}
    for _ in range(40):
        value = {"x": value}
    assert not find_validator(twice).is_valid(value)
    assert find_problems(twice, value) == {"x": "size"}
    assert find_problems(twice, {"x": {"x": {"n": 1}}}) == {"x": "type:string"}
    deep: dict[str, Any] = {"name": "leaf"}
    for _ in range(15):
        deep = {"children": [deep]}
    assert find_validator(ToolSpec("t", parameters=TREE)).is_valid(deep)


def test_a_pattern_that_looks_back_gets_so_many_steps_and_no_more() -> None:
    spec = ToolSpec("t", parameters={"properties": {"a": {"type": "string", "pattern": r"^(.)\1(.*)*(.*)*x$"}}})
    before = time.process_time()
    assert find_problems(spec, {"a": "a" * 5_000})
    assert find_problems(spec, {"a": "a" * 1_000_000}) == {"a": "size"}
    assert time.process_time() - before < 10  # for ever, without a bound
    email = ToolSpec("t", parameters={"properties": {"a": {"type": "string", "pattern": ADDRESS}}})
    assert not find_problems(email, {"a": "dana.levi+shop@mail.example.com"})
    assert find_problems(email, {"a": "dana..levi@example.com"})


def test_what_a_pattern_counts_is_counted() -> None:
    assert weigh_pattern("(ab{3}){2}") == 8
    assert weigh_pattern("^[0-9]{5}$") == 5
    assert weigh_pattern(r"\p{L}{10}") == 300
    assert weigh_pattern(r"(((a{1,9}){1,9}){1,9}){1,9}") == 9**4


def test_a_clients_pattern_never_runs_on_an_engine_that_backtracks_for_ever() -> None:
    assert not is_plain_pattern("^(a+)+$")
    spec = ToolSpec("t", parameters={"properties": {"code": {"type": "string", "pattern": "^(a+)+$"}}})
    assert not find_values(spec, "a" * 60 + "!", "").get("code")


# --- what is remembered ---------------------------------------------------------------------------------------------


def test_schemas_are_forgotten_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: BoundedCache[Any] = BoundedCache(most=50, heaviest=200_000)
    monkeypatch.setattr(validators, "_validators", kept)
    for at in range(300):
        find_validator(
            ToolSpec("t", parameters={"properties": {f"p{at}": {"type": "string", "description": "d" * at * 9}}})
        )
        assert len(kept) <= 50
        assert kept.weight <= 200_000
    assert len(kept)


def test_what_was_used_last_is_kept_longest() -> None:
    kept: BoundedCache[str] = BoundedCache(most=2, heaviest=10)
    kept.put("a", "A", 1)
    kept.put("b", "B", 1)
    assert kept.get("a") == "A"
    kept.put("c", "C", 1)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("A", None, "C")
    kept.put("d", "D", 9)
    assert (kept.get("c"), kept.get("d"), kept.weight) == ("C", "D", 10)
    kept.put("e", "E", 11)
    assert kept.get("e") is None


def test_a_small_schema_costs_little() -> None:
    measured = measure_schema("x", TREE)
    assert (measured.at_once, measured.recursions) == (2, 1)
    used = {"$defs": {"n": {"properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}}}
    fields = {f"f{at}": {"$ref": "#/$defs/n"} for at in range(5)}
    assert measure_schema("x", {**used, "properties": fields}).recursions == 1, "five trees are no deeper than one"


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)


def _measure(value: Any) -> tuple[int, int, int]:
    """As the words of `measure_value` say it."""
    inside = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list | tuple) else []
    names = sum(map(len, value)) if isinstance(value, dict) else len(value) if isinstance(value, str) else 0
    measured = [_measure(one) for one in inside]
    return (
        1 + sum(parts for parts, _, _ in measured),
        names + sum(letters for _, letters, _ in measured),
        1 + max((depth for _, _, depth in measured), default=0),
    )


@given(_ANY)
def test_a_value_is_measured_by_all_of_its_parts(value: Any) -> None:
    assert measure_value(value) == _measure(value)
