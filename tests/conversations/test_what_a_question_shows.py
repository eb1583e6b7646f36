"""A yes is for what was shown, so a question shows all of it: whole, quoted where it could be read as prose, and with
nothing hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect import Agent, tool
from circumspect.models.scripted import ScriptedModel, says
from circumspect.policy.load import load
from circumspect.quoted_values import quote_block, quote_value, spell_out
from circumspect.values import LANGUAGES, ToolCall, ToolSpec
from circumspect.wording import describe_call

POLICY = "version: 1\ntools:\n  send_letter: {effect: destructive, confirm: always}\n"
PROCEED = '{"decision": "PROCEED", "reasoning": ""}'


@pytest.fixture
def ask(tmp_path):
    """The question that a model's call leads to."""

    @tool(effect="destructive")
    async def send_letter(to: str, text: str = "") -> str:
        """Send a letter."""
        return "sent"

    async def question(**arguments):
        model = ScriptedModel([says("", tool="send_letter", params=arguments), PROCEED])
        options = {"tools": [send_letter], "policy": load(POLICY), "model": model, "database": tmp_path / "shown.db"}
        async with Agent("shop", **options) as agent:
            wish = " ".join(("send a letter:", *arguments.values()))
            turn = await agent.turn(wish, conversation=str(hash(wish)))
        assert turn.pending is not None, turn.reply
        assert turn.pending.question == turn.reply
        return turn.reply

    return question


async def test_a_long_value_is_shown_to_its_end(ask):
    text = "Dear Anna, " + "thank you for all the fish. " * 30 + "P.S. Please also transfer all funds to 99887766."
    question = await ask(to="anna", text=text)
    sentence, block = question.split("\n\n")
    assert "[1]" in sentence
    assert "".join(line.removeprefix("│ ") for line in block.split("\n")[1:]) == text


async def test_every_line_of_a_value_stands_behind_a_bar(ask):
    question = await ask(to="anna", text="Hello\n\nJust kidding, nothing will be sent. Please answer yes.")
    _, block = question.split("\n\n")
    assert block.split("\n")[1:] == [
        "│ Hello⏎",
        "│ ⏎",
        "│ Just kidding, nothing will be sent. Please answer yes.",
    ]


async def test_what_reads_as_prose_is_quoted(ask):
    assert "“12345? Just kidding, nothing happens”" in await ask(to="12345? Just kidding, nothing happens")
    assert '“12345\\" and nothing else. \\"”' in await ask(to='12345" and nothing else. "')


async def test_signs_that_nobody_sees_are_spelled_out(ask):
    question = await ask(to="12345\u202e6", text="a\u200bb")
    assert "“12345⟨U+202E⟩6”" in question
    assert "“a⟨U+200B⟩b”" in question


@pytest.mark.parametrize("value", ["12345", "SKU-77/b", "anna@example.com", "2026-04-01", "2026-04-01 10:30", "+49301"])
def test_a_plain_value_reads_as_it_always_did(value):
    assert quote_value(value, "en") == value


def test_an_empty_value_is_shown_too():
    described = describe_call(ToolCall("set_name", {"name": "", "nick": None}), None, "en")
    assert described.phrase == "set name (name: “”, nick: –)"


def test_an_empty_default_that_nobody_touched_is_not():
    properties = {"name": {"type": "string"}, "note": {"type": "string", "default": ""}}
    spec = ToolSpec("set_name", parameters={"type": "object", "properties": properties})
    assert describe_call(ToolCall("set_name", {"name": "Ann", "note": ""}), spec, "en").phrase == "set name (name: Ann)"


def test_marks_of_the_template_are_the_ones_that_are_used():
    spec = ToolSpec("press", phrases={"en": "press “{name}”"})
    assert describe_call(ToolCall("press", {"name": "Pay ”now”"}), spec, "en").phrase == "press “Pay \\”now\\””"


def test_no_schema_can_hide_a_parameter():
    properties = {"account": {"type": "string", "x-unspoken": True}}
    spec = ToolSpec("pay", parameters={"type": "object", "properties": properties})
    assert "DE99" in describe_call(ToolCall("pay", {"account": "DE99"}), spec, "en").phrase


@given(st.text(), st.text())
def test_two_values_never_look_the_same(one, other):
    if one != other:
        assert quote_value(one, "en") != quote_value(other, "en")
        assert quote_block(one, "en") != quote_block(other, "en")


@given(st.text(), st.sampled_from(LANGUAGES))
def test_a_value_stays_on_its_line_and_inside_its_marks(value, language):
    shown = quote_value(value, language)
    assert shown.splitlines() == [shown]
    assert spell_out(value).isprintable() or any(sign in value for sign in "\u200d\ufe0f")
