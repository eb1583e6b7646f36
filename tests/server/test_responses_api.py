"""OpenAI's Responses API, called by the official client: state kept by us or by the client, events, refusals."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.server.house import House, is_a_problem

from circumspect.server.openai_responses_answers import ResponseEvents
from circumspect.server.openai_responses_format import ResponsesRequest, read_items
from circumspect.values import ChatMessage, ConversationId, TenantId, ToolCall, TurnId

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
STATUS = {"type": "function", "name": "get_order_status", "parameters": ORDER, "strict": False}
CANCEL = {"type": "function", "name": "cancel_order", "parameters": ORDER, "strict": False}
TOOLS = [STATUS, CANCEL]
NAMED = "gpt-of-somebody-else"


def client(house: House, tenant: str = "shop") -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{house.url}/v1",
        api_key=house.token(tenant, "chat"),
        http_client=house.client(),
        max_retries=0,
    )


def respond(house: House, given: Any, **more: Any) -> Response:
    return client(house).responses.create(model=NAMED, input=given, **more)


def decided(response: Response) -> dict[str, Any]:
    return response.model_extra["circumspect"]


def answer_to(call: Any, output: str) -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


def test_a_plain_client_talks_and_hears_what_was_decided(house):
    done = respond(house, "where is order 12345?", instructions="Be brief.")
    assert "12345" in done.output_text
    assert (done.status, done.model, done.instructions) == ("completed", NAMED, "Be brief.")
    assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens > 0
    assert decided(done)["outcome"] in ("acted", "answered")
    assert TypeAdapter(Response).validate_python(done.model_dump(mode="json", by_alias=True, warnings=False))


# --- we keep the talk -----------------------------------------------------------------------------------------------


def test_a_yes_that_goes_on_from_a_question_is_bound_to_it(house):
    asked = respond(house, "cancel order 12346")
    assert decided(asked)["pending"]["arguments"]["order_id"] == "12346"
    done = respond(house, "yes", previous_response_id=asked.id)
    assert "EXECUTED_SUCCESSFULLY" in decided(done)["reason_codes"]
    assert decided(done)["conversation_id"] == decided(asked)["conversation_id"]


def test_a_response_is_gone_on_from_with_any_key_of_the_tenant(house):
    asked = respond(house, "cancel order 12352")
    other = openai.OpenAI(
        base_url=f"{house.url}/v1", api_key=house.token("shop", "chat", "read"), http_client=house.client()
    )
    done = other.responses.create(model=NAMED, input="yes", previous_response_id=asked.id)
    assert decided(done)["conversation_id"] == decided(asked)["conversation_id"]
    assert decided(done)["pending"] is None, "the yes was taken"


def test_with_tools_of_its_own_a_client_sends_only_what_is_new(house):
    asked = respond(house, "cancel order 4711", tools=TOOLS)
    assert [one.type for one in asked.output] == ["message"]
    confirmed = respond(house, "yes", tools=TOOLS, previous_response_id=asked.id)
    call = confirmed.output[-1]
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "cancel_order", {"order_id": "4711"})
    done = respond(house, [answer_to(call, "cancelled")], tools=TOOLS, previous_response_id=confirmed.id)
    assert "cancelled" in done.output_text
    again = respond(house, "yes", tools=TOOLS, previous_response_id=done.id)
    assert [one.type for one in again.output] == ["message"], "one yes, one call"
    ran = house.stored(
        lambda store: store.executions(TenantId("shop"), ConversationId(decided(done)["conversation_id"]))
    )
    assert [(one.call.tool, one.state, one.runner) for one in ran] == [("cancel_order", "succeeded", "client")]


def test_the_model_sees_the_talk_that_the_client_did_not_send(house):
    asked = respond(house, "where is order 12345?", tools=TOOLS)
    told = respond(
        house, [answer_to(asked.output[-1], '{"status": "shipped"}')], tools=TOOLS, previous_response_id=asked.id
    )
    assert "shipped" in told.output_text, "what a result answers is in our keeping only"


def test_from_an_earlier_response_begins_another_conversation_in_which_nothing_was_asked(house):
    first = respond(house, "hello", tools=TOOLS)
    asked = respond(house, "cancel order 4712", tools=TOOLS, previous_response_id=first.id)
    assert decided(asked)["outcome"] == "asked"
    beside = respond(house, "yes", tools=TOOLS, previous_response_id=first.id)
    assert decided(beside)["conversation_id"] != decided(asked)["conversation_id"]
    assert [one.type for one in beside.output] == ["message"]
    confirmed = respond(house, "yes", tools=TOOLS, previous_response_id=asked.id)
    assert [one.type for one in confirmed.output] == ["function_call"], "the question stands where it was asked"


def test_a_request_that_is_sent_again_is_not_one_from_an_earlier_response(house):
    asked = respond(house, "cancel order 12351")
    again = {"previous_response_id": asked.id, "extra_headers": {"Idempotency-Key": "once"}}
    first, second = respond(house, "yes", **again), respond(house, "yes", **again)
    assert first.id == second.id
    assert decided(second)["conversation_id"] == decided(asked)["conversation_id"]


def test_a_named_conversation_is_kept_by_us(house):
    respond(house, "cancel order 4713", tools=TOOLS, conversation="kept-1")
    confirmed = respond(house, "yes", tools=TOOLS, conversation={"id": "kept-1"})
    assert json.loads(confirmed.output[-1].arguments) == {"order_id": "4713"}
    assert confirmed.conversation.id == "kept-1"
    with pytest.raises(openai.UnprocessableEntityError, match="Leave out either"):
        respond(house, "yes", conversation="kept-1", previous_response_id=confirmed.id)


def test_a_response_is_there_for_who_got_it_and_for_nobody_else(house):
    asked = respond(house, "cancel order 12347", user="ann")
    of_ann = client(house).responses.retrieve(asked.id, extra_query={"person": "ann"})
    assert (of_ann.id, of_ann.output) == (asked.id, asked.output)
    for stranger in ({"extra_query": {"person": "bob"}}, {}):
        with pytest.raises(openai.NotFoundError, match="no such response"):
            client(house).responses.retrieve(asked.id, **stranger)
    with pytest.raises(openai.NotFoundError):
        client(house, "shop-ru").responses.retrieve(asked.id)
    for stranger in ({"user": "bob"}, {}):
        with pytest.raises(openai.NotFoundError):
            respond(house, "yes", previous_response_id=asked.id, **stranger)
    with pytest.raises(openai.NotFoundError):
        client(house, "shop-ru").responses.create(model=NAMED, input="yes", previous_response_id=asked.id)
    for wrong in ("resp_turn_none", "turn_without_its_beginning"):
        with pytest.raises(openai.NotFoundError):
            respond(house, "yes", previous_response_id=wrong)


# --- the client keeps the talk --------------------------------------------------------------------------------------


def test_items_that_are_sent_back_are_the_same_talk(house):
    items: list[Any] = [{"role": "user", "content": "where is order 12345?"}]
    asked = respond(house, items, tools=TOOLS, store=False)
    items += [one.model_dump(exclude_none=True) for one in asked.output]
    assert [one["type"] for one in items[1:]] == ["message", "function_call"]
    items.append(answer_to(asked.output[-1], '{"status": "processing"}'))
    told = respond(house, items, tools=TOOLS, store=False)
    items += [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        *(one.model_dump(exclude_none=True) for one in told.output),
        {"role": "user", "content": [{"type": "input_text", "text": "cancel order 12345"}]},
    ]
    asked_again = respond(house, items, tools=TOOLS, store=False)
    assert len({decided(one)["conversation_id"] for one in (asked, told, asked_again)}) == 1
    assert decided(asked_again)["pending"]["arguments"]["order_id"] == "12345"


def test_items_may_be_named_by_their_ids(house):
    question = {"role": "user", "content": "where is order 12345?"}
    asked = respond(house, [question], tools=TOOLS)
    referred = [{"type": "item_reference", "id": one.id} for one in asked.output]
    told = respond(house, [question, *referred, answer_to(asked.output[-1], '{"status": "lost"}')], tools=TOOLS)
    assert decided(told)["conversation_id"] == decided(asked)["conversation_id"]
    for nobodys in ("msg_turn_none", "fc_exec_none", "rs_1"):
        with pytest.raises(openai.NotFoundError, match="no such item"):
            respond(house, [question, {"type": "item_reference", "id": nobodys}], tools=TOOLS)
    with pytest.raises(openai.NotFoundError):
        client(house, "shop-ru").responses.create(model=NAMED, input=[*referred, question])


def test_words_and_calls_of_one_reply_are_one_message():
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a": 1}'}
    given = ResponsesRequest.model_validate(
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": [
                {"role": "developer", "content": "And kind."},
                {"role": "user", "content": "Look!"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
                call,
                {**call, "call_id": "c2"},
                {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "seen"}]},
                {"type": "function_call_output", "call_id": "c2", "output": "not seen"},
            ],
        }
    )
    talk = read_items(given)
    assert talk.instructions == "Be brief.\n\nAnd kind."
    assert talk.earlier == (
        ChatMessage("user", "Look!"),
        ChatMessage("assistant", "I look.", (ToolCall("look", {"a": 1}, "c1"), ToolCall("look", {"a": 1}, "c2"))),
    )
    assert [(one.text, one.call_id, one.tool) for one in talk.newest] == [
        ("seen", "c1", "look"),
        ("not seen", "c2", "look"),
    ]


# --- events ---------------------------------------------------------------------------------------------------------


def read_events(house: House, **body: Any) -> list[dict[str, Any]]:
    sent = {"model": NAMED, "stream": True, **body}
    with house.key("shop").stream("POST", "/v1/responses", json=sent) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


def test_events_come_in_the_order_and_form_that_the_official_types_have(house):
    events = read_events(house, input="where is order 12345?", tools=TOOLS)
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    assert [one["type"] for one in events if not one["type"].endswith("delta")] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event)
    completed = events[-1]["response"]
    assert [one["item"] for one in events if one["type"] == "response.output_item.done"] == completed["output"]
    said = "".join(one["delta"] for one in events if one["type"] == "response.output_text.delta")
    assert said == completed["output"][0]["content"][0]["text"]


def test_the_clients_own_stream_helper_gathers_the_response(house):
    with client(house).responses.stream(model=NAMED, input="what is your return policy?") as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        done = stream.get_final_response()
    assert "".join(pieces) == done.output_text != ""
    assert decided(done)["outcome"] == "answered"


@pytest.fixture
def key(house: House) -> str:
    return house.token("shop", "chat")


async def test_the_asynchronous_client_streams_a_call(house, key):
    async with openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=key) as asynchronous:
        stream = await asynchronous.responses.create(
            model=NAMED, input="where is order 12345?", tools=TOOLS, stream=True
        )
        *_, last = [event async for event in stream]
    assert (last.type, last.response.output[-1].name) == ("response.completed", "get_order_status")


def test_a_turn_that_breaks_off_is_an_error_to_the_client():
    given = ResponsesRequest(model="m", input="hello")
    written = ResponseEvents(TurnId("turn_1"), given, 1)
    sent = [*written.begin(), *written.fail({"code": "not_stored", "problem": "Lost.", "fix": "Send it again."})]
    events = [json.loads(one.split(b"data: ")[1]) for one in sent]
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event)
    assert events[-2]["error"]["message"] == "Lost. Send it again."
    assert (events[-1]["type"], events[-1]["response"]["status"]) == ("response.failed", "failed")


# --- what is left aside, and what is refused ------------------------------------------------------------------------


def test_what_is_left_aside_is_named(house):
    answer = client(house).responses.with_raw_response.create(
        model=NAMED, input="hello", store=False, service_tier="flex", truncation="disabled", prompt_cache_key="k"
    )
    assert answer.headers["X-Circumspect-Ignored"] == "prompt_cache_key, service_tier, store"
    plain = client(house).responses.with_raw_response.create(model=NAMED, input="hello", service_tier="auto")
    assert "X-Circumspect-Ignored" not in plain.headers


def test_tools_that_would_run_elsewhere_are_refused(house):
    with pytest.raises(openai.UnprocessableEntityError, match="web_search would run at OpenAI"):
        respond(house, "hello", tools=[STATUS, {"type": "web_search"}])


@pytest.mark.parametrize(
    "body",
    [
        {"input": "hello", "made_up": 1},
        {"input": "hello", "prompt": {"id": "pmpt_1"}},
        {"input": []},
        {"input": [{"role": "wizard", "content": "hello"}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        {"input": [{"type": "computer_call", "id": "x"}]},
        {"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]},
        {"input": "hello", "metadata": {"conversation_id": "a b"}},
        {},
    ],
)
def test_what_cannot_be_honoured_is_refused_where_the_client_looks(house, body):
    answer = house.key("shop").post("/v1/responses", json={"model": NAMED, **body})
    is_a_problem(answer, 422)
    assert answer.json()["error"]["type"] == "invalid_request_error"
