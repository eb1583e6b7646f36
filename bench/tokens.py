"""Tokens of a model request, counted by a real tokenizer whose vocabulary is on disk: Tekken, from mistral-common.

Counted is what goes over the wire: instructions and context, messages, calls, tool schemas and reply schema, and a few
tokens for each message's wrapping. Every vendor's vocabulary gives other absolute numbers; the comparison is between
two modes under the same one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circumspect.values import ModelReply, ModelRequest

NAME = "Tekken (mistral-common)"
VOCABULARY = "tekken_240911.json"
WRAPPING = 4
"""Role and delimiters of a message, in tokens."""


@cache
def _tokenizer() -> Any:
    tekken = import_module("mistral_common.tokens.tokenizers.tekken")
    with resources.as_file(resources.files("mistral_common") / "data" / VOCABULARY) as file:
        return tekken.Tekkenizer.from_file(file)


@cache
def count(text: str) -> int:
    return len(_tokenizer().encode(text, bos=False, eos=False)) if text else 0


def read(request: ModelRequest) -> int:
    """Input tokens."""
    from circumspect.wording import compact

    texts = [request.system, *(said.text for said in request.messages)]
    texts += [
        compact({"name": call.tool, "arguments": call.arguments}) for said in request.messages for call in said.calls
    ]
    texts += [
        compact({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        for tool in request.tools
    ]
    if request.schema is not None:
        texts.append(compact(request.schema))
    return sum(map(count, texts)) + WRAPPING * (1 + len(request.messages))


def written(reply: ModelReply) -> int:
    """Output tokens."""
    from circumspect.wording import compact

    return count(reply.text) + sum(
        count(compact({"name": call.tool, "arguments": call.arguments})) for call in reply.calls
    )
