"""Sentences that the program makes in English are in the visitor's language on a page, whatever is named in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.source_trees import read_tree

import circumspect
from circumspect.lab.replay import unreplayed
from circumspect.policy.diff import changes
from circumspect.policy.explain import explain
from circumspect.policy.load import check, load, schema
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import RULES
from circumspect.server.console.editor_words import list_words
from circumspect.server.console.i18n import Translator, find_texts
from circumspect.server.console.known_sentences import (
    RULE_NAMES,
    SentenceFamily,
    TranslatedSentence,
    describe_rule,
    translate_sentence,
)
from circumspect.values import Language, ToolSpec
from circumspect.web.page_rules import PAGE_RULES

ROOT = Path(circumspect.__file__).parent
OTHERS: tuple[Language, ...] = ("he", "ru")
FULL = """
version: 1
timezone: Asia/Jerusalem
facts: {get_order: {key: order_id}}
tools:
  get_order: read
""".replace("get_order: read", "get_order: {effect: read}")
RICH = (
    FULL
    + """
  cancel_order:
    effect: destructive
    confirm: four_eyes
    keys_approve: true
    critical: true
    confidence_cap: 0.4
    recovery: lookup
    params: {order_id: {source: user}, reason: {source: any}, phone: {source: trusted}}
    requires:
      - get_order
      - {call: [get_order, find_order], same: [order_id], because: Look it up first.}
      - {call: get_order, same: [order_id], where: "call.args.order_id == args.order_id", because: Look first.}
      - {call: get_order, where: "call.args.order_id == args.order_id"}
      - {call: find_order, same: order_id}
    let: {order: "facts.get_order[args.order_id]"}
    deny_unless: [{if: "order.status == 'open'", because: It was sent.}]
    when:
      - {if: "order.total > 10", then: confirm, because: It is much.}
      - {if: "order.total > 20", then: ask, because: It is more.}
      - {if: "order.total > 30", then: four_eyes, because: It is a lot.}
      - {if: "order.total > 40", then: escalate, because: It is too much.}
      - {if: "order.total > 50", then: deny, because: It is far too much.}
    unknown: ask
    limits:
      - {count: 1, because: One is enough.}
      - {count: 3, per: person, window: 24h}
      - {count: 5, per: [order_id, reason], window: 1h, across: refund}
      - {count: 2, per: tenant, window: 2w, because: Not so often.}
      - {count: 2, per: [order_id, conversation], window: 2d}
      - {sum: amount, at_most: 100, per: person, window: 7d}
      - {count: 1, window: turn}
    verify: {call: get_order, args: {order_id: args.order_id}, expect: "result.status == 'cancelled'"}
    whole: {param: amount, call: get_order, args: {order_id: args.order_id}, value: result.total}
    phrase: {en: "cancel order {order_id}"}
    idempotent: true
  send_mail: {deny: It is broken.}
  read_mail: {effect: read, open_world: true}
patterns: [{match: "get_*", effect: read}, {match: "put_*", effect: write, confirm: when_implied}]
tenants: {acme: {tools: {cancel_order: {confirm: always}}}}
"""
)
CHANGED = (
    RICH.replace("timezone: Asia/Jerusalem", "timezone: UTC\nlet: {mine: facts.get_order}")
    .replace("confirm: four_eyes", "confirm: always")
    .replace("confidence_cap: 0.4\n    ", "")
    .replace("source: user", "source: any")
    .replace("Look it up first", "Look")
    .replace("count: 3", "count: 4")
    .replace("at_most: 100", "at_most: 200")
    .replace("count: 1, window: turn", "count: 2, window: conversation")
    .replace("total > 10", "total > 12")
    .replace("- get_order\n", "- find_order\n")
    .replace("verify: {call: get_order, ", "verify: {call: find_order, ")
    .replace("value: result.total", "value: result.sum")
    .replace("cancel order {", "stop order {")
    .replace("idempotent: true", "idempotent: false")
    .replace("send_mail: {deny: It is broken.}", "send_mail: {effect: write}")
    .replace('- {if: "order.total > 50", then: deny, because: It is far too much.}', "")
    .replace("facts.get_order[args.order_id]", "latest.get_order")
    .replace('{match: "get_*", effect: read}, ', "")
    .replace("{confirm: always}", "{confirm: always, keys_approve: false}")
)
PLAIN = FULL + "  send_mail: {deny: It is old.}\n  send_letter: {effect: write}\n"


NAMES_ALONE = re.compile(r"let x: x|[\w/]+ → [\w/]+|\w+( [\w.]+)? → \w+")
"""Names and values of the file, which are in no language."""


def read(text: str) -> Policy:
    policy, findings = check(text)
    assert policy is not None, findings
    return policy


def assert_translated(sentence: str, family: SentenceFamily) -> None:
    assert translate_sentence(sentence, family, Translator("en")) == TranslatedSentence(sentence)
    for language in OTHERS:
        said = translate_sentence(sentence, family, Translator(language))
        assert not said.english, (family, sentence)
        assert said.text != sentence or NAMES_ALONE.match(sentence), sentence


def test_every_claim_of_a_rule_is_said_as_the_rule_says_it() -> None:
    claims = {rule.name: rule.sentence for rule in (*RULES, *PAGE_RULES)}
    assert claims.keys() == RULE_NAMES
    for name, sentence in claims.items():
        assert describe_rule(name, Translator("en")) == TranslatedSentence(sentence)
        for language in OTHERS:
            said = describe_rule(name, Translator(language))
            assert said.text != sentence
            assert not said.english
    assert {key for key, _ in find_texts("en", "rule-")} == {f"rule-{name}" for name in claims}
    assert describe_rule("a_rule_of_ones_own", Translator("he")) == TranslatedSentence(
        "a rule of ones own", english=True
    )


def test_what_happens_to_a_call_is_told_in_the_visitors_language() -> None:
    sample = load(ROOT / "demo" / "samples" / "data" / "policy.yaml")
    for policy, tools in ((sample, (*sample.tools, "none")), (read(RICH), (*read(RICH).tools, "put_it", "none"))):
        for tool in tools:
            for sentence in explain(policy, tool).splitlines()[1:]:
                assert_translated(sentence.removeprefix("- "), "told")


def test_a_value_that_looks_like_the_sentence_around_it_stays_whole() -> None:
    said = translate_sentence("It is denied unless order.note == 'paid. Twice'. Because.", "told", Translator("ru"))
    assert "order.note == 'paid. Twice'. Because" in said.text
    odd = "Something that nobody has put into words."
    assert translate_sentence(odd, "told", Translator("he")) == TranslatedSentence(odd, english=True)


def test_every_difference_between_two_policies_is_said_in_the_visitors_language() -> None:
    texts = [FULL, RICH, CHANGED, PLAIN, FULL.replace("get_order: {effect", "find: {effect").replace("order_id", "id")]
    seen = 0
    for old in texts:
        for new in texts:
            for one in changes(read(old), read(new)):
                assert_translated(one.what, "altered")
                seen += 1
    assert seen > 100


def find_remarks(path: Path) -> Iterator[str]:
    """What a file says is wrong, and what to do: with x for whatever is put into it."""
    tree = read_tree(path)
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        named = {
            node.targets[0].id: node.value
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("LintRemark", "FileFinding"):
                for argument in call.args[2:]:
                    value = named.get(argument.id) if isinstance(argument, ast.Name) else argument
                    yield from _write(value)


def _write(value: ast.expr | None) -> Iterator[str]:
    if isinstance(value, ast.Constant) and value.value:
        yield str(value.value)
    elif isinstance(value, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.Constant) else "x" for one in value.values]
        yield "".join(map(str, parts))
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _write(one)


def test_every_remark_on_a_policy_is_made_in_the_visitors_language() -> None:
    files = [*(ROOT / "policy" / "keys").glob("*.py"), ROOT / "policy" / "load.py", ROOT / "policy" / "policy_file.py"]
    remarks = {remark for path in files for remark in find_remarks(path)}
    assert len(remarks) > 90
    for remark in remarks - {"x x"}:  # two fixes, one after the other
        assert_translated(remark.replace("line x", "line 1"), "lint")


def test_whatever_is_wrong_in_a_file_is_said_in_the_visitors_language() -> None:
    wrong = [
        "tools: {a: {effect: reed}}", "tools: {a: {efect: read}}", "tools: [a]", "tools: {a: {critical: 7}}", "- 1\n- 2",
        "tools: {a: {when: [{if: 'args.x ==', then: deny, because: no}]}}", "tools: {a: {limits: [{}]}}", "a: &b {}\nc: *b",
        "tools: {a: {limits: 3, effect: write}}", "tools: {a: {effect: read}, a: {effect: read}}", "version: '1'",
        "tools: {a: {confidence_cap: 7}}", "tools: {a: {when: [{if: '1 + 1', then: deny, because: no}]}}", "a: [",
        "let: {a: b, b: a}\ntools: {x: {effect: write, deny_unless: [{if: 'a == 1', because: no}]}}",
        "timezone: Mars/North", "patterns: [{match: abc, effect: read}]", "tools: {a: {deny: '', effect: read}}",
    ]  # fmt: skip
    for text in wrong:
        _, findings = check(text)
        assert findings, text
        for one in findings:
            assert_translated(one.problem, "lint")
            if one.fix:
                assert_translated(one.fix, "lint")


@pytest.mark.parametrize(
    "condition", ["args.n", "!args.n", "size(args.n) > 1", "args.n.x == 1", "args.n in ['a']", "args.n == 'a'"]
)
def test_what_can_never_be_decided_is_said_in_the_visitors_language(condition: str) -> None:
    pay = ToolSpec("pay", parameters={"type": "object", "properties": {"n": {"type": "number"}}})
    rule = json.dumps({"if": condition, "because": "So it is."})
    _, found = check(f"tools: {{pay: {{effect: write, deny_unless: [{rule}]}}}}", specs={"pay": pay})
    (remark,) = [one for one in found if one.problem.startswith("this can never be decided")]
    assert_translated(remark.problem, "lint")
    for language in OTHERS:
        assert "number" not in translate_sentence(remark.problem, "lint", Translator(language)).text


def test_what_the_editor_says_of_a_key_is_in_the_visitors_language() -> None:
    def descriptions(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            for name, inner in part.items():
                if name == "description" and isinstance(inner, str):
                    yield inner
                else:
                    yield from descriptions(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from descriptions(inner)

    english = [" ".join(one.split()) for one in descriptions(schema())]
    for language in OTHERS:
        said = list(descriptions(list_words({}, Translator(language))["schema"]))
        assert len(said) == len(english) > 50
        assert [one for one in said if one in english] == []


@pytest.mark.parametrize(
    "name", [name for name in vars(unreplayed) if name.isupper() and name.startswith(("NO_", "ON_"))]
)
def test_why_a_call_cannot_be_replayed_is_said_in_the_visitors_language(name: str) -> None:
    assert_translated(getattr(unreplayed, name), "step")
