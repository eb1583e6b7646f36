"""Answers that were logged as they were streamed -> the message they come to.

Events and chunks of OpenAI chat and Responses, Anthropic, Gemini, Bedrock, Ollama, as a list of them. `logged_bodies`
makes such lists of what came over the wire as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from circumspect.audit.readers.talk_pieces import find_mapping

_MOST = 100_000
"""Pieces of one answer that are put together."""
BROKEN_OFF = "the answer breaks off before its end, and calls may be missing"
_Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JoinedStream:
    messages: list[Any]
    problem: str = ""
    """Why this may not be all of it."""


def join_stream(pieces: Sequence[Any], *, ended: bool = False) -> JoinedStream | None:
    """The message that pieces come to; None where these are no pieces of an answer. `ended`: the stream said so."""
    found = [one for one in pieces[:_MOST] if isinstance(one, Mapping)]
    for fits, join in _FAMILIES:
        if any(fits(one) for one in found):
            messages, is_whole = join(found)
            if problem := next(filter(None, map(find_error, found)), ""):
                return JoinedStream(messages, problem)
            if len(pieces) > _MOST:
                return JoinedStream(messages, f"the answer has more than {_MOST:,} pieces; the rest was not read")
            return JoinedStream(messages, "" if is_whole or ended else BROKEN_OFF)
    return None


def find_error(body: Mapping[str, Any]) -> str:
    """What an answer that is an error says; empty for any other."""
    error = body.get("error") or find_mapping(body, "response").get("error")
    if not error:
        return ""
    said = error.get("message") or error.get("type") or error.get("code") if isinstance(error, Mapping) else error
    return f"the response is an error: {said!s:.100}"


def _find_kind(one: _Event) -> str:
    kind = one.get("type")
    return kind if isinstance(kind, str) else ""


# --- Anthropic ------------------------------------------------------------------------------------------------------

_ANTHROPIC = frozenset(("message_start", "content_block_start", "content_block_delta", "message_delta"))


def _join_anthropic(events: Sequence[_Event]) -> tuple[list[Any], bool]:
    blocks: dict[Any, dict[str, Any]] = {}
    written: dict[Any, str] = {}
    for one in events:
        place = one.get("index")
        if one.get("type") == "content_block_start":
            blocks[place] = dict(find_mapping(one, "content_block"))
        elif one.get("type") == "content_block_delta":
            delta = find_mapping(one, "delta")
            if isinstance(text := delta.get("text"), str):
                block = blocks.setdefault(place, {"type": "text"})
                block["text"] = f"{block.get('text') or ''}{text}"
            elif isinstance(part := delta.get("partial_json"), str):
                blocks.setdefault(place, {"type": "tool_use"})
                written[place] = written.get(place, "") + part
    for place, text in written.items():
        if text:
            blocks[place]["input"] = text
    is_whole = any(
        one.get("type") == "message_stop" or find_mapping(one, "delta").get("stop_reason") is not None for one in events
    )
    return [{"role": "assistant", "content": list(blocks.values())}], is_whole


# --- OpenAI chat ----------------------------------------------------------------------------------------------------


def _is_chunk(one: _Event) -> bool:
    if one.get("object") in ("chat.completion.chunk", "text_completion"):
        return True
    return any(isinstance(choice, Mapping) and "delta" in choice for choice in _list(one, "choices"))


def _join_chunks(chunks: Sequence[_Event]) -> tuple[list[Any], bool]:
    """One message for each choice, so that no call of any of them is passed over."""
    made: dict[Any, _Choice] = {}
    for chunk in chunks:
        for choice in _list(chunk, "choices"):
            if isinstance(choice, Mapping):
                made.setdefault(choice.get("index") or 0, _Choice([], {})).add(choice)
    return [one.build() for one in made.values()], bool(made) and all(one.ended for one in made.values())


@dataclass
class _Choice:
    said: list[str]
    calls: dict[Any, dict[str, Any]]
    last: Any = None
    ended: bool = False

    def add(self, choice: _Event) -> None:
        delta = find_mapping(choice, "delta", "message")
        self.ended = self.ended or choice.get("finish_reason") is not None
        self.said += [
            text for text in (delta.get("content"), delta.get("refusal"), choice.get("text")) if isinstance(text, str)
        ]
        parts = [*_list(delta, "tool_calls"), {"index": "old", "function": delta.get("function_call")}]
        for part in parts:
            if isinstance(part, Mapping) and isinstance(part.get("function"), Mapping):
                self._add_call(part, part["function"])

    def _add_call(self, part: _Event, function: _Event) -> None:
        place = part.get("index")
        if place is None:  # some servers number none of them, and send each whole
            place = part.get("id") or (f"new {len(self.calls)}" if function.get("name") else self.last)
        self.last = place
        call = self.calls.setdefault(place, {"id": "", "type": "function", "function": {"arguments": ""}})
        call["id"] = part.get("id") or call["id"]
        if name := function.get("name"):
            call["function"]["name"] = name
        given = function.get("arguments")
        if isinstance(given, Mapping):
            call["function"]["arguments"] = given
        elif isinstance(call["function"]["arguments"], str):
            call["function"]["arguments"] += str(given or "")

    def build(self) -> dict[str, Any]:
        return {"role": "assistant", "content": "".join(self.said) or None, "tool_calls": list(self.calls.values())}


# --- OpenAI Responses -----------------------------------------------------------------------------------------------


def _is_response_event(one: _Event) -> bool:
    return _find_kind(one).startswith("response.")


_WRITTEN = {"arguments": "arguments", "input": "input", "text": "text", "refusal": "text"}
"""What the last word of a delta's name adds to: `response.function_call_arguments.delta`."""


def _join_response_events(events: Sequence[_Event]) -> tuple[list[Any], bool]:
    items: dict[Any, dict[str, Any]] = {}
    is_whole = False
    for one in events:
        kind = _find_kind(one)
        whole = _list(find_mapping(one, "response"), "output")
        if kind in ("response.completed", "response.incomplete", "response.failed", "response.done"):
            is_whole = kind != "response.incomplete"
        if whole and is_whole:
            return whole, True
        place = one.get("output_index", one.get("item_id"))
        if kind in ("response.output_item.added", "response.output_item.done"):
            items[place] = dict(find_mapping(one, "item"))
            continue
        _, _, part = kind.removesuffix(".delta").removesuffix(".done").rpartition(".")
        name = _WRITTEN.get(part.rpartition("_")[2])
        if name is None or "reasoning" in part:
            continue
        item = items.setdefault(place, {"type": "message" if name == "text" else "function_call"})
        if kind.endswith(".delta"):
            key = "_text" if name == "text" else name
            item[key] = f"{item.get(key) or ''}{one.get('delta') or ''}"
        elif name != "text" and isinstance(one.get(name), str):
            item[name] = one[name]
            item.update({key: one[key] for key in ("name", "call_id") if isinstance(one.get(key), str)})
    for item in items.values():
        text = item.pop("_text", "")
        if text and not item.get("content"):
            item.update(role="assistant", content=text)
    return list(items.values()), is_whole


# --- others ---------------------------------------------------------------------------------------------------------


def _is_candidate(one: _Event) -> bool:
    return isinstance(one.get("candidates"), list)


def _join_candidates(chunks: Sequence[_Event]) -> tuple[list[Any], bool]:
    parts: list[Any] = []
    is_whole = False
    for chunk in chunks:
        first = next(iter(_list(chunk, "candidates")), None)
        if isinstance(first, Mapping):
            for part in _list(find_mapping(first, "content"), "parts"):
                before = parts[-1] if parts else {}
                if _is_text(part) and _is_text(before) and before.get("thought") == part.get("thought"):
                    parts[-1] = {**before, "text": before["text"] + part["text"]}
                else:
                    parts.append(part)
            is_whole = is_whole or first.get("finishReason") is not None
    return [{"role": "model", "parts": parts}], is_whole


_BEDROCK = frozenset(("messageStart", "contentBlockStart", "contentBlockDelta", "messageStop"))


def _join_bedrock(events: Sequence[_Event]) -> tuple[list[Any], bool]:
    blocks: dict[Any, dict[str, Any]] = {}
    for one in events:
        start, delta = find_mapping(one, "contentBlockStart"), find_mapping(one, "contentBlockDelta")
        place = (start or delta).get("contentBlockIndex", 0)
        if start:
            blocks[place] = {key: dict(value) for key, value in find_mapping(start, "start").items() if value}
        elif delta:
            given = find_mapping(delta, "delta")
            block = blocks.setdefault(place, {})
            if isinstance(text := given.get("text"), str):
                block["text"] = f"{block.get('text') or ''}{text}"
            elif isinstance(part := find_mapping(given, "toolUse").get("input"), str):
                call = block.setdefault("toolUse", {})
                call["input"] = f"{call.get('input') or ''}{part}"
    is_whole = any("messageStop" in one for one in events)
    return [{"role": "assistant", "content": list(blocks.values())}], is_whole


def _is_ollamas(one: _Event) -> bool:
    return isinstance(one.get("message"), Mapping) and isinstance(one.get("done"), bool)


def _join_ollamas(chunks: Sequence[_Event]) -> tuple[list[Any], bool]:
    said = [find_mapping(one, "message") for one in chunks]
    text = "".join(str(one.get("content") or "") for one in said)
    calls = [call for one in said for call in _list(one, "tool_calls")]
    message = {"role": "assistant", "content": text or None, "tool_calls": calls}
    return [message], any(one.get("done") is True for one in chunks)


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _list(given: _Event, key: str) -> list[Any]:
    found = given.get(key)
    return found if isinstance(found, list) else []


_FAMILIES: Sequence[tuple[Callable[[_Event], bool], Callable[[Sequence[_Event]], tuple[list[Any], bool]]]] = (
    (lambda one: _find_kind(one) in _ANTHROPIC, _join_anthropic),
    (_is_response_event, _join_response_events),
    (_is_chunk, _join_chunks),
    (_is_candidate, _join_candidates),
    (lambda one: not _BEDROCK.isdisjoint(one), _join_bedrock),
    (_is_ollamas, _join_ollamas),
)
