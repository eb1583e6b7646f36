"""Standard mode: the 12 automated tests of the plan's standard-mode suite, in its six categories.

One call with everything, tools run when they exist and their arguments validate; no assessment, confirmation or
critique. Models are scripted where only a language model could show the behaviour.
"""

import pytest
from tests.seed.looking import counted, counting, escalations, intents, purposes, requests, store_of, thoughts, usage

from circumspect.errors import ModelUnavailable
from circumspect.language import catalogue
from circumspect.models.scripted import calls
from circumspect.reasons import ReasonCode
from circumspect.values import Plan


class TestModeRoutingAndConfiguration:
    async def test_a_plan_is_standard_unless_it_says_otherwise_and_free_is_shipped_so(self, chat):
        shipped = {plan.name: plan.mode for plan in await (await store_of(chat)).plans()}
        assert Plan("any").mode == "standard"
        assert shipped == {"free": "standard", "pro": "adaptive", "enterprise": "adaptive"}

    async def test_a_tenant_follows_its_plan_and_no_conversation_can_override_it(self, shop):
        standard = shop(mode="standard")
        turn = await standard.user("Please use adaptive mode. What are your opening hours?").is_answered()
        assert turn.usage.mode == "standard"
        assert await thoughts(standard, "assessment") == []
        upgraded = shop(mode="adaptive")
        upgraded.name = "after"
        turn = await upgraded.user("And now?")
        assert turn.usage.mode == "adaptive"
        assert len(await thoughts(upgraded, "assessment")) >= 1


class TestUsageTracking:
    async def test_a_message_counts_once_as_standard_with_its_tokens_and_cost(self, shop):
        chat = shop(mode="standard", replies=[counting("Hello!", 2000, 200, 0.009)])
        await chat.user("Hi").is_answered()
        (row,) = await usage(chat)
        assert (row.mode, row.period, row.model, row.messages, row.model_calls) == (
            "standard",
            "2026-03",
            "counted",
            1,
            1,
        )
        assert (row.input_tokens, row.output_tokens, row.cost, row.billed) == (2000, 200, 0.009, 0.009)

    async def test_all_calls_of_a_turn_are_summed_and_no_reasoning_metric_is_counted(self, shop):
        looked_up = counting(calls("get_order_status", {"order_id": "12345"}), 2000, 30, 0.007)
        chat = shop(mode="standard", replies=[looked_up, counting("It is being prepared.", 2300, 20, 0.008)])
        await chat.user("Where is order 12345?").is_answered()
        (row,) = await usage(chat)
        assert (row.messages, row.model_calls, row.input_tokens, row.output_tokens) == (1, 2, 4300, 50)
        assert row.cost == pytest.approx(0.015)
        assert (row.critiques, row.context_fetches, row.escalations) == (0, 0, 0)


class TestMessageProcessingWithoutTools:
    async def test_a_greeting_is_answered_in_one_call_and_runs_nothing(self, shop):
        chat = shop(mode="standard")
        turn = await chat.user("Hello!").is_answered("Kestrel & Kettle")
        assert len(turn.usage.calls) == 1
        assert turn.reason_codes == ()
        assert await chat.executions() == []

    async def test_both_sides_are_stored_visibly_and_what_the_model_said_internally(self, shop):
        chat = shop(mode="standard", replies=["We are open until seven."])
        await chat.user("How long are you open?").is_answered()
        assert [(one.role, one.content) for one in await chat.messages()] == [
            ("user", "How long are you open?"),
            ("assistant", "We are open until seven."),
        ]
        assert [one.kind for one in await thoughts(chat)] == ["model"]


class TestToolCallHandling:
    async def test_a_proposed_tool_runs_at_once_and_its_result_goes_back_to_be_phrased(self, shop):
        chat = shop(
            mode="standard", replies=[calls("get_order_status", {"order_id": "12345"}), "It is being prepared."]
        )
        turn = await chat.user("Where is order 12345?").runs("get_order_status", order_id="12345")
        assert turn.reply == "It is being prepared."
        (ran,) = await chat.executions()
        assert ran.reason is ReasonCode.EXECUTED_SUCCESSFULLY
        assert ran.result["status"] == "processing"
        told = requests(chat)[1].messages[-1]
        assert (told.role, told.tool, told.call_id) == ("tool", "get_order_status", "call_1")
        assert '"status":"processing"' in told.text

    async def test_a_destructive_tool_is_confirmed_without_critique(self, shop, order):
        proposal = calls("cancel_order", {"order_id": "12345"})
        chat = shop(mode="standard", replies=[proposal, "Order 12345 is cancelled.", "Anything else?"])
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        assert order("12345").status == "processing"
        turn = await chat.user("Yes").runs("cancel_order", order_id="12345")
        assert turn.outcome == "acted"
        assert order("12345").status == "cancelled"
        await chat.user("Yes").is_answered("Anything else?")
        assert purposes(chat) == ["draft", "phrase", "draft"]
        assert [one.state for one in await intents(chat)] == ["consumed"]

    @pytest.mark.parametrize(
        ("proposal", "outcome", "reason"),
        [
            (calls("cancelPurchase", {"order_id": "12345"}), "blocked", ReasonCode.TOOL_NOT_FOUND),
            (calls("cancel_order", {}), "asked", ReasonCode.MISSING_PARAM),
            (calls("cancel_order", {"order_id": "the last one"}), "asked", ReasonCode.INVALID_PARAM),
        ],
    )
    async def test_an_unknown_tool_or_arguments_that_do_not_validate_never_run(
        self, shop, order, proposal, outcome, reason
    ):
        chat = shop(mode="standard", replies=[proposal])
        turn = await chat.user("Cancel the last one, order 12345")
        assert (turn.outcome, turn.reason_codes[0]) == (outcome, reason)
        assert await chat.executions() == []
        assert order("12345").status == "processing"


class TestContextManagement:
    async def test_the_one_call_carries_all_business_info_all_schemas_and_the_history(self, shop):
        chat = shop(mode="standard", replies=[*("Good question." for _ in range(4)), "That was four."])
        for number in range(4):
            await chat.user(f"Question {number}").is_answered()
        await chat.user("How many was that?").is_answered()
        request = requests(chat)[-1]
        business = chat.agent.tenant.business
        for text in (*business.policies.values(), business.about, business.contact, business.instructions):
            assert text in request.system
        assert all(faq.answer in request.system for faq in business.faqs)
        assert {tool.name for tool in request.tools} == {*(await chat.agent.open()).tools}
        assert len(request.tools) == 9
        assert all(tool.properties and tool.description for tool in request.tools)
        assert len(request.messages) == 9
        assert request.messages[0].text == "Question 0"


class TestErrorHandlingAndPerformance:
    @pytest.mark.parametrize(
        ("language", "words"),
        [("en", "Where is order 12345?"), ("he", "איפה הזמנה 12345?"), ("ru", "Где заказ 12345?")],
    )
    async def test_a_model_that_fails_leaves_an_apology_and_a_record_and_no_trace(self, shop, language, words):
        chat = shop(mode="standard", replies=[ModelUnavailable("Connection reset by 10.0.0.7.", fix="Try later.")])
        turn = await chat.user(words)
        assert (turn.outcome, turn.reply) == ("failed", catalogue.say(language, "failed-model"))
        assert turn.reason_codes == (ReasonCode.MODEL_FAILED,)
        assert [one.content for one in await chat.messages()] == [words, turn.reply]
        (noted,) = await thoughts(chat)
        assert (noted.kind, noted.reason) == ("notice", ReasonCode.MODEL_FAILED)
        assert await escalations(chat) == []

    async def test_a_message_costs_one_call_and_one_more_only_after_a_tool(self, shop):
        chat = shop(mode="standard")
        asked = ("Hello!", "Do you deliver abroad?", "Where is order 12345?", "Cancel my order")
        numbers = [len((await chat.user(text)).usage.calls) for text in asked[:3]]
        assert numbers == [1, 1, 2]
        fresh = shop(mode="standard")
        fresh.name = "c2"
        assert len((await fresh.user(asked[3])).usage.calls) == 1


def test_the_list_is_complete():
    found = counted(globals())
    assert found == {
        "TestModeRoutingAndConfiguration": 2,
        "TestUsageTracking": 2,
        "TestMessageProcessingWithoutTools": 2,
        "TestToolCallHandling": 3,
        "TestContextManagement": 1,
        "TestErrorHandlingAndPerformance": 2,
    }
    assert sum(found.values()) == 12
