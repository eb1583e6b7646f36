"""Which rules an audit asks, in which order, and about which tools.

The rules of a live turn that need an assessment, a stored intent or the ledger of executions are left out; the rules
over a written-down conversation take their place. Rules about the call as such come first: what they deny is not looked
at any further. A rule that cannot have anything to say about a tool is not asked about it.
"""

from __future__ import annotations

from datetime import datetime

from circumspect.audit.transcript_rules import TRANSCRIPT_RULES
from circumspect.policy.facts import Facts
from circumspect.policy.judge import Rule
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.rules import RULES
from circumspect.policy.understanding.named_record import can_be_ordered
from circumspect.policy.understanding.wish_standing import is_grave
from circumspect.values import Allow, Effect, ToolCall, ToolSpec

_LIVE_ONLY = frozenset(
    (
        "the_assessment_can_be_read",
        "the_model_proposes_one_thing",
        "nothing_runs_twice_in_a_turn",
        "no_earlier_outcome_is_unknown",
        "what_cannot_be_undone_is_confirmed",
        "asked_for_confirmations_are_given",
        "a_wish_is_not_a_command",
        "a_question_is_no_order",
        "what_was_taken_back_is_not_wished",
        "somebody_asked_for_it",
        "special_calls_are_confirmed",
        "required_arguments_are_present",
        "arguments_have_the_right_form",
    )
)
"""Rules that need what only a live turn has, or whose place a rule over a written-down conversation takes."""

AUDIT_RULES: tuple[Rule, ...] = tuple(
    {one.name: one for one in (*RULES, *TRANSCRIPT_RULES) if one.name not in _LIVE_ONLY}.values()
)
FIRST = frozenset(
    (
        "the_tool_exists",
        "the_tool_is_configured",
        "somebody_said_what_the_tool_does",
        "the_policy_leaves_the_tool_on",
        "what_the_schema_requires_is_there",
        "arguments_fit_the_schema",
        "nothing_is_done_twice",
    )
)
"""Rules that settle whether there is a call to speak of. What they deny is not looked at any further."""


_ABOUT_WISHES = frozenset(
    (
        "a_wish_is_not_a_command",
        "a_question_is_no_order",
        "what_was_taken_back_is_not_wished",
        "somebody_asked_for_it",
    )
)
_ABOUT_CHANGES = _ABOUT_WISHES | {
    "nothing_is_done_twice",
    "the_user_said_yes_to_it",
    "one_yes_is_for_what_was_listed",
    "it_is_what_was_agreed_to",
    "every_value_has_a_source",
    "nothing_goes_where_strangers_say",
    "ids_stand_for_what_was_said",
    "the_record_is_the_one_that_was_named",
}
_ABOUT_CONDITIONS = frozenset(("its_conditions_hold", "what_its_conditions_depend_on_is_known"))
_ABOUT_THE_POLICY = _ABOUT_CONDITIONS | {
    "what_it_requires_was_called_before",
    "limits_are_kept",
    "a_colleague_approved",
    "asked_for_confirmations_are_given",
    "special_calls_are_approved",
    "special_calls_are_confirmed",
    "the_user_said_yes_to_what_is_special",
}
_ABOUT_THE_TOOL = frozenset(
    ("the_tool_exists", "the_tool_is_configured", "somebody_said_what_the_tool_does", "the_policy_leaves_the_tool_on")
)


def can_speak(one: Rule, spec: ToolSpec | None, policy: ToolPolicy | None, effect: Effect | None) -> bool:
    """False for a rule that has nothing to say about any call of this tool, whatever the conversation; of calls that
    no model's assessment comes with, as in an audit and at a gate."""
    if one.name in _ABOUT_THE_TOOL:
        bare = Facts(ToolCall(spec.name if spec else ""), spec, policy, effect, "adaptive", datetime.min)
        return not isinstance(one.check(bare), Allow)
    if one.name in _ABOUT_CHANGES and effect not in ("write", "destructive"):
        return False
    if one.name in _ABOUT_WISHES and policy and policy.confirm == "never":
        return False
    match one.name:
        case "required_arguments_are_present":
            return spec is not None and bool(spec.required)
        case "no_earlier_outcome_is_unknown":
            return effect != "read"
        case "what_cannot_be_undone_is_confirmed":
            return effect == "destructive"
        case "somebody_asked_for_it":
            is_asked_about = effect == "destructive" or (policy and policy.confirm in ("always", "four_eyes"))
            return not is_asked_about and (spec is None or is_grave(spec.name))
        case "the_record_is_the_one_that_was_named":
            return spec is None or can_be_ordered(spec.name)
    if one.name not in _ABOUT_THE_POLICY:
        return True
    if policy is None:
        return False
    if one.name in _ABOUT_CONDITIONS:
        return bool(policy.deny_unless or policy.when)
    match one.name:
        case "what_it_requires_was_called_before":
            return bool(policy.requires)
        case "limits_are_kept":
            return bool(policy.limits)
        case "a_colleague_approved":
            return policy.confirm == "four_eyes"
        case "asked_for_confirmations_are_given":
            return policy.confirm == "always"
        case "special_calls_are_approved":
            return any(one.then == "four_eyes" for one in policy.when)
    return any(one.then == "confirm" for one in policy.when)
