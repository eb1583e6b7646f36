"""OfflineModel: the `Model` port played by rules, with no key, no network and no randomness.

In: a `ModelRequest`, which is all it ever sees. Out: what a language model would send back in the same place: text with
a self-assessment, native calls, or a JSON object. It is not a language model and knows nothing beyond the request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from circumspect.aside import compute_aside, weigh_tools
from circumspect.errors import ModelRefused
from circumspect.values import ModelReply, ModelRequest, ModelUsage, ToolCall

NAME = "offline"
_LETTERS_PER_TOKEN = 4
_PIECES = 6


class OfflineModel:
    @property
    def name(self) -> str:
        return NAME

    async def complete(self, request: ModelRequest) -> ModelReply:
        text, calls = await compute_aside(_weigh(request), answer, request)
        return ModelReply(text, _usage(request, text, calls), calls, "tool_calls" if calls else "stop")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        reply = await self.complete(request)
        for piece in _pieces(reply.text):
            yield piece
        yield reply


def _weigh(request: ModelRequest) -> int:
    """Schemas come as tools or, written out, among the blocks."""
    written = sum(len(block.text) for block in request.blocks)
    return sum(len(one.text) for one in request.messages) + weigh_tools(request.tools) + written // 5


def answer(request: ModelRequest) -> tuple[str, tuple[ToolCall, ...]]:
    """What it says, and what it calls."""
    # Loaded on first use: whoever only names the model does not pay for its words.
    if request.purpose == "draft":
        return _draft(request)
    if request.purpose == "phrase":
        return _phrase_last_result(request), ()
    if request.purpose == "critique" and request.messages:
        from circumspect.demo.offline.critiques import judge

        return json.dumps(judge(request.messages[-1].text), ensure_ascii=False), ()
    if request.purpose == "analyse":
        from circumspect.demo.offline.analyses import analyse, is_form

        if is_form(request):
            return json.dumps(analyse(request), ensure_ascii=False), ()
    if request.purpose in ("analyse", "evaluate", "verify", "summarise"):
        from circumspect.demo.offline.page_reasoning import answer_request, is_reasoning

        if is_reasoning(request):
            found = answer_request(request)
            return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), ()
    from circumspect.demo.offline.cautious import cautious, refuse

    if request.schema is None:
        raise refuse(request.purpose)
    return json.dumps(cautious(request.schema, request.purpose), ensure_ascii=False), ()


def _draft(request: ModelRequest) -> tuple[str, tuple[ToolCall, ...]]:
    from circumspect.demo.offline.drafts import propose
    from circumspect.demo.offline.page_steps import drive, is_driving

    if is_driving(request):
        assessed, proposal = True, drive(request)
    else:
        seen, proposal = propose(request)
        assessed = seen.assessed
    if assessed:
        assessment = {
            "confidence": proposal.confidence,
            "tool_call": proposal.tool,
            "tool_params": dict(proposal.arguments),
            "missing_params": list(proposal.missing),
            "is_destructive": proposal.destructive,
            "needs_confirmation": proposal.confirm,
            "needs_more_context": list(proposal.context),
        }
        # A value with angle brackets in it must not end the block before its time.
        wire = json.dumps(assessment, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
        return f"{proposal.text}\n<assessment>\n{wire}\n</assessment>", ()
    if proposal.tool is None or proposal.missing or proposal.hinted:
        return proposal.text, ()
    call = ToolCall(proposal.tool, dict(proposal.arguments))
    return proposal.text, (ToolCall(call.tool, call.arguments, id=f"offline_{call.hash[:12]}"),)


def _phrase_last_result(request: ModelRequest) -> str:
    from circumspect.demo.offline.drafts import find_called_tool
    from circumspect.demo.offline.request_view import read_request
    from circumspect.demo.offline.result_words import phrase_result

    seen = read_request(request)
    if not seen.messages or seen.messages[-1].role != "tool":
        raise ModelRefused(
            "There is no tool result to phrase.", fix="Send the tool's result as the last message of the request."
        )
    return phrase_result(seen.messages[-1].text, find_called_tool(seen), seen.language)


def _usage(request: ModelRequest, text: str, calls: tuple[ToolCall, ...]) -> ModelUsage:
    sent = len(request.system) + sum(len(said.text) for said in request.messages)
    sent += sum(
        len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters, default=str)) for tool in request.tools
    )
    back = len(text) + sum(len(call.tool) + len(json.dumps(call.arguments, default=str)) for call in calls)
    return ModelUsage(NAME, _tokens(sent), _tokens(back), estimated=True)


def _tokens(letters: int) -> int:
    return -(-letters // _LETTERS_PER_TOKEN)


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // _PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]
