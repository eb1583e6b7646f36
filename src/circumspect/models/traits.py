"""What is known about a model before it is asked: does it take tools natively, does it take a JSON schema natively.

In: a provider and a model's name. Out: `ModelTraits`, where None means "nobody said, ask pydantic-ai".

The one choice that may surprise: a server that ignores `tools` does not fail, it just never calls one. So a model that
was seen to do that is listed here by name, and a user's own word (`openai:NAME@URL;tools=json_schema`) beats the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ToolChannel = Literal["native", "json_schema"]
SchemaChannel = Literal["native", "prompted"]

TOOL_CHANNELS: tuple[ToolChannel, ...] = ("native", "json_schema")
SCHEMA_CHANNELS: tuple[SchemaChannel, ...] = ("native", "prompted")


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """How tools and schemas reach a model."""

    tools: ToolChannel | None = None
    """`native`: in the request's `tools`. `json_schema`: the server ignores those, so a schema drives the choice."""
    schema: SchemaChannel | None = None
    """`native`: in the request's output format. `prompted`: in the instructions, and checked by us."""

    def or_else(self, other: ModelTraits) -> ModelTraits:
        """These facts, and the other's where these are silent."""
        return ModelTraits(self.tools or other.tools, self.schema or other.schema)


UNKNOWN = ModelTraits()
IGNORES_TOOLS = ModelTraits(tools="json_schema", schema="native")

SEEN: Mapping[str, ModelTraits] = {
    "smollm2": IGNORES_TOOLS,
    "qwen2.5-coder": IGNORES_TOOLS,
}
"""By the beginning of a model's name, for models behind an OpenAI-compatible URL. Only what was seen to be so."""


def find_traits(provider: str, model: str, *, own_url: bool) -> ModelTraits:
    """What the list says about a model; nothing for hosted ones, whose profiles pydantic-ai keeps."""
    if provider != "openai" or not own_url:
        return UNKNOWN
    name = model.rsplit("/", 1)[-1].lower()
    return next((facts for start, facts in SEEN.items() if name.startswith(start)), UNKNOWN)
