"""What an audit says about calls in conversations that were written down."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from tests.audit.audit_talk import POLICY, SHOP, Talk, codes, conversation, last, policy, rulings, written

from circumspect.audit.auditor import Auditor, audit
from circumspect.audit.rulebook import AUDIT_RULES, FIRST
from circumspect.audit.rulings import AuditedCall, Unsupported, line_of
from circumspect.audit.summary import AuditSummary
from circumspect.audit.transcript_files import Transcript, read

ORDER = {"order_id": "A10077", "status": "open", "items": [{"sku": "X1"}], "paid_with": "card_7001"}
OTHER = {"order_id": "B20088", "status": "open", "items": [{"sku": "Y2"}], "paid_with": "card_7001"}
CARDS = {
    "cards": {
        "card_7001": {"brand": "visa", "last_four": "1111"},
        "card_9002": {"brand": "mastercard", "last_four": "2222"},
    }
}


def looked_up() -> Talk:
    talk = Talk().user("Hi, I want to cancel my order A10077, I do not need it any more.")
    return talk.calls("get_order", order_id="A10077").returns(ORDER)


def test_a_plain_yes_to_what_was_listed_lets_the_call_through(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user("Yes, please.")
    assert last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed")).verdict == "allow"


def test_a_call_before_the_answer_is_asked_about(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077? Please confirm.")
    row = last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed"))
    assert (row.verdict, codes(row)) == ("ask", {"CONFIRMATION_REQUIRED"})


@pytest.mark.parametrize(
    "answer",
    [
        "Yes, but only if I get my money back today.",
        "Actually, wait. Which order is that?",
        "No, leave it.",
        "Could you tell me the total first?",
        "I don't have the number here. Is there another way? And yes, it is the blue one.",
    ],
)
def test_a_yes_that_is_taken_back_is_no_yes(tmp_path: Path, answer: str) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user(answer)
    row = last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed"))
    assert row.verdict == "ask"


@pytest.mark.parametrize("answer", ["да, подтверждаю", "כן, בבקשה", "Sounds good, go ahead!", "yes\n", "Oui, merci"])
def test_a_yes_is_read_in_several_languages(tmp_path: Path, answer: str) -> None:
    talk = looked_up().says("Cancel order A10077 (not needed)? Please confirm.").user(answer)
    assert last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed")).verdict == "allow"


def test_another_order_than_the_one_agreed_to_is_refused(tmp_path: Path) -> None:
    talk = looked_up().calls("get_order", order_id="B20088").returns(OTHER)
    talk.says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    row = last(tmp_path, talk.calls("cancel_order", order_id="B20088", reason="not needed"))
    assert (row.verdict, codes(row)) == ("deny", {"CONFLICTS_WITH_CONFIRMED", "UNGROUNDED_PARAM"})


def test_another_card_than_the_one_described_is_refused(tmp_path: Path) -> None:
    talk = looked_up().calls("get_customer", customer_id="cu_5").returns(CARDS)
    talk.says("I will change order A10077 and charge your Visa ending in 1111. Is that correct?").user("Yes, go ahead.")
    change = {"order_id": "A10077", "items": [{"sku": "X1"}]}
    wrong = last(tmp_path, Talk_copy(talk).calls("change_items", **change, card_id="card_9002"))
    right = last(tmp_path, Talk_copy(talk).calls("change_items", **change, card_id="card_7001"))
    assert (wrong.verdict, codes(wrong)) == ("deny", {"CONFLICTS_WITH_CONFIRMED"})
    assert right.verdict == "allow"


def test_the_original_card_is_the_one_the_order_was_paid_with(tmp_path: Path) -> None:
    talk = looked_up().calls("get_customer", customer_id="cu_5").returns(CARDS)
    talk.says("Shall I change order A10077, using the original card?").user("Yes, use the original card.")
    change = {"order_id": "A10077", "items": [{"sku": "X1"}]}
    assert last(tmp_path, Talk_copy(talk).calls("change_items", **change, card_id="card_9002")).verdict == "deny"
    assert last(tmp_path, Talk_copy(talk).calls("change_items", **change, card_id="card_7001")).verdict == "allow"


def test_a_choice_that_was_agreed_for_the_other_record_is_refused(tmp_path: Path) -> None:
    talk = looked_up().calls("get_order", order_id="B20088").returns(OTHER)
    talk.says("1) Cancel A10077, reason: not needed. 2) Cancel B20088, reason: mistake. Shall I proceed?").user("Yes")
    assert (
        last(tmp_path, Talk_copy(talk).calls("cancel_order", order_id="B20088", reason="not needed")).verdict == "deny"
    )
    assert last(tmp_path, Talk_copy(talk).calls("cancel_order", order_id="B20088", reason="mistake")).verdict == "allow"


def test_one_yes_covers_what_was_listed_and_nothing_else(tmp_path: Path) -> None:
    talk = looked_up().calls("get_order", order_id="B20088").returns(OTHER)
    talk.says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    talk.calls("cancel_order", order_id="A10077", reason="not needed").returns({"status": "cancelled"})
    row = last(tmp_path, talk.calls("cancel_order", order_id="B20088", reason="not needed"))
    assert "CONFIRMATION_REUSED" in codes(row)
    assert row.verdict != "allow"


def test_the_same_call_is_not_made_twice(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    talk.calls("cancel_order", order_id="A10077", reason="not needed").returns({"status": "cancelled"})
    row = last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed"))
    assert (row.verdict, codes(row)) == ("deny", {"REPEATED_CALL"})


def test_a_call_that_failed_is_not_tried_again_unchanged(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    talk.calls("cancel_order", order_id="A10077", reason="not needed").returns("Error: try again")
    row = last(tmp_path, talk.calls("cancel_order", order_id="A10077", reason="not needed"))
    assert codes(row) == {"REPEATED_CALL"}


def test_an_id_that_nobody_gave_is_asked_about(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel it (not needed)?").user("Yes.")
    row = last(tmp_path, talk.calls("cancel_order", order_id="Z99999", reason="not needed"))
    assert (row.verdict, codes(row)) == ("ask", {"UNGROUNDED_PARAM"})
    assert {one.argument: one.origin for one in row.grounding}["order_id"] == "nowhere"


def test_an_unknown_tool_is_refused_and_nothing_more_is_said_about_it(tmp_path: Path) -> None:
    row = last(tmp_path, looked_up().calls("cancel_orders", order_id="A10077"))
    assert (row.verdict, codes(row), row.grounding) == ("deny", {"TOOL_NOT_FOUND"}, ())


def test_a_missing_argument_is_asked_for(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077?").user("Yes.")
    row = last(tmp_path, talk.calls("cancel_order", order_id="A10077"))
    assert (row.verdict, codes(row)) == ("ask", {"MISSING_PARAM"})


def test_a_list_of_the_wrong_build_goes_back_to_the_model(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I change order A10077?").user("Yes.")
    row = last(tmp_path, talk.calls("change_items", order_id="A10077", items=["X1"], card_id="card_7001"))
    assert (row.verdict, codes(row)) == ("deny", {"INVALID_PARAM"})


def test_arguments_that_are_no_json_are_refused(tmp_path: Path) -> None:
    talk = looked_up()
    call = {"id": "k", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order_id": '}}
    talk.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    row = last(tmp_path, talk)
    assert (row.verdict, row.rules[0]) == ("deny", "the_arguments_can_be_read")


def test_conditions_of_the_policy_hold_over_what_the_tools_returned(tmp_path: Path) -> None:
    rules = policy(
        """
version: 1
facts: {get_order: {key: order_id}}
tools:
  get_order: {effect: read}
  cancel_order:
    effect: write
    deny_unless:
      - {if: "facts.get_order[args.order_id].status == 'open'", because: Only open orders can be cancelled.}
"""
    )
    shipped = Talk().user("cancel A10077").calls("get_order", order_id="A10077").returns({**ORDER, "status": "shipped"})
    row = last(tmp_path, shipped.calls("cancel_order", order_id="A10077", reason="mistake"), rules)
    assert (row.verdict, codes(row)) == ("deny", {"PRECONDITION_FAILED"})
    blind = Talk().user("cancel A10077").calls("cancel_order", order_id="A10077", reason="mistake")
    assert codes(last(tmp_path, blind, rules)) == {"FACT_NEEDED"}


def test_without_a_policy_the_question_of_the_assistant_itself_counts(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I change order A10077? Please confirm.")
    change = talk.calls("change_items", order_id="A10077", items=[], card_id="card_7001")
    path = written(tmp_path / "t.jsonl", conversation(change))
    row = [one for one in audit([path]) if isinstance(one, AuditedCall)][-1]
    assert (row.effect, row.verdict) == ("write", "ask")


def test_every_call_of_a_conversation_is_ruled_on_with_its_place(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    path = written(tmp_path / "t.jsonl", conversation(talk.calls("cancel_order", order_id="A10077", reason="mistake")))
    assert [(row.tool, row.index, row.call) for row in rulings(path)] == [("get_order", 1, 0), ("cancel_order", 5, 0)]


def test_with_a_proposal_only_that_call_is_ruled_on_and_its_id_comes_back(tmp_path: Path) -> None:
    talk = looked_up().says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    proposal = {"tool": "cancel_order", "arguments": {"order_id": "A10077", "reason": "not needed"}}
    path = written(tmp_path / "t.jsonl", conversation(talk, proposal=proposal, id="case 7"))
    (row,) = rulings(path)
    assert (row.id, row.tool, row.index, row.verdict) == ("case 7", "cancel_order", 5, "allow")


def test_proposals_on_the_same_conversation_are_ruled_on_as_if_each_stood_alone(tmp_path: Path) -> None:
    start = looked_up()
    early = {"tool": "cancel_order", "arguments": {"order_id": "A10077", "reason": "not needed"}}
    lines = [conversation(start, proposal=early, id="early")]
    later = Talk_copy(start).says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    lines.append(conversation(later, proposal=early, id="late"))
    lines.append(conversation(start, proposal=early, id="early again"))
    together = {row.id: row.verdict for row in rulings(written(tmp_path / "all.jsonl", *lines))}
    apart = {
        row.id: row.verdict for at, line in enumerate(lines) for row in rulings(written(tmp_path / f"{at}.jsonl", line))
    }
    assert together == apart == {"early": "ask", "late": "allow", "early again": "ask"}


def test_a_reply_that_claims_what_no_call_did_is_reported(tmp_path: Path) -> None:
    talk = looked_up().says("Your order A10077 has been cancelled and refunded.")
    path = written(tmp_path / "t.jsonl", conversation(talk))
    claims = [row for row in audit([path], policy()) if isinstance(row, Unsupported)]
    assert [claim.claim.reason for claim in claims] == ["not_done"]


def undeclared(tmp_path: Path, talk: Talk) -> list[str]:
    """The reasons of claims in a bare array of messages, which carries no tool definitions."""
    path = tmp_path / "bare.json"
    path.write_bytes(orjson.dumps(talk.messages))
    return [row.claim.reason for row in audit([path]) if isinstance(row, Unsupported)]


@pytest.mark.parametrize(
    "reply",
    [
        "Your order A10077 has been cancelled.",
        "I have cancelled your order A10077.",
        "Order A10077 has already been shipped.",
        "Ihre Bestellung A10077 wurde storniert.",
        "Заказ A10077 отменён.",
        "ההזמנה A10077 בוטלה.",
    ],
)
def test_a_claim_is_found_where_no_tools_are_declared(tmp_path: Path, reply: str) -> None:
    assert undeclared(tmp_path, looked_up().says(reply)) == ["not_done"]


@pytest.mark.parametrize(
    "talk",
    [
        looked_up().says("Your order A10077 is open. Shall I cancel it?"),
        looked_up()
        .calls("cancel_order", order_id="A10077")
        .returns("ok")
        .says("Your order A10077 has been cancelled."),
        looked_up().calls("cancel_order", order_id="A10077").says("Your order A10077 has been cancelled."),
        looked_up().calls("handle_case", order_id="A10077").returns("ok").says("Your order A10077 has been cancelled."),
        looked_up().says("I have noted your order A10077 and looked into it."),
        Talk().user("cancel it").says("Your order A10077 has been cancelled."),
    ],
    ids=["offer", "done", "no result", "unknown deed", "talk", "no calls"],
)
def test_without_declared_tools_what_may_be_so_is_left_alone(tmp_path: Path, talk: Talk) -> None:
    assert undeclared(tmp_path, talk) == []


def test_rows_are_json_lines_that_a_scorer_can_read(tmp_path: Path) -> None:
    talk = looked_up().calls("cancel_order", order_id="A10077", reason="not needed")
    path = written(tmp_path / "t.jsonl", conversation(talk), "{broken")
    rows = list(audit([path], policy()))
    lines = [orjson.loads(line_of(row)) for row in rows]
    verdicts = [line for line in lines if "verdict" in line]
    assert [set(line) for line in verdicts] == [
        {"id", "index", "call", "tool", "verdict", "reason_codes", "rules", "grounding"}
    ] * 2
    assert verdicts[1]["grounding"]["order_id"] == {"from": "user", "message": 0}
    assert lines[-1]["kind"] == "malformed"


def test_the_summary_counts_what_was_seen(tmp_path: Path) -> None:
    talk = looked_up().calls("cancel_order", order_id="A10077", reason="not needed")
    path = written(tmp_path / "t.jsonl", conversation(talk), conversation(looked_up(), id="c2"))
    summary = AuditSummary()
    for row in audit([path], policy()):
        summary.add(row)
    said = summary.to_json()
    assert (said["conversations"], said["calls"], said["changes"], said["held"]) == (2, 3, 1, 1)
    assert said["verdicts"] == {"allow": 2, "redo": 0, "ask": 1, "escalate": 0, "deny": 0}
    assert said["reason_codes"] == {"CONFIRMATION_REQUIRED": 1}
    json.dumps(said)


def test_a_summary_does_not_grow_with_the_number_of_conversations(tmp_path: Path) -> None:
    talk = looked_up().calls("cancel_order", order_id="A10077", reason="not needed")
    path = written(tmp_path / "t.jsonl", *(conversation(talk, id=f"c{at}") for at in range(200)))
    summary = AuditSummary()
    for row in audit([path], policy()):
        summary.add(row)
    assert summary.calls == 400
    assert sum(map(len, summary.cases.values())) <= summary.keep * len(summary.cases)
    assert len(summary.telling(10)) <= 10


def test_tools_of_other_transcripts_do_not_leak_in(tmp_path: Path) -> None:
    only_read = [tool for tool in SHOP if tool["function"]["name"] == "get_order"]
    talk = looked_up().calls("cancel_order", order_id="A10077", reason="not needed")
    path = written(tmp_path / "t.jsonl", conversation(talk), conversation(talk, tools=only_read, id="c2"))
    assert [codes(row) for row in rulings(path) if row.tool == "cancel_order"] == [
        {"CONFIRMATION_REQUIRED"},
        {"TOOL_NOT_FOUND"},
    ]


def Talk_copy(talk: Talk) -> Talk:
    copy = Talk()
    copy.messages, copy.open = list(talk.messages), list(talk.open)
    return copy


CAREFUL = """
version: 1
facts: {get_order: {key: order_id}}
tools:
  get_order: {effect: read}
  get_customer: {effect: read, deny: Not today.}
  cancel_order:
    effect: write
    requires: [get_order]
    limits: [{count: 1}]
    deny_unless: [{if: "facts.get_order[args.order_id].total > 10.0", because: Too small.}]
  change_items:
    effect: write
    confirm: never
    when:
      - {if: "size(args.items) > 1", then: four_eyes, because: Many.}
      - {if: "args.card_id == 'card_7001'", then: confirm, because: That card.}
  send_money: {effect: write, confirm: four_eyes}
"""


def test_rules_that_are_not_asked_about_a_tool_would_have_said_nothing(tmp_path: Path) -> None:
    talk = looked_up().calls("get_customer", customer_id="C1").returns("Error: none").calls("no_such_tool")
    talk = talk.calls("cancel_order", order_id="A10077", reason="mistake").returns("done")
    talk = talk.calls("cancel_order", order_id="A10078", reason="mistake").calls("read_page", url="https://example.com")
    talk = talk.calls("change_items", order_id="A10077", items=[{"sku": "1"}, {"sku": "2"}], card_id="card_7001")
    talk = talk.calls("change_items", order_id="A10077", items=[], card_id="card_7002").calls(
        "send_money", recipient="x"
    )
    path = written(tmp_path / "t.jsonl", conversation(talk))
    # A rule under another name is always asked.
    renamed = [one if one.name in FIRST else replace(one, name=f"{one.name} ") for one in AUDIT_RULES]
    for rules in (policy(CAREFUL), policy(), None):
        some = [row for row in audit([path], rules) if isinstance(row, AuditedCall)]
        all_of_them = [row for row in audit([path], rules, rules=renamed) if isinstance(row, AuditedCall)]
        assert [(row.verdict, row.rules) for row in some] == [
            (row.verdict, tuple(name.strip() for name in row.rules)) for row in all_of_them
        ]


def test_without_tool_definitions_nothing_is_kept_of_each_call(tmp_path: Path) -> None:
    talk = Talk()
    for number in range(30):
        talk = talk.calls("get_order", order_id=f"A{number}").returns("none")
    path = written(tmp_path / "t.jsonl", {"id": "c", "messages": talk.messages})
    auditor = Auditor(policy())
    for one in read([path]):
        assert isinstance(one, Transcript)
        assert len(list(auditor.audit_transcript(one))) == 30
    assert len(auditor.covered) == 1


def test_a_call_that_only_misses_a_look_up_goes_back_to_the_model(tmp_path: Path) -> None:
    rules = policy(
        POLICY.replace(
            "cancel_order: {effect: write, confirm: always}",
            "cancel_order: {effect: write, confirm: always, requires: [get_order]}",
        )
    )
    cancel = {"order_id": "A10077", "reason": "not needed"}
    talk = (
        Talk().user("Cancel order A10077, I do not need it any more.").says("Shall I cancel order A10077?").user("Yes")
    )
    row = last(tmp_path, talk.calls("cancel_order", **cancel), rules)
    assert (row.verdict, codes(row)) == ("redo", {"REQUIREMENT_NOT_MET"})
    made_up = Talk().user("Hello").calls("cancel_order", **cancel)
    assert last(tmp_path, made_up, rules).verdict == "deny"


def test_a_variant_that_contradicts_what_was_listed_is_held(tmp_path: Path) -> None:
    lamps = {"lamps": {"X7001": {"color": "red"}, "X7002": {"color": "green"}}}
    talk = looked_up().calls("get_customer", customer_id="c-1").returns(lamps)
    talk.says("Shall I change order A10077 to the red lamp, paid with card_7001?").user("Yes, please.")
    change = {"order_id": "A10077", "card_id": "card_7001"}
    wrong = last(tmp_path, Talk_copy(talk).calls("change_items", items=[{"sku": "X7002"}], **change))
    right = last(tmp_path, Talk_copy(talk).calls("change_items", items=[{"sku": "X7001"}], **change))
    assert (wrong.verdict, codes(wrong), right.verdict) == ("deny", {"CONFLICTS_WITH_CONFIRMED"}, "allow")
    assert "'X7002' is green, not red" in str(wrong.findings)


def test_an_order_is_not_cancelled_for_one_of_its_items(tmp_path: Path) -> None:
    order = {"order_id": "A10077", "items": [{"sku": "X1", "name": "Desk Lamp"}, {"sku": "X2", "name": "Office Chair"}]}
    talk = Talk().user("I do not need the lamp of A10077.").calls("get_order", order_id="A10077").returns(order)
    part = Talk_copy(talk).says("Shall I cancel the lamp in order A10077?").user("Yes")
    whole = Talk_copy(talk).says("I can only cancel the whole order A10077. Shall I?").user("Yes")
    cancel = {"order_id": "A10077", "reason": "not needed"}
    assert last(tmp_path, part.calls("cancel_order", **cancel)).verdict == "deny"
    assert last(tmp_path, whole.calls("cancel_order", **cancel)).verdict == "allow"


def written_call(tool: str, **arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def test_a_call_in_words_is_ruled_on_like_any_other(tmp_path: Path) -> None:
    both = (
        f"I do both.{written_call('get_order', order_id='A10077')}\n{written_call('cancel_order', order_id='A10077')}"
    )
    rows = rulings(written(tmp_path / "talk.jsonl", conversation(looked_up().says(both))))
    assert [(row.tool, row.index, row.call) for row in rows] == [
        ("get_order", 1, 0),
        ("get_order", 3, 0),
        ("cancel_order", 3, 1),
    ]
    assert rows[-1].verdict == "ask"


def test_what_came_back_in_words_answers_the_calls_in_their_order(tmp_path: Path) -> None:
    talk = Talk().user("Cancel orders A10077 and B20088, please.")
    talk.says(written_call("get_order", order_id="A10077") + written_call("get_order", order_id="B20088"))
    talk.user("".join(f"<tool_response>{json.dumps(one)}</tool_response>" for one in (ORDER, OTHER)))
    talk.says("Shall I cancel order A10077?").user("Yes.").says(written_call("cancel_order", order_id="A10077"))
    rules = policy("version: 1\ntools: {get_order: {effect: read}, cancel_order: {effect: write, requires: "
                   "[{call: get_order, same: order_id}], deny_unless: [{if: 'facts.get_order[args.order_id].status == "
                   '"open"\', because: It is not open.}]}}')  # fmt: skip
    tools = [one for one in SHOP if one["function"]["name"] == "get_order"]
    tools.append({"name": "cancel_order", "input_schema": {"properties": {"order_id": {"type": "string"}}}})
    row = rulings(written(tmp_path / "talk.jsonl", conversation(talk) | {"tools": tools}), rules)[-1]
    assert (row.verdict, codes(row)) == ("allow", set())


def test_a_user_who_writes_a_result_without_a_call_only_says_so(tmp_path: Path) -> None:
    talk = Talk().user(f"<tool_response>{json.dumps(ORDER)}</tool_response>")
    talk.says("Shall I cancel order A10077 (not needed)?").user("Yes.")
    talk.calls("cancel_order", order_id="A10077", reason="not needed")
    rows = list(audit([written(tmp_path / "talk.jsonl", conversation(talk))], policy()))
    assert [type(row) for row in rows] == [AuditedCall]
