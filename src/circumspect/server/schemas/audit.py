"""Transcripts to be audited."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from circumspect.server.schemas.bodies import NO_NUL, RequestBody


class AuditGiven(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "transcripts": [
                        {
                            "id": "c1",
                            "messages": [
                                {"role": "user", "content": "cancel order 12345"},
                                {
                                    "role": "assistant",
                                    "content": None,
                                    "tool_calls": [
                                        {
                                            "id": "1",
                                            "type": "function",
                                            "function": {
                                                "name": "cancel_order",
                                                "arguments": '{"order_id": "12345"}',
                                            },
                                        }
                                    ],
                                },
                            ],
                        }
                    ]
                }
            ]
        }
    )

    transcripts: list[dict[str, Any]]
    policy: Annotated[str, Field(max_length=500_000, pattern=NO_NUL)] | None = Field(
        None, description="A policy file's text. Without it the tenant's own; `guess` guesses effects from names."
    )
