"""Loading: everything that is wrong, at once, with its line; nothing half understood."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.policy_talk import ran, ruled

import circumspect.policy
from circumspect.errors import PolicyError
from circumspect.policy.expressions import FUNCTIONS, ROOTS
from circumspect.policy.load import check, load, schema
from circumspect.policy.policy_file import Policy
from circumspect.values import Allow, Deny, ToolCall, ToolSpec

GOOD = """
version: 1
tools:
  cancel_order:
    effect: destructive
    phrase: {en: "cancel order {order_id}"}
  get_order: {effect: read}
"""


def refused(text: str) -> list[str]:
    with pytest.raises(PolicyError) as problem:
        load(text, name="p.yaml")
    return list(problem.value.findings)


def test_a_policy_is_loaded_from_text_and_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load(GOOD) == load(path)
    assert load(GOOD).hash == load(path).hash
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(path) == load(GOOD)


def test_a_string_is_the_text_itself_and_never_the_name_of_a_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yaml").write_text(GOOD, encoding="utf-8")
    for text in ("rules.yaml", str(tmp_path / "rules.yaml"), "/etc/hostname"):
        with pytest.raises(PolicyError):
            load(text)


def test_an_empty_file_is_a_policy_that_covers_nothing() -> None:
    assert load("") == load("# nothing yet\n") == Policy()


def test_everything_wrong_is_said_at_once_with_file_and_line() -> None:
    text = """\
version: 2
tols: {}
tools:
  cancel_order:
    effect: destuctive
    confrim: always
    critical: "yes"
    deny_unless:
      - if: args.x == 1
  refund:
    effect: write
    limits:
      - count: 0
      - count: 1
        window: 1 day
    when: {if: args.x == 1}
  refund: {effect: read}
  pay:
    effect: write
    deny_unless:
      - if: argz.x == 1
        because: No.
"""
    assert refused(text) == [
        "p.yaml:1: 'version' cannot be 2; Possible here: 1.",
        "p.yaml:2: unknown key 'tols'; did you mean 'tools'?",
        "p.yaml:5: 'effect' cannot be 'destuctive'; did you mean 'destructive'?",
        "p.yaml:6: unknown key 'confrim'; did you mean 'confirm'?",
        "p.yaml:7: 'critical' must be true or false; Write true or false, without quotes.",
        "p.yaml:9: 'because' is missing; Why, in one sentence. The model is told, so that it can do better.",
        "p.yaml:13: 'count': input should be greater than or equal to 1; At most this many successful calls.",
        "p.yaml:15: 'window' cannot be '1 day'; "
        "Since the user's last message (turn), in the conversation, or within 90m, 24h, 7d, 2w.",
        "p.yaml:16: 'when' must be a list; What is done about a call that is complete and permitted, but special.",
        "p.yaml:17: 'refund' is here twice (also in line 10); Keep one of them.",
        "p.yaml:21: this does not work: undeclared reference to 'argz.x' (at character 5); did you mean 'args'?",
    ]


def test_the_error_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("tols: {}")
    with pytest.raises(PolicyError) as problem:
        load(path)
    assert str(problem.value).splitlines() == [
        f"The policy file {path} has a problem, so nothing of it holds. Correct it and load it again:",
        f"{path}:1: unknown key 'tols'; did you mean 'tools'?",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tools: {a: [}", "not YAML"),
        ("a: b: c", "not YAML"),
        ("let:\n  x: {order: facts.t[args.x]}", "in quotes"),
        ("tools: &all {}\nfacts: *all", "p.yaml:2: *all repeats something"),
        ("a: !!python/object/apply:os.getcwd []", "the tag"),
        ("--- {}\n--- {}", "not one YAML document"),
        ("? [a, b]\n: 1", "a key must be a word"),
        ("- tools", "must have settings below it"),
        ("just words", "must have settings below it"),
        ('version: "1"', "'version' is a number, not words"),
        ("tools: {a: {effect: true}}", "'effect' cannot be True"),
        ("tools: {a: {deny: 2026-01-01, effect: 3}}", "'effect' cannot be 3"),
        ("\x00", "not YAML"),
        ("[" * 100 + "]" * 100, "nested too deeply"),
        ("- " * 100 + "x", "nested too deeply"),
        ("#" * 1_000_001, "larger than 1 MB"),
        ("tools:\n" + "".join(f"  t{n}: {{effect: read}}\n" for n in range(2_001)), "more than 2,000 entries"),
        ("patterns: [" + "{match: a*}, " * 2_001 + "]", "more than 2,000 entries"),
        (f"version: {'9' * 5_000}", "p.yaml:1: '99999999999999999999…' is no int that can be read"),
        (Path("no_such_file.yaml"), "there is no file"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str | Path, says: str) -> None:
    assert says in "\n".join(refused(text))


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(12)]
    assert all("repeats something" in line for line in refused("\n".join(lines)))


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(PolicyError, match="larger than 1 MB"):
        load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load(path)


@pytest.mark.parametrize(
    "line",
    ["tools: t{}: {{effect: write}}", "let: n{}: args.a", "tools: t{}: {{effect: write, let: {{x{}: args.b}}}}"],
)
def test_a_file_four_times_as_long_is_hardly_more_than_four_times_the_work(line: str) -> None:
    head, _, entry = line.partition(": ")
    texts = [f"{head}:\n" + "".join(f"  {entry}\n".format(n, n) for n in range(many)) for many in (1, 100, 400)]
    _, hundred, four_hundred = map(count_calls, texts)
    assert four_hundred < 6 * hundred


def count_calls(text: str, **given: Any) -> int:
    """Functions that are entered while a text is checked."""
    calls = 0

    def count(_frame: object, event: str, _given: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        check(text, **given)
    finally:
        sys.setprofile(None)
    return calls


def test_each_tool_is_held_against_the_patterns_once() -> None:
    specs = {f"tool_{n}": ToolSpec(f"tool_{n}") for n in range(150)}
    text = "patterns:\n" + "".join(f"  - {{match: 'a{n}*', effect: read}}\n" for n in range(150))
    assert count_calls(text, specs=specs) < 300_000, "once for each pattern it would be millions"


def test_after_five_hundred_findings_the_rest_is_not_looked_for() -> None:
    _, findings = check("tools:\n" + "".join(f"  look_{n}: {{}}\n" for n in range(600)), specs={})
    assert len(findings) == 501
    assert findings[0].problem == "there are more than 500 findings"


def test_a_date_in_a_sentence_stays_text() -> None:
    policy = load("tools: {a: {deny: 2026-01-01}}")
    assert policy.tools["a"].deny == "2026-01-01"


def test_warnings_do_not_refuse_a_file_but_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    load("tools: {think: {}}", name="p.yaml")
    assert "p.yaml:1: nothing here says what 'think' does" in caplog.text


def test_checking_raises_nothing_and_tells_warnings_from_errors() -> None:
    policy, findings = check("tools: {think: {}, pay: {effect: destructive, confirm: never}}")
    assert policy is not None
    assert {finding.level for finding in findings} == {"error", "warning"}
    assert check("tools: [")[0] is None


@given(st.text(max_size=200) | st.text("{}[]:,-&*!|>'\"#\n abt%@?", max_size=80))
def test_no_text_makes_the_loader_crash(text: str) -> None:
    check(text)


KEYS = [*schema()["properties"], *(key for part in schema()["$defs"].values() for key in part["properties"]), "a"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["tools", "let", "facts", "patterns", "tenants", "timezone"]), JSON))
def test_no_structure_makes_the_loader_crash(data: object) -> None:
    check(yaml.safe_dump(data))


# --- the published schema -------------------------------------------------------------------------------------------


def test_the_published_schema_is_current() -> None:
    path = Path(circumspect.policy.__file__).with_name("policy.schema.json")
    assert json.loads(path.read_text(encoding="utf-8")) == schema(), "Write json.dumps(schema(), indent=2) there."


def test_every_key_of_the_schema_is_described() -> None:
    found = schema()
    sections = [found, *found["$defs"].values()]
    bare = [
        f"{section.get('title')}.{name}"
        for section in sections
        for name, part in section.get("properties", {}).items()
        if not part.get("description")
    ]
    assert bare == []


def test_the_schema_accepts_what_loads_and_refuses_what_does_not() -> None:
    validator = jsonschema_rs.validator_for(schema())
    assert validator.is_valid(yaml.safe_load(GOOD))
    short = {
        "tools": {"a": {"requires": ["b", {"call": ["c", "d"], "same": "id"}], "limits": [{"count": 1, "per": "x"}]}}
    }
    assert validator.is_valid(short)
    assert not validator.is_valid({"tools": {"a": {"confrim": "always"}}})
    assert not validator.is_valid({"tools": {"a": {"deny_unless": [{"if": "true"}]}}})


# --- the documentation ----------------------------------------------------------------------------------------------

DOCS = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", DOCS, re.S))
def test_every_example_of_the_documentation_loads_without_fault(block: str) -> None:
    findings = [one.describe("docs") for one in check(block)[1] if "is not used" not in one.problem]
    assert findings == []


def test_every_key_every_name_and_every_function_is_documented() -> None:
    keys = {*schema()["properties"], *(key for part in schema()["$defs"].values() for key in part["properties"])}
    missing = [word for word in (*sorted(keys), *ROOTS, *FUNCTIONS) if not re.search(rf"\b{word}\b", DOCS)]
    assert missing == []


def test_the_examples_of_the_documentation_do_what_they_say() -> None:
    exchange = next(block for block in re.findall(r"```yaml\n(.*?)```", DOCS, re.S) if "exchange_items" in block)
    order = {"status": "delivered", "user_id": "u1", "total": 40, "items": [{"item_id": "i1", "product_id": "p1"}]}
    known = (
        ran("get_order", order, order_id="o1"),
        ran("get_user", {"payment_methods": {"g1": {"kind": "gift_card", "balance": 50.5}}}, user_id="u1"),
        ran("get_product", {"variants": {"i2": {"available": True}, "i3": {"available": False}}}, product_id="p1"),
    )

    def proposed(**changed: object) -> ToolCall:
        settings = {"order_id": "o1", "item_ids": ["i1"], "new_item_ids": ["i2"], "payment_id": "g1", "payments": []}
        return ToolCall("exchange_items", {**settings, **changed})

    assert ruled(exchange, proposed(), *known)[0] == Allow()
    assert ruled(exchange, proposed(new_item_ids=["i3"]), *known)[0] == Deny(
        "An item is exchanged for an available variant of the same product."
    )
    assert ruled(exchange, proposed(item_ids=["x"]), *known)[0] == Deny("Only items of this order can be exchanged.")
    assert ruled(exchange, proposed(), *known[:2])[0] == Deny("Look up get_product first.")
    assert ruled(exchange, proposed())[0] == Deny('Look up get_order(order_id="o1") and get_product first.')
    bags = ToolCall("add_bags", {"order_id": "o1", "bags": 4, "paid_bags": 2})
    travel = ran("get_order", {"user_id": "u1", "passengers": ["a", "b"]}, order_id="o1")
    assert ruled(exchange, bags, travel, ran("get_user", {"level": "regular"}, user_id="u1"))[0] == Allow()
    assert isinstance(
        ruled(exchange, ToolCall("add_bags", {**bags.arguments, "paid_bags": 1}), travel, *known[1:])[0], Deny
    )
