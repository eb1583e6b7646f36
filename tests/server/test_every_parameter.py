"""Every parameter that the vendors' own libraries can send is passed on, honoured, named as ignored, or refused by name:
the lists are the libraries' own, so that a new parameter of a newer one is missed here first."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import pytest
from anthropic.types.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from pydantic import ValidationError

from circumspect.server.anthropic_format import CountRequest, MessagesRequest
from circumspect.server.openai_format import ChatRequest
from circumspect.server.openai_responses_format import ResponsesRequest

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
TALK = [{"role": "user", "content": "hi"}]
DOORS: list[tuple[Any, Any, dict[str, Any]]] = [
    (ChatRequest, chat.CompletionCreateParamsNonStreaming, {"model": "m", "messages": TALK}),
    (ChatRequest, chat.CompletionCreateParamsStreaming, {"model": "m", "messages": TALK}),
    (ResponsesRequest, responses.ResponseCreateParamsNonStreaming, {"model": "m", "input": "hi"}),
    (ResponsesRequest, responses.ResponseCreateParamsStreaming, {"model": "m", "input": "hi"}),
    (MessagesRequest, MessageCreateParamsNonStreaming, {"model": "m", "messages": TALK, "max_tokens": 9}),
    (MessagesRequest, MessageCreateParamsStreaming, {"model": "m", "messages": TALK, "max_tokens": 9}),
    (CountRequest, MessageCountTokensParams, {"model": "m", "messages": TALK}),
]


@pytest.mark.parametrize(("request_of", "params", "least"), DOORS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_vendors_parameter_is_taken_or_refused_by_name(request_of: Any, params: Any, least: dict[str, Any]) -> None:
    taken = {*request_of.model_fields, *(one.alias for one in request_of.model_fields.values() if one.alias)}
    names = get_type_hints(params)
    assert len(names) > 5, "the library keeps its list elsewhere now"
    for name in names:
        assert f"`{name}" in PAGE or f"{name}`" in PAGE or name == "model", f"docs/clients.md has no {name}"
        if name in taken or name in request_of.HARMLESS:
            continue
        with pytest.raises(ValidationError, match=name):
            request_of.model_validate({**least, name: {"anything": 1}})
    request_of.model_validate(least)
