"""What identity providers send. They send more than anybody asked for, so what is not known here is let pass."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class ScimResource(BaseModel):
    """A user or a group, whole."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"userName": "dana@example.com"}]})


class ScimOperation(BaseModel):
    model_config = ConfigDict(extra="ignore")

    op: Annotated[str, Field(max_length=10)]
    path: Annotated[str, Field(max_length=400)] | None = None
    value: Any = None


class ScimPatch(BaseModel):
    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"schemas": [_PATCH], "Operations": [{"op": "replace", "value": {"active": False}}]}]
        },
    )

    operations: Annotated[list[ScimOperation], Field(alias="Operations", min_length=1, max_length=1000)]

    def list_operations(self) -> list[dict[str, Any]]:
        return [one.model_dump() for one in self.operations]
