"""Every language has every word."""

import re

import pytest

from circumspect.language import catalogue
from circumspect.reasons import ReasonCode
from circumspect.values import LANGUAGES

PLACEABLE = re.compile(r"\{ \$(\w+) \}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_messages(language):
    assert catalogue.keys("messages", language) == catalogue.keys("messages", "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_meaning_may_wait_for_its_translation_and_never_outlives_its_code(language):
    """What waits is said in English, and listed at the top of docs/reason-codes.md."""
    assert catalogue.keys("reasons", language) <= catalogue.keys("reasons", "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_takes_the_same_values_in_every_language(language):
    from importlib import resources

    def placeables(lang):
        text = resources.files("circumspect.language").joinpath(lang, "messages.ftl").read_text("utf-8")
        rows = (line.split(" = ", 1) for line in text.splitlines() if " = " in line and not line.startswith("#"))
        return {key: sorted(set(PLACEABLE.findall(value))) for key, value in rows}

    assert placeables(language) == placeables("en")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_code_has_a_meaning_in_every_language(code, language):
    assert catalogue.meaning(code, language).strip()


def test_no_meaning_is_left_for_a_code_that_is_gone():
    assert catalogue.keys("reasons", "en") == {str(code).replace("_", "-").lower() for code in ReasonCode}


@pytest.mark.parametrize(("language", "script"), [("he", "[\u0590-\u05ff]"), ("ru", "[\u0400-\u04ff]")])
def test_translations_are_in_their_script(language, script):
    for key in catalogue.keys("messages", language) - {"invalid-field", "interrupted-notice"}:
        text = catalogue.say(
            language,
            key,
            **dict.fromkeys(
                ("action", "fields", "problems", "field", "wanted", "choices", "actions", "problem", "state", "limit"),
                "x",
            ),
        )
        assert re.search(script, text), key


def test_user_text_in_a_message_is_data_and_never_a_message():
    assert "{ $action }" in catalogue.say("en", "done", action="{ $action } { confirm-question }")


def test_a_number_inside_hebrew_is_isolated_from_the_direction_of_the_text():
    assert "\u2068לבטל הזמנה 12345\u2069" in catalogue.say("he", "done", action="לבטל הזמנה 12345")
