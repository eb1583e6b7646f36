"""Reason codes: why the agent did, or did not do, something. One enum; each member carries its category.

The one-line meanings are in `reasons.ftl` of each language; `make docs` writes `docs/reason-codes.md` from both.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Category = Literal["success", "blocked", "edge", "system"]


class ReasonCode(StrEnum):
    category: Category

    def __new__(cls, value: str, category: Category) -> ReasonCode:
        member = str.__new__(cls, value)
        member._value_ = value
        member.category = category
        return member

    # Something happened as it should.
    EXECUTED_SUCCESSFULLY = "EXECUTED_SUCCESSFULLY", "success"
    CONFIRMED_BY_USER = "CONFIRMED_BY_USER", "success"
    DENIED_BY_USER = "DENIED_BY_USER", "success"
    APPROVED_BY_COLLEAGUE = "APPROVED_BY_COLLEAGUE", "success"
    DENIED_BY_COLLEAGUE = "DENIED_BY_COLLEAGUE", "success"
    EDITED_BY_COLLEAGUE = "EDITED_BY_COLLEAGUE", "success"
    HANDED_TO_CLIENT = "HANDED_TO_CLIENT", "success"
    OUTCOME_TOLD = "OUTCOME_TOLD", "success"
    SEARCH_SAVED = "SEARCH_SAVED", "success"

    # A proposed call was held.
    MISSING_PARAM = "MISSING_PARAM", "blocked"
    INVALID_PARAM = "INVALID_PARAM", "blocked"
    DESTRUCTIVE_NO_CONFIRM = "DESTRUCTIVE_NO_CONFIRM", "blocked"
    CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED", "blocked"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED", "blocked"
    APPROVER_REFUSED = "APPROVER_REFUSED", "blocked"
    LOW_CONFIDENCE = "LOW_CONFIDENCE", "blocked"
    CONFIDENCE_FLOOR_APPLIED = "CONFIDENCE_FLOOR_APPLIED", "blocked"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND", "blocked"
    TOOL_NOT_CONFIGURED = "TOOL_NOT_CONFIGURED", "blocked"
    TOOL_NOT_COVERED = "TOOL_NOT_COVERED", "blocked"
    TOOL_DENIED = "TOOL_DENIED", "blocked"
    CRITIQUE_ASKED = "CRITIQUE_ASKED", "blocked"
    CRITIQUE_ESCALATED = "CRITIQUE_ESCALATED", "blocked"
    PROPOSAL_DISAGREES = "PROPOSAL_DISAGREES", "blocked"
    REPEATED_CALL = "REPEATED_CALL", "blocked"
    PRECONDITION_FAILED = "PRECONDITION_FAILED", "blocked"
    FACT_NEEDED = "FACT_NEEDED", "blocked"
    REQUIREMENT_NOT_MET = "REQUIREMENT_NOT_MET", "blocked"
    LIMIT_REACHED = "LIMIT_REACHED", "blocked"
    UNGROUNDED_PARAM = "UNGROUNDED_PARAM", "blocked"
    UNTRUSTED_SOURCE = "UNTRUSTED_SOURCE", "blocked"
    CONFIRMATION_REUSED = "CONFIRMATION_REUSED", "blocked"
    CONFLICTS_WITH_CONFIRMED = "CONFLICTS_WITH_CONFIRMED", "blocked"
    UNSUPPORTED_CLAIM = "UNSUPPORTED_CLAIM", "blocked"
    RULE_FAILED = "RULE_FAILED", "blocked"

    # A message was turned away, asked about, or handed over before anything was proposed.
    GUARDIAN_BLOCKED = "GUARDIAN_BLOCKED", "blocked"
    QUOTA_REACHED = "QUOTA_REACHED", "blocked"
    SPAM_BLOCKED = "SPAM_BLOCKED", "blocked"
    CLARIFICATION_NEEDED = "CLARIFICATION_NEEDED", "blocked"
    SENSITIVE_TOPIC = "SENSITIVE_TOPIC", "blocked"
    DECIDED_TO_ESCALATE = "DECIDED_TO_ESCALATE", "blocked"
    INVALID_DECISION = "INVALID_DECISION", "blocked"
    UNSURE_OF_ANSWER = "UNSURE_OF_ANSWER", "blocked"
    SOURCES_CONFLICT = "SOURCES_CONFLICT", "blocked"
    NOTES_GIVEN_AWAY = "NOTES_GIVEN_AWAY", "blocked"
    ELEMENT_NOT_FOUND = "ELEMENT_NOT_FOUND", "blocked"
    POPUP_OPEN = "POPUP_OPEN", "blocked"
    FORM_INCOMPLETE = "FORM_INCOMPLETE", "blocked"
    PASSWORD_FIELD = "PASSWORD_FIELD", "blocked"
    TRIED_BEFORE = "TRIED_BEFORE", "blocked"
    TOO_MANY_TRIES = "TOO_MANY_TRIES", "blocked"
    LEAVES_THE_SITE = "LEAVES_THE_SITE", "blocked"
    INFORMATION_MISSING = "INFORMATION_MISSING", "blocked"

    # A criterion was left undecided.
    CITATION_NOT_FOUND = "CITATION_NOT_FOUND", "blocked"
    CITATION_BESIDE_POINT = "CITATION_BESIDE_POINT", "blocked"
    EVIDENCE_NOT_FOUND = "EVIDENCE_NOT_FOUND", "blocked"
    VERDICT_CONTRADICTED = "VERDICT_CONTRADICTED", "blocked"
    FACT_ABSENT = "FACT_ABSENT", "blocked"
    POLICY_CONTRADICTS = "POLICY_CONTRADICTS", "blocked"
    EXCEPTION_POSSIBLE = "EXCEPTION_POSSIBLE", "blocked"
    ABSTAINED = "ABSTAINED", "blocked"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED", "blocked"
    EVALUATION_TIMED_OUT = "EVALUATION_TIMED_OUT", "blocked"
    LOOP_DETECTED = "LOOP_DETECTED", "blocked"

    # The conversation took an unusual turn.
    ASSESSMENT_UNPARSABLE = "ASSESSMENT_UNPARSABLE", "edge"
    ASSESSMENT_MISSING = "ASSESSMENT_MISSING", "edge"
    ASSESSMENT_NOT_ENGLISH = "ASSESSMENT_NOT_ENGLISH", "edge"
    CONTEXT_LOOP_DETECTED = "CONTEXT_LOOP_DETECTED", "edge"
    CONTEXT_KEY_UNKNOWN = "CONTEXT_KEY_UNKNOWN", "edge"
    CONTEXT_KEY_EMPTY = "CONTEXT_KEY_EMPTY", "edge"
    IMPLIED_DESTRUCTIVE_INTENT = "IMPLIED_DESTRUCTIVE_INTENT", "edge"
    PENDING_INTENT_MISSING = "PENDING_INTENT_MISSING", "edge"
    PENDING_INTENT_EXPIRED = "PENDING_INTENT_EXPIRED", "edge"
    PENDING_INTENT_MISMATCH = "PENDING_INTENT_MISMATCH", "edge"
    PENDING_INTENT_WITHDRAWN = "PENDING_INTENT_WITHDRAWN", "edge"
    TOO_MANY_STEPS = "TOO_MANY_STEPS", "edge"
    TOO_MANY_CALLS = "TOO_MANY_CALLS", "edge"
    MESSAGE_TOO_LONG = "MESSAGE_TOO_LONG", "edge"
    MESSAGE_EMPTY = "MESSAGE_EMPTY", "edge"
    WITH_A_PERSON = "WITH_A_PERSON", "edge"
    PERSON_WANTED = "PERSON_WANTED", "edge"
    WISH_NEGLECTED = "WISH_NEGLECTED", "edge"
    ONLY_ASKED = "ONLY_ASKED", "edge"
    WISH_TAKEN_BACK = "WISH_TAKEN_BACK", "edge"
    NOT_ASKED_FOR = "NOT_ASKED_FOR", "edge"
    APOLOGY_LOOP = "APOLOGY_LOOP", "edge"
    SAID_AGAIN = "SAID_AGAIN", "edge"
    REPLY_CUT_OFF = "REPLY_CUT_OFF", "edge"
    WRONG_LANGUAGE = "WRONG_LANGUAGE", "edge"
    ROUTE_OVERRIDDEN = "ROUTE_OVERRIDDEN", "edge"
    ANALYSIS_UNREADABLE = "ANALYSIS_UNREADABLE", "edge"
    SOURCE_SWITCHED = "SOURCE_SWITCHED", "edge"
    CONFIDENCE_UNREADABLE = "CONFIDENCE_UNREADABLE", "edge"
    PRIVATE_NOT_SEARCHED = "PRIVATE_NOT_SEARCHED", "edge"
    SEARCHED_BEFORE_ASKING = "SEARCHED_BEFORE_ASKING", "edge"
    SEARCH_WIDENED = "SEARCH_WIDENED", "edge"
    SEARCH_REPEATED = "SEARCH_REPEATED", "edge"

    # Something of ours or of a provider's failed.
    CRITIQUE_FAILED = "CRITIQUE_FAILED", "system"
    ESCALATED_TO_HUMAN = "ESCALATED_TO_HUMAN", "system"
    MODEL_FAILED = "MODEL_FAILED", "system"
    TOOL_FAILED = "TOOL_FAILED", "system"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN", "system"
    VERIFICATION_FAILED = "VERIFICATION_FAILED", "system"
    RETRIEVAL_FAILED = "RETRIEVAL_FAILED", "system"
    SEARCH_FAILED = "SEARCH_FAILED", "system"
    ANALYSIS_FAILED = "ANALYSIS_FAILED", "system"
    REASONING_DEGRADED = "REASONING_DEGRADED", "system"
    VERIFICATION_UNAVAILABLE = "VERIFICATION_UNAVAILABLE", "system"
    GUARDIAN_UNAVAILABLE = "GUARDIAN_UNAVAILABLE", "system"
    STORE_FAILED = "STORE_FAILED", "system"
    TURN_INTERRUPTED = "TURN_INTERRUPTED", "system"
    INTERNAL_ERROR = "INTERNAL_ERROR", "system"
