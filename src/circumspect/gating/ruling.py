"""Ruling: what became of a call that somebody else's agent wants to make, and what to tell whom.

allow      run it, exactly as it stands in `call`
ask        the user has to say yes to `intent`, or (without one) to give what is `missing`
redo       nobody is troubled: the model looks something up first, or mends the call
escalate   a colleague has to approve `intent`, or to take over
deny       it does not run
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from circumspect.errors import CircumspectError
from circumspect.frozen_slots import fill_directly
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.tracing import trace
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.policy.who_acts import PlainVerdict
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import ConversationId, ExecutionId, ExecutionState, Intent, Json, ToolCall, TurnId
from circumspect.wording import compact


@fill_directly
@dataclass(frozen=True)
class Ruling:
    id: TurnId
    conversation: ConversationId
    call: ToolCall
    """As it will run: in the types of its schema, with the defaults filled in."""
    verdict: PlainVerdict
    reason_codes: tuple[ReasonCode, ...] = ()
    ask_user: str = ""
    """The question for the user, where there is one; for a colleague's decision, what the user hears meanwhile."""
    intent: Intent | None = None
    """What a yes would be bound to: `id`, `hash`, `shown`, `expires_at`."""
    missing: tuple[str, ...] = ()
    """Parameters that only the user can fill or put right."""
    problem: str = ""
    """Why it does not run, for the model."""
    nearest: str = ""
    """The tool that a name which no tool has was probably meant for."""
    execution: ExecutionId | None = None
    """The row of the ledger, once the call was handed out."""
    person: str | None = None
    state: ExecutionState | None = None
    """What has become of the call, where it is no longer to be run: it is being run, or has ended."""
    outcome: Json = None
    """What it brought, or why it failed."""
    facts: Facts | None = field(default=None, repr=False, compare=False)

    @property
    def allowed(self) -> bool:
        return self.verdict == "allow"

    @cached_property
    def grounding(self) -> Mapping[str, Mapping[str, Any]]:
        """Where each value of the call comes from. A value out of nobody's words says `nowhere`. Where no words are
        known, as when only an answer came, there is nothing to say: the ruling that asked has it."""
        traced = trace(self.facts) if self.facts and self.facts.session.utterances else ()
        return {
            one.argument: {
                "value": one.value,
                "origin": one.origin,
                **({"message": one.index} if one.index >= 0 else {}),
                **({"field": one.field} if one.field else {}),
            }
            for one in traced
        }

    @cached_property
    def tell_model(self) -> str:
        """What the model gets instead of a result; empty when the call is allowed and still to be run."""
        if self.state:
            return self._tell_what_became()
        if self.verdict == "allow":
            return ""
        reasons = ", ".join(map(str, self.reason_codes))
        if self.verdict == "ask":
            name = "gate-ask" if self.intent else "gate-ask-value"
            return prompt(name).render(question=self.ask_user, reasons=reasons)
        if self.verdict == "escalate":
            name = "gate-approval" if self.intent else "gate-escalate"
            return prompt(name).render(reasons=reasons)
        # What the model wrote in another form it can write again: only what a rule is against is not to be tried.
        is_malformed = bool(self.nearest) or self.reason_codes[:1] == (ReasonCode.INVALID_PARAM,)
        name = "gate-redo" if self.verdict == "deny" and is_malformed else f"gate-{self.verdict}"
        return prompt(name).render(problem=self.problem, reasons=reasons)

    def _tell_what_became(self) -> str:
        match self.state:
            case "succeeded":
                became = f"Its result: {compact(self.outcome)}"
            case "failed":
                became = f"It failed: {self.outcome}"
            case "started":
                became = "It is being run."
            case _:
                became = "Nobody knows whether it happened; a person finds out."
        return prompt("gate-ran").render(became=became, reasons=str(ReasonCode.REPEATED_CALL))

    def to_json(self) -> dict[str, Any]:
        """What `POST /v1/rulings` answers. Whoever reads it runs what is allowed, so what has run is not allowed: no
        `run` of ours stands in between."""
        asked = self.intent
        reasons = (*self.reason_codes, *((ReasonCode.REPEATED_CALL,) if self.state else ()))
        return {
            "id": self.id,
            "conversation": self.conversation,
            "verdict": "deny" if self.state else self.verdict,
            "reason_codes": [str(code) for code in dict.fromkeys(reasons)],
            "call": {"tool": self.call.tool, "arguments": self.call.arguments, "id": self.call.id},
            "tell_model": self.tell_model,
            "ask_user": self.ask_user,
            "missing": list(self.missing),
            "intent": asked
            and {
                "id": asked.id,
                "kind": asked.kind,
                "hash": asked.hash,
                "shown": asked.shown,
                "expires_at": asked.expires_at.isoformat(),
            },
            "execution": self.execution,
            "state": self.state,
            "outcome": self.outcome,
            "grounding": self.grounding,
        }


@dataclass(frozen=True)
class ReplyCheck:
    """A reply of the agent's, held against what ran."""

    text: str
    """What may be said: the reply without the sentences that are not so."""
    untrue: tuple[UntrueSentence, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.untrue

    @property
    def reason_codes(self) -> tuple[ReasonCode, ...]:
        return (ReasonCode.UNSUPPORTED_CLAIM,) if self.untrue else ()

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "text": self.text,
            "untrue": [{"sentence": one.sentence, "reason": one.reason} for one in self.untrue],
            "reason_codes": [str(code) for code in self.reason_codes],
        }


class CallHeld(CircumspectError):
    """`run` was given a call that was not let through. Its text is for the model."""

    code = "call_held"

    def __init__(self, ruling: Ruling) -> None:
        super().__init__(ruling.tell_model)
        self.ruling = ruling
