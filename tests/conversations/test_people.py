"""People in a conversation: a colleague approves, changes or declines a call; a person takes over and hands back."""

from __future__ import annotations

import pytest

from circumspect import tool
from circumspect.models.scripted import says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
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
    """Whoever runs the turn: the line comes with the record itself. Who is too late settles nothing, and is in it too."""
    intent = await waiting(bank)
    done = await decide(bank, intent, "approve")
    late = await decide(bank, intent, "deny", by="eli")
    store = (await bank.agent.open()).ports.store
    logged = {row.operator: row for row in await store.tx(action_log.list_actions, subject=intent)}
    assert logged.keys() == {"dora", "eli"}
    assert (logged["dora"].action, logged["dora"].tenant) == ("approve", bank.agent.tenant.id)
    assert logged["dora"].detail == {"tool": "wire", "outcome": "acted", "turn": done.turn}
    assert (logged["eli"].action, logged["eli"].detail["outcome"]) == ("deny", late.outcome)
    assert (await store.tx(get_approval, None, intent)).settled_by == "dora"


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
    assert (await decide(bank, turn.pending.id, "approve")).outcome == "acted"
    assert bank.sent == [("DE77", 50)]


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
