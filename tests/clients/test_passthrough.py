"""An agent that is left as it is: its prompt, tools and options reach the model untouched, and its calls are ruled on."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from tests.clients.shop_tools import TOOLS
from tests.clients.upstream import Upstream, call
from tests.models.wire_formats import Answer
from tests.server.house import House

PROMPT = {"role": "system", "content": "You are Basil, who runs a hotel.\nNever mention the war."}
DELETE = {
    "type": "function",
    "function": {
        "name": "delete_account",
        "description": "Delete an account for good.",
        "parameters": {"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]},
    },
}


class Agent:
    """A loop of somebody else's, which keeps the talk."""

    def __init__(
        self, house: House, upstream: Upstream, tenant: str = "plain", model: str = "passthrough/gpt-4o"
    ) -> None:
        key, http = house.token(tenant, "chat"), house.client()
        self.openai = openai.OpenAI(base_url=f"{house.url}/v1", api_key=key, http_client=http, max_retries=0)
        self.upstream, self.model = upstream, model
        self.messages: list[Any] = [PROMPT]
        self.decided: Any = {}
        """What the newest answer says of itself."""

    def say(self, text: str, *acts: Any, **options: Any) -> Any:
        self.upstream.plays(*acts)
        self.messages.append({"role": "user", "content": text})
        done = self.openai.chat.completions.create(model=self.model, messages=self.messages, **options)
        self.decided = done.model_extra["circumspect"]
        message = done.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True))
        return message


@pytest.fixture
def agent(house: House, upstream: Upstream) -> Agent:
    return Agent(house, upstream)


def test_the_model_gets_what_the_agent_sent_and_nothing_else(agent: Agent, upstream: Upstream) -> None:
    said = agent.say("hello", Answer("Good morning!"), tools=TOOLS)
    assert said.content == "Good morning!"
    (asked,) = upstream.asked
    assert asked["messages"] == agent.messages[:2]
    assert [one["function"]["description"] for one in asked["tools"]] == [
        one["function"]["description"] for one in TOOLS
    ]
    assert not {"temperature", "max_tokens", "max_completion_tokens", "stop"} & asked.keys()


def test_its_options_are_passed_on_as_they_are(agent: Agent, upstream: Upstream) -> None:
    agent.say("hello", Answer("Good morning!"), temperature=1.5, max_tokens=17, stop=["\n\n"])
    (asked,) = upstream.asked
    assert (asked["temperature"], asked["max_tokens"], asked["stop"]) == (1.5, 17, ["\n\n"])
    assert "tools" not in asked


def test_what_the_application_says_in_between_stays_where_it_is(agent: Agent, upstream: Upstream) -> None:
    agent.say("hello", Answer("Good morning!"))
    agent.messages.append({"role": "system", "content": "The guest is in a hurry."})
    agent.say("and now?", Answer("Go on."))
    assert [(one["role"], one["content"]) for one in upstream.asked[0]["messages"][2:]] == [
        ("assistant", "Good morning!"),
        ("system", "The guest is in a hurry."),
        ("user", "and now?"),
    ]


@pytest.mark.parametrize("text", ["I want to talk to a person", "thanks!", "yes", "x" * 30_000])
def test_words_that_our_own_agent_would_answer_itself_go_to_the_model(agent: Agent, text: str) -> None:
    words = "My tools are get_order_status and cancel_order."
    assert agent.say(text, Answer(words), tools=TOOLS).content == words


def test_a_call_that_needs_a_yes_is_a_question_and_the_yes_is_bound_to_it(agent: Agent, upstream: Upstream) -> None:
    asked = agent.say("cancel order 4711", call("cancel_order", order_id="4711"), tools=TOOLS)
    assert asked.tool_calls is None
    assert "4711" in asked.content
    assert len(upstream.asked) == 1, "no second opinion is asked of somebody else's model"
    (confirmed,) = agent.say("yes", tools=TOOLS).tool_calls
    assert (confirmed.function.name, json.loads(confirmed.function.arguments)) == ("cancel_order", {"order_id": "4711"})
    assert upstream.asked == []


NOTE = {
    "type": "function",
    "function": {
        "name": "add_note",
        "description": "Write a note on an account.",
        "parameters": {
            "type": "object",
            "properties": {"account_id": {"type": "string"}, "text": {"type": "string"}},
            "required": ["account_id", "text"],
        },
    },
}


@pytest.mark.parametrize("account", ["ACC-99917", "998123"])
def test_a_value_that_nobody_gave_is_asked_for_whoever_the_agent_is(agent: Agent, account: str) -> None:
    made_up = agent.say("make a note on ACC-100: hi", call("add_note", account_id=account, text="hi"), tools=[NOTE])
    assert made_up.tool_calls is None
    right = agent.say("make a note on ACC-100: hi", call("add_note", account_id="ACC-100", text="hi"), tools=[NOTE])
    assert json.loads(right.tool_calls[0].function.arguments) == {"account_id": "ACC-100", "text": "hi"}


def test_an_invented_value_is_asked_for_and_no_yes_is_wanted_to_it(agent: Agent) -> None:
    asked = agent.say("cancel my order please", call("cancel_order", order_id="7719"), tools=TOOLS)
    assert asked.tool_calls is None
    assert "7719" not in asked.content


def test_a_read_call_is_handed_out_and_its_result_goes_to_the_model_in_its_role(
    agent: Agent, upstream: Upstream
) -> None:
    said = agent.say("where is order 4711?", call("get_order_status", order_id="4711"), tools=TOOLS)
    (handed,) = said.tool_calls
    agent.messages.append({"role": "tool", "tool_call_id": handed.id, "content": '{"status": "sent"}'})
    upstream.plays(Answer("It was sent."))
    done = agent.openai.chat.completions.create(model=agent.model, messages=agent.messages, tools=TOOLS)
    assert done.choices[0].message.content == "It was sent."
    assert [one["role"] for one in upstream.asked[0]["messages"]] == ["system", "user", "assistant", "tool"]


def test_a_denied_call_is_told_to_the_model_once(agent: Agent, upstream: Upstream) -> None:
    said = agent.say(
        "delete my account ann@example.org",
        call("delete_account", email="ann@example.org"),
        Answer("I cannot do that."),
        tools=[DELETE],
    )
    assert said.tool_calls is None
    assert "I cannot do that." in said.content
    told = upstream.asked[1]["messages"][-1]
    assert (told["role"], "by letter only" in told["content"]) == ("tool", True)


def test_a_reply_that_claims_what_did_not_happen_is_not_passed_on(agent: Agent, upstream: Upstream) -> None:
    claim = Answer("I have cancelled order 4711 for you.")
    said = agent.say("what about order 4711?", claim, claim, tools=TOOLS)
    assert "I have cancelled" not in said.content
    assert len(upstream.asked) == 2, "the model is told once what is not so"


DATA = [
    '{"status": "cancelled", "summary": "I have cancelled order 4711 for you."}',
    '```json\n[{"summary": "I have cancelled order 4711 for you."}]\n```',
    "status: done\nsummary: I have cancelled order 4711 for you.\nitems:\n  - kettle\n  - cup",
    "order: 4711\nstate: cancelled",
    "---\nsummary: |\n  I have cancelled order 4711 for you.\n  Goodbye.",
]


@pytest.mark.parametrize("data", DATA)
def test_what_a_program_will_read_is_never_replaced_by_words(agent: Agent, upstream: Upstream, data: str) -> None:
    said = agent.say("what about order 4711?", Answer(data), Answer(data), tools=TOOLS)
    assert said.content == data
    if "I have" in data:
        assert len(upstream.asked) == 2, "the model is told once what is not so"
        assert "UNSUPPORTED_CLAIM" in agent.decided["reason_codes"]


@pytest.mark.parametrize("words", ["Sorry, nothing was cancelled.", '{"summary": "Nothing was cancelled."}'])
def test_of_a_second_try_at_data_only_data_is_taken(agent: Agent, words: str) -> None:
    said = agent.say("what about order 4711?", Answer(DATA[0]), Answer(words), tools=TOOLS)
    assert "UNSUPPORTED_CLAIM" in agent.decided["reason_codes"]
    assert said.content == (words if words.startswith("{") else DATA[0])


def test_data_are_in_no_language(agent: Agent) -> None:
    data = '{"intent": "where is my order", "language": "he", "note": "the customer is looking for the parcel"}'
    assert agent.say("איפה ההזמנה שלי? אני מחכה כבר שבוע", Answer(data), Answer(data)).content == data


def test_data_with_a_claim_that_fit_the_schema_are_passed_on(agent: Agent) -> None:
    schema = {"type": "object", "properties": {"status": {"type": "string"}, "summary": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "said", "schema": schema}}
    said = agent.say("what about order 4711?", Answer(DATA[0]), Answer(DATA[0]), response_format=form)
    assert json.loads(said.content) == json.loads(DATA[0])


def test_after_a_denied_call_data_stay_as_they_are(agent: Agent) -> None:
    data = '{"done": false, "why": "by letter only"}'
    said = agent.say(
        "delete my account ann@example.org",
        call("delete_account", email="ann@example.org"),
        Answer(data),
        tools=[DELETE],
    )
    assert said.content == data


def test_data_are_streamed_whole(agent: Agent, upstream: Upstream) -> None:
    upstream.plays(Answer(DATA[2]), Answer(DATA[2]))
    talk = [PROMPT, {"role": "user", "content": "what about order 4711?"}]
    pieces = agent.openai.chat.completions.create(model=agent.model, messages=talk, tools=TOOLS, stream=True)
    said = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert said == DATA[2]


@pytest.mark.parametrize(
    "words", ["Status: I have cancelled order 4711 for you.", "Note:\nI have cancelled order 4711 for you."]
)
def test_words_behind_a_heading_are_words(agent: Agent, words: str) -> None:
    said = agent.say("what about order 4711?", Answer(words), Answer(words), tools=TOOLS)
    assert "I have cancelled" not in said.content


def test_the_tenant_decides_whether_agents_are_left_as_they_are(house: House, upstream: Upstream) -> None:
    always = Agent(house, upstream, "open", "gpt-4o")
    assert always.say("hello", Answer("Good morning!")).content == "Good morning!"
    assert upstream.asked[0]["messages"][0] == PROMPT
    ours = Agent(house, upstream, "plain", "gpt-4o")
    ours.say("hello", Answer("Good morning!"))
    assert "Kestrel & Kettle" in upstream.asked[0]["messages"][0]["content"]
    with pytest.raises(openai.UnprocessableEntityError, match="not left out") as refused:
        Agent(house, upstream, "careful").say("hello")
    assert refused.value.code == "no_passthrough"


@pytest.mark.parametrize(
    ("name", "behind"), [("fast", "gpt-fast"), ("passthrough/fast", "gpt-fast"), ("o9", "gpt-test")]
)
def test_a_name_stands_for_the_model_that_the_tenants_file_says(
    house: House, upstream: Upstream, name: str, behind: str
) -> None:
    Agent(house, upstream, "plain", name).say("hello", Answer("Good morning!"))
    assert upstream.asked[0]["model"] == behind


def test_the_names_are_listed(agent: Agent) -> None:
    names = [one.id for one in agent.openai.models.list()]
    assert names == ["circumspect", "fast", "passthrough/circumspect", "passthrough/fast"]
