"""Answers of `POST /v1/responses`: a turn's result -> a response, whole or as its events.

Events are numbered, and an item is added before anything is said of it. Words are sent as they come, unless data was
asked for; a call is one item that comes whole, after the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.server.openai_format import extension, is_cut_off
from circumspect.server.openai_responses_format import (
    CALL,
    MESSAGE,
    RESPONSE,
    ResponsesRequest,
    describe_request,
    find_form,
)
from circumspect.server.problems import with_error
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.responses import encode_json
from circumspect.stores.codec import dumps
from circumspect.values import ToolCall, TurnId, TurnResult


def write_response(result: TurnResult, given: ResponsesRequest, created: float) -> dict[str, Any]:
    said = write_message(result.turn, write_part(result, find_form(given)))
    output = [said] if result.reply or not result.calls else []
    output.extend(write_call(call) for call in result.calls)
    return {
        **begin_response(result.turn, given, created),
        "status": "incomplete" if is_cut_off(result) else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut_off(result) else None,
        "completed_at": None if is_cut_off(result) else created,
        "output": output,
        "usage": write_usage(result),
        "circumspect": extension(result),
    }


def begin_response(turn: TurnId, given: ResponsesRequest, created: float) -> dict[str, Any]:
    """A response of which nothing has been said yet."""
    return {
        **describe_request(given),
        "id": f"{RESPONSE}{turn}",
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }


def write_message(turn: TurnId, part: Mapping[str, Any] | None) -> dict[str, Any]:
    """`part` is what it says; None while that is not known."""
    item = {"type": "message", "id": f"{MESSAGE}{turn}", "role": "assistant"}
    return {**item, "status": "completed" if part else "in_progress", "content": [part] if part else []}


def write_part(result: TurnResult, form: ReplyForm | None) -> dict[str, Any]:
    """Words where data was asked for are a refusal."""
    if form and not result.calls and not form.fits(result.reply):
        return {"type": "refusal", "refusal": result.reply}
    return write_text(result.reply)


def write_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def write_call(call: ToolCall, status: str = "completed") -> dict[str, Any]:
    arguments = dumps(call.arguments).strip() if status == "completed" else ""
    item = {"type": "function_call", "id": f"{CALL}{call.id}", "call_id": call.id, "name": call.tool}
    return {**item, "arguments": arguments, "status": status}


def write_usage(result: TurnResult) -> dict[str, Any]:
    asked, said = result.usage.input_tokens, result.usage.output_tokens
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }


class ResponseEvents:
    """The `StreamFormat` of the Responses API."""

    def __init__(self, turn: TurnId, given: ResponsesRequest, created: float) -> None:
        self._turn, self._given, self._created = turn, given, created
        self._form = find_form(given)
        self._number, self._is_open = 0, False

    def begin(self) -> Iterator[bytes]:
        begun = begin_response(self._turn, self._given, self._created)
        yield self._write("response.created", response=begun)
        yield self._write("response.in_progress", response=begun)

    def add_text(self, piece: str) -> Iterator[bytes]:
        if self._form:  # whether it is data or words is known at the end
            return
        if not self._is_open:
            yield from self._open_message(write_text(""))
        yield self._write("response.output_text.delta", **self._place, delta=piece, logprobs=[])

    def finish(self, result: TurnResult) -> Iterator[bytes]:
        part = write_part(result, self._form)
        if not self._is_open and (result.reply or not result.calls):
            yield from self._open_message({**part, _key(part): ""})
            if result.reply:
                yield self._write_piece(part)
        if self._is_open:
            yield from self._close_message(part)
        for place, call in enumerate(result.calls, int(self._is_open)):
            yield from self._write_call(place, call)
        kind = "response.incomplete" if is_cut_off(result) else "response.completed"
        yield self._write(kind, response=write_response(result, self._given, self._created))

    def fail(self, problem: Mapping[str, Any]) -> Iterator[bytes]:
        """Said twice, as OpenAI does: some clients look for the error, some for how the response ended."""
        told = with_error(problem, 503)["error"]
        yield self._write("error", **{**told, "type": "error"}, error=told, circumspect=problem)
        ended = {**begin_response(self._turn, self._given, self._created), "status": "failed"}
        error = {"code": "server_error", "message": told["message"]}
        yield self._write("response.failed", response={**ended, "error": error, "circumspect": problem})

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": f"{MESSAGE}{self._turn}", "output_index": 0, "content_index": 0}

    def _open_message(self, part: Mapping[str, Any]) -> Iterator[bytes]:
        self._is_open = True
        yield self._write("response.output_item.added", output_index=0, item=write_message(self._turn, None))
        yield self._write("response.content_part.added", **self._place, part=part)

    def _write_piece(self, part: Mapping[str, Any]) -> bytes:
        if part["type"] == "refusal":
            return self._write("response.refusal.delta", **self._place, delta=part["refusal"])
        return self._write("response.output_text.delta", **self._place, delta=part["text"], logprobs=[])

    def _close_message(self, part: Mapping[str, Any]) -> Iterator[bytes]:
        if part["type"] == "refusal":
            yield self._write("response.refusal.done", **self._place, refusal=part["refusal"])
        else:
            yield self._write("response.output_text.done", **self._place, text=part["text"], logprobs=[])
        yield self._write("response.content_part.done", **self._place, part=part)
        yield self._write("response.output_item.done", output_index=0, item=write_message(self._turn, part))

    def _write_call(self, place: int, call: ToolCall) -> Iterator[bytes]:
        done = write_call(call)
        where = {"item_id": done["id"], "output_index": place}
        yield self._write("response.output_item.added", output_index=place, item=write_call(call, "in_progress"))
        yield self._write("response.function_call_arguments.delta", **where, delta=done["arguments"])
        whole = {"name": call.tool, "arguments": done["arguments"]}
        yield self._write("response.function_call_arguments.done", **where, **whole)
        yield self._write("response.output_item.done", output_index=place, item=done)

    def _write(self, kind: str, **fields: Any) -> bytes:
        event = {"type": kind, **fields, "sequence_number": self._number}
        self._number += 1
        return b"event: " + kind.encode() + b"\ndata: " + encode_json(event).strip() + b"\n\n"


def _key(part: Mapping[str, Any]) -> str:
    return "refusal" if part["type"] == "refusal" else "text"
