"""A call of somebody else's agent, what became of it, and what its agent says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, StrictBool, model_validator

from circumspect.audit.transcript_steps import read_identity
from circumspect.gating.proposals import split_call
from circumspect.server.schemas.bodies import (
    NO_NUL,
    PERSON,
    AnswerBody,
    AnswerTime,
    PersonId,
    RequestBody,
    ResourceId,
)

MOST_MESSAGES = 2_000
MOST_TOOLS = 256


class ProposedCall(RequestBody):
    """By these names, or as the provider's answer holds it: an OpenAI `tool_call`, an Anthropic `tool_use` block."""

    tool: str = Field(min_length=1, max_length=200, pattern=NO_NUL)
    arguments: Any = Field(
        default_factory=dict,
        description="As an object, or as the JSON that the model wrote. Null is none; any other value is `redo`.",
    )
    id: str = Field("", max_length=200, pattern=NO_NUL, description="The provider's own id of the call.")

    @model_validator(mode="before")
    @classmethod
    def read_providers_names(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "tool" in given:
            return given
        tool, arguments, identity = split_call(given)
        return {"tool": tool, "arguments": arguments, "id": read_identity(identity)} if tool is not None else given


class RulingWanted(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "call": {"tool": "cancel_order", "arguments": {"order_id": "12345"}},
                    "conversation": "c1",
                    "messages": [{"role": "user", "content": "please cancel order 12345"}],
                }
            ]
        }
    )

    call: ProposedCall
    conversation: ResourceId = Field(description="Your id of the conversation. Made on first use.")
    messages: list[Any] | None = Field(
        None,
        max_length=MOST_MESSAGES,
        description="The whole conversation so far, tool results included, as your agent keeps it.",
    )
    tools: list[dict[str, Any]] = Field(
        default_factory=list, max_length=MOST_TOOLS, description="Your tools, as your model gets them."
    )
    person: PersonId | None = Field(None, description=PERSON)


class AnswerGiven(RequestBody):
    """Words, or a button."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "yes, do it"}, {"approve": True}]})

    text: str = Field("", max_length=20_000, pattern=NO_NUL, description="What the user said to the question.")
    approve: StrictBool | None = Field(None, description="What the user pressed.")
    person: PersonId | None = Field(None, description=PERSON)


class ResultGiven(RequestBody):
    """What your tool returned, why it failed, or that it was not run after all."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"result": {"cancelled": True}}]})

    result: Any = Field(None, description="Null is a result, too, where nothing else is said.")
    error: str | None = Field(None, max_length=20_000, pattern=NO_NUL)
    not_run: StrictBool = False
    person: PersonId | None = Field(None, description=PERSON)

    @model_validator(mode="after")
    def says_one_thing(self) -> ResultGiven:
        failed = self.error is not None and (self.error != "" or self.result is None)
        said = (self.result is not None) + failed + self.not_run
        if said > 1 or (said == 0 and "result" not in self.model_fields_set):
            raise ValueError("say exactly one of result, error and not_run: true")
        return self


class ReplyToCheck(RequestBody):
    text: str = Field(max_length=100_000, pattern=NO_NUL)
    conversation: ResourceId | None = None
    messages: list[Any] | None = Field(None, max_length=MOST_MESSAGES)
    person: PersonId | None = Field(None, description=PERSON)


class QuestionShown(AnswerBody):
    id: str
    kind: Literal["confirmation", "approval"]
    hash: str
    shown: str
    expires_at: AnswerTime


class CallShown(AnswerBody):
    tool: str
    arguments: dict[str, Any]
    id: str


class RulingShown(AnswerBody):
    """What became of a call, and what to tell whom."""

    id: str
    conversation: str
    verdict: Literal["allow", "ask", "redo", "escalate", "deny"] = Field(
        description="Who must act: nobody, the user, the model, a colleague; or it does not run."
    )
    reason_codes: list[str]
    call: CallShown = Field(description="Run it exactly as it stands here.")
    tell_model: str = Field(description="What your model gets instead of a result.")
    ask_user: str = Field(description="The question, for the user.")
    missing: list[str] = Field(description="Parameters that only the user can fill.")
    intent: QuestionShown | None = Field(description="What a yes is bound to.")
    execution: str | None = Field(
        description="The ledger's row of a write, once handed out. Rulings with the same one let one call run: run "
        "what is allowed once for each."
    )
    state: Literal["started", "succeeded", "failed", "indeterminate"] | None = Field(
        description="Set where the call is no longer to be run: what became of it when it was let through before."
    )
    outcome: Any = Field(description="What it brought, or why it failed.")
    grounding: dict[str, Any] = Field(
        description="Where each value comes from; empty where no words came with the request."
    )


class ResultNoted(AnswerBody):
    state: Literal["started", "succeeded", "failed", "indeterminate", "delegated"]


class UntrueShown(AnswerBody):
    sentence: str
    reason: str


class ReplyChecked(AnswerBody):
    ok: bool
    text: str = Field(description="What may be said.")
    untrue: list[UntrueShown]
    reason_codes: list[str]
