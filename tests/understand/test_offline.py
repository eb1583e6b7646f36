"""The offline model fills the form in by rules, and answers from passages with their numbers. It claims no more."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from tests.understand.hearing import BUSINESS, TOOLS, form, heard, says, screened

from circumspect.demo.offline import OfflineModel
from circumspect.demo.offline.analyses import analyse
from circumspect.forms.reading import read_form
from circumspect.policy.understanding.analysis import read_analysis
from circumspect.policy.understanding.understood import SERVICE, Understanding
from circumspect.profiles import ADAPTIVE
from circumspect.steps.gather import gather
from circumspect.steps.understand import add_understanding
from circumspect.values import Block, ChatMessage, Gathered, ModelRequest

MESSAGES = [
    ("en", "What's your enterprise pricing?"),
    ("en", "Book a meeting tomorrow at 10:00"),
    ("en", "asdf qwer"),
    ("en", "How much does it cost?"),
    ("ru", "Соедините меня с человеком"),
    ("ru", "Сколько стоит тариф?"),
    ("he", "אני רוצה לדבר עם בן אדם"),
    ("he", "שלח לי מייל"),
    ("en", "x " * 400),
]


async def asked(text: str, language="en", settings: Understanding = SERVICE) -> ModelRequest:
    """The request that the step makes for this message."""
    requests: list[ModelRequest] = []

    def keep(request: ModelRequest) -> str:
        requests.append(request)
        return form()

    await heard(text, language, replies=keep, settings=settings, guardian=None)
    return requests[0]


@pytest.mark.parametrize(("language", "text"), MESSAGES)
@pytest.mark.parametrize("decide", [False, True])
async def test_the_form_is_filled_in_by_the_schema_and_within_its_limits(language, text, decide):
    request = await asked(text, language, Understanding(decide=decide))
    filled = analyse(request)
    assert jsonschema_rs.is_valid(dict(request.schema), filled)
    assert list(filled) == list(request.schema["properties"])
    reply = await OfflineModel().complete(request)
    assert json.loads(reply.text) == filled
    assert read_analysis(read_form(reply, request.schema, request.reading)) is not None


async def test_the_intent_is_the_message_itself():
    filled = analyse(await asked("Where can I\nfind the invoice?"))
    assert filled["user_intent"] == "Where can I find the invoice?"


async def test_a_person_is_asked_for_in_three_languages():
    for language, text in (
        ("en", "Let me talk to a human"),
        ("ru", "Соедините меня с человеком"),
        ("he", "אני רוצה לדבר עם בן אדם"),
    ):
        assert (await heard(text, language)).way == "ESCALATE", text


async def test_a_code_in_a_question_is_part_of_what_is_asked():
    assert (await heard("What does error L-204 mean?")).way == "RETRIEVE"
    assert (await heard("And 12345?")).way == "CLARIFY"


async def test_what_points_at_something_that_was_said_is_not_unclear():
    history = (says("user", "Tell me about the Starter plan", 1), says("assistant", "It has three seats.", 2))
    assert (await heard("How much does it cost?", history=history)).way == "RETRIEVE"


# --- answering from passages --------------------------------------------------------------------------------------------


def drafting(text: str, blocks: tuple[Block, ...] = (), extra: tuple[ChatMessage, ...] = ()) -> ModelRequest:
    base: Gathered = gather(screened(text), BUSINESS, TOOLS, ADAPTIVE, screened(text).incoming.at)
    return ModelRequest("draft", "p", "<assessment>", (*base.messages, *extra), (*base.blocks, *blocks))


SOURCES = (
    Block("sources", "Passages."),
    Block("source [1]", "Prices › Starter\n> ## Starter\n>\n> Starter costs 9 euros a month. It has three seats."),
    Block("source [2]", "Terms › Payment\n> ## Payment\n>\n> Invoices are due within 14 days."),
)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("What does Starter cost?", "Starter costs 9 euros a month. [1]"),
        ("When are invoices due?", "Invoices are due within 14 days. [2]"),
    ],
)
async def test_an_answer_is_quoted_with_the_number_of_its_passage(text, quoted):
    reply = await OfflineModel().complete(drafting(text, SOURCES))
    assert reply.text.partition("\n")[0] == quoted


async def test_passages_about_something_else_are_not_quoted():
    reply = await OfflineModel().complete(drafting("Do you have parking for bicycles?", SOURCES))
    assert "[1]" not in reply.text
    assert "[2]" not in reply.text


@pytest.mark.parametrize("synthetic", [True, False])
async def test_what_was_noted_about_the_message_is_not_quoted_back(synthetic):
    hearing = await heard(
        "What does Starter cost?", replies=[form()], settings=Understanding(True, synthetic=synthetic)
    )
    base = gather(screened("What does Starter cost?"), BUSINESS, TOOLS, ADAPTIVE, screened("x").incoming.at)
    extra = add_understanding(hearing.understood, base).messages[len(base.messages) :]
    assert extra
    with_it = await OfflineModel().complete(drafting("What does Starter cost?", SOURCES, extra))
    without = await OfflineModel().complete(drafting("What does Starter cost?", SOURCES))
    assert with_it.text == without.text
