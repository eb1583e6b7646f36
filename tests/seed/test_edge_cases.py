"""Edge cases: the 42 automated tests of the plan's edge-case suite, in its eleven categories.

What a careful reader would try to break: the hash a yes is bound to, the words that count as a wish or a yes, broken
assessments, invented tools, stale questions, two workers at once.
"""

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.seed.looking import (
    counted,
    escalations,
    intents,
    opinion,
    purposes,
    requests,
    store_of,
    thoughts,
    usage,
)

from circumspect import tool
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.language import catalogue
from circumspect.language.wishes import implies_destruction
from circumspect.language.yes_no import classify
from circumspect.models.scripted import says
from circumspect.policy.keys.tool_policy import ToolPolicy, cap_of
from circumspect.policy.load import load
from circumspect.policy.parsing.assessment import UNREADABLE, read
from circumspect.policy.policy_file import Policy
from circumspect.profiles import ADAPTIVE
from circumspect.reasons import ReasonCode
from circumspect.values import LANGUAGES, Business, ToolCall

WISH = "Please handle order 12345 for maya.cohen@example.com"
BOOKING = {
    "date": "2026-04-01",
    "time": "10:00",
    "service": "knife sharpening",
    "name": "Dana Levi",
    "phone": "+972-50-555-0101",
}


def plays(proposal, decision="PROCEED"):
    """A model that proposes (again, when denied), has this opinion of it, and then tells that it is all there."""

    def reply(request):
        if request.purpose == "critique":
            return opinion(decision)
        last = request.messages[-1]
        done = request.purpose == "phrase" or (last.role == "tool" and not last.text.startswith("DENIED"))
        return says("That is all I can see.") if done else proposal

    return reply


def asks_for(name, params, **said):
    return plays(says("One moment.", tool=name, params=params, **said))


def block(inside, before="Certainly."):
    return f"{before}\n<assessment>{inside}</assessment>"


class TestIntentHashing:
    def test_the_same_call_has_the_same_hash_in_every_process(self):
        call = ToolCall("cancel_order", {"order_id": "12345"})
        assert call.hash == "796ff7a49bfbadf0b129023bbce01349f263aa0d27d99d9beb7c9f8bdde07e0c"
        assert ToolCall("cancel_order", {"order_id": "12345"}, id="call_7").hash == call.hash

    def test_the_order_of_parameters_does_not_matter(self):
        one = ToolCall("refund", {"order_id": "12330", "amount": 10, "why": {"a": [1, 2], "b": None}})
        other = ToolCall("refund", {"why": {"b": None, "a": [1, 2]}, "amount": 10, "order_id": "12330"})
        assert one.hash == other.hash

    @pytest.mark.parametrize(
        "other",
        [
            ToolCall("refunds", {"amount": 1}),
            ToolCall("refund", {"amount": 2}),
            ToolCall("refund", {"amount": "1"}),
            ToolCall("refund", {"amount": 1.0}),
            ToolCall("refund", {"amount": True}),
            ToolCall("refund", {"amount": [1]}),
            ToolCall("refund", {"Amount": 1}),
            ToolCall("refund", {"amount": 1, "note": None}),
            ToolCall("refund", {}),
        ],
        ids=lambda call: f"{call.tool}{dict(call.arguments)}",
    )
    def test_any_other_difference_makes_another_hash(self, other):
        assert other.hash != ToolCall("refund", {"amount": 1}).hash

    async def test_a_stored_call_that_no_longer_fits_its_hash_is_asked_about_again(self, chat, order):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        changed = sa.text("UPDATE intents SET call = replace(call, '12345', '12346')")
        await (await store_of(chat)).tx(lambda connection: connection.execute(changed).rowcount)
        turn = await chat.user("Yes").is_asked("12346", reason=ReasonCode.PENDING_INTENT_MISMATCH)
        assert turn.pending.call.arguments["order_id"] == "12346"
        assert await chat.executions() == []
        assert {order("12345").status, order("12346").status} == {"processing"}


class TestContextFetching:
    async def test_every_key_gives_exactly_its_own_text(self, shop):
        chat = shop(replies=[says("One moment.")])
        business = chat.agent.tenant.business
        texts = {
            **{f"policies.{name}": business.policies[name] for name in ("returns", "shipping", "privacy", "terms")},
            "faqs": business.faqs[-1].answer,
            "ai_instructions": business.instructions,
            "contact.full": business.contact,
            "about.full": business.about,
            "tool_schema:refund": '"name":"refund"',
        }
        chat = shop(replies=[says("One moment.", context=list(texts)), says("I have read it all.")])
        await chat.user("Tell me everything").is_answered()
        blocks = {one.key: one.text for one in requests(chat)[1].blocks}
        for key, text in texts.items():
            assert text in blocks[key]
            assert [text in found for found in blocks.values()].count(True) == 1

    async def test_a_key_with_nothing_in_it_is_answered_as_such_and_recorded(self, shop):
        keys = ["policies.returns", "faqs", "ai_instructions", "contact.full", "about.full"]
        chat = shop(
            business=Business("A bare shop"), replies=[says("One moment.", context=keys), says("I cannot say.")]
        )
        turn = await chat.user("Can I return things?").is_answered()
        blocks = {one.key: one.text for one in requests(chat)[1].blocks}
        assert {blocks[key] for key in keys} == {"(there is nothing under this key)"}
        kept = [one for one in await thoughts(chat, "context") if one.reason]
        assert [(one.content, one.reason) for one in kept] == [(key, ReasonCode.CONTEXT_KEY_EMPTY) for key in keys]
        assert ReasonCode.CONTEXT_KEY_EMPTY in turn.reason_codes

    @pytest.mark.parametrize("wanted", ["[]", '[""]', '["  "]', "null", '""', '"none"'])
    async def test_a_request_for_no_key_at_all_costs_no_round(self, shop, wanted):
        reply = block(f'{{"confidence": 9, "tool_call": null, "needs_more_context": {wanted}}}', "We open at nine.")
        chat = shop(replies=[reply])
        turn = await chat.user("When do you open?").is_answered("nine")
        assert (turn.usage.context_rounds, len(turn.usage.calls)) == (0, 1)
        assert [row.context_fetches for row in await usage(chat)] == [0]

    async def test_a_key_that_does_not_exist_is_answered_as_such_and_recorded(self, shop):
        keys = ["policies.secret", "POLICIES.RETURNS", "policies", "tool_schema:void_order", "__class__", "../faqs"]
        chat = shop(replies=[says("One moment.", context=keys), says("I cannot say.")])
        await chat.user("What is the secret?").is_answered()
        blocks = {one.key: one.text for one in requests(chat)[1].blocks}
        assert {blocks[key] for key in keys} == {"(there is nothing under this key)"}
        kept = [one for one in await thoughts(chat, "context") if one.reason]
        assert [(one.content, one.reason) for one in kept] == [(key, ReasonCode.CONTEXT_KEY_UNKNOWN) for key in keys]

    async def test_asking_for_the_same_key_for_ever_ends_the_turn_but_not_the_conversation(self, shop):
        chat = shop(replies=[*(says("One moment.", context=["faqs"]) for _ in range(4)), says("Hello again.")])
        turn = await chat.user("Do you wrap gifts?").is_escalated(ReasonCode.CONTEXT_LOOP_DETECTED)
        assert len(turn.usage.calls) == 4
        assert [row.reason for row in await escalations(chat)] == [ReasonCode.CONTEXT_LOOP_DETECTED]
        turn = await chat.user("Hello?").is_answered("Hello again.")
        assert turn.usage.context_rounds == 0


class TestToolPolicies:
    @pytest.mark.parametrize(
        ("name", "params"),
        [
            ("cancel_order", {"order_id": "12345"}),
            ("refund", {"order_id": "12345"}),
            ("delete_account", {"email": "maya.cohen@example.com"}),
        ],
    )
    async def test_destructive_tools_are_known_and_always_confirmed(self, shop, name, params):
        chat = shop(replies=asks_for(name, params, confidence=10))
        turn = await chat.user(WISH).is_asked_to_confirm(**params)
        (ruled,) = await thoughts(chat, "policy")
        assert (ruled.meta["effect"], ruled.meta["verdict"]) == ("destructive", "confirm")
        assert ReasonCode.DESTRUCTIVE_NO_CONFIRM in turn.reason_codes

    @pytest.mark.parametrize(
        ("name", "params"),
        [
            ("get_order_status", {"order_id": "12345"}),
            ("list_orders", {"email": "maya.cohen@example.com"}),
            ("check_inventory", {"product": "moka pot"}),
            ("list_free_slots", {"date": "2026-04-01", "service": "boot fitting"}),
        ],
    )
    async def test_read_only_tools_are_known_and_run_without_a_question(self, shop, name, params):
        chat = shop(replies=asks_for(name, params))
        await chat.user(f"{WISH}: {', '.join(params.values())}").runs(name, **params)
        (ran,) = await chat.executions()
        assert ran.effect == "read"
        assert await intents(chat) == []

    def test_the_confidence_floors_are_the_shipped_ones_and_a_file_can_change_them(self):
        shipped = {
            "cancel_order": 0.6,
            "refund": 0.5,
            "delete_account": 0.4,
            "book_appointment": 0.7,
            "get_order_status": 0.9,
            "check_inventory": 0.9,
        }
        policy = load(DIRECTORY / "policy.yaml")
        assert {name: cap_of("destructive", policy.of(name, None)) for name in shipped} == shipped
        assert (cap_of("write", None), cap_of("destructive", None)) == (0.6, 0.6)
        assert cap_of("read", None) == 1.0
        assert cap_of("destructive", ToolPolicy(confidence_cap=0.2)) == 0.2

    @pytest.mark.parametrize(
        ("declared", "filed", "outcome", "reason"),
        [
            (None, None, "blocked", ReasonCode.TOOL_NOT_COVERED),
            ("read", "destructive", "asked", ReasonCode.DESTRUCTIVE_NO_CONFIRM),
            ("destructive", "read", "asked", ReasonCode.DESTRUCTIVE_NO_CONFIRM),
            ("destructive", None, "asked", ReasonCode.DESTRUCTIVE_NO_CONFIRM),
        ],
    )
    async def test_the_stricter_of_author_and_file_says_what_a_tool_is_and_silence_is_a_no(
        self, shop, declared, filed, outcome, reason
    ):
        pruned = []

        @tool(effect=declared)
        def prune(tree: str) -> str:
            pruned.append(tree)
            return "pruned"

        policy = Policy(tools={"prune": ToolPolicy(effect=filed)} if filed else {})
        chat = shop(tools=[prune], policy=policy, replies=asks_for("prune", {"tree": "fig"}))
        turn = await chat.user("Prune the fig")
        assert (turn.outcome, reason in turn.reason_codes) == (outcome, True)
        assert pruned == []


class TestDestructiveIntentDetection:
    @pytest.mark.parametrize(
        "text",
        [
            "I don't want this order anymore",
            "I do not want order 12345 any more",
            "i dont want it",
            "Please get rid of order 12345",
            "Remove order 12345",
            "Can you undo that booking?",
            "I want a refund",
        ],
    )
    async def test_english_phrases_that_imply_it_are_noticed(self, shop, order, text):
        assert implies_destruction(text)
        chat = shop(replies=asks_for("cancel_order", {"order_id": "12345"}))
        turn = await chat.user(f"{text} (12345)").is_asked_to_confirm(order_id="12345")
        assert ReasonCode.IMPLIED_DESTRUCTIVE_INTENT in turn.reason_codes
        assert order("12345").status == "processing"

    @pytest.mark.parametrize(
        "text",
        [
            "אני לא רוצה את ההזמנה הזאת יותר",
            "תבטל את ההזמנה",
            "תסיר את ההזמנה שלי",
            "בטל הזמנה 12345",
            "מחק את החשבון שלי",
            "החזר לי את הכסף",
            "Я больше не хочу этот заказ",
            "Мне этот заказ уже не нужен",
            "Уберите этот заказ",
            "Верните мне деньги",
        ],
    )
    def test_hebrew_and_russian_phrases_that_imply_it_are_noticed(self, text):
        assert implies_destruction(text)

    @pytest.mark.parametrize("confirm", [None, "when_implied"])
    async def test_such_words_hold_even_a_tool_that_only_writes(self, shop, confirm):
        """G13; a setting that is left out of the policy file is not a loosening."""
        closed = []

        @tool(effect="write")
        def close_ticket(number: str) -> str:
            closed.append(number)
            return "closed"

        policy = Policy(tools={"close_ticket": ToolPolicy(effect="write", confidence_cap=0.9, confirm=confirm)})
        chat = shop(tools=[close_ticket], policy=policy, replies=asks_for("close_ticket", {"number": "77"}))
        turn = await chat.user("I don't want ticket 77 anymore")
        assert (turn.outcome, closed) == ("asked", [])
        assert ReasonCode.IMPLIED_DESTRUCTIVE_INTENT in turn.reason_codes
        await chat.user("Yes").runs("close_ticket", number="77")

    @pytest.mark.parametrize(
        "text",
        [
            "Where is my order?",
            "I want to order a tent",
            "What are your opening hours?",
            "Do you have the kettle in stock?",
            "Book knife sharpening for tomorrow at ten",
            "איפה ההזמנה שלי?",
            "אני רוצה להזמין אוהל",
            "מה שעות הפתיחה?",
            "Где мой заказ?",
            "Я хочу заказать палатку",
        ],
    )
    def test_ordinary_messages_are_no_false_positives(self, text):
        assert not implies_destruction(text)


class TestConfirmationDetection:
    @pytest.mark.parametrize(
        "text",
        ["yes", "Yes, cancel it", "yes please", "ok", "okay", "confirm", "confirmed", "sure", "go ahead", "do it"],
    )
    def test_english_phrases_confirm(self, text):
        assert classify(text, values={"12345"}) == "confirm"

    @pytest.mark.parametrize("text", ["כן", "כן, תבטל", "בסדר", "אישור", "מאשר", "מאשרת", "בצע", "המשך", "בטח"])
    def test_hebrew_phrases_confirm(self, text):
        assert classify(text, values={"12345"}) == "confirm"

    @pytest.mark.parametrize("text", ["YES", "yEs", " Yes! ", "yes.", "OK", "Confirm", "Да", "ДА", "да, отменяйте"])
    async def test_case_and_punctuation_do_not_matter(self, chat, order, text):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        await chat.user(text).runs("cancel_order", order_id="12345")
        assert order("12345").status == "cancelled"

    @pytest.mark.parametrize(
        "text",
        [
            "Yes but order 99999",
            "yes, and also refund 12330",
            'My friend said "yes"',
            "yes?",
            "yes, if it is free of charge",
            "not yes",
            "yesterday",
            "כן אבל הזמנה 99999",
            "да, но заказ 99999",
            "yes no",
        ],
    )
    async def test_what_only_looks_like_a_yes_runs_nothing(self, chat, order, text):
        """G18"""
        assert classify(text, values={"12345"}) != "confirm"
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        await chat.user(text)
        assert await chat.executions("cancel_order") == []
        assert order("12345").status == "processing"


class TestReasonCodes:
    """The codes of the plan, each in its category and with a meaning in every language we speak."""

    @staticmethod
    def has(category, *names):
        for name in names:
            code = ReasonCode(name)
            assert code.category == category
            meanings = {catalogue.meaning(code, language) for language in LANGUAGES}
            assert len(meanings) == len(LANGUAGES)
            assert not any(name in meaning or not meaning.strip() for meaning in meanings)
        return {str(code) for code in ReasonCode if code.category == category}

    def test_success_codes(self):
        assert self.has("success", "EXECUTED_SUCCESSFULLY") >= {
            "EXECUTED_SUCCESSFULLY",
            "CONFIRMED_BY_USER",
            "DENIED_BY_USER",
        }

    def test_blocked_codes(self):
        self.has(
            "blocked",
            "MISSING_PARAM",
            "INVALID_PARAM",
            "DESTRUCTIVE_NO_CONFIRM",
            "LOW_CONFIDENCE",
            "TOOL_NOT_FOUND",
            "TOOL_NOT_CONFIGURED",
            "CONFIDENCE_FLOOR_APPLIED",
        )

    def test_edge_case_codes(self):
        self.has(
            "edge",
            "CONTEXT_LOOP_DETECTED",
            "PENDING_INTENT_MISSING",
            "PENDING_INTENT_EXPIRED",
            "PENDING_INTENT_MISMATCH",
            "IMPLIED_DESTRUCTIVE_INTENT",
            "ASSESSMENT_UNPARSABLE",
        )

    def test_system_codes(self):
        self.has("system", "CRITIQUE_FAILED", "ESCALATED_TO_HUMAN", "MODEL_FAILED", "TOOL_FAILED", "STORE_FAILED")


class TestStaleIntents:
    @pytest.mark.parametrize(
        ("seconds", "alive"), [(0, True), (299, True), (300, False), (301, False), (86_400, False)]
    )
    async def test_a_question_lives_for_five_minutes(self, chat, order, seconds, alive):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        chat.wait(seconds=seconds)
        if alive:
            await chat.user("Yes").runs("cancel_order", order_id="12345")
        else:
            await chat.user("Yes").is_asked("12345", reason=ReasonCode.PENDING_INTENT_EXPIRED)
        assert order("12345").status == ("cancelled" if alive else "processing")

    async def test_how_long_it_lives_can_be_configured(self, shop):
        chat = shop(profiles={"adaptive": replace(ADAPTIVE, confirm_seconds=60)})
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        chat.wait(seconds=61)
        await chat.user("Yes").is_asked(reason=ReasonCode.PENDING_INTENT_EXPIRED)
        chat.wait(seconds=59)
        await chat.user("Yes").runs("cancel_order", order_id="12345")

    async def test_a_newer_question_replaces_an_older_one_for_good(self, chat, order):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        chat.wait(seconds=1)
        await chat.user("Cancel order 12346").is_asked_to_confirm(order_id="12346")
        assert [one.state for one in await intents(chat)] == ["superseded", "pending"]
        await chat.user("Yes").runs("cancel_order", order_id="12346")
        await chat.user("Yes")
        assert sorted(one.state for one in await intents(chat)) == ["consumed", "superseded"]
        assert (order("12345").status, order("12346").status) == ("processing", "cancelled")


class TestAssessmentParsing:
    @pytest.mark.parametrize(
        "text",
        [
            block('{"confidence": 9, "tool_call": "cancel_order", "tool_params": {"order_id": "12345"'),
            'Certainly.\n<assessment>{"confidence": 9, "tool_call": "cancel_order", "tool_params": {"order_id": "123',
            block("confidence high, tool cancel_order"),
            block('{"confidence": 9, "tool_call": "cancel_order", "tool_params": ["12345"]}'),
            block('{"confidence": 9, "tool_call": {"name": "cancel_order"}}'),
            block("[1, 2, 3]"),
            block(""),
        ],
    )
    def test_malformed_json_is_the_most_careful_assessment_and_stays_hidden(self, text):
        visible, assessment = read(text)
        assert assessment == UNREADABLE
        assert (assessment.confidence, assessment.tool_call) == (0.1, None)
        assert visible == "Certainly."

    async def test_a_missing_block_is_the_most_careful_assessment(self, shop):
        chat = shop(replies=["We open at nine."])
        turn = await chat.user("When do you open?").is_answered("We open at nine.")
        assert ReasonCode.ASSESSMENT_UNPARSABLE in turn.reason_codes
        (kept,) = await thoughts(chat, "assessment")
        assert (kept.reason, kept.meta["confidence"]) == (ReasonCode.ASSESSMENT_UNPARSABLE, 0.1)

    @pytest.mark.parametrize(
        "inside",
        [
            '{"confidence": 8, // how sure\n"tool_call": "refund", /* exact */ "tool_params": {"order_id": "12330"}}',
            '{"confidence": 8, "tool_call": "refund", "tool_params": {"order_id": "12330",},}',
            "{'confidence': 8, 'tool_call': 'refund', 'tool_params': {'order_id': '12330'}}",
            '```json\n{"confidence": 8, "tool_call": "refund", "tool_params": {"order_id": "12330"}}\n```',
            '{"confidence": "8", "tool_call": "refund", "tool_params": {"order_id": "12330"}}',
        ],
        ids=["comments", "commas", "quotes", "fences", "numbers"],
    )
    def test_javascript_comments_and_other_habits_of_models_are_read_all_the_same(self, inside):
        visible, assessment = read(block(inside))
        assert visible == "Certainly."
        assert (assessment.confidence, assessment.tool_call) == (0.8, "refund")
        assert assessment.tool_params == {"order_id": "12330"}
        assert assessment.readable

    def test_of_two_blocks_the_stricter_reading_holds(self):
        one = '{"confidence": 9, "tool_call": "refund", "tool_params": {"order_id": "12330"}, "is_destructive": true}'
        other = '{"confidence": 4, "tool_call": "refund", "tool_params": {"order_id": "12330"}}'
        visible, assessment = read(block(one) + "\n" + block(other, ""))
        assert (visible, assessment.confidence, assessment.is_destructive) == ("Certainly.", 0.4, True)
        different = other.replace("12330", "12331")
        assert read(block(one) + "\n" + block(different, ""))[1] == UNREADABLE

    @pytest.mark.parametrize("value", ["סכין שף", "шеф-нож"])
    async def test_hebrew_or_russian_values_are_read_with_a_warning(self, shop, value):
        chat = shop(replies=asks_for("check_inventory", {"product": value}))
        turn = await chat.user(f"Do you have {value}?").runs("check_inventory", product=value)
        assert ReasonCode.ASSESSMENT_NOT_ENGLISH in turn.reason_codes
        assert (await thoughts(chat, "assessment"))[0].reason is ReasonCode.ASSESSMENT_NOT_ENGLISH


class TestToolHallucination:
    async def rejects(self, shop, name, order, **changes):
        chat = shop(replies=[says("Doing it.", tool=name, params={"order_id": "12345"}, confidence=10)])
        chat.agent.tenant = replace(chat.agent.tenant, **changes)
        turn = await chat.user("Cancel order 12345").is_blocked(ReasonCode.TOOL_NOT_FOUND)
        assert (turn.pending, purposes(chat)) == (None, ["draft"])
        assert [(one.meta["tool"], one.reason) for one in await thoughts(chat, "policy")] == [
            (name, ReasonCode.TOOL_NOT_FOUND)
        ]
        assert (await chat.executions(), await intents(chat)) == ([], [])
        assert order("12345").status == "processing"

    @pytest.mark.parametrize(
        ("name", "enabled"),
        [("cancelPurchase", None), ("void_order", None), ("cancel_order", frozenset({"get_order_status"}))],
    )
    async def test_a_tool_that_does_not_exist_for_this_tenant_is_rejected(self, shop, order, name, enabled):
        await self.rejects(shop, name, order, tools=enabled)

    @pytest.mark.parametrize("name", ["Cancel_Order", "CANCEL_ORDER", "cancel_Order"])
    async def test_a_tool_in_another_case_is_rejected(self, shop, order, name):
        await self.rejects(shop, name, order)

    @pytest.mark.parametrize("name", ["cancel_oder", "cancel-order", "cancelorder", "cancel_orders", "cancel_order "])
    async def test_a_tool_with_a_typo_is_rejected_and_never_guessed(self, shop, order, name):
        await self.rejects(shop, name, order)


class TestConcurrentRequests:
    async def test_two_workers_that_both_see_a_yes_run_the_tool_once(self, shop, order):
        """G19"""
        one, other = shop(), shop()
        await one.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        turns = await asyncio.gather(
            *(chat.agent.turn("yes", conversation=one.name) for chat in (one, other, one, other))
        )
        assert [turn.outcome for turn in turns].count("acted") == 1
        assert [one.state for one in await one.executions("cancel_order")] == ["succeeded"]
        assert [one.state for one in await intents(one)] == ["consumed"]
        assert order("12345").status == "cancelled"

    async def test_a_message_delivered_twice_under_one_key_is_answered_once(self, shop):
        one, other = shop(), shop()
        await one.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        first, second = await asyncio.gather(
            *(chat.agent.turn("yes", conversation=one.name, key="delivery-1") for chat in (one, other))
        )
        assert first.outcome == "acted"
        assert first.to_json() == second.to_json()
        assert len(await one.executions("cancel_order")) == 1
        assert [said.content for said in await one.messages() if said.role == "user"] == ["Cancel order 12345", "yes"]

    async def test_messages_of_one_conversation_wait_for_each_other(self, shop):
        workers = shop(), shop()
        orders = [str(12343 + number) for number in range(6)]
        turns = await asyncio.gather(
            *(
                workers[number % 2].agent.turn(f"Where is order {order_id}?", conversation="c1")
                for number, order_id in enumerate(orders)
            )
        )
        for order_id, turn in zip(orders, turns, strict=True):
            assert order_id in turn.reply
        rows = await workers[0].messages(internal=True)
        assert [row.seq for row in rows] == list(range(len(rows)))
        changes = [
            row.turn for before, row in zip([None, *rows], rows, strict=False) if not before or before.turn != row.turn
        ]
        assert sorted(changes) == sorted(turn.turn for turn in turns)
        assert len(await workers[0].executions("get_order_status")) == len(orders)


class TestParameterValidation:
    @pytest.mark.parametrize("params", [{}, {"order_id": None}, {"order_id": ""}, {"order_id": "   "}])
    async def test_a_missing_required_parameter_is_asked_for(self, shop, params):
        chat = shop(replies=asks_for("cancel_order", params, confidence=10))
        turn = await chat.user("Cancel my order").is_asked("order number", reason=ReasonCode.MISSING_PARAM)
        assert purposes(chat) == ["draft"]
        assert turn.pending is None
        assert ReasonCode.INVALID_PARAM not in turn.reason_codes

    @pytest.mark.parametrize(("given", "refunded"), [({}, "all"), ({"amount": None}, "all"), ({"amount": 10}, 1000)])
    async def test_an_optional_parameter_may_be_left_out_and_takes_its_default(self, shop, order, given, refunded):
        chat = shop(replies=asks_for("refund", {"order_id": "12330", **given}))
        turn = await chat.user("Refund 10 shekels of order 12330").is_asked_to_confirm(order_id="12330")
        assert turn.pending.call.arguments == {"order_id": "12330", "amount": given.get("amount"), "reason": ""}
        await chat.user("Yes").runs("refund", **turn.pending.call.arguments)
        assert order("12330").refunded == (order("12330").total if refunded == "all" else refunded)

    @pytest.mark.parametrize(
        ("name", "params", "field"),
        [
            ("cancel_order", {"order_id": "12-45"}, "order number"),
            ("refund", {"order_id": "12330", "amount": "ten"}, "amount"),
            ("refund", {"order_id": "12330", "amount": -5}, "amount"),
            ("delete_account", {"email": "maya at example"}, "e-mail"),
            ("book_appointment", {**BOOKING, "date": "2026-02-30"}, "date"),
            ("book_appointment", {**BOOKING, "time": "25:00"}, "time"),
            ("book_appointment", {**BOOKING, "phone": "call me"}, "phone"),
            ("book_appointment", {**BOOKING, "service": "haircut"}, "knife sharpening"),
        ],
    )
    async def test_a_parameter_of_the_wrong_type_or_format_is_asked_about(self, shop, name, params, field):
        chat = shop(replies=asks_for(name, params, confidence=10))
        words = " ".join(str(value) for value in params.values())
        turn = await chat.user(f"Please: {words}").is_asked(field, reason=ReasonCode.INVALID_PARAM)
        assert (turn.pending, purposes(chat)) == (None, ["draft"])
        assert await chat.executions() == []


def test_the_list_is_complete():
    found = counted(globals())
    assert found == {
        "TestIntentHashing": 4,
        "TestContextFetching": 5,
        "TestToolPolicies": 4,
        "TestDestructiveIntentDetection": 4,
        "TestConfirmationDetection": 4,
        "TestReasonCodes": 4,
        "TestStaleIntents": 3,
        "TestAssessmentParsing": 5,
        "TestToolHallucination": 3,
        "TestConcurrentRequests": 3,
        "TestParameterValidation": 3,
    }
    assert sum(found.values()) == 42
