"""A whole review over HTTP, in the protocols of OpenAI and of Anthropic, streamed and not. The server refuses requests
that the real services would refuse: tool results without their calls, doubled ids, roles in the wrong order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.conftest import Open
from tests.models.provider_server import ProviderServer, Raw, Status
from tests.models.wire_formats import Answer, Call
from tests.review.conftest import IN_TIME, RULE, case, finish

from circumspect.reasons import ReasonCode
from circumspect.review.reviewing import Prepared, Reviewing, prepare, review
from circumspect.review.shelf import Shelf

streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def played(tool: str, id_: str, **arguments: Any) -> Call:
    return Call(tool, json.dumps(arguments), id_)


def finished(id_: str = "call_f", **more: Any) -> Answer:
    return Answer("", (Call("finish", json.dumps({**finish().arguments, **more}), id_),))


def tool_results(provider: str, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Id and text of every tool result in a request, in either protocol."""
    if provider == "openai":
        return [(one["tool_call_id"], one["content"]) for one in body["messages"] if one["role"] == "tool"]
    found = []
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                said = block["content"]
                found.append((block["tool_use_id"], said if isinstance(said, str) else said[0]["text"]))
    return found


def offered(provider: str, body: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] if provider == "openai" else one["name"] for one in body["tools"]]


@streaming
async def test_a_review_with_parallel_calls_speaks_the_providers_language(
    server: ProviderServer, opened: Open, provider: str, stream: bool, shelf: Shelf
) -> None:
    server.plays(
        Answer(
            "I look.",
            (played("policy_search", "call_a", query="claim trip"), played("facts_get", "call_b", field="claim")),
        ),
        Answer("", (played("facts_get", "call_c", field="nothing.there"),)),
        finished(),
    )
    reviewing = Reviewing(opened(provider), stream=stream)
    result = await review(case(), IN_TIME, Prepared(shelf), reviewing)
    assert (result.status, result.reason_code) == ("MET", None)
    assert [one.quote for one in result.citations] == [RULE]
    first, second, third = (request.body for request in server.requests)
    assert offered(provider, first) == ["policy_search", "facts_get", "spans_tighten", "finish"]
    assert bool(first.get("stream")) is stream
    assert [id_ for id_, _ in tool_results(provider, second)] == ["call_a", "call_b"]
    assert RULE in tool_results(provider, second)[0][1]
    assert [id_ for id_, _ in tool_results(provider, third)] == ["call_a", "call_b", "call_c"]
    assert result.usage_json()["model_calls"] == 3
    assert result.tokens == 45


@streaming
async def test_arguments_that_are_no_json_go_back_to_the_model(
    server: ProviderServer, opened: Open, stream: bool, shelf: Shelf
) -> None:
    """The model layer asks once more by itself; then the model is told."""
    broken = Answer("", (Call("finish", '{"status": "MET", ', "call_x"),))
    server.plays(broken, broken, finished())
    result = await review(case(), IN_TIME, Prepared(shelf), Reviewing(opened("openai"), stream=stream))
    assert result.status == "MET"
    assert "cannot be used" in json.dumps(server.last["messages"])


@streaming
async def test_a_verdict_in_a_code_fence_is_read(
    server: ProviderServer, opened: Open, stream: bool, shelf: Shelf
) -> None:
    fenced = f"```json\n{json.dumps(dict(finish().arguments))}\n```"
    server.plays(Answer("", (Call("finish", fenced, "call_x"),)))
    result = await review(case(), IN_TIME, Prepared(shelf), Reviewing(opened("openai"), stream=stream))
    assert (result.status, result.reason_code, len(server.requests)) == ("MET", None, 1)


async def test_a_model_whose_calls_can_never_be_read_is_stopped_and_every_try_is_counted(
    server: ProviderServer, opened: Open, shelf: Shelf
) -> None:
    """It was there all the time: nobody is sent to look for an outage."""
    server.plays(*[Answer("", (Call("finish", '{"status": "MET", ', "call_x"),), usage=(1000, 500))] * 6)
    result = await review(case(), IN_TIME, Prepared(shelf), Reviewing(opened("openai")))
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.LOOP_DETECTED)
    assert "'finish' cannot be used" in result.rationale
    assert ReasonCode.MODEL_FAILED not in {step.reason for step in result.trace}
    used = result.usage_json()
    assert (used["model_calls"], used["input_tokens"], len(server.requests)) == (6, 6000, 6)


async def test_arguments_that_break_the_schema_are_answered_under_their_own_id(
    server: ProviderServer, opened: Open, provider: str, shelf: Shelf
) -> None:
    server.plays(Answer("", (played("finish", "call_w", status="PERHAPS", confidence=2, rationale="x"),)), finished())
    result = await review(case(), IN_TIME, Prepared(shelf), Reviewing(opened(provider)))
    assert result.status == "MET"
    ((id_, text),) = tool_results(provider, server.last)
    assert id_ == "call_w"
    assert text.startswith("ERROR:")


async def test_a_rate_limit_is_waited_for_and_then_the_review_goes_on(
    server: ProviderServer, opened: Open, provider: str, waits: list[float], shelf: Shelf
) -> None:
    server.plays(Status(429, headers={"retry-after": "2"}), finished())
    result = await review(case(), IN_TIME, Prepared(shelf), Reviewing(opened(provider)))
    assert result.status == "MET"
    assert waits == [2.0]


@pytest.mark.parametrize(
    "act", [Status(429), Status(500), Status(401, kind="invalid_api_key"), Raw(b"<html>")], ids=str
)
async def test_a_provider_that_stays_away_leaves_no_verdict_of_anybody_else(
    server: ProviderServer, opened: Open, provider: str, act: Any, shelf: Shelf
) -> None:
    server.plays(*[act] * 40)
    model = opened(provider)
    alone = await review(case(), IN_TIME, Prepared(shelf), Reviewing(model, fallback=False))
    assert (alone.status, alone.reason_code) == ("UNCERTAIN", ReasonCode.MODEL_FAILED)
    fallen = await review(case(), IN_TIME, Prepared(shelf), Reviewing(model))
    assert (fallen.status, fallen.reason_code, fallen.controller) == ("UNCERTAIN", ReasonCode.MODEL_FAILED, "react")
    assert (alone.citations, [one.quote for one in fallen.citations][:1]) == ((), [RULE])


async def test_the_outline_is_written_once_and_searched_by_the_model(
    server: ProviderServer, opened: Open, provider: str, shelf: Shelf
) -> None:
    sections = [f"s{one.id}" for one in shelf.documents["handbook.md"].sections() if one.id]
    told = {"summaries": [{"id": id_, "summary": f"About {id_}."} for id_ in sections]}
    server.plays(
        Answer(json.dumps(told)),
        Answer("", (played("policy_search", "call_a", query="deadline of a travel claim"),)),
        Answer(json.dumps({"sections": ["s1.1.1", "no.such"]})),
        finished(),
    )
    reviewing = Reviewing(opened(provider))
    prepared = await prepare(shelf, reviewing)
    assert prepared.summaries["handbook.md"]["1.1.1"] == "About s1.1.1."
    assert sum(call.input_tokens for call in prepared.calls) == 10
    result = await review(case(), IN_TIME, prepared, reviewing)
    assert result.status == "MET"
    assert "About s1.1.1." in json.dumps(server.requests[2].body)
    assert RULE in tool_results(provider, server.last)[0][1]
    assert "Hotels" not in tool_results(provider, server.last)[0][1]
