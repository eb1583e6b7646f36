"""Several models as one: the next is asked when the one before it could not answer. The reply's usage says which did.

The one choice that may surprise: a refusal moves on too. A key that ran out, or a conversation too long for one model,
is no reason to leave the user without an answer that another can give. Only a stream that has begun is not begun again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from circumspect.errors import ModelError, ModelUnavailable
from circumspect.models.pricing import combine_usage, with_usage
from circumspect.ports import Model
from circumspect.values import ModelReply, ModelRequest, ModelUsage


class FallbackModel:
    """A chain of models. What the ones that failed have cost is in the reply of the one that answered."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = tuple(models)

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self._models)

    async def complete(self, request: ModelRequest) -> ModelReply:
        failed: list[ModelError] = []
        for model in self._models:
            try:
                return _with_earlier(await model.complete(request), failed)
            except ModelError as error:
                failed.append(error)
        raise _all_failed(failed) from None

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        failed: list[ModelError] = []
        for model in self._models:
            begun = False
            try:
                async for piece in model.stream(request):
                    begun = True
                    yield _with_earlier(piece, failed) if isinstance(piece, ModelReply) else piece
                return
            except ModelError as error:
                if begun:
                    raise
                failed.append(error)
        raise _all_failed(failed) from None

    async def aclose(self) -> None:
        for model in self._models:
            await close_model(model)


async def close_model(model: object) -> None:
    """Let go of the connections of a model, where it holds any: not every `Model` does."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _with_earlier(reply: ModelReply, failed: Sequence[ModelError]) -> ModelReply:
    usage = reply.usage
    for error in failed:
        usage = combine_usage(usage, error.usage or ModelUsage(usage.model))
    return replace(reply, usage=usage)


def _all_failed(failed: Sequence[ModelError]) -> ModelError:
    """One error for all: transient when any of them is, since then asking again later may help."""
    last = failed[-1]
    kind = ModelUnavailable if any(isinstance(error, ModelUnavailable) for error in failed) else type(last)
    error = kind(" ".join(error.problem for error in failed), fix=last.fix)
    spent = [error.usage for error in failed if error.usage is not None]
    total = spent[0] if spent else None
    for usage in spent[1:]:
        total = combine_usage(total, usage) if total else usage
    return with_usage(error, total) if total else error
