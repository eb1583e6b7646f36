"""What somebody did, in words: the action of a row of the operators' log in, what it is called out."""

from __future__ import annotations

from circumspect.server.console.i18n import Translator

ACTIONS = (
    "approve", "deny", "edit", "take_over", "reply", "hand_back", "resolve", "assign", "snooze", "note",
    "put_policy", "roll_back_policy", "draft_policy", "drop_policy_draft", "apply", "change_tenant", "put_plan",
    "adopt_tools", "put_document", "delete_document",
    "create_key", "rotate_key", "revoke_key", "key.created", "key.rotated", "key.revoked",
    "operator.added", "operator.changed", "operator.role", "operator.disabled", "operator.enabled", "operator.password",
    "operator.linked", "operator.locked",
    "session.created", "session.ended", "session.proved", "code_app.added", "code_app.removed", "passkey.added",
    "passkey.removed", "recovery_codes.renewed", "recovery_code.used", "second_factor.locked", "second_factor.reset",
    "request.refused",
    "create_experiment", "start_experiment", "set_share", "stop_arm", "stop_experiment", "finish_experiment",
    "add_prompt", "review", "correct_verdict", "feedback", "playground", "redrive",
    "export_person", "delete_person", "delete_conversation", "delete_case",
    "restored", "log.checkpoint", "log.cut",
)  # fmt: skip
"""Those that this version writes, with what is alike side by side."""


def name_action(action: str, words: Translator) -> str:
    """In a few words; one that this version does not know is as it is."""
    return words.t(f"logged-{action.replace('_', '-').replace('.', '-')}") if action in ACTIONS else action
