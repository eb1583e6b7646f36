"""Routes for chat clients of other makers: whatever is wrong is also said in the words that those look for."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Header, Request
from starlette.responses import Response

from circumspect.server.problems import HttpProblem, response_to
from circumspect.server.responses import encode_json, idempotency_key
from circumspect.server.schemas.bodies import ID, IN_WORDS
from circumspect.server.strict_routes import StrictRoute

_Id = TypeVar("_Id")
ClientKey = Annotated[
    str | None, idempotency_key("The same for a request that is sent again: it gets the answer of the first.")
]
ConversationName = Annotated[str | None, Header(alias="X-Conversation-Id", min_length=1, max_length=128, pattern=ID)]
ProblemWriter = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""Our `code`, `problem` and `fix` with the status, and out comes the body that the client understands."""


def route_that_says(write: ProblemWriter, media_type: str = "application/json") -> type[StrictRoute]:
    """A route class whose errors are written by `write`: the clients of a format show nothing else."""

    class ClientRoute(StrictRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def answer_in_format(request: Request) -> Response:
                try:
                    return await handler(request)
                except Exception as error:
                    return await self.answer_error(request, error)

            return answer_in_format

        async def answer_error(self, request: Request, error: Exception) -> Response:
            response = await response_to(request, error)
            body, status = orjson.loads(response.body), response.status_code
            kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
            return Response(encode_json(write(body, status)), status, kept, media_type=media_type)

    return ClientRoute


def read_id(where: str, given: str | None, kind: Callable[[str], _Id]) -> _Id | None:
    """An id that a client puts where its format has room; `where` names the place."""
    if not given:
        return None
    if not re.fullmatch(ID, given):
        raise HttpProblem(422, "invalid", f"`{where}` {IN_WORDS[ID]}.", fix=f"It has to match {ID}.")
    return kind(given)
