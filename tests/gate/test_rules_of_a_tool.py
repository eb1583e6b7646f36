"""Which rules a gate asks about a tool: those that can say anything of it, and every one of the caller's own."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect import Gate
from circumspect.audit.rulebook import can_speak
from circumspect.policy import rules as rules_of_policy
from circumspect.policy.facts import Facts
from circumspect.policy.judge import rule
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.load import open_policy
from circumspect.policy.rules import RULES_FOR_FOREIGN_CALLS
from circumspect.reasons import ReasonCode
from circumspect.values import Allow, Deny, History, PastCall, ToolCall, ToolSpec, Utterance

NOW = datetime(2026, 3, 31, tzinfo=UTC)
TOOLS = ("cancel_order", "send_money", "add_note", "get_order", "exchange_item", "frobnicate")
SECTIONS = (
    {},
    {"effect": "read"},
    {"effect": "write"},
    {"effect": "destructive"},
    {"effect": "write", "confirm": "never"},
    {"effect": "write", "confirm": "always"},
    {"effect": "destructive", "confirm": "four_eyes"},
    {"effect": "write", "requires": ["look"]},
    {"effect": "write", "limits": [{"count": 1, "per": "order_id"}]},
    {"effect": "write", "when": [{"if": "args.amount > 5", "then": "confirm", "because": "It is much."}]},
    {"effect": "write", "when": [{"if": "args.amount > 5", "then": "four_eyes", "because": "It is much."}]},
    {"effect": "write", "deny_unless": [{"if": "args.amount < 5", "because": "It is much."}]},
)
SAID = (
    "cancel order A-771",
    "how do I cancel A-771?",
    "no wait, forget it",
    "send 90 to Ann",
    "maybe I should cancel it all",
    "",
)


@given(
    st.sampled_from(TOOLS),
    st.sampled_from(SECTIONS),
    st.sampled_from([None, "read", "write", "destructive"]),
    st.lists(st.sampled_from(SAID), max_size=3),
    st.dictionaries(
        st.sampled_from(["order_id", "amount"]), st.sampled_from(["A-771", "B-812", 9, 90, ""]), max_size=2
    ),
    st.booleans(),
)
def test_a_rule_that_is_left_out_for_a_tool_would_have_said_nothing(tool, section, declared, said, given, known):
    spec = ToolSpec(
        tool,
        parameters={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
        if declared
        else {},
        effect=declared,
    )
    policy = open_policy({"version": 1, "tools": {tool: section}} if section else {"version": 1}, None).of(tool, None)
    effect = effect_of(spec, policy)
    past = PastCall(ToolCall("look", {}), [{"id": "A-771"}, {"id": "B-812"}], True, True, 0)
    events = (past, *(Utterance("user", text, at) for at, text in enumerate(said, 1)))
    facts = Facts(
        ToolCall(tool, given), spec if known else None, policy, effect if known else effect_of(None, policy),
        "adaptive", NOW, words=said[-1] if said else "", session=History(events),
    )  # fmt: skip
    for one in RULES_FOR_FOREIGN_CALLS:
        if not can_speak(one, facts.spec, policy, facts.effect):
            assert isinstance(one.check(facts), Allow), one.name


async def test_a_rule_of_the_callers_is_asked_whatever_it_is_called(policy):
    @rule(ReasonCode.LIMIT_REACHED)
    def limits_are_kept(facts):
        """Nobody writes notes on a Monday."""
        return Deny("not today")

    async with Gate(policy, rules=[limits_are_kept]) as gate:
        ruling = await gate.rule(ToolCall("add_note", {"text": "hi"}), conversation="c1")
    assert ruling.verdict == "deny", "the policy has no limit for this tool, and the rule is not about it"


async def test_what_the_user_wants_is_worked_out_once_though_three_rules_ask(policy, monkeypatch):
    asked = []

    def count(*given):
        asked.append(given)
        return found(*given)

    found = rules_of_policy.find_standing
    monkeypatch.setattr(rules_of_policy, "find_standing", count)
    talk = [{"role": "user", "content": "please add a note that I called"}]
    async with Gate(policy) as gate:
        for text in ("called", "has called"):
            await gate.rule(ToolCall("add_note", {"text": text}), messages=talk, conversation="c1")
    assert len(asked) == 1, "nothing was said between the two calls either"


@pytest.mark.parametrize("more", [{"role": "user", "content": "no wait, forget the note"}])
async def test_what_is_said_between_two_calls_is_heard(policy, more):
    talk = [{"role": "user", "content": "please send a note that I called"}]
    async with Gate(policy) as gate:
        first = await gate.rule(ToolCall("add_note", {"text": "called"}), messages=talk, conversation="c1")
        again = await gate.rule(ToolCall("add_note", {"text": "Called!"}), messages=[*talk, more], conversation="c1")
    assert ReasonCode.WISH_TAKEN_BACK not in first.reason_codes
    assert ReasonCode.WISH_TAKEN_BACK in again.reason_codes
