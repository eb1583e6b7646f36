"""Every language has every word."""

import re

import pytest
from fluent.runtime import FluentBundle, FluentResource

from circumspect.language import catalogue
from circumspect.language.fluent_texts import parse_fluent
from circumspect.language.pack import pack
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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["messages", "reasons"])
@pytest.mark.parametrize("value", ["x {$y} \u05d0", 4_000, 1_234_567])
def test_every_text_reads_as_fluent_reads_it(language, name, value):
    from importlib import resources

    text = resources.files("circumspect.language").joinpath(language, f"{name}.ftl").read_text("utf-8")
    bundle = FluentBundle([language], use_isolating=pack(language).right_to_left)
    bundle.add_resource(FluentResource(text))
    ours = parse_fluent(text)
    assert ours.keys() == bundle._messages.keys()
    for key, message in ours.items():
        values = dict.fromkeys(message.text.values, value)
        theirs, problems = bundle.format_pattern(bundle.get_message(key).value, values)
        assert not problems
        assert catalogue._format(name, language, key, values) == theirs
        for attribute, said in message.attributes.items():
            theirs, _ = bundle.format_pattern(bundle.get_message(key).attributes[attribute], {})
            assert said.fill({}, isolate=False) == theirs


@pytest.mark.parametrize(
    "text",
    [
        "key = { NUMBER($x) }",
        "key = { -brand } is ours",
        "key = { $n ->\n    [one] one\n   *[other] more\n }",
        "-brand = Circumspect",
        "no message at all",
        "    a line that nothing goes before",
    ],
)
def test_what_is_beyond_our_part_of_fluent_is_refused(text):
    with pytest.raises(ValueError, match=r"line \d+:|only \{ \$value \}"):
        parse_fluent(text)


def test_a_value_that_is_not_given_is_named(caplog):
    assert "{$action}" in catalogue.say("en", "dropped")
    assert "action" in caplog.text


def test_a_value_among_words_is_isolated_and_one_alone_is_not():
    texts = parse_fluent("alone = { $x }\namong = to { $x }")
    assert texts["alone"].text.fill({"x": "1"}, isolate=True) == "1"
    assert texts["among"].text.fill({"x": "1"}, isolate=True) == "to \u20681\u2069"
    assert texts["among"].text.fill({"x": "1"}, isolate=False) == "to 1"
