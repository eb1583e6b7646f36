"""Schemas of arguments and results find what the expression library cannot: fields that are not there, and comparisons
that can never be decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from circumspect.audit.learnt_results import learn_results
from circumspect.audit.transcript_files import Transcript, read
from circumspect.policy.load import check
from circumspect.policy.value_kinds import learn_schema
from circumspect.values import ToolSpec

RECORD = {
    "type": "object",
    "properties": {
        "balance": {"type": "number"},
        "status": {"type": ["string", "null"]},
        "opened": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "by_currency": {"type": "object", "additionalProperties": {"type": "number"}},
        "anything": {},
    },
    "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False}},
}
PAY = {
    "type": "object",
    "properties": {
        "account_id": {"type": "string"},
        "amount": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "urgent": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "integer"}},
    },
}
GET = {"type": "object", "properties": {"account_id": {"type": "string"}}}
TOOLS = {
    "pay": ToolSpec("pay", parameters=PAY),
    "get_account": ToolSpec("get_account", parameters=GET, returns=RECORD),
}


def findings(condition: str, **more: object) -> list[str]:
    text = (
        "let: {account: 'facts.get_account[args.account_id]'}\n"
        "tools:\n  get_account: {effect: read}\n  pay:\n    effect: write\n    deny_unless:\n"
        f"      - {json.dumps({'if': condition, 'because': 'So it is.'})}\n"
    )
    found = check(text, **{"specs": TOOLS, **more})[1]
    return [f"{one.level} {one.line}: {one.problem}; {one.fix}" for one in found if "not used" not in one.problem]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ('args.amount > "5"', "'>' has a number on one side and a text on the other"),
        ("args.account_id == 5", "'==' has a text on one side and a number on the other"),
        ("args.urgent == 'true'", "'==' has true or false on one side and a text on the other"),
        ("account.opened < now", "'<' has a text on one side and a moment on the other; time(…) makes a moment"),
        ("now - account.opened < duration('1h')", "'-' has a moment on one side and a text on the other"),
        ("account.balance >= args.account_id", "'>=' has a number on one side and a text on the other"),
        ("args.amount in account.tags", "'in' looks for a number in a list whose elements are each a text"),
        ("args.account_id in account.balance", "'in' looks into a list or a record, and this is a number"),
        ("args.amount.startsWith('1')", "'startsWith' takes a text, and this is a number"),
        ("time(args.amount) < now", "'time' takes a text, and this is a number"),
        ("account.tags.exists(tag, tag == 3)", "'==' has a text on one side and a number on the other"),
        ("account.lines.all(line, line.sku > 3)", "'>' has a text on one side and a number on the other"),
        ("latest.get_account.status > 3", "'>' has a text on one side and a number on the other"),
        ("results.get_account[0].balance == 'x'", "'==' has a number on one side and a text on the other"),
        ("args.amount in ['5', '6']", "'in' looks for a number in a list whose elements are each a text"),
        ("args.amount", "it gives a number, not true or false"),
        ("account", "it gives a record, not true or false"),
        ("!account.balance", "'!' takes true or false, and this is a number"),
        ("args.urgent && account.status", "'&&' takes true or false, and this is a text"),
        ("account.tags ? true : false", "'?' takes true or false, and this is a list"),
        ("size(account.balance) > 3", "'size' counts a text, a list or a record, and this is a number"),
        ("account.tags.exists(tag, tag.name == 'x')", "'name' is looked for in a text, which has no fields"),
        ("has(account.status.code)", "'code' is looked for in a text, which has no fields"),
    ],
)
def test_a_comparison_that_can_never_be_decided_is_an_error_with_its_line(condition: str, problem: str) -> None:
    (told,) = findings(condition)
    assert told.startswith(f"error 7: this can never be decided: {problem}"), told


@pytest.mark.parametrize(
    "condition",
    [
        "args.amount > 5 && args.amount > 5.5",
        "args.amount == null || account.status == null",
        "account.balance - args.amount > 0.0",
        "time(account.opened) < now && now - time(account.opened) > duration('1h')",
        "account.anything == 5 || account.anything == 'x' || account.anything.deep.down > 3",
        "account.by_currency['EUR'] > args.amount",
        "account.by_currency.all(name, name != 'EUR')",
        "args.amount in args.items && 'vip' in account.tags && 'EUR' in account.by_currency",
        "size(account.tags) > 3 && size(account.lines) == size(args.items)",
        "user.mentions('refund') || person.id == args.account_id",
        "calls.exists(one, one.tool == 'pay' && one.args.amount == 5)",
        "zip(account.tags, args.items).all(pair, pair[0] == 'x' || pair[1] == 3)",
        "{'a': 1.0}[args.account_id] < args.amount",
        "args.urgent",
        "!args.urgent && (args.urgent ? args.urgent : account.anything)",
        "account.anything",
        "args.amount in [5, 'five'] || args.account_id in ['A1']",
        "size(account.status) > 3 && has(account.by_currency.EUR)",
    ],
)
def test_what_may_be_meant_is_not_complained_about(condition: str) -> None:
    assert findings(condition) == []


def test_a_field_that_no_result_has_is_found_with_its_neighbour() -> None:
    (told,) = findings("account.balnce > 5")
    assert "'balnce'" in told
    assert told.startswith("warning 7: facts.get_account[args.account_id].balnce is nowhere")
    assert told.endswith("did you mean 'balance'?")


def test_a_tool_that_is_all_but_named_like_one_in_the_file_is_found_without_a_list_of_tools() -> None:
    (told,) = findings("facts.get_acount[args.account_id].balance > 5", specs=None)
    assert told == "warning 7: no tool is named 'get_acount'; did you mean 'get_account'?"
    assert findings("facts.get_order[args.account_id].balance > 5", specs=None) == []


def test_a_field_that_a_closed_schema_excludes_is_an_error() -> None:
    (told,) = findings("account.lines.all(line, line.skuu != '')")
    assert told.startswith("error 7")


def test_without_schemas_nothing_is_known_and_nothing_is_wrong() -> None:
    bare = {name: ToolSpec(name) for name in TOOLS}
    assert findings("account.balnce > '5' && args.amount > 'x'", specs=bare) == []


def test_a_result_that_is_a_text_may_be_json_and_have_fields() -> None:
    written = {**TOOLS, "get_account": ToolSpec("get_account", parameters=GET, returns={"type": "string"})}
    assert findings("account.balance > 5.0 && account.owner.name == 'Ann'", specs=written) == []


def test_transcripts_teach_what_results_look_like(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_account", "arguments": '{"account_id": "A1"}'}}
    line = {
        "id": "one",
        "messages": [
            {"role": "user", "content": "pay it"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"balance": 5, "owner": {"name": "Ann"}})},
        ],
    }
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps(line) + "\n")
    learnt = learn_results(one for one in read([path]) if isinstance(one, Transcript))
    bare = {name: ToolSpec(name) for name in TOOLS}
    (told,) = findings("account.balnce > 5", specs=bare, learnt=learnt)
    assert told.startswith("warning 7")
    assert told.endswith("did you mean 'balance'?")
    (told,) = findings("account.owner.nam == 'Ann'", specs=None, learnt=learnt)
    assert told.endswith("did you mean 'name'?")
    assert findings("account.balance > 5 && account.owner.name == 'Ann'", specs=bare, learnt=learnt) == []
    assert findings("account.balance > 'x'", specs=bare, learnt=learnt)[0].startswith("warning 7: this can never")


def test_what_differs_from_result_to_result_is_nothing_in_particular() -> None:
    schema = learn_schema([{"a": 1, "b": [1, 2]}, {"a": "x", "b": [], "c": None}, {"a": 1.5}])
    assert schema["properties"]["a"] == {}
    assert schema["properties"]["b"] == {"type": "array", "items": {"type": "number"}}
    assert schema["properties"]["c"] == {}
