"""People in a conversation: a colleague approves, changes or declines a call; a person takes over and hands back."""

from __future__ import annotations

import pytest
from tests.seed.looking import usage

from circumspect import tool
from circumspect.models.scripted import says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.approvals import get_approval
from circumspect.stores import action_log, people
from circumspect.values import TurnId

POLICY = """
version: 1
tools:
  wire:
    effect: destructive
    confirm: four_eyes
    deny_unless:
      - if: args.amount <= 1000
        because: Nobody wires more than 1000.
"""


@pytest.fixture
async def bank(shop, tmp_path):
    sent = []

    @tool(effect="destructive", phrases={"en": "wire {amount} to {account}"})
    async def wire(account: str, amount: int) -> str:
        """Send money."""
        sent.append((account, amount))
        return "sent"

    path = tmp_path / "bank.yaml"
    path.write_text(POLICY)
    policy = load(path, specs={"wire": wire.spec})
    call = says("", tool="wire", params={"account": "DE77", "amount": 500})
    second = '{"decision": "PROCEED", "reasoning": "as asked"}'
    replies = lambda request: second if request.purpose == "critique" else call  # noqa: E731
    conversation = shop(replies=replies, tools=[wire], policy=policy)
    conversation.sent, conversation.path, conversation.wire = sent, path, wire
    return conversation


async def waiting(bank):
    turn = await bank.user("wire 500 to DE77").is_escalated(ReasonCode.APPROVAL_REQUIRED)
    assert turn.pending.kind == "approval"
    assert bank.sent == []
    return turn.pending.id


async def decide(bank, intent, decision, by="dora", **options):
    return await bank.agent.decide(intent, decision, by=by, conversation=bank.name, **options)


async def test_what_a_colleague_approves_runs_once_and_the_user_is_told(bank):
    intent = await waiting(bank)
    turn = await decide(bank, intent, "approve")
    assert (turn.outcome, bank.sent) == ("acted", [("DE77", 500)])
    assert ReasonCode.APPROVED_BY_COLLEAGUE in turn.reason_codes
    said = await bank.messages()
    assert (said[-1].role, "wire 500 to DE77" in said[-1].content) == ("assistant", True)
    again = await decide(bank, intent, "approve")
    assert (again.outcome, again.reply, bank.sent) == ("asked", "", [("DE77", 500)])
    assert ReasonCode.PENDING_INTENT_MISSING in again.reason_codes


async def test_what_a_colleague_decides_is_in_the_log_as_soon_as_it_is_recorded(bank):
    """Whoever runs the turn: the line comes with the record itself. Who is too late settles nothing, and is not in it."""
    intent = await waiting(bank)
    done = await decide(bank, intent, "approve")
    said = await bank.messages()
    late = await decide(bank, intent, "deny", by="eli")
    assert (late.late, late.outcome, await bank.messages()) == (True, "asked", said)
    store = (await bank.agent.open()).ports.store
    logged = {row.operator: row for row in await store.tx(action_log.list_actions, subject=intent)}
    assert logged.keys() == {"dora"}
    assert (logged["dora"].action, logged["dora"].tenant) == ("approve", bank.agent.tenant.id)
    assert logged["dora"].detail == {"tool": "wire", "outcome": "acted", "turn": done.turn}
    assert (await store.tx(get_approval, None, intent)).settled_by == "dora"


async def test_a_change_that_the_rules_hold_is_in_the_log_as_refused(bank):
    intent = await waiting(bank)
    turn = await decide(bank, intent, "edit", arguments={"account": "DE77", "amount": 5000})
    assert (turn.outcome, turn.pending, bank.sent) == ("blocked", None, [])
    store = (await bank.agent.open()).ports.store
    (logged,) = await store.tx(action_log.list_actions, subject=intent)
    assert (logged.action, logged.result) == ("edit", "refused")


async def test_what_users_decide_for_themselves_is_not_in_the_log(chat):
    asked = await chat.user("cancel order 12345")
    store = (await chat.agent.open()).ports.store
    done = await chat.agent.decide(asked.pending.id, "approve", by="user", conversation=chat.name)
    assert done.outcome == "acted"
    assert await store.tx(action_log.list_actions) == []


async def test_the_users_own_yes_is_no_approval(bank):
    await waiting(bank)
    await bank.user("yes, do it")
    assert bank.sent == []


async def test_what_a_colleague_declines_is_gone_and_the_user_is_told(bank):
    intent = await waiting(bank)
    turn = await decide(bank, intent, "deny")
    assert ReasonCode.DENIED_BY_COLLEAGUE in turn.reason_codes
    assert "declined" in turn.reply
    assert (await decide(bank, intent, "approve")).outcome == "asked"
    assert bank.sent == []


async def test_an_edit_is_ruled_on_again_and_waits_for_an_approval_of_its_own(bank):
    intent = await waiting(bank)
    turn = await decide(bank, intent, "edit", arguments={"account": "DE77", "amount": 50})
    assert turn.pending.call.arguments == {"account": "DE77", "amount": 50}
    assert (turn.reply, bank.sent) == ("", [])
    assert (await decide(bank, intent, "approve")).outcome == "asked", "the unedited call is superseded"
    assert (await decide(bank, turn.pending.id, "approve", by="eli")).outcome == "acted"
    assert bank.sent == [("DE77", 50)]


async def test_whoever_changed_a_call_does_not_approve_it_nor_any_later_version(bank):
    first = await waiting(bank)
    second = await decide(bank, first, "edit", arguments={"account": "DE99", "amount": 999})
    own = await decide(bank, second.pending.id, "approve")
    assert (own.outcome, bank.sent) == ("asked", [])
    assert ReasonCode.APPROVER_REFUSED in own.reason_codes
    third = await decide(bank, second.pending.id, "edit", by="eli", arguments={"account": "DE99", "amount": 998})
    for who in ("dora", "eli", "command line: dora"):
        await decide(bank, third.pending.id, "approve", by=who)
    assert bank.sent == []
    assert (await decide(bank, third.pending.id, "approve", by="finn")).outcome == "acted"
    assert bank.sent == [("DE99", 998)]


async def test_whoever_asked_for_a_call_does_not_approve_it(bank):
    """Neither who spoke last nor who spoke earlier, under whatever account, and not the user either."""
    await bank.agent.turn("hello", conversation=bank.name, account="eli")
    asked = await bank.agent.turn("wire 500 to DE77", conversation=bank.name, principal="anna", account="dora")
    for who in ("anna", "dora", "eli", "command line: dora", ""):
        turn = await decide(bank, asked.pending.id, "approve", by=who)
        assert ReasonCode.APPROVER_REFUSED in turn.reason_codes, who
    assert bank.sent == []
    assert (await decide(bank, asked.pending.id, "approve", by="finn")).outcome == "acted"


async def test_an_end_user_is_no_colleague_whatever_name_they_sign_with(bank):
    asked = await bank.agent.turn("wire 500 to DE77", conversation=bank.name, person="anna")
    for options in ({"by": "anna", "person": "anna"}, {"by": "dora", "person": "mallory"}, {"by": "user"}):
        turn = await decide(bank, asked.pending.id, "approve", **options)
        assert ReasonCode.APPROVER_REFUSED in turn.reason_codes, options
    assert bank.sent == []


async def test_who_proposed_it_and_changed_it_is_kept_when_it_is_asked_for_again(bank):
    asked = await bank.agent.turn("wire 500 to DE77", conversation=bank.name, account="gil")
    edited = await decide(bank, asked.pending.id, "edit", arguments={"account": "DE77", "amount": 50})
    bank.wait(days=8)
    again = await decide(bank, edited.pending.id, "approve", by="eli")
    assert ReasonCode.PENDING_INTENT_EXPIRED in again.reason_codes
    for who in ("gil", "dora"):
        await decide(bank, again.pending.id, "approve", by=who)
    assert bank.sent == []
    assert (await decide(bank, again.pending.id, "approve", by="eli")).outcome == "acted", "eli only looked at it"


@pytest.mark.parametrize(("line", "outcome"), [("", "asked"), ("    keys_approve: true\n", "acted")])
async def test_an_api_key_approves_only_where_the_policy_says_so(bank, shop, line, outcome):
    bank.path.write_text(POLICY.replace("    deny_unless", f"{line}    deny_unless"))
    call = says("", tool="wire", params={"account": "DE77", "amount": 500})
    second = '{"decision": "PROCEED", "reasoning": "as asked"}'
    replies = lambda request: second if request.purpose == "critique" else call  # noqa: E731
    policy = load(bank.path, specs={"wire": bank.wire.spec})
    desk = shop(replies=replies, tools=[bank.wire], policy=policy)
    asked = await desk.agent.turn("wire 500 to DE77", conversation=desk.name, account="key:till")
    own = await decide(desk, asked.pending.id, "approve", by="key:till")
    assert (own.outcome, bank.sent) == ("asked", []), "a key that proposed it never approves it"
    assert (await decide(desk, asked.pending.id, "approve", by="key:office")).outcome == outcome
    assert bank.sent == [("DE77", 500)] * (outcome == "acted")


async def test_an_operator_who_was_switched_off_approves_nothing(bank):
    intent = await waiting(bank)
    store = (await bank.agent.open()).ports.store
    await store.tx(access.add_operator, OperatorRow("op1", "dora", "operator", None, 0.0), "hash")
    await store.tx(access.set_disabled, "op1", 1.0)
    for who in ("dora", "command line: dora"):
        assert ReasonCode.APPROVER_REFUSED in (await decide(bank, intent, "approve", by=who)).reason_codes
    await store.tx(access.set_disabled, "op1", None)
    assert (await decide(bank, intent, "approve")).outcome == "acted"


async def test_a_refused_approver_leaves_the_call_waiting_for_another(bank):
    intent = (await bank.agent.turn("wire 500 to DE77", conversation=bank.name, account="dora")).pending.id
    await decide(bank, intent, "approve")
    store = (await bank.agent.open()).ports.store
    row = await store.tx(get_approval, None, intent)
    assert (row.intent.state, row.settled_by) == ("pending", None)
    assert (row.intent.proposed_by, row.intent.edited_by) == (("user", "dora"), ())
    turn = await decide(bank, intent, "deny")
    assert ReasonCode.DENIED_BY_COLLEAGUE in turn.reason_codes, "anybody may turn it down"


@pytest.mark.parametrize(
    "arguments", [{"account": "DE77", "amount": 5000}, {"account": "DE77"}, {"account": 7, "amount": "much"}]
)
async def test_an_edit_that_breaks_a_rule_changes_nothing(bank, arguments):
    intent = await waiting(bank)
    turn = await decide(bank, intent, "edit", arguments=arguments)
    assert (turn.outcome, turn.reply, turn.pending) == ("blocked", "", None)
    assert (await decide(bank, intent, "approve")).outcome == "acted"
    assert bank.sent == [("DE77", 500)]


async def test_an_approval_that_comes_after_a_week_is_asked_for_again(bank):
    intent = await waiting(bank)
    bank.wait(days=8)
    turn = await decide(bank, intent, "approve")
    assert bank.sent == []
    assert ReasonCode.PENDING_INTENT_EXPIRED in turn.reason_codes
    assert (await decide(bank, turn.pending.id, "approve")).outcome == "acted"


async def test_an_approval_given_under_another_policy_is_asked_for_again(bank, shop):
    intent = await waiting(bank)
    bank.path.write_text(POLICY.replace("1000", "700"))
    later = shop(replies=[], tools=[bank.wire], policy=load(bank.path, specs={"wire": bank.wire.spec}))
    turn = await decide(later, intent, "approve")
    assert (bank.sent, turn.pending.kind) == ([], "approval")
    assert ReasonCode.PENDING_INTENT_MISMATCH in turn.reason_codes
    await decide(later, turn.pending.id, "approve")
    assert bank.sent == [("DE77", 500)]


async def test_somebody_elses_button_confirms_nothing(chat):
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    other = await chat.agent.decide(turn.pending.id, "approve", by="mallory", conversation="c1", principal="mallory")
    assert ReasonCode.PENDING_INTENT_MISMATCH in other.reason_codes
    assert await chat.executions("cancel_order") == []


async def test_a_button_confirms_exactly_once(chat):
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    done = await chat.agent.decide(turn.pending.id, "approve", by="user", conversation="c1")
    assert done.outcome == "acted"
    await chat.agent.decide(turn.pending.id, "approve", by="user", conversation="c1")
    assert len(await chat.executions("cancel_order")) == 1


async def test_an_intent_of_another_conversation_cannot_be_decided_here(chat):
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    done = await chat.agent.decide(turn.pending.id, "approve", by="user", conversation="c2")
    assert done.outcome == "asked"
    assert await chat.executions("cancel_order") == []


async def test_while_a_person_has_the_conversation_the_agent_keeps_quiet(chat):
    await chat.user("hello")
    store = (await chat.agent.open()).ports.store
    tenant = chat.agent.tenant.id
    await store.tx(people.pause, None, tenant, "c1", "dora")
    first = await chat.user("cancel order 12345").is_escalated(ReasonCode.WITH_A_PERSON)
    assert "colleague" in first.reply
    await store.tx(people.person_says, None, tenant, "c1", "dora", "Dora here.", TurnId("t"), chat.clock.now())
    second = await chat.user("are you there?").is_escalated(ReasonCode.WITH_A_PERSON)
    assert second.reply == ""
    assert [one.content for one in await chat.messages()][-2:] == ["Dora here.", "are you there?"]
    await store.tx(people.hand_back, None, tenant, "c1", "dora")
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")


async def test_a_yes_after_a_persons_words_is_not_taken_for_the_agents_question(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    store = (await chat.agent.open()).ports.store
    tenant = chat.agent.tenant.id
    await store.tx(people.pause, None, tenant, "c1", "dora")
    await store.tx(
        people.person_says, None, tenant, "c1", "dora", "Shall I send you a coupon?", TurnId("t"), chat.clock.now()
    )
    await store.tx(people.hand_back, None, tenant, "c1", "dora")
    await chat.user("yes")
    assert await chat.executions("cancel_order") == []


async def test_what_a_colleague_decides_is_no_message_of_the_customers(bank):
    intent = await waiting(bank)
    before = sum(row.messages for row in await usage(bank))
    await decide(bank, intent, "approve")
    assert bank.sent == [("DE77", 500)]
    assert sum(row.messages for row in await usage(bank)) == before == 1
