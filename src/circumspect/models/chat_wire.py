"""OpenAI's Chat Completions on the wire: turns in, a JSON body out; a body or events in, a `WireAnswer` out.

Nothing is repaired. A body of another shape raises whatever it trips over, and that counts as garbled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.models.thoughts import ThoughtFilter, strip_thoughts
from circumspect.models.turns import Called, Returned, Said, Turn
from circumspect.models.wire import WireAnswer, WireCall, WireFinish
from circumspect.models.wire_text import compact, require

PATH = "chat/completions"
END = b"[DONE]"
_FINISHES: Mapping[str, WireFinish] = {"length": "length", "content_filter": "filtered"}


def write_messages(system: str, turns: list[Turn]) -> list[dict[str, Any]]:
    found = [{"role": "system", "content": system}] if system else []
    for turn in turns:
        found += [_write_reply(turn)] if turn.by_model else [_write_part(part) for part in turn.parts]
    return found


def _write_reply(turn: Turn) -> dict[str, Any]:
    texts = [part.text for part in turn.parts if isinstance(part, Said)]
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.tool, "arguments": compact(part.arguments)}}
        for part in turn.parts
        if isinstance(part, Called)
    ]
    reply: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) if texts else None}
    return {**reply, "tool_calls": calls} if calls else reply


def _write_part(part: Said | Called | Returned) -> dict[str, Any]:
    match part:
        case Returned():
            return {"role": "tool", "tool_call_id": part.id, "content": part.text}
        case Said():
            return {"role": "system" if part.system else "user", "content": part.text}
    raise TypeError("A call is the model's own.")


# --- back -----------------------------------------------------------------------------------------------------------


def read_body(body: Any) -> WireAnswer:
    choice = body["choices"][0]
    message = choice["message"]
    calls = tuple(_read_call(one) for one in message.get("tool_calls") or ())
    text = strip_thoughts(_read_text(message.get("content")))
    refusal = require(message.get("refusal") or "", str)
    finish: WireFinish = "filtered" if refusal else _FINISHES.get(choice.get("finish_reason") or "", "stop")
    counted = read_usage(body.get("usage"))
    return WireAnswer("" if refusal else text, calls, finish, refusal, *counted, model=_read_name(body))


def read_usage(usage: Any) -> tuple[int, int, int]:
    """Tokens in, out and cached."""
    if not isinstance(usage, dict):
        return 0, 0, 0
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    counted = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    return tuple(one if isinstance(one, int) else 0 for one in counted)  # type: ignore[return-value]


def _read_call(call: Any) -> WireCall:
    function = call["function"]
    return WireCall(require(function["name"], str), require(function["arguments"], str), call.get("id") or "")


def _read_text(content: Any) -> str:
    """Some servers answer in parts."""
    if isinstance(content, list):
        return "".join(require(part["text"], str) for part in content if part.get("type") == "text")
    return str(require(content or "", str))


def _read_name(body: Any) -> str:
    name = body.get("model")
    return name if isinstance(name, str) else ""


class ChatEventReader:
    """Events in, pieces of text out; then `finish` gives the whole answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thoughts = ThoughtFilter()
        self._refusal = ""
        self._calls: dict[int, tuple[list[str], list[str], list[str]]] = {}
        self._finish: WireFinish | None = None
        self._usage = (0, 0, 0)
        self._model = ""

    def take(self, event: Any) -> Iterator[str]:
        self._model = _read_name(event) or self._model
        if event.get("usage"):
            self._usage = read_usage(event["usage"])
        for choice in event["choices"][:1]:
            delta = choice.get("delta") or {}
            self._refusal += delta.get("refusal") or ""
            for call in delta.get("tool_calls") or ():
                self._take_call(call)
            if shown := self._thoughts.take(_read_text(delta.get("content"))):
                self._text.append(shown)
                yield shown
            if why := choice.get("finish_reason"):
                self._finish = _FINISHES.get(why, "stop")
                if rest := self._thoughts.end():
                    self._text.append(rest)
                    yield rest

    def _take_call(self, call: Any) -> None:
        ids, names, arguments = self._calls.setdefault(require(call.get("index") or 0, int), ([], [], []))
        function = call.get("function") or {}
        for pieces, piece in ((ids, call.get("id")), (names, function.get("name"))):
            if piece and not pieces:  # some servers repeat them in every piece
                pieces.append(require(piece, str))
        arguments.append(require(function.get("arguments") or "", str))

    def finish(self) -> WireAnswer:
        calls = tuple(
            WireCall("".join(names), "".join(arguments), "".join(ids)) for ids, names, arguments in self._calls.values()
        )
        finish: WireFinish | None = "filtered" if self._refusal else self._finish
        return WireAnswer("".join(self._text), calls, finish, self._refusal, *self._usage, model=self._model)
