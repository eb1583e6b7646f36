"""Adaptive mode: the 31 automated tests of the plan's adaptive-mode suite, in its ten categories.

The least context and a self-assessment first; then pure policy, and further model calls only where they pay. Models
are scripted: what is tested is what code makes of what a model says.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.seed.looking import (
    counted,
    counting,
    escalations,
    intents,
    notifications,
    opinion,
    purposes,
    requests,
    thoughts,
    usage,
)

from circumspect import tool
from circumspect.errors import ModelUnavailable
from circumspect.hashing import digest
from circumspect.models.scripted import calls, says
from circumspect.policy.parsing.assessment import read
from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, ModelUsage, Plan, ToolCall

BOOKING = {
    "date": "2026-04-01",
    "time": "10:00",
    "service": "knife sharpening",
    "name": "Dana Levi",
    "phone": "+972-50-555-0101",
}
CASES = {
    "cancel_order": ("Cancel order 12345", {"order_id": "12345"}, 0.6),
    "refund": ("Refund order 12330", {"order_id": "12330"}, 0.5),
    "delete_account": ("Delete the account maya.cohen@example.com", {"email": "maya.cohen@example.com"}, 0.4),
    "book_appointment": (
        "Book knife sharpening on 2026-04-01 at 10:00 for Dana Levi, phone +972-50-555-0101",
        BOOKING,
        0.7,
    ),
    "get_order_status": ("Where is order 12345?", {"order_id": "12345"}, 0.9),
    "check_inventory": ("Do you have the moka pot?", {"product": "moka pot"}, 0.9),
}


def plays(proposal, decision="ASK_USER", after="Here is what I found."):
    """A model that proposes, has this opinion of it, and tells what came of it."""

    def reply(request):
        if request.purpose == "critique":
            return opinion(decision)
        if request.purpose == "phrase":
            return after
        return says(after) if request.messages[-1].role == "tool" else proposal

    return reply


def proposes(name, *, confidence=9, **said):
    _, params, _ = CASES[name]
    return says("One moment, please.", tool=name, params=params, confidence=confidence, **said)


class TestModeRouting:
    @pytest.mark.parametrize(("plan", "mode"), [("free", "standard"), ("pro", "adaptive"), ("enterprise", "adaptive")])
    async def test_the_mode_of_the_plan_decides_how_a_message_is_processed(self, shop, plan, mode):
        chat = shop(replies=[says("Hello!") if mode == "adaptive" else "Hello!"])
        chat.agent.tenant = replace(chat.agent.tenant, plan=Plan(plan, mode))
        turn = await chat.user("Hi").is_answered("Hello!")
        assert turn.usage.mode == mode
        assert requests(chat)[0].prompt_id.startswith(f"{mode}@")
        assert [row.mode for row in await usage(chat)] == [mode]

    async def test_an_adaptive_turn_begins_with_the_least_context(self, shop):
        """G4: name, description, hours, contact, names of tools, instructions, the last five messages."""
        chat = shop(replies=[says("Go on.") for _ in range(4)])
        for number in range(4):
            await chat.user(f"Remark {number}").is_answered()
        request, business = requests(chat)[-1], chat.agent.tenant.business
        for basic in (business.name, " ".join(business.description.split()), business.hours, business.phone):
            assert basic in request.system
        assert request.tools == ()
        for name in (await chat.agent.open()).tools:
            assert name in request.system
        assert "five digits" not in request.system
        for text in (*business.policies.values(), business.about, business.contact, business.instructions):
            assert text not in request.system
        assert [said.text for said in request.messages] == [
            "Go on.", "Remark 1", "Go on.", "Remark 2", "Go on.", "Remark 3",
        ]  # fmt: skip


class TestAssessmentParsing:
    async def test_the_block_is_cut_from_the_reply_and_kept_as_an_internal_message(self, shop):
        chat = shop(replies=[says("We open at nine.", confidence=8)])
        turn = await chat.user("When do you open?").is_answered()
        assert turn.reply == "We open at nine."
        assert [one.content for one in await chat.messages()][1] == "We open at nine."
        (kept,) = await thoughts(chat, "assessment")
        assert kept.meta["confidence"] == 0.8
        assert kept.meta["tool_call"] is None
        assert "<assessment>" in kept.content

    @pytest.mark.parametrize(("wire", "inside"), [(1, 0.1), (7, 0.7), (10, 1.0), ("8", 0.8), (42, 1.0), (-3, 0.0)])
    def test_confidence_is_one_to_ten_on_the_wire_and_nought_to_one_inside(self, wire, inside):
        visible, assessment = read(says("Certainly.", confidence=wire))
        assert (visible, assessment.confidence) == ("Certainly.", inside)
        assert assessment.readable

    async def test_a_block_that_cannot_be_read_runs_nothing(self, shop, order):
        broken = 'Right away.\n<assessment>{"confidence": 9, "tool_call": "cancel_order", "tool_params": {"order_i'
        native = ModelReply(broken, ModelUsage("scripted"), (ToolCall("cancel_order", {"order_id": "12345"}, "c"),))
        chat = shop(replies=[broken, native, native])
        turn = await chat.user("Is order 12345 all right?").is_answered()
        assert turn.reply == "Right away."
        assert ReasonCode.ASSESSMENT_UNPARSABLE in turn.reason_codes
        await chat.user("Cancel order 12345").is_blocked(ReasonCode.ASSESSMENT_UNPARSABLE)
        assert requests(chat)[2].messages[-1].text.startswith("DENIED")
        assert {one.meta["confidence"] for one in await thoughts(chat, "assessment")} == {0.1}
        assert order("12345").status == "processing"

    @pytest.mark.parametrize(("assessed", "agrees"), [("12345", True), ("12346", False), (None, False)])
    async def test_a_native_call_counts_when_the_assessment_agrees_and_is_held_when_not(self, shop, assessed, agrees):
        text = says(
            "Let me look.",
            tool="get_order_status" if assessed else None,
            params={"order_id": assessed} if assessed else {},
        )
        proposal = replace(calls("get_order_status", {"order_id": "12345"}), text=text)
        chat = shop(replies=[proposal, says("Here it is.") if agrees else proposal])
        said = chat.user("Where are orders 12345 and 12346?")
        if agrees:
            await said.runs("get_order_status", order_id="12345")
        else:
            await said.is_blocked(ReasonCode.PROPOSAL_DISAGREES)
            assert await chat.executions() == []


class TestServerSidePolicy:
    @pytest.mark.parametrize("name", CASES)
    async def test_a_shipped_cap_holds_however_sure_the_model_is(self, shop, name):
        words, _, cap = CASES[name]
        chat = shop(replies=plays(proposes(name, confidence=10)))
        turn = await chat.user(words)
        (ruled, *_) = await thoughts(chat, "policy")
        assert ruled.meta["confidence"] == cap
        assert ReasonCode.CONFIDENCE_FLOOR_APPLIED in turn.reason_codes
        assert (turn.usage.critiques == 1) == (cap < 0.7)

    async def test_a_tool_that_nobody_listed_and_that_changes_something_is_capped(self, shop):
        noted = []

        @tool(effect="write")
        def add_note(text: str) -> str:
            noted.append(text)
            return "noted"

        chat = shop(tools=[add_note], policy=None, replies=plays(says("", tool="add_note", params={"text": "blue"})))
        turn = await chat.user("Note: blue").is_asked_to_confirm(text="blue")
        (ruled,) = await thoughts(chat, "policy")
        assert ruled.meta["confidence"] == 0.6
        assert {ReasonCode.CONFIDENCE_FLOOR_APPLIED, ReasonCode.CRITIQUE_ASKED} <= set(turn.reason_codes)
        assert noted == []

    async def test_a_tenant_can_have_its_own_cap(self, shop, tmp_path):
        policy = tmp_path / "policy.yaml"
        policy.write_text(
            "version: 1\n"
            "tools:\n  get_order_status: {effect: read, confidence_cap: 0.9}\n"
            "tenants:\n  shop:\n    tools:\n      get_order_status: {confidence_cap: 0.3}\n"
        )
        chat = shop(policy=policy, replies=plays(proposes("get_order_status"), "PROCEED"))
        turn = await chat.user("Where is order 12345?").runs("get_order_status")
        (ruled,) = await thoughts(chat, "policy")
        assert ruled.meta["confidence"] == 0.3
        assert turn.usage.critiques == 1

    async def test_a_missing_parameter_is_asked_for_whatever_the_model_thinks(self, shop):
        chat = shop(replies=[says("Cancelling it.", tool="cancel_order", params={}, missing=[], confidence=10)])
        turn = await chat.user("Cancel my order").is_asked("order number", reason=ReasonCode.MISSING_PARAM)
        assert len(turn.usage.calls) == 1
        assert turn.usage.critiques == 0
        assert await intents(chat) == []

    async def test_what_the_model_itself_declares_missing_is_asked_for_too(self, shop):
        chat = shop(replies=[says("Hm.", tool="cancel_order", params={"order_id": "12345"}, missing=["order_id"])])
        turn = await chat.user("Cancel 12345 or 12346").is_asked("Which order", reason=ReasonCode.MISSING_PARAM)
        assert (turn.pending, len(turn.usage.calls)) == (None, 1)

    async def test_an_invented_tool_never_runs_and_the_user_hears_what_is_possible(self, shop):
        chat = shop(replies=[says("Voiding it.", tool="void_order", params={"order_id": "12345"}, confidence=10)])
        turn = await chat.user("Void order 12345").is_blocked(ReasonCode.TOOL_NOT_FOUND)
        assert "cancel an order" in turn.reply
        assert "Voiding" not in turn.reply
        assert len(turn.usage.calls) == 1
        (ruled,) = await thoughts(chat, "policy")
        assert (ruled.meta["tool"], ruled.reason) == ("void_order", ReasonCode.TOOL_NOT_FOUND)
        assert await chat.executions() == []


class TestCritiqueTriggering:
    @pytest.mark.parametrize("name", ["cancel_order", "refund", "delete_account"])
    async def test_a_destructive_tool_triggers_it(self, shop, name):
        chat = shop(replies=plays(proposes(name, confidence=10), "PROCEED"))
        turn = await chat.user(CASES[name][0])
        assert purposes(chat) == ["draft", "critique"]
        assert turn.usage.critiques == 1
        asked = requests(chat)[1].messages[0].text
        for part in (CASES[name][0], name, *CASES[name][1].values(), "get_order_status"):
            assert part in asked

    @pytest.mark.parametrize("name", ["get_order_status", "book_appointment"])
    async def test_low_confidence_triggers_it_and_is_recorded(self, shop, name):
        chat = shop(replies=plays(proposes(name, confidence=6)))
        turn = await chat.user(CASES[name][0]).is_asked()
        assert purposes(chat) == ["draft", "critique"]
        assert ReasonCode.LOW_CONFIDENCE in turn.reason_codes

    async def test_a_need_for_confirmation_triggers_it(self, shop):
        chat = shop(replies=plays(proposes("get_order_status", needs_confirmation=True), "PROCEED"))
        turn = await chat.user("Where is order 12345?").is_asked_to_confirm(order_id="12345")
        assert purposes(chat) == ["draft", "critique"]
        assert ReasonCode.CONFIRMATION_REQUIRED in turn.reason_codes

    async def test_a_reply_without_a_tool_does_not_trigger_it_however_unsure(self, shop):
        chat = shop(replies=[says("I am not sure, sorry.", confidence=2)])
        turn = await chat.user("Will it rain tomorrow?").is_answered()
        assert (turn.usage.critiques, purposes(chat)) == (0, ["draft"])

    @pytest.mark.parametrize("confidence", [7, 8, 10])
    async def test_a_read_only_tool_with_high_confidence_does_not_trigger_it(self, shop, confidence):
        chat = shop(replies=plays(proposes("get_order_status", confidence=confidence)))
        turn = await chat.user("Where is order 12345?").runs("get_order_status", order_id="12345")
        assert turn.usage.critiques == 0
        assert "critique" not in purposes(chat)


class TestCritiqueDecisions:
    async def test_proceed_lets_an_unsure_reading_call_run(self, shop):
        chat = shop(replies=plays(proposes("get_order_status", confidence=5), "PROCEED"))
        await chat.user("Where is order 12345?").runs("get_order_status", order_id="12345")
        (kept,) = await thoughts(chat, "critique")
        assert kept.meta["decision"] == "PROCEED"

    async def test_proceed_does_not_lift_a_missing_confirmation(self, shop, order):
        """G16"""
        chat = shop(replies=[says("How can I help?"), proposes("cancel_order", confidence=10), opinion("PROCEED")])
        await chat.user("Hi").is_answered()
        turn = await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        assert "How can I help?" in requests(chat)[-1].messages[0].text
        assert ReasonCode.DESTRUCTIVE_NO_CONFIRM in turn.reason_codes
        assert order("12345").status == "processing"

    async def test_ask_user_holds_the_call_until_a_yes(self, shop):
        chat = shop(replies=plays(proposes("book_appointment", confidence=6), "ASK_USER"))
        turn = await chat.user(CASES["book_appointment"][0]).is_asked_to_confirm(**BOOKING)
        assert ReasonCode.CRITIQUE_ASKED in turn.reason_codes
        assert (await thoughts(chat, "critique"))[0].reason is ReasonCode.CRITIQUE_ASKED
        await chat.user("yes").runs("book_appointment", **BOOKING)

    async def test_escalate_hands_over_to_a_person_and_runs_nothing(self, shop, order):
        chat = shop(replies=plays(proposes("cancel_order"), "ESCALATE"))
        turn = await chat.user("Cancel order 12345").is_escalated(ReasonCode.CRITIQUE_ESCALATED)
        assert ReasonCode.ESCALATED_TO_HUMAN in turn.reason_codes
        (row,) = await escalations(chat)
        assert (row.reason, row.state, row.turn) == (ReasonCode.CRITIQUE_ESCALATED, "open", turn.turn)
        assert "12345" in row.summary
        (note,) = await notifications(chat)
        assert (note.topic, note.payload["id"]) == ("escalation", row.id)
        assert (await intents(chat), await chat.executions()) == ([], [])
        assert order("12345").status == "processing"

    @pytest.mark.parametrize(
        ("opinions", "recovers"),
        [
            (["I would say go.", '{"decision": "MAYBE"}'], False),
            ([ModelUnavailable("timeout"), ModelUnavailable("timeout")], False),
            (["no JSON here", opinion("PROCEED")], True),
            ([ModelUnavailable("timeout"), opinion("PROCEED")], True),
        ],
    )
    async def test_one_that_fails_is_tried_once_more_and_then_handed_over(self, shop, opinions, recovers):
        script = [proposes("get_order_status", confidence=5), *opinions, says("Here it is.")]
        chat = shop(replies=script if recovers else script[:3])
        said = chat.user("Where is order 12345?")
        if recovers:
            await said.runs("get_order_status", order_id="12345")
        else:
            await said.is_escalated(ReasonCode.CRITIQUE_FAILED)
            assert [row.reason for row in await escalations(chat)] == [ReasonCode.CRITIQUE_FAILED]
            assert await chat.executions() == []
        assert purposes(chat) == ["draft", "critique", "critique", *(["draft"] if recovers else [])]


class TestConfirmation:
    async def test_a_question_stores_the_exact_call_with_its_hash_for_five_minutes(self, shop, clock):
        chat = shop(replies=plays(proposes("cancel_order")))
        turn = await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        (kept,) = await intents(chat)
        assert (kept.call.tool, kept.call.arguments["order_id"], kept.state) == ("cancel_order", "12345", "pending")
        assert kept.hash == digest({"tool": "cancel_order", "arguments": kept.call.arguments})
        assert (kept.created_at, kept.expires_at - kept.created_at) == (clock.now(), timedelta(minutes=5))
        assert kept.question == turn.reply
        assert kept.conversation == chat.name

    async def test_a_yes_runs_exactly_what_was_stored_with_no_second_assessment(self, shop, order):
        chat = shop(replies=plays(proposes("cancel_order"), after="Order 12345 is cancelled."))
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        (asked,) = await intents(chat)
        turn = await chat.user("Yes").runs("cancel_order", **asked.call.arguments)
        assert purposes(chat) == ["draft", "critique", "phrase"]
        assert ReasonCode.CONFIRMED_BY_USER in turn.reason_codes
        (ran,), (used,) = await chat.executions(), await intents(chat)
        assert (ran.intent, used.state) == (used.id, "consumed")
        assert order("12345").status == "cancelled"

    async def test_a_no_clears_the_intent_without_a_model_call(self, shop, order):
        chat = shop(replies=plays(proposes("cancel_order")))
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        turn = await chat.user("No").is_answered("12345")
        assert (turn.reason_codes, len(turn.usage.calls)) == ((ReasonCode.DENIED_BY_USER,), 0)
        assert [one.state for one in await intents(chat)] == ["denied"]
        await chat.user("Yes").is_asked(reason=ReasonCode.PENDING_INTENT_MISSING)
        assert order("12345").status == "processing"

    @pytest.mark.parametrize("case", ["missing", "expired", "mismatched"])
    async def test_a_yes_that_fits_nothing_asks_again(self, shop, order, case):
        chat = shop(replies=plays(proposes("cancel_order")))
        if case != "missing":
            await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        if case == "expired":
            chat.wait(minutes=5, seconds=1)
        who = {"principal": "somebody else"} if case == "mismatched" else {}
        code = {"missing": "MISSING", "expired": "EXPIRED", "mismatched": "MISMATCH"}[case]
        await chat.user("Yes", **who).is_asked(reason=ReasonCode(f"PENDING_INTENT_{code}"))
        assert await chat.executions() == []
        assert order("12345").status == "processing"


class TestContextFetching:
    async def test_what_the_model_asks_for_is_fetched_and_it_is_asked_again(self, shop):
        chat = shop(
            replies=[
                says("One moment.", context=["policies.returns", "tool_schema:refund"]),
                says("Within 30 days of delivery."),
            ]
        )
        turn = await chat.user("Can I return a tent?").is_answered("30 days")
        assert len(turn.usage.calls) == 2
        first, second = requests(chat)
        returns = chat.agent.tenant.business.policies["returns"]
        assert returns not in first.system
        assert returns in second.system
        blocks = {block.key: block.text for block in second.blocks}
        assert '"order_id"' in blocks["tool_schema:refund"]
        assert "policies.shipping" not in blocks
        (kept,) = await thoughts(chat, "context")
        assert kept.meta["keys"] == ["policies.returns", "tool_schema:refund"]

    async def test_after_two_rounds_everything_is_loaded_and_a_further_request_escalates(self, shop):
        keys = ("faqs", "about.full", "contact.full", "policies.terms")
        chat = shop(replies=[says("One moment.", context=[key]) for key in keys])
        turn = await chat.user("Tell me about you").is_escalated(ReasonCode.CONTEXT_LOOP_DETECTED)
        assert len(turn.usage.calls) == 4
        business = chat.agent.tenant.business
        sizes = [len(request.blocks) for request in requests(chat)]
        assert sizes[1] == sizes[0] + 1 == sizes[2] - 1
        assert all(text in requests(chat)[3].system for text in business.policies.values())
        assert business.policies["privacy"] not in requests(chat)[2].system
        (row,) = await escalations(chat)
        assert (row.reason, row.conversation) == (ReasonCode.CONTEXT_LOOP_DETECTED, chat.name)
        assert ReasonCode.CONTEXT_LOOP_DETECTED in {one.reason for one in await thoughts(chat, "context")}


class TestUsageTracking:
    async def test_reasoning_metrics_and_the_tokens_of_all_calls_are_counted(self, shop):
        chat = shop(
            replies=[
                counting(says("One moment.", context=["policies.returns"]), 600, 50, 0.002),
                counting(proposes("refund"), 800, 60, 0.003),
                counting(opinion("ESCALATE"), 500, 40, 0.001),
            ]
        )
        chat.agent.tenant = replace(chat.agent.tenant, plan=Plan("gold", "adaptive", multiplier=1.5))
        turn = await chat.user("Refund order 12330").is_escalated(ReasonCode.CRITIQUE_ESCALATED)
        (row,) = await usage(chat)
        assert (row.mode, row.messages, row.model_calls) == ("adaptive", 1, 3)
        assert (row.critiques, row.context_fetches, row.escalations) == (1, 1, 1)
        assert (row.input_tokens, row.output_tokens) == (1900, 150)
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1900, 150)
        assert row.cost == pytest.approx(0.006)
        assert row.billed == pytest.approx(0.009)


class TestReasonCodes:
    async def test_every_step_is_stored_with_the_code_that_explains_it(self, shop):
        """G20"""
        chat = shop(replies=plays(proposes("cancel_order", confidence=5), after="Order 12345 is cancelled."))
        asked = await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        acted = await chat.user("Yes").runs("cancel_order")
        stored = {(one.kind, one.reason) for one in await thoughts(chat)}
        assert {
            ("policy", ReasonCode.DESTRUCTIVE_NO_CONFIRM),
            ("critique", ReasonCode.CRITIQUE_ASKED),
            ("intent", ReasonCode.CONFIRMED_BY_USER),
            ("tool", ReasonCode.EXECUTED_SUCCESSFULLY),
        } <= stored
        assert {ReasonCode.DESTRUCTIVE_NO_CONFIRM, ReasonCode.LOW_CONFIDENCE} <= set(asked.reason_codes)
        assert acted.reason_codes == (ReasonCode.CONFIRMED_BY_USER, ReasonCode.EXECUTED_SUCCESSFULLY)
        (ran,) = await chat.executions()
        assert (ran.reason, ran.state, bool(ran.key)) == (ReasonCode.EXECUTED_SUCCESSFULLY, "succeeded", True)
        said = [one for one in await chat.messages() if one.role == "assistant"]
        assert [one.meta["reason_codes"] for one in said] == [list(asked.reason_codes), list(acted.reason_codes)]


class TestPerformance:
    async def test_model_calls_are_spent_only_where_they_are_needed(self, chat):
        async def spent(*messages):
            chat.name = messages[0]
            return [len((await chat.user(text)).usage.calls) for text in messages]

        assert await spent("Hello!") == [1]
        assert await spent("What are your opening hours?") == [1]
        assert await spent("What is your return policy?") == [2]
        assert await spent("Where is order 12345?") == [2]
        assert await spent("Cancel my order", "Order 12346", "Yes, cancel it") == [1, 2, 1]
        assert await spent("Cancel order 12347", "no") == [2, 0]
        assert await spent("Yes") == [0]


def test_the_list_is_complete():
    found = counted(globals())
    assert found == {
        "TestModeRouting": 2,
        "TestAssessmentParsing": 4,
        "TestServerSidePolicy": 6,
        "TestCritiqueTriggering": 5,
        "TestCritiqueDecisions": 5,
        "TestConfirmation": 4,
        "TestContextFetching": 2,
        "TestUsageTracking": 1,
        "TestReasonCodes": 1,
        "TestPerformance": 1,
    }
    assert sum(found.values()) == 31
