"""LiteLLM's proxy calls this before and after the model."""

from __future__ import annotations

from typing import Any

from litellm.integrations.custom_guardrail import CustomGuardrail


class Guard(CustomGuardrail):
    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: dict, call_type: Any) -> dict:
        if "ignore all" in str(data["messages"][-1]["content"]).lower():
            raise ValueError("refused")
        return data

    async def async_post_call_success_hook(self, data: dict, user_api_key_dict: Any, response: Any) -> None:
        if "password" in str(response.choices[0].message.content).lower():
            raise ValueError("refused")
