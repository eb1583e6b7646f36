"""The plan's manual test cases, 33 of them, played end to end by the machine.

Its eight categories name 26 scenarios; the seven of its first list by hand, which are played through the command line,
make 33. The offline model plays where it can show the behaviour, a scripted one where only a language model could.
"""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.conftest import NOON
from tests.patience import PATIENCE
from tests.seed.looking import (
    counted,
    escalations,
    intents,
    notifications,
    opinion,
    purposes,
    store_of,
    thoughts,
    usage,
)

from circumspect import tool
from circumspect.demo.samples.shop_backend import Backend
from circumspect.errors import ModelUnavailable
from circumspect.language import catalogue
from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode

COMMAND = Path(sys.executable).with_name("circumspect")


def chats(folder, *lines, tenant="shop", options=("--json",), **environment):
    """`circumspect chat`, one line a message: what it printed."""
    done = subprocess.run(
        [COMMAND, "chat", "--tenant", tenant, "--model", "offline", "--at", NOON.isoformat(), *options,
         "--database", f"sqlite:///{folder}/circumspect.db"],
        input="\n".join(lines) + "\n", capture_output=True, encoding="utf-8", timeout=PATIENCE, cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200", **environment},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def turns(folder, *lines, **options):
    return [json.loads(line) for line in chats(folder, *lines, **options).splitlines()]


def ran(folder, turn):
    """The calls of one turn, as the command's own database has them."""
    database = sqlite3.connect(folder / "circumspect.db")
    try:
        query = "SELECT tool, state, reason_code FROM tool_executions WHERE turn = ?"
        return database.execute(query, (turn["turn_id"],)).fetchall()
    finally:
        database.close()


class TestStandardMode:
    async def test_a_simple_greeting(self, shop):
        chat = shop(mode="standard")
        turn = await chat.user("Hello").is_answered("Kestrel & Kettle")
        assert (turn.usage.mode, len(turn.usage.calls)) == ("standard", 1)

    async def test_a_frequent_question(self, shop):
        chat = shop(mode="standard")
        turn = await chat.user("How do I look after cast iron?").is_answered("No dishwasher")
        assert (len(turn.usage.calls), turn.usage.context_rounds) == (1, 0)

    async def test_a_tool_call(self, shop):
        chat = shop(mode="standard")
        turn = await chat.user("Where is order 12345?").runs("get_order_status", order_id="12345")
        assert "12345" in turn.reply
        assert len(turn.usage.calls) == 2

    async def test_a_destructive_action_is_confirmed_and_needs_no_second_opinion(self, shop, order):
        chat = shop(mode="standard")
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        assert order("12345").status == "processing"
        await chat.user("yes").runs("cancel_order", order_id="12345")
        assert order("12345").status == "cancelled"
        assert [one.kind for one in await thoughts(chat) if one.kind in ("assessment", "critique")] == []


class TestAdaptiveBasicFlows:
    async def test_a_simple_greeting_skips_critique(self, chat):
        turn = await chat.user("Hello").is_answered("Kestrel & Kettle")
        assert (len(turn.usage.calls), turn.usage.critiques, turn.reason_codes) == (1, 0, ())
        assert [one.kind for one in await thoughts(chat)] == ["assessment"]

    async def test_a_frequent_question_starts_from_the_minimal_context(self, chat):
        turn = await chat.user("How do I look after cast iron?").is_answered("No dishwasher")
        fetched = [key for one in await thoughts(chat, "context") for key in one.meta["keys"]]
        assert "faqs" in fetched
        assert "policies.privacy" not in fetched
        assert 1 <= turn.usage.context_rounds <= 2
        assert turn.usage.critiques == 0

    async def test_a_read_only_tool_with_high_confidence_runs_directly(self, chat):
        turn = await chat.user("Where is order 12345?").runs("get_order_status", order_id="12345")
        assert (turn.usage.critiques, turn.pending) == (0, None)
        (kept, *_) = await thoughts(chat, "assessment")
        assert kept.meta["confidence"] >= 0.7


class TestAdaptiveDestructiveActions:
    async def test_it_asks_first_and_the_yes_matches_the_pending_intent(self, chat, order):
        turn = await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        assert turn.usage.critiques == 1
        assert order("12345").status == "processing"
        await chat.user("Yes").runs("cancel_order", order_id="12345")
        assert [one.state for one in await intents(chat)] == ["consumed"]
        assert order("12345").status == "cancelled"

    async def test_with_missing_parameters_it_asks_for_them_before_it_asks_for_a_yes(self, chat, order):
        turn = await chat.user("Cancel my order").is_asked("order number", reason=ReasonCode.MISSING_PARAM)
        assert (turn.pending, turn.usage.critiques) == (None, 0)
        await chat.user("Order 12345").is_asked_to_confirm(order_id="12345")
        turn = await chat.user("Yes, cancel it").runs("cancel_order", order_id="12345")
        assert "12345" in turn.reply
        assert len(await chat.executions("cancel_order")) == 1
        assert order("12345").status == "cancelled"

    async def test_a_wish_that_is_only_implied_is_confirmed(self, chat, order):
        turn = await chat.user("I don't want order 12345 anymore").is_asked_to_confirm(order_id="12345")
        assert ReasonCode.IMPLIED_DESTRUCTIVE_INTENT in turn.reason_codes
        assert order("12345").status == "processing"


class TestEdgeCases:
    async def test_a_yes_after_the_intent_expired_asks_again(self, chat, order):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        chat.wait(minutes=6)
        await chat.user("Yes").is_asked("12345", reason=ReasonCode.PENDING_INTENT_EXPIRED)
        assert order("12345").status == "processing"
        await chat.user("Yes").runs("cancel_order", order_id="12345")

    async def test_a_yes_after_the_arguments_changed_is_for_the_new_ones(self, chat, order):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        await chat.user("Sorry, I meant 12346").is_asked_to_confirm(order_id="12346")
        await chat.user("Yes").runs("cancel_order", order_id="12346")
        assert (order("12345").status, order("12346").status) == ("processing", "cancelled")

    async def test_a_tool_whose_integration_is_not_set_up_is_declined_kindly(self, shop):
        sent = []

        @tool(effect="write", configured=False)
        def send_sms(text: str) -> str:
            sent.append(text)
            return "sent"

        @tool(effect="read")
        def read_news() -> str:
            return "no news"

        chat = shop(
            tools=[send_sms, read_news], policy=None, replies=[says("Sending.", tool="send_sms", params={"text": "hi"})]
        )
        turn = await chat.user("Send an SMS: hi").is_blocked(ReasonCode.TOOL_NOT_CONFIGURED)
        assert "read news" in turn.reply
        assert "send sms" not in turn.reply
        assert (len(turn.usage.calls), sent) == (1, [])

    async def test_an_ambiguous_request_has_low_confidence_and_gets_a_second_opinion(self, shop):
        guess = says("Perhaps this?", tool="get_order_status", params={"order_id": "12345"}, confidence=3)
        chat = shop(replies=[guess, opinion("ASK_USER", "The wish is not clear.", "What should I do with it?")])
        turn = await chat.user("Hmm, that thing with 12345").is_asked_to_confirm(order_id="12345")
        assert {ReasonCode.LOW_CONFIDENCE, ReasonCode.CRITIQUE_ASKED} <= set(turn.reason_codes)
        assert purposes(chat) == ["draft", "critique"]
        assert await chat.executions() == []

    async def test_a_model_that_keeps_asking_for_context_is_stopped_and_a_person_told(self, shop):
        chat = shop(replies=lambda request: says("One moment.", context=["faqs", "about.full"]))
        turn = await chat.user("Tell me about you").is_escalated(ReasonCode.CONTEXT_LOOP_DETECTED)
        assert len(turn.usage.calls) == 4
        assert [row.reason for row in await escalations(chat)] == [ReasonCode.CONTEXT_LOOP_DETECTED]
        assert [note.topic for note in await notifications(chat)] == ["escalation"]


class TestHebrew:
    def test_a_whole_cancellation_in_hebrew_through_the_command_line(self, tmp_path):
        asked, named, acted = turns(tmp_path, "תבטל את ההזמנה שלי", "הזמנה 12345", "כן, תבטל", tenant="shop-he")
        assert "MISSING_PARAM" in asked["reason_codes"]
        assert named["pending"]["arguments"]["order_id"] == "12345"
        assert ran(tmp_path, asked) == ran(tmp_path, named) == []
        assert ran(tmp_path, acted) == [("cancel_order", "succeeded", "EXECUTED_SUCCESSFULLY")]
        assert Backend(tmp_path / "sample-shop-he.db", now=NOON).order("12345").status == "cancelled"
        assert all(any("א" <= letter <= "ת" for letter in turn["reply"]) for turn in (asked, named, acted))

    async def test_the_assessment_is_english_while_the_reply_is_hebrew(self, shop):
        chat = shop("shop-he")
        turn = await chat.user("תבטל את הזמנה 12345").is_asked_to_confirm(order_id="12345")
        (kept,) = await thoughts(chat, "assessment")
        visible, _, wire = kept.content.partition("<assessment>")
        assert wire.isascii()
        assert kept.meta["tool_call"] == "cancel_order"
        assert not visible.isascii()
        assert not turn.reply.isascii()
        assert ReasonCode.ASSESSMENT_NOT_ENGLISH not in turn.reason_codes
        (opinion_kept,) = await thoughts(chat, "critique")
        assert opinion_kept.content.isascii()

    async def test_hebrew_words_wish_confirm_and_refuse(self, shop):
        chat = shop("shop-he")
        turn = await chat.user("אני לא רוצה את הזמנה 12345").is_asked_to_confirm(order_id="12345")
        assert ReasonCode.IMPLIED_DESTRUCTIVE_INTENT in turn.reason_codes
        turn = await chat.user("לא").is_answered("12345")
        assert turn.reason_codes == (ReasonCode.DENIED_BY_USER,)
        await chat.user("תבטל את הזמנה 12345").is_asked_to_confirm(order_id="12345")
        await chat.user("כן").runs("cancel_order", order_id="12345")


class TestPerformanceAndMetrics:
    MIX = (
        "Hello!",
        "What are your opening hours?",
        "What is your phone number?",
        "Where is order 12345?",
        "Where is order 12346?",
        "Thank you!",
        "What is your return policy?",
        "How do I look after cast iron?",
        "Cancel order 12347",
        "I don't want order 12348 anymore",
    )

    async def mixed(self, shop, **options):
        chat = shop(**options)
        for number, text in enumerate(self.MIX):
            chat.name = f"c{number}"
            await chat.user(text)
        return chat, chat.turns

    async def test_only_risky_messages_cost_a_second_opinion(self, shop):
        chat, told = await self.mixed(shop)
        assert [turn.usage.critiques for turn in told] == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
        (row,) = await usage(chat)
        assert (row.messages, row.critiques / row.messages) == (10, 0.2)
        assert max(len(turn.usage.calls) for turn in told) <= 3

    async def test_simple_messages_need_a_fraction_of_the_tokens_of_standard_mode(self, shop):
        _, adaptive = await self.mixed(shop)
        _, standard = await self.mixed(shop, mode="standard", database="sqlite:///:memory:")
        first = [
            (a.usage.calls[0].input_tokens, s.usage.calls[0].input_tokens)
            for a, s in zip(adaptive, standard, strict=True)
        ]
        assert all(least * 3 < everything for least, everything in first)
        spent = [sum(turn.usage.input_tokens for turn in told) for told in (adaptive, standard)]
        assert spent[0] < spent[1]

    async def test_the_usage_report_adds_up_to_what_the_turns_said(self, shop):
        chat, told = await self.mixed(shop)
        (row,) = await usage(chat)
        assert row.model_calls == sum(len(turn.usage.calls) for turn in told)
        assert row.input_tokens == sum(turn.usage.input_tokens for turn in told)
        assert row.output_tokens == sum(turn.usage.output_tokens for turn in told)
        assert row.context_fetches == sum(turn.usage.context_rounds for turn in told) >= 2
        assert (row.mode, row.escalations, row.model) == ("adaptive", 0, "offline")


class TestDebugMode:
    async def test_the_reasoning_is_stored_with_codes_and_json_and_hidden_from_the_user(self, chat):
        await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
        kept = await thoughts(chat)
        assert [one.kind for one in kept] == ["assessment", "policy", "critique"]
        assert all(one.meta for one in kept)
        assert [one.reason for one in kept[1:]] == [ReasonCode.DESTRUCTIVE_NO_CONFIRM, ReasonCode.CRITIQUE_ASKED]
        shown = await chat.messages()
        assert [one.role for one in shown] == ["user", "assistant"]
        assert not any(word in one.content for one in shown for word in ("confidence", "ASK_USER", "cancel_order"))

    def test_the_debug_view_shows_assessment_in_blue_and_critique_in_purple(self, tmp_path):
        lines = ("Cancel order 12345", "/reset", "/debug", "Cancel order 12345")
        plain, same, *shown = chats(tmp_path, *lines, options=(), FORCE_COLOR="1", TERM="xterm-256color").splitlines()
        assert "12345" in plain == same
        view = "\n".join(shown)
        assert "\x1b[1;34massessment" in view
        assert "\x1b[1;35mcritique" in view
        assert "[DESTRUCTIVE_NO_CONFIRM]" in view
        assert catalogue.meaning(ReasonCode.CRITIQUE_ASKED) in view


class TestErrorHandling:
    async def test_with_the_model_down_the_user_gets_an_apology_and_can_go_on(self, shop, order):
        chat = shop(replies=[ModelUnavailable("The provider is down."), says("Hello again.")])
        turn = await chat.user("Cancel order 12345")
        assert (turn.outcome, turn.reply) == ("failed", catalogue.say("en", "failed-model"))
        assert turn.reason_codes == (ReasonCode.MODEL_FAILED,)
        assert "provider" not in turn.reply
        await chat.user("Hello?").is_answered("Hello again.")
        assert [one.role for one in await chat.messages()] == ["user", "assistant"] * 2
        assert order("12345").status == "processing"

    async def test_with_the_critique_down_a_person_takes_over_and_nothing_runs(self, shop, order):
        proposal = says("One moment.", tool="cancel_order", params={"order_id": "12345"})
        chat = shop(replies=[proposal, ModelUnavailable("timeout"), ModelUnavailable("timeout")])
        turn = await chat.user("Cancel order 12345").is_escalated(ReasonCode.CRITIQUE_FAILED)
        assert ReasonCode.ESCALATED_TO_HUMAN in turn.reason_codes
        assert turn.reply == catalogue.say("en", "escalated")
        assert [row.reason for row in await escalations(chat)] == [ReasonCode.CRITIQUE_FAILED]
        assert order("12345").status == "processing"

    @pytest.mark.parametrize("table", ["tool_executions", "intents"])
    async def test_with_the_store_refusing_writes_nothing_runs_and_the_user_is_asked_again(self, chat, order, table):
        store = await store_of(chat)

        async def sql(text):
            await store.tx(lambda connection: connection.execute(sa.text(text)) and None)

        broken = f"CREATE TRIGGER broken BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no room'); END"
        if table == "intents":
            await sql(broken)
            turn = await chat.user("Cancel order 12345")
            assert (turn.pending, ReasonCode.STORE_FAILED in turn.reason_codes) == (None, True)
            assert (turn.outcome, turn.reply) == ("failed", catalogue.say("en", "failed-store"))
        else:
            await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
            await sql(broken)
            turn = await chat.user("Yes")
            assert (turn.outcome, turn.reply) == ("failed", catalogue.say("en", "failed-store"))
            assert ReasonCode.STORE_FAILED in turn.reason_codes
        assert order("12345").status == "processing"
        await sql("DROP TRIGGER broken")
        chat.wait(minutes=1)
        await chat.user("Yes").is_asked()
        assert await chat.executions() == []
        assert order("12345").status == "processing"


SEVEN = {
    "greeting": ("Hello!",),
    "question": ("How do I look after cast iron?",),
    "complete": ("Where is order 12345?",),
    "incomplete": ("Where is my order?",),
    "destructive": ("Cancel order 12345", "Yes"),
    "unavailable": ("Can you paint my house?",),
    "ambiguous": ("Order 12346",),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("by-hand")


@pytest.fixture(scope="module")
def typed(folder):
    """Seven conversations in one run of the command: what was answered, by name."""
    lines = "\n/reset\n".join("\n".join(messages) for messages in SEVEN.values())
    answers = iter(turns(folder, lines))
    return {name: [next(answers) for _ in messages] for name, messages in SEVEN.items()}


class TestByHandOnTheCommandLine:
    def test_a_simple_greeting(self, typed, folder):
        (turn,) = typed["greeting"]
        assert (turn["outcome"], turn["usage"]["model_calls"], turn["usage"]["critiques"]) == ("answered", 1, 0)
        assert ran(folder, turn) == []

    def test_a_frequent_question(self, typed):
        (turn,) = typed["question"]
        assert turn["outcome"] == "answered"
        assert "No dishwasher" in turn["reply"]
        assert 1 <= turn["usage"]["context_rounds"] <= 2

    def test_a_tool_call_with_all_parameters(self, typed, folder):
        (turn,) = typed["complete"]
        assert turn["outcome"] == "answered"
        assert ran(folder, turn) == [("get_order_status", "succeeded", "EXECUTED_SUCCESSFULLY")]
        assert "12345" in turn["reply"]

    def test_a_tool_call_with_a_missing_parameter(self, typed, folder):
        (turn,) = typed["incomplete"]
        assert (turn["outcome"], turn["reason_codes"], turn["pending"]) == ("asked", ["MISSING_PARAM"], None)
        assert "order number" in turn["reply"]
        assert ran(folder, turn) == []

    def test_a_destructive_action(self, typed, folder):
        asked, acted = typed["destructive"]
        assert (asked["outcome"], asked["pending"]["tool"]) == ("asked", "cancel_order")
        assert "12345" in asked["reply"]
        assert ran(folder, asked) == []
        assert (acted["outcome"], acted["usage"]["model_calls"]) == ("acted", 1)
        assert ran(folder, acted) == [("cancel_order", "succeeded", "EXECUTED_SUCCESSFULLY")]
        assert Backend(folder / "sample-shop.db", now=NOON).order("12345").status == "cancelled"

    def test_a_request_for_something_no_tool_does(self, typed, folder):
        (turn,) = typed["unavailable"]
        assert turn["outcome"] in ("answered", "blocked")
        assert "What I can do" in turn["reply"]
        assert ran(folder, turn) == []

    def test_an_ambiguous_request(self, typed, folder):
        (turn,) = typed["ambiguous"]
        assert turn["outcome"] in ("answered", "asked")
        assert "?" in turn["reply"]
        assert ran(folder, turn) == []
        assert Backend(folder / "sample-shop.db", now=NOON).order("12346").status == "processing"


def test_the_list_is_complete():
    found = counted(globals())
    assert found == {
        "TestStandardMode": 4,
        "TestAdaptiveBasicFlows": 3,
        "TestAdaptiveDestructiveActions": 3,
        "TestEdgeCases": 5,
        "TestHebrew": 3,
        "TestPerformanceAndMetrics": 3,
        "TestDebugMode": 2,
        "TestErrorHandling": 3,
        "TestByHandOnTheCommandLine": 7,
    }
    assert sum(found.values()) == 33
