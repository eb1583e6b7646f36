"""A check in code on what the user says, called by a rail."""

from __future__ import annotations

from nemoguardrails.actions import action


@action(name="check_words")
async def check_words(context: dict | None = None) -> bool:
    return "ignore all" not in str((context or {}).get("user_message")).lower()
