"""The `Model` port, the careful answers to foreign schemas, and what every answer must be whatever is sent."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import get_args

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.demo.offline.talk import TOOLS, Talk, split

from circumspect.demo.offline import OfflineModel
from circumspect.errors import ModelRefused
from circumspect.ports import Model
from circumspect.values import LANGUAGES, Block, ChatMessage, Json, JsonObject, ModelReply, ModelRequest, Purpose


def test_it_is_a_model_by_the_name_of_offline() -> None:
    model: Model = OfflineModel()
    assert model.name == "offline"


async def test_tokens_are_estimated_from_letters_and_nothing_is_charged() -> None:
    request = ModelRequest("draft", "p", "x" * 10, (ChatMessage("user", "hello"),))
    reply = await OfflineModel().complete(request)
    assert reply.usage.estimated
    assert reply.usage.input_tokens == 4
    assert reply.usage.output_tokens == -(-len(reply.text) // 4)
    assert reply.usage.cost_usd == 0


async def test_a_stream_is_the_reply_in_pieces() -> None:
    request = Talk().request((ChatMessage("user", "cancel order 12345"),))
    whole = await OfflineModel().complete(request)
    *pieces, last = [piece async for piece in OfflineModel().stream(request)]
    assert len(pieces) > 2
    assert "".join(str(piece) for piece in pieces) == whole.text
    assert last == whole
    assert isinstance(last, ModelReply)


async def test_a_native_call_has_an_id_and_says_so() -> None:
    request = Talk(mode="standard").request((ChatMessage("user", "where is order 12345?"),))
    first, second = [await OfflineModel().complete(request) for _ in range(2)]
    assert first == second
    assert first.finish == "tool_calls"
    assert first.calls[0].id


async def test_it_never_calls_itself_a_language_model() -> None:
    for language in LANGUAGES:
        for text in ("who are you?", "are you an AI language model?", "кто вы?", "מי אתם?"):
            said = (await Talk(language).user(text)).text.lower()
            assert "language model" not in said
            assert "llm" not in said


async def test_instructions_that_ask_for_an_assessment_get_one_without_any_block() -> None:
    request = ModelRequest("draft", "p", "End with <assessment>{…}</assessment>.", (ChatMessage("user", "hi"),))
    split(await OfflineModel().complete(request))


async def test_an_empty_answer_under_a_key_is_not_asked_for_again() -> None:
    request = Talk().request(
        (ChatMessage("user", "What is your return policy?"),),
        [
            Block("policies.returns", "(there is nothing under this key)"),
            Block("faqs", "(there is nothing under this key)"),
        ],
    )
    visible, found = split(await OfflineModel().complete(request))
    assert found["needs_more_context"] == []
    assert "nothing under" not in visible


# --- schemas it was not made for --------------------------------------------------------------------------------------

ANALYSIS: JsonObject = {
    "type": "object",
    "properties": {
        "intent": {"type": "string"},
        "decision": {"enum": ["answer", "act", "clarify", "escalate", "refuse"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "needs_human": {"type": "boolean"},
        "is_safe": {"type": "boolean"},
        "gaps": {"type": "array", "items": {"type": "string"}},
        "plan": {"anyOf": [{"$ref": "#/$defs/plan"}, {"type": "null"}]},
        "note": {"type": ["string", "null"]},
        "level": {"type": "integer", "minimum": 1},
    },
    "required": ["intent", "decision", "confidence", "needs_human", "is_safe", "gaps", "plan", "note", "level"],
    "additionalProperties": False,
    "$defs": {"plan": {"type": "object", "properties": {"steps": {"type": "array"}}, "required": ["steps"]}},
}


@pytest.mark.parametrize("purpose", ["analyse", "evaluate", "verify", "summarise"])
async def test_an_unknown_schema_gets_its_most_careful_object(purpose: Purpose) -> None:
    reply = await OfflineModel().complete(ModelRequest(purpose, "p", "", (ChatMessage("user", "x"),), schema=ANALYSIS))
    found = json.loads(reply.text)
    assert jsonschema_rs.is_valid(dict(ANALYSIS), found)
    assert found["decision"] == "escalate"
    assert found["confidence"] == 0
    assert found["needs_human"] is True
    assert found["is_safe"] is False
    assert found["plan"] is None
    assert found["level"] == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{5}$"}}, "required": ["id"]},
        {"type": "object", "properties": {"choice": {"enum": ["left", "right"]}}, "required": ["choice"]},
        {"type": "object", "properties": {"all": {"type": "array", "minItems": 2}}, "required": ["all"]},
        {"type": "object", "required": ["anything"]},
        {"type": "array"},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/missing"}}, "required": ["x"]},
        {"$ref": "#"},
        {"type": "nonsense"},
    ],
)
async def test_where_no_careful_object_exists_it_refuses_with_a_fix(schema: Json) -> None:
    with pytest.raises(ModelRefused, match="Configure a language model"):
        await OfflineModel().complete(ModelRequest("analyse", "p", "", (ChatMessage("user", "x"),), schema=schema))  # type: ignore[arg-type]


async def test_a_kind_of_request_it_cannot_serve_is_refused_with_a_fix() -> None:
    for purpose in set(get_args(Purpose)) - {"draft", "phrase"}:
        with pytest.raises(ModelRefused, match="CIRCUMSPECT_MODEL"):
            await OfflineModel().complete(ModelRequest(purpose, "p", "", ()))


# --- whatever is sent ---------------------------------------------------------------------------------------------

SAID = [
    "cancel", "order", "my", "12345", "refund", "$50", "yes", "no", "not", "it", "book", "tomorrow", "at",
    "5pm", "11:00", "2026-03-31", "<assessment>", "</assessment>", "?", ",", ".", "I", "don't", "want",
    "delete", "account", "a@b.co", "+972-54-555-0101", "בטלו", "את", "ההזמנה", "שלי", "לא", "מחר", "החזר",
    'ש"ח', "отмените", "заказ", "не", "нужен", "завтра", "№", "99999", "and", "instead", "of", '"mug"', "stock",
    "hello", "thanks", "what", "is", "your", "policy", "change", "something", "03/04/2026", "1", "250", "руб",
]  # fmt: skip
SPEECH = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(SAID), max_size=12).map(" ".join))


@settings(max_examples=150)
@given(
    said=st.lists(SPEECH, min_size=1, max_size=5),
    language=st.sampled_from(LANGUAGES),
    mode=st.sampled_from(["adaptive", "standard"]),
)
async def test_whatever_is_said_the_answer_is_well_formed_and_its_values_were_said(
    said: list[str], language: str, mode: str
) -> None:
    """No crash, one assessment, an existing tool, and no identifier that the user did not type."""
    talk = Talk(language, mode, history=20)  # type: ignore[arg-type]
    for text in said:
        answer = await talk.user(text)
        assert answer.text.strip()
        assert "<assessment>" not in answer.text
        assert answer.tool in {None, *(tool.name for tool in TOOLS)}
        for name in ("order_id", "email", "phone"):
            if name in answer.arguments:
                assert any(
                    str(answer.arguments[name]) in message.text for message in talk.said if message.role == "user"
                )


@settings(max_examples=60)
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60))
async def test_whatever_stands_in_blocks_and_results_the_answer_is_well_formed(
    block: str, result: str, name: str
) -> None:
    talk = Talk()
    said = (
        ChatMessage("user", "What is your return policy?"),
        ChatMessage("assistant", ""),
        ChatMessage("tool", result, tool=name),
    )
    for messages in (said[:1], said):
        request = talk.request(messages, [Block("policies.returns", block), Block("tool_schema:refund", block)])
        request = replace(request, blocks=(*request.blocks, Block("faqs", block)))
        split(await OfflineModel().complete(request))


def test_naming_the_model_costs_no_import_of_its_words() -> None:
    code = "import sys, circumspect.demo.offline as m; m.OfflineModel(); sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
