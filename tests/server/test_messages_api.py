"""Anthropic's Messages API, called by the official client: blocks, events, the key's place, refusals."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.types import ErrorResponse, Message, ModelInfo, RawMessageStreamEvent
from pydantic import TypeAdapter
from tests.server.house import House, is_a_problem

from circumspect.server.anthropic_answers import AnthropicEvents
from circumspect.server.anthropic_format import CountRequest, read_messages
from circumspect.values import ChatMessage, ConversationId, TenantId, ToolCall, TurnId

ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS = [
    {"name": "get_order_status", "description": "Where an order is.", "input_schema": ORDER},
    {"name": "cancel_order", "description": "Cancel an order.", "input_schema": ORDER, "type": "custom"},
]
MODEL = "claude-of-somebody-else"
HELLO = [{"role": "user", "content": "hello"}]


def client(house: House, **options: Any) -> anthropic.Anthropic:
    credentials = options or {"api_key": house.token("shop", "chat")}
    return house.lend(anthropic.Anthropic(base_url=house.url, max_retries=0, **credentials))


class Talk:
    """As a chat application does it: the whole talk each time, kept as the client got it."""

    def __init__(self, house: House, **options: Any) -> None:
        self.anthropic, self.options, self.messages = client(house), options, []

    def say(self, content: Any) -> Message:
        self.messages.append({"role": "user", "content": content})
        done = self.anthropic.messages.create(model=MODEL, max_tokens=500, messages=self.messages, **self.options)
        self.messages.append({"role": "assistant", "content": done.content})
        return done


def decided(message: Message) -> dict[str, Any]:
    return message.model_extra["circumspect"]


def answer_to(call: Any, content: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, **more}


def test_a_plain_client_talks_and_hears_what_was_decided(house):
    done = Talk(house, system="Be brief.").say("where is order 12345?")
    assert "12345" in done.content[0].text
    assert (done.stop_reason, done.model, done.role) == ("end_turn", MODEL, "assistant")
    assert done.usage.input_tokens > 0 < done.usage.output_tokens
    assert decided(done)["outcome"] in ("acted", "answered")


def test_a_yes_of_a_client_that_only_sends_the_talk_is_bound_to_the_question(house):
    talk = Talk(house)
    asked = talk.say("cancel order 12346")
    assert decided(asked)["pending"]["arguments"]["order_id"] == "12346"
    assert "EXECUTED_SUCCESSFULLY" in decided(talk.say("yes"))["reason_codes"]


def test_a_call_of_the_clients_own_comes_after_a_yes_and_exactly_as_confirmed(house):
    talk = Talk(house, tools=TOOLS)
    asked = talk.say("cancel order 4711")
    assert [one.type for one in asked.content] == ["text"]
    confirmed = talk.say("yes")
    assert confirmed.stop_reason == "tool_use"
    call = confirmed.content[-1]
    assert (call.name, call.input) == ("cancel_order", {"order_id": "4711"})
    talk.say([answer_to(call, "cancelled")])
    assert [one.type for one in talk.say("yes").content] == ["text"], "one yes, one call"


def test_a_call_that_failed_at_the_client_counts_as_failed(house):
    talk = Talk(house, tools=TOOLS)
    talk.say("cancel order 4712")
    call = talk.say("yes").content[-1]
    done = talk.say([answer_to(call, "the warehouse is closed", is_error=True)])
    conversation = ConversationId(decided(done)["conversation_id"])
    (ran,) = house.stored(lambda store: store.executions(TenantId("shop"), conversation))
    assert (ran.state, ran.error) == ("failed", "the warehouse is closed")


def test_a_failed_call_of_a_past_that_began_elsewhere_counts_as_failed(house):
    talk = Talk(house, tools=TOOLS)
    talk.messages = [
        {"role": "user", "content": "where is order 888?"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "get_order_status", "input": {"order_id": "888"}}
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}]},
        {"role": "assistant", "content": "I could not find out."},
    ]
    conversation = ConversationId(decided(talk.say("thank you"))["conversation_id"])
    (ran,) = house.stored(lambda store: store.executions(TenantId("shop"), conversation))
    assert (ran.runner, ran.state) == ("import", "failed")


def test_two_end_users_with_the_same_words_do_not_share_a_conversation(house):
    ann, bob = Talk(house, metadata={"user_id": "ann"}), Talk(house, metadata={"user_id": "bob"})
    ann.say("cancel order 12348")
    bob.messages = ann.messages[:]
    assert decided(bob.say("yes"))["outcome"] != "acted"
    assert decided(ann.say("yes"))["outcome"] == "acted"


def test_the_same_key_gets_the_same_answer(house):
    talk = Talk(house, extra_headers={"Idempotency-Key": "a-first"})
    talk.say("cancel order 12350")
    before, talk.options = talk.messages[:], {"extra_headers": {"Idempotency-Key": "a-second"}}
    done = talk.say("yes")
    talk.messages = before
    assert talk.say("yes").id == done.id


def test_what_a_message_is_made_of():
    given = CountRequest.model_validate(
        {
            "model": "m",
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "Look!"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}]},
                        {"type": "text", "text": "And now?"},
                    ],
                },
            ],
        }
    )
    talk = read_messages(given)
    assert talk.instructions == "Be brief."
    assert talk.earlier == (
        ChatMessage("user", "Look!"),
        ChatMessage("assistant", "I look.", (ToolCall("look", {"a": 1}, "t1"),)),
    )
    assert talk.newest == (ChatMessage("tool", "seen", call_id="t1", tool="look"), ChatMessage("user", "And now?"))


# --- events ---------------------------------------------------------------------------------------------------------


def test_events_come_in_the_order_and_form_that_the_official_types_have(house):
    body = {"model": MODEL, "max_tokens": 500, "stream": True, "tools": TOOLS}
    body["messages"] = [{"role": "user", "content": "where is order 12345?"}]
    with house.key("shop").stream("POST", "/v1/messages", json=body) as answer:
        lines = list(answer.iter_lines())
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [line.removeprefix("event: ") for line in lines if line.startswith("event: ")] == [
        one["type"] for one in events
    ]
    assert [(one["type"], one.get("index")) for one in events if one["type"] != "content_block_delta"] == [
        ("message_start", None),
        ("ping", None),
        ("content_block_start", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_stop", 1),
        ("message_delta", None),
        ("message_stop", None),
    ]
    for event in events:
        if event["type"] != "ping":
            TypeAdapter(RawMessageStreamEvent).validate_python(event)
    assert events[-2]["circumspect"]["reason_codes"] is not None


def test_the_clients_own_stream_helper_gathers_the_message(house):
    asked = {"model": MODEL, "max_tokens": 500, "tools": TOOLS}
    messages = [{"role": "user", "content": "where is order 12345?"}]
    with client(house).messages.stream(messages=messages, **asked) as stream:
        text, done = "".join(stream.text_stream), stream.get_final_message()
    assert (done.content[0].text, done.stop_reason) == (text, "tool_use")
    assert done.content[1].input == {"order_id": "12345"}
    assert done.usage.output_tokens > 0


@pytest.fixture
def key(house: House) -> str:
    return house.token("shop", "chat")


async def test_the_asynchronous_client_streams_words(house, key):
    async with (
        anthropic.AsyncAnthropic(base_url=house.url, api_key=key) as asynchronous,
        asynchronous.messages.stream(
            model=MODEL, max_tokens=500, messages=[{"role": "user", "content": "what is your return policy?"}]
        ) as stream,
    ):
        pieces = [piece async for piece in stream.text_stream]
        done = await stream.get_final_message()
    assert "".join(pieces) == done.content[0].text != ""


def test_a_turn_that_breaks_off_is_an_error_to_the_client():
    (event,) = AnthropicEvents(TurnId("turn_1"), "m").fail(
        {"code": "not_stored", "problem": "Lost.", "fix": "Send it again."}
    )
    assert event.startswith(b"event: error\n")
    told = TypeAdapter(ErrorResponse).validate_python(json.loads(event.split(b"data: ")[1]))
    assert (told.error.type, told.error.message) == ("api_error", "Lost. Send it again.")


# --- who asks, what is left aside, what is refused ------------------------------------------------------------------


def test_the_key_is_taken_wherever_a_client_puts_it(house):
    for options in ({"api_key": house.token("shop", "chat")}, {"auth_token": house.token("shop", "chat")}):
        done = client(house, **options).messages.create(model=MODEL, max_tokens=9, messages=HELLO)
        assert done.stop_reason == "end_turn"
    body = {"model": MODEL, "max_tokens": 9, "messages": HELLO}
    headers = {"x-api-key": house.token("shop", "chat"), "anthropic-version": "2023-06-01"}
    assert house.client().post("/v1/messages", json=body, headers=headers).status_code == 200
    assert house.client().post("/v1/messages", json=body).status_code == 401
    with pytest.raises(anthropic.AuthenticationError, match="The API key is not valid") as refused:
        client(house, api_key="csk_x_y").messages.create(model=MODEL, max_tokens=9, messages=HELLO)
    assert refused.value.body["error"]["type"] == "authentication_error"
    with pytest.raises(anthropic.PermissionDeniedError, match="lacks the scope chat"):
        client(house, api_key=house.token("shop", "read")).messages.create(model=MODEL, max_tokens=9, messages=HELLO)


def test_what_is_left_aside_is_named(house):
    answer = client(house).messages.with_raw_response.create(
        model=MODEL,
        max_tokens=2000,
        messages=HELLO,
        thinking={"type": "enabled", "budget_tokens": 1024},
        service_tier="auto",
    )
    assert answer.headers["X-Circumspect-Ignored"] == "thinking"


def test_tools_that_anthropic_defines_are_refused(house):
    with pytest.raises(anthropic.UnprocessableEntityError, match="web_search_20250305 are Anthropic's own"):
        client(house).messages.create(
            model=MODEL, max_tokens=9, messages=HELLO, tools=[{"type": "web_search_20250305", "name": "web_search"}]
        )


@pytest.mark.parametrize(
    "more",
    [
        {"made_up": 1},
        {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]},
        {"messages": []},
        {"messages": [{"role": "assistant", "content": "hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"max_tokens": None},
    ],
)
def test_what_cannot_be_honoured_is_refused_where_the_client_looks(house, more):
    answer = house.key("shop").post("/v1/messages", json={"model": MODEL, "max_tokens": 9, "messages": HELLO, **more})
    is_a_problem(answer, 422)
    assert answer.json()["error"]["type"] == "invalid_request_error"
    TypeAdapter(ErrorResponse).validate_python(answer.json())


def test_tokens_are_counted_before_they_are_spent(house):
    few = client(house).messages.count_tokens(model=MODEL, messages=HELLO)
    many = client(house).messages.count_tokens(model=MODEL, messages=HELLO, tools=TOOLS, system="Be brief. " * 20)
    assert 0 < few.input_tokens < 50 < many.input_tokens


def test_the_models_are_listed_as_the_client_reads_them(house):
    one, *_ = client(house).models.list()
    assert TypeAdapter(ModelInfo).validate_python(one.model_dump(mode="json"))
    assert (one.id, client(house).models.retrieve("claude-x").id) == ("circumspect", "claude-x")


def test_a_path_that_is_not_served_is_said_as_the_client_reads_it(house):
    with pytest.raises(anthropic.NotFoundError, match="Not Found") as refused:
        client(house).messages.batches.list()
    assert TypeAdapter(ErrorResponse).validate_python(refused.value.body).error.type == "not_found_error"


@pytest.mark.parametrize("nothing", ["", [], [{"type": "text", "text": ""}]])
def test_a_last_message_that_is_empty_is_refused_as_that(house, nothing):
    with pytest.raises(anthropic.UnprocessableEntityError, match="The last message is empty"):
        Talk(house).say(nothing)


def test_the_beginning_of_a_reply_is_refused_by_its_name(house):
    talk = [*HELLO, {"role": "assistant", "content": "{"}]
    with pytest.raises(anthropic.UnprocessableEntityError, match="prefill"):
        client(house).messages.create(model=MODEL, max_tokens=500, messages=talk)
