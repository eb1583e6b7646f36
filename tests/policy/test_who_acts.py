"""Who must act on a held call: the model looks something up, the user answers, a colleague decides, or nobody."""

from __future__ import annotations

from tests.policy.policy_talk import facts, ran, ruled, spec

from circumspect.policy.judge import judge
from circumspect.policy.preconditions import PRECONDITION_RULES
from circumspect.policy.rules import required_arguments_are_present
from circumspect.policy.who_acts import PlainVerdict, is_redo, to_plain_verdict
from circumspect.values import Allow, Ask, Confirm, Deny, Escalate, RuleFinding, ToolCall, Verdict, strictest

CANCEL = ToolCall("cancel_booking", {"booking_id": "B1"})
POLICY = """
version: 1
facts:
  get_booking: {key: booking_id}
tools:
  get_booking: {effect: read}
  check_pin: {effect: read}
  cancel_booking:
    effect: write
    requires: [{call: check_pin, where: call.result.right}]
    deny_unless:
      - if: facts.get_booking[args.booking_id].status == 'open'
        because: It is closed.
"""
PIN, WRONG_PIN = ran("check_pin", {"right": True}), ran("check_pin", {"right": False})
OPEN = ran("get_booking", {"status": "open"}, booking_id="B1")
CLOSED = ran("get_booking", {"status": "closed"}, booking_id="B1")
GONE = ran("get_booking", "Error: not found", ok=False, booking_id="B1")


def word(*verdicts: Verdict) -> PlainVerdict:
    return to_plain_verdict(strictest(verdicts), [RuleFinding(f"rule {at}", one) for at, one in enumerate(verdicts)])


def test_a_call_that_only_misses_a_look_up_is_done_again() -> None:
    assert to_plain_verdict(*ruled(POLICY, CANCEL)) == "redo"
    assert to_plain_verdict(*ruled(POLICY, CANCEL, PIN)) == "redo"
    assert to_plain_verdict(*ruled(POLICY, CANCEL, OPEN)) == "redo"
    assert to_plain_verdict(*ruled(POLICY, CANCEL, PIN, OPEN)) == "allow"


def test_what_was_looked_up_and_speaks_against_the_call_denies_it() -> None:
    assert to_plain_verdict(*ruled(POLICY, CANCEL, PIN, CLOSED)) == "deny"
    assert to_plain_verdict(*ruled(POLICY, CANCEL, CLOSED)) == "deny"
    assert to_plain_verdict(*ruled(POLICY, CANCEL, WRONG_PIN, OPEN)) == "deny"


def test_a_look_up_that_gave_nothing_is_not_sent_for_again() -> None:
    assert to_plain_verdict(*ruled(POLICY, CANCEL, PIN, GONE)) == "deny"


def test_people_are_asked_once_the_look_up_is_done() -> None:
    missing = Deny("Look it up.", look_up=True)
    assert word(missing, Confirm()) == word(missing, Escalate()) == word(missing, Ask(missing=("day",))) == "redo"


def test_a_value_that_nobody_gave_is_not_mended_by_looking_it_up() -> None:
    assert word(Deny("Look it up.", look_up=True), Ask(invalid={"order_id": "ungrounded:77"})) == "deny"


def test_every_other_verdict_says_who_is_asked() -> None:
    assert word(Allow()) == "allow"
    assert word(Confirm()) == word(Ask(missing=("day",))) == "ask"
    assert word(Confirm(by="colleague")) == word(Escalate()) == "escalate"
    assert word(Deny("No.")) == "deny"
    assert not is_redo(Confirm(), ())


def test_of_a_value_that_is_not_there_the_user_is_asked_not_the_tools() -> None:
    tool = spec("cancel_booking", {"booking_id": "string"})
    rules = (*PRECONDITION_RULES, required_arguments_are_present)
    known = facts(POLICY, ToolCall("cancel_booking", {}), PIN, spec=tool)
    assert judge(known, rules)[0] == Ask(missing=("booking_id",))
    assert to_plain_verdict(*judge(known, rules)) == "ask"
