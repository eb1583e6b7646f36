"""A reply that a client wants as data: its JSON schema, and whether what came of the turn fits it.

A question, a refusal and every other thing that is said in words does not: such an answer is a refusal in the client's
format, never words where data was promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from circumspect.policy.validators import find_validator
from circumspect.values import JsonObject, ToolSpec


@dataclass(frozen=True)
class ReplyForm:
    schema: JsonObject

    def check(self) -> None:
        """Raises `ConfigError` for what is no JSON schema, or refers to something elsewhere."""
        self._validator()

    def fits(self, reply: str) -> bool:
        try:
            value = orjson.loads(reply)
        except orjson.JSONDecodeError:
            return False
        return bool(self._validator().is_valid(value))

    def _validator(self) -> Any:
        return find_validator(ToolSpec("response_format", parameters=self.schema))
