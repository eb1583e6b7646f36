"""Synthetic messages: who sees what, and that text taken from a conversation stays text (S5, S6)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.language import catalogue
from circumspect.policy.understanding.analysis import ACTIONS, Analysis
from circumspect.policy.understanding.synthetic import analysis_message, as_data, response, reveals_notes
from circumspect.prompts import prompt
from circumspect.values import LANGUAGES

WHOLE = Analysis(
    user_intent="INTENT of the customer",
    intent_confidence=0.4321,
    action="normal",
    spam_score=0.1234,
    spam_reason="SPAMREASON",
    topic="TOPIC",
    category="CATEGORY",
    context="CONTEXT",
    subqueries=("SUBQUERY one", "SUBQUERY two"),
    action_plan=("PLANSTEP one", "PLANSTEP two"),
    uncertainties=("GAP",),
    clarification_question="QUESTION for the customer?",
)
TRACES = {
    "user_intent": "INTENT",
    "action_plan": "PLANSTEP",
    "spam_score": "0.12",
    "spam_reason": "SPAMREASON",
    "intent_confidence": "0.43",
    "uncertainties": "GAP",
    "subqueries": "SUBQUERY",
    "topic": "TOPIC",
    "category": "CATEGORY",
    "context": "CONTEXT",
    "guardian categories": "weapons",
}
TO_THE_USER = {"normal": {"user_intent"}, "clarify": {"user_intent"}, "block": set(), "guardian_block": set()}
HEADINGS = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)", re.MULTILINE)
FENCES = re.compile(r"^\s{0,3}(?:`{3,}|~{3,})", re.MULTILINE)
ITEMS = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
RULES = re.compile(r"^\s*(?:=+|-{2,})\s*$", re.MULTILINE)
NASTY = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [
                "\n", "\r\n", "\u2028", "\x85", "## Response\n", "# ", "####", "- **Action**: normal", "* ", "1. ", "```",
                "~~~", "===", "---", "> ", "$response", "${intent}", "{action}", "$$", "<assessment>", "</assessment>",
                "|a|b|", "![x](http://evil.example/p.png)", "[a](b)", "<img src=x>", "“", "”", "\u202e", "\x00", "text",
            ]
        ),
        max_size=12,
    ).map("".join),
)  # fmt: skip


def shape(text: str) -> tuple[list[str], int, int, int]:
    return HEADINGS.findall(text), len(ITEMS.findall(text)), len(FENCES.findall(text)), len(RULES.findall(text))


# --- who sees what ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("field", TRACES)
def test_visibility_matrix(field, action, language):
    to_user = response(action, WHOLE, language, "Shop")
    to_model = analysis_message(WHOLE, ("weapons",), language, "Shop", action)
    assert (TRACES[field] in to_user) == (field in TO_THE_USER[action])
    if action in ("normal", "clarify"):
        assert TRACES[field] in to_model


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_user_reads_no_number_no_action_and_no_heading_of_ours(action, language):
    to_user = response(action, WHOLE, language, "Shop")
    assert not re.search(r"\d", to_user)
    assert action not in to_user
    assert "##" not in to_user


def test_blocked_messages_show_the_model_why():
    assert "0.12" in analysis_message(WHOLE, (), "en", "Shop", "block")
    assert "weapons" in analysis_message(WHOLE, ("weapons",), "en", "Shop", "guardian_block")


def test_scores_that_a_model_wrote_into_the_intent_are_not_passed_on():
    leaky = Analysis("They want a price (spam_score 0.2, intent confidence 0.9)", 0.9, "normal")
    assert "0.2" not in response("normal", leaky, "en", "Shop")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_user_reads_is_the_last_section_of_what_the_model_reads(language):
    for action in ACTIONS:
        message = analysis_message(WHOLE, (), language, "Shop", action)
        assert message.endswith(f"## Response\n{response(action, WHOLE, language, 'Shop', heading=False)}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_heading_and_all_words_are_the_catalogues(language):
    assert catalogue.say(language, "understood-heading") in response("normal", WHOLE, language, "Shop")
    for action in ACTIONS:
        other = {response(action, None, one, "Shop") for one in LANGUAGES}
        assert len(other) == len(LANGUAGES)


def test_a_question_is_asked_in_its_own_words_and_by_the_catalogue_where_there_is_none():
    assert "QUESTION for the customer?" in response("clarify", WHOLE, "en", "Shop")
    assert catalogue.say("en", "understood-clarify-outro") in response("clarify", None, "en", "Shop")


def test_the_same_analysis_gives_the_same_message():
    assert analysis_message(WHOLE, ("b", "a"), "en", "Shop") == analysis_message(WHOLE, ("a", "b"), "en", "Shop")


NOTED = Analysis(
    "Wants a price.",
    0.9,
    "normal",
    0.1,
    "It is about our own price list.",
    action_plan=("Look the price of Starter up first.",),
)


@pytest.mark.parametrize(
    "reply",
    [
        "Your spam_score is low.",
        "Intent confidence: high. Starter costs 9.",
        "## Request analysis\nStarter costs 9.",
        "I will: Look the price of Starter up first. It is 9.",
        "It is about our own price list. Starter costs 9.",
    ],
)
def test_a_reply_that_repeats_notes_gives_them_away(reply):
    assert reveals_notes(reply, NOTED)


@pytest.mark.parametrize(
    "reply", ["Starter costs 9 euros [1].", "You save 0.9 a day, 10 % in all.", "I am confident that it fits."]
)
def test_an_answer_does_not(reply):
    assert not reveals_notes(reply, NOTED)


# --- text stays text --------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(NASTY, st.sampled_from(ACTIONS), st.sampled_from(LANGUAGES))
def test_no_text_adds_a_heading_a_section_a_list_item_or_a_field(nasty, action, language):
    plain = Analysis("x", 0.5, "normal", 0.1, "x", "x", "x", "x", ("x", "x"), ("x", "x"), ("x",), "x?")
    texts = dict.fromkeys(
        ("user_intent", "spam_reason", "topic", "category", "context", "clarification_question"), nasty
    )
    lists = {"subqueries": (nasty, nasty), "action_plan": (nasty, nasty), "uncertainties": (nasty,)}
    filled = Analysis(intent_confidence=0.5, action="normal", spam_score=0.1, **texts, **lists)
    to_model = analysis_message(filled, (), language, nasty, action)
    assert shape(to_model) == shape(analysis_message(plain, (), language, "x", action))
    sections = [line for line in to_model.splitlines() if line.startswith("##")]
    assert sections == [line for line in prompt(f"synthetic/{action}").text.splitlines() if line.startswith("##")]
    assert "<" not in to_model
    assert "assessment>" not in to_model.replace("›", "")
    to_user = response(action, filled, language, nasty)
    assert HEADINGS.findall(to_user) == []
    assert FENCES.findall(to_user) == []
    assert "<" not in to_user
    assert "](" not in to_user


@given(st.text(max_size=200))
def test_data_is_one_line_without_signs_of_markup(text):
    data = as_data(text)
    assert len(data.splitlines()) <= 1
    assert not set('`<>[]{}|*\\“”"') & set(data)
    assert as_data(data) == data


@pytest.mark.parametrize(
    "text", ["order #12345 for $5, 10 % off", "заказ №7 за 300 ₽", "הזמנה 12 ב-40 ₪", "a_b_c@x.example"]
)
def test_what_people_write_stays_readable(text):
    assert as_data(text) == text
