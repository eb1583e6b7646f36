"""Asking about a sensitive topic is one thing, demanding another. The table is `topic_cases.txt`; the seeds' own examples
come first in it. `pytest -s` prints precision and recall, and what is
found of `topic_held_out.txt`, which nothing was tuned to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from circumspect.language.word_lists import patterns
from circumspect.policy.understanding.topics import ExtraTopic, SensitiveTopic, list_demands, topics
from circumspect.values import LANGUAGES

LINES = (Path(__file__).parent / "topic_cases.txt").read_text("utf-8").splitlines()
CASES = [tuple(line.split(" ", 2)) for line in LINES if line and not line.startswith("#")]
SIGN = {"demands": "+", "asks": "?"}


def seen(text, language):
    return {f"{topic.name}{SIGN[topic.stance]}" for topic in topics(text, language)}


@pytest.mark.parametrize(("language", "expected", "text"), CASES, ids=[case[2] for case in CASES])
def test_a_message_asks_about_demands_or_has_nothing_to_do_with_a_topic(language, expected, text):
    assert seen(text, language) == (set() if expected == "-" else set(expected.split(",")))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_is_long_enough_and_says_how_good_the_lists_are(language):
    cases = [case for case in CASES if case[0] == language]
    counts: Counter[str] = Counter()
    for _, expected, text in cases:
        wanted = {name[:-1] for name in expected.split(",") if name.endswith("+")}
        got = set(list_demands(topics(text, language)))
        counts["right"] += len(wanted & got)
        counts["said"] += len(got)
        counts["real"] += len(wanted)
    precision, recall = counts["right"] / counts["said"], counts["right"] / counts["real"]
    print(f"\n{language}: {len(cases)} cases, demands: precision {precision:.2f}, recall {recall:.2f}")
    assert len(cases) >= 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_that_the_lists_were_not_made_from_raise_no_false_alarm_and_tell_how_many_are_missed(language):
    lines = (Path(__file__).parent / "topic_held_out.txt").read_text("utf-8").splitlines()
    cases = [line.split(" ", 2)[1:] for line in lines if line.startswith(f"{language} ")]
    caught = [text for sign, text in cases if sign == "+" and list_demands(topics(text, language))]
    alarms = [text for sign, text in cases if sign == "-" and list_demands(topics(text, language))]
    print(f"\n{language}: held out, {len(caught)} of {sum(sign == '+' for sign, _ in cases)} demands found")
    assert alarms == []


def test_every_language_knows_the_same_topics():
    known = {language: set(patterns("sensitive", language)) for language in LANGUAGES}
    assert all(known["en"] == one for one in known.values())


@pytest.mark.parametrize("text", ["a tissue issue", "the pursuer pursued", "resuet", "recourt"])
def test_a_word_inside_another_is_not_that_word(text):
    assert topics(text, "en") == ()


def test_a_demand_outweighs_a_question_in_the_same_message():
    found = topics("What is your refund policy? Anyway, refund me immediately.", "en")
    assert [(topic.name, topic.stance) for topic in found] == [("refund", "demands")]


def test_demands_come_first_and_carry_the_users_words():
    found = topics("Do you have a legal department? I want my money back.", "en")
    assert [(topic.name, topic.stance) for topic in found] == [("refund", "demands"), ("legal", "asks")]
    assert "i want my money" in " ".join(found[0].words)


def test_languages_are_mixed_as_people_mix_them():
    assert set(list_demands(topics("верните деньги or I will sue you", "ru"))) == {"refund", "legal"}


def test_a_tenants_own_topic_is_asked_about_or_demanded_like_ours():
    own = (ExtraTopic("warranty", ("warrant*", "extended cover")),)
    assert topics("how long is the warranty?", "en", own) == (SensitiveTopic("warranty", "asks", ("warranty",)),)
    assert list_demands(topics("I insist on my warranties", "en", own)) == ("warranty",)
    assert topics("how long is the warranty?", "en") == ()


def test_a_tenants_own_phrase_can_be_a_demand_by_itself():
    own = (ExtraTopic("union", ("union",), demands=("call* ... union",)),)
    assert list_demands(topics("i am calling the union", "en", own)) == ("union",)


def test_text_without_end_is_read_in_reasonable_time():
    assert topics("want refund " * 50_000, "en")
    assert topics("ъ" * 100_000 + "?" * 1000, "ru") == ()
