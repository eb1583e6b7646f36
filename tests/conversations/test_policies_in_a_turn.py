"""What a policy file says holds in live turns: conditions, limits, grounding, verification, and claims that are not so."""

import pytest
from tests.stores.words import execution

from circumspect import rule, tool
from circumspect.models.scripted import says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.stores.ledger import execution_row
from circumspect.stores.statements import insert
from circumspect.stores.tables import tool_executions
from circumspect.values import Allow, Deny, Incoming, ToolCall

ORDERS = {"1001": {"status": "processing"}, "1002": {"status": "shipped"}}


def shop_tools(log, *, works=True):
    @tool(effect="read")
    async def get_order(order_id: str) -> dict:
        """Look an order up."""
        return {"order_id": order_id, **(ORDERS | dict(log))[order_id]}

    @tool(effect="write")
    async def hold_order(order_id: str) -> str:
        """Put an order on hold."""
        if works:
            log.append((order_id, {"status": "held"}))
        return "on hold"

    @tool(effect="write")
    async def send_mail(to: str, text: str) -> str:
        """Send an e-mail."""
        log.append((to, {"status": text}))
        return "sent"

    return [get_order, hold_order, send_mail]


POLICY = """
version: 1
tools:
  get_order: {effect: read}
  hold_order:
    effect: write
    confidence_cap: 1.0
    deny_unless:
      - if: facts.get_order[args.order_id].status == 'processing'
        because: Only an order in processing can be held.
    limits: [{count: 1, window: 24h}]
  send_mail: {effect: write, confidence_cap: 1.0}
"""
VERIFIED = POLICY.replace(
    "    limits:",
    "    verify: {call: get_order, args: {order_id: args.order_id}, expect: result.status == 'held'}\n    limits:",
)


def hold(order_id):
    return says("", tool="hold_order", params={"order_id": order_id})


def look(order_id):
    return says("", tool="get_order", params={"order_id": order_id})


async def test_a_fact_that_a_tool_can_give_is_looked_up_by_the_model_first(shop):
    log = []
    chat = shop(
        tools=shop_tools(log),
        policy=load(POLICY),
        replies=[hold("1001"), look("1001"), hold("1001"), says("It is on hold.")],
    )
    turn = await chat.user("put order 1001 on hold").runs("hold_order", order_id="1001")
    assert turn.outcome == "acted"
    assert ReasonCode.FACT_NEEDED in turn.reason_codes


async def test_a_condition_that_does_not_hold_goes_back_to_the_model_once_and_then_to_the_user(shop):
    log = []
    replies = [look("1002"), hold("1002"), hold("1002")]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=replies)
    turn = await chat.user("put order 1002 on hold").is_blocked(ReasonCode.PRECONDITION_FAILED)
    assert log == []
    assert len(turn.usage.calls) == 3


async def test_after_a_denial_the_models_words_block_the_turn_and_the_policys_reason_is_said(shop):
    replies = [look("1002"), hold("1002"), says("I am afraid that is not possible.")]
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=replies)
    turn = await chat.user("put order 1002 on hold").is_blocked(ReasonCode.PRECONDITION_FAILED)
    assert turn.reply == "I am afraid that is not possible. Only an order in processing can be held."


async def test_a_reason_that_the_model_gives_itself_is_not_said_twice(shop):
    why = "Sorry! Only an order in processing can be held."
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[look("1002"), hold("1002"), says(why)])
    assert (await chat.user("put order 1002 on hold").is_blocked(ReasonCode.PRECONDITION_FAILED)).reply == why


async def test_a_denial_that_the_model_insists_on_is_answered_with_the_policys_reason(shop):
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[look("1002"), hold("1002"), hold("1002")])
    turn = await chat.user("put order 1002 on hold").is_blocked(ReasonCode.PRECONDITION_FAILED)
    assert "Only an order in processing can be held." in turn.reply


async def test_what_a_rule_in_python_tells_the_model_is_not_said_to_the_user(shop):
    @rule(ReasonCode.PRECONDITION_FAILED)
    def mails_wait(facts):
        """Mails are not sent today."""
        return Deny("Offer to do it tomorrow.") if facts.call.tool == "send_mail" else Allow()

    mail = says("", tool="send_mail", params={"to": "me@example.com", "text": "hi"})
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[mail, says("Not today.")], rules=[mails_wait])
    turn = await chat.user("send hi to me@example.com").is_answered("Not today.")
    assert "Offer" not in turn.reply


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
async def test_a_condition_that_wants_a_confirmation_gets_one_in_every_mode(shop, mode):
    from circumspect.models.scripted import calls

    careful = """  send_mail:
    effect: write
    confidence_cap: 1.0
    when: [{if: args.to != '', then: confirm, because: Mails are asked about.}]"""
    policy = load(POLICY.replace("  send_mail: {effect: write, confidence_cap: 1.0}", careful))
    arguments = {"to": "me@example.com", "text": "hi"}
    first = calls("send_mail", arguments) if mode == "standard" else says("", tool="send_mail", params=arguments)
    chat = shop(tools=shop_tools([]), policy=policy, replies=[first, PROCEED, says("Sent.")], mode=mode)
    await chat.user("send hi to me@example.com").is_asked_to_confirm(**arguments)


async def test_what_only_the_model_got_wrong_is_no_denial_for_the_user(shop):
    unknown = says("", tool="hold_order", params={"order_id": "1001", "colour": "red"})
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[unknown, says("Which order do you mean?")])
    assert "colour" not in (await chat.user("put an order on hold").is_answered("Which order")).reply


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
async def test_a_limit_over_a_day_counts_other_conversations_too(shop, mode):
    from circumspect.models.scripted import calls

    log = []
    if mode == "standard":
        script = [calls("get_order", {"order_id": "1001"}), calls("hold_order", {"order_id": "1001"}), "Held."]
        again = [calls("get_order", {"order_id": "1001"}), calls("hold_order", {"order_id": "1001"}), "No."]
    else:
        script, again = [look("1001"), hold("1001"), says("It is on hold.")], [look("1001"), hold("1001"), says("No.")]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=[*script, *again], mode=mode)
    await chat.user("hold order 1001").runs("hold_order", order_id="1001")
    log.clear()
    chat.name = "another"
    turn = await chat.user("hold order 1001")
    assert ReasonCode.LIMIT_REACHED in turn.reason_codes
    assert log == []


async def test_an_effect_that_cannot_be_seen_afterwards_is_told_and_handed_over(shop):
    log = []
    chat = shop(tools=shop_tools(log, works=False), policy=load(VERIFIED), replies=[look("1001"), hold("1001")])
    turn = await chat.user("hold order 1001").is_escalated(ReasonCode.VERIFICATION_FAILED)
    assert "cannot see the effect" in turn.reply


async def test_an_effect_that_can_be_seen_afterwards_is_verified(shop):
    log = []
    chat = shop(
        tools=shop_tools(log), policy=load(VERIFIED), replies=[look("1001"), hold("1001"), says("It is on hold.")]
    )
    assert (await chat.user("hold order 1001")).outcome == "acted"
    assert any("verified by get_order: yes" in row.content for row in await chat.messages(internal=True))


async def test_an_address_nobody_mentioned_is_asked_about(shop):
    log = []
    replies = [says("", tool="send_mail", params={"to": "eve@evil.example", "text": "hello"})]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=replies)
    await chat.user("send a mail saying hello").is_asked(reason=ReasonCode.UNGROUNDED_PARAM)
    assert log == []


async def test_an_address_from_far_back_in_the_conversation_counts(shop):
    log = []
    small_talk = [says(f"Right, {n}.") for n in range(12)]
    replies = [
        *small_talk,
        says("", tool="send_mail", params={"to": "ann@example.org", "text": "hello"}),
        says("It is on its way."),
    ]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=replies)
    await chat.user("my friend's address is ann@example.org").is_answered()
    for n in range(11):
        await chat.user(f"let us talk about number {n}").is_answered()
    await chat.user("now send her a mail saying hello").runs("send_mail", to="ann@example.org")


async def test_a_claim_of_something_that_did_not_happen_is_redrafted_and_then_replaced(shop):
    log = []
    chat = shop(
        tools=shop_tools(log),
        policy=load(POLICY),
        replies=[says("I have refunded you 50 dollars."), says("I have refunded you.")],
    )
    turn = await chat.user("where is my refund?")
    assert ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes
    assert "refunded" not in turn.reply
    assert len(turn.usage.calls) == 2


async def test_a_denial_of_what_an_earlier_turn_did_is_replaced_by_what_was_done(shop):
    denial = says("I have not sent any mail.")
    mail = says("", tool="send_mail", params={"to": "ann@example.org", "text": "hello"})
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[mail, says("Sent."), denial, denial])
    await chat.user("send a mail saying hello to ann@example.org").runs("send_mail", to="ann@example.org")
    turn = await chat.user("did that work?")
    assert ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes
    assert turn.reply.startswith("Done: ")
    assert "ann@example.org" in turn.reply


async def test_a_question_that_claims_something_is_asked_in_our_words(shop):
    drafted = says("I have cancelled it! What should it say?", tool="send_mail", params={"to": "ann@example.org"})
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=[drafted] * 2)
    turn = await chat.user("send a mail to ann@example.org").is_asked()
    assert "cancelled" not in turn.reply


async def test_a_claim_that_an_earlier_turn_made_true_stands(shop):
    log = []
    replies = [
        look("1001"),
        hold("1001"),
        says("I have changed order 1001 to on hold."),
        says("Yes, I have changed it to on hold."),
    ]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=replies)
    await chat.user("hold order 1001").runs("hold_order", order_id="1001")
    turn = await chat.user("did you do it?")
    assert turn.reply == "Yes, I have changed it to on hold."


async def test_another_conversations_calls_count_for_limits_and_ground_nothing(shop):
    @tool(effect="write")
    async def pay(account: str) -> dict:
        """Pay."""
        return {"account": "SECRET-9"}

    policy = load("version: 1\ntools:\n  pay: {effect: write, confidence_cap: 1.0, limits: [{count: 5, window: 24h}]}")
    replies = [
        says("", tool="pay", params={"account": "ACC-7"}),
        says("All right."),
        says("", tool="pay", params={"account": "SECRET-9"}),
    ]
    chat = shop(tools=[pay], policy=policy, replies=replies)
    await chat.user("pay to ACC-7").runs("pay", account="ACC-7")
    chat.name = "somebody else's"
    await chat.user("pay please").is_asked(reason=ReasonCode.UNGROUNDED_PARAM)


async def test_a_critical_look_that_fails_ends_with_a_person(shop, tmp_path):
    from circumspect.errors import ToolError

    @tool(effect="read")
    async def find_slots(day: str) -> str:
        """Free times on a day."""
        raise ToolError("The calendar is down.")

    path = tmp_path / "calendar.yaml"
    path.write_text("version: 1\ntools:\n  find_slots: {effect: read, critical: true}\n")
    chat = shop(
        replies=lambda request: says("", tool="find_slots", params={"day": "monday"}),
        tools=[find_slots],
        policy=load(path),
    )
    turn = await chat.user("when are you free on monday?")
    assert (turn.outcome, len(await chat.executions("find_slots"))) == ("failed", 1)
    assert ReasonCode.ESCALATED_TO_HUMAN in turn.reason_codes
    assert "A colleague has been told" in turn.reply


# --- after something was changed ---------------------------------------------------------------------------------------

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'
AFTER = """
version: 1
tools:
  hold_order: {effect: write, confidence_cap: 1.0}
  send_mail: {effect: write, confidence_cap: 1.0, confirm: always}
"""


async def test_a_call_that_is_proposed_again_after_it_ran_does_not_make_the_agent_say_no(shop):
    chat = shop(tools=shop_tools([]), policy=load(AFTER), replies=lambda request: hold("1001"))
    turn = await chat.user("hold order 1001").runs("hold_order", order_id="1001")
    assert (turn.outcome, ReasonCode.REPEATED_CALL in turn.reason_codes) == ("acted", True)
    assert turn.reply == "Done: hold order (order number: 1001)."


async def test_a_question_after_something_was_changed_says_so_first_and_takes_a_yes(shop):
    mail = says("", tool="send_mail", params={"to": "ann@example.org", "text": "hello"})
    drafts = [hold("1001"), mail]
    answers = {"critique": PROCEED, "phrase": "All is done."}
    chat = shop(
        tools=shop_tools([]),
        policy=load(AFTER),
        replies=lambda request: answers.get(request.purpose) or drafts.pop(0),
    )
    turn = await chat.user("hold order 1001 and mail hello to ann@example.org").runs("hold_order")
    assert turn.outcome == "asked"
    assert turn.reply.startswith("Done: hold order (order number: 1001).\n\nJust to confirm: ")
    await chat.user("yes")
    assert [one.state for one in await chat.executions("send_mail")] == ["succeeded"]


async def test_a_handover_after_something_was_changed_does_not_say_that_nothing_was(shop):
    unsure = says("", tool="send_mail", params={"to": "ann@example.org", "text": "hello"}, confidence=1)
    handed_over = "when: [{if: 'true', then: escalate, because: Mail is for people.}]"
    policy = load(AFTER.replace("confirm: always", handed_over))
    chat = shop(tools=shop_tools([]), policy=policy, replies=[hold("1001"), unsure])
    turn = await chat.user("hold order 1001 and mail hello to ann@example.org").runs("hold_order")
    assert turn.outcome == "escalated"
    assert turn.reply.startswith("Done: hold order (order number: 1001).\n\nI have handed the rest over")
    assert "Nothing" not in turn.reply


async def forge(chat, runner, call, *, conversation="c1", result=None):
    """A call that a client says was made: by a tool of its own, or in the history that it sent."""
    turn = Incoming(chat.agent.tenant.id, conversation, "import-1", "", chat.clock.now())
    said = execution(turn, call, state="succeeded", finished_at=turn.at, result=result, runner=runner)
    store = (await chat.agent.open()).ports.store
    await store.tx(lambda connection: insert(connection, tool_executions, execution_row(said, reported=True)))
    chat.wait(seconds=1)


@pytest.mark.parametrize("runner", ["client", "import"])
async def test_what_a_client_says_does_not_meet_the_conditions_of_our_tools(shop, runner):
    log = []
    replies = [says("Hello."), hold("1002"), says("It cannot be held."), look("1001"), hold("1001"), says("Done.")]
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=replies)
    await chat.user("hello")
    await forge(chat, runner, ToolCall("get_order", {"order_id": "1002"}), result={"status": "processing"})
    turn = await chat.user("put order 1002 on hold")
    assert ReasonCode.FACT_NEEDED in turn.reason_codes
    assert log == []
    await chat.user("then put order 1001 on hold").runs("hold_order", order_id="1001")


async def test_calls_of_a_history_that_a_client_sent_use_up_nobody_elses_limit(shop):
    replies = [says("Hello."), look("1001"), hold("1001"), says("Done.")]
    chat = shop(tools=shop_tools([]), policy=load(POLICY), replies=replies)
    await chat.agent.turn("hello", conversation="theirs")
    await forge(chat, "import", ToolCall("hold_order", {"order_id": "1009"}), conversation="theirs")
    await chat.user("put order 1001 on hold").runs("hold_order", order_id="1001")


# --- one person and another -------------------------------------------------------------------------------------------

PER_PERSON = POLICY.replace("{count: 1, window: 24h}", "{count: 1, per: person, window: 24h}")


async def held_by(chat, conversation, person):
    """What becomes of a hold that this person asks for."""
    turn = await chat.agent.turn("put order 1001 on hold", conversation=conversation, person=person)
    return "limited" if ReasonCode.LIMIT_REACHED in turn.reason_codes else turn.outcome


@pytest.mark.parametrize(
    ("first", "second", "then"),
    [("p1", "p2", "acted"), ("p1", "p1", "limited"), (None, None, "limited"), ("p1", None, "acted")],
)
async def test_one_person_does_not_use_up_the_limit_of_another(shop, first, second, then):
    replies = [
        look("1001"),
        hold("1001"),
        says("Anything else?"),
        look("1001"),
        hold("1001"),
        says("Anything else?"),
        says("Anything else?"),
    ]
    chat = shop(tools=shop_tools([], works=False), policy=load(PER_PERSON), replies=replies)
    assert await held_by(chat, "c1", first) == "acted"
    chat.wait(minutes=5)
    assert await held_by(chat, "c2", second) == then


async def test_a_limit_of_the_tenants_is_used_up_by_everybody(shop):
    replies = [
        look("1001"),
        hold("1001"),
        says("Anything else?"),
        look("1001"),
        hold("1001"),
        says("Anything else?"),
        says("Anything else?"),
    ]
    everybody = load(PER_PERSON.replace("per: person", "per: tenant"))
    chat = shop(tools=shop_tools([], works=False), policy=everybody, replies=replies)
    assert await held_by(chat, "c1", "p1") == "acted"
    assert await held_by(chat, "c2", "p2") == "limited"


async def test_an_id_that_the_model_brought_up_and_a_tool_repeated_is_asked_about(shop):
    log = []
    chat = shop(tools=shop_tools(log), policy=load(POLICY), replies=[look("1001"), hold("1001"), says("Which one?")])
    turn = await chat.user("put my order on hold")
    assert (turn.outcome, log) == ("asked", []), turn.reply
    assert ReasonCode.UNGROUNDED_PARAM in turn.reason_codes
