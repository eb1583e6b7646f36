"""Every error a person may meet, in one tree. Each says what is wrong and what to do about it.

    CircumspectError
    ├── ConfigError            a setting, file or argument is wrong; nothing was started
    │   ├── PolicyError        the policy file is refused (carries every finding with file:line)
    │   └── UnknownTenant      no tenant of that name
    ├── ModelError             the language model could not answer
    │   ├── ModelUnavailable   transient: timeouts, rate limits, 5xx, broken connections, after all retries
    │   ├── ModelRefused       permanent: bad key, unknown model, request rejected
    │   └── ModelGarbled       it answered, but not with anything that can be read
    │       └── CallGarbled    the provider is well: it is the call that the model wrote
    ├── ToolError              a tool said no; the text is for the model and the record
    │   └── ToolTimeout        a tool did not answer in time: its outcome is not known
    ├── CallUnderWay           this very message was sent before, and a call of it has not ended yet
    ├── NotYourConversation    somebody else's; told to nobody apart from one that is not there
    ├── ApproverRefused        whoever approves a call may not: it is theirs, or they are nobody who approves
    └── StoreError             the database could not be reached or refused
        ├── StoreNotLasting    what is written now would be lost: the file is gone, or the disk is full
        ├── ConversationBusy   another worker is answering this conversation
        └── LeaseLost          this worker's claim on the conversation ended while it worked

A refusal by policy is never an exception: it is a `Verdict`, a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from circumspect.values import ModelUsage


class CircumspectError(Exception):
    """Base of everything we raise on purpose. `fix` says what the reader can do."""

    code = "error"

    def __init__(self, problem: str, *, fix: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.problem} {self.fix}".strip()


class ConfigError(CircumspectError):
    code = "config"


class PolicyError(ConfigError):
    """The policy file is refused. `findings` are ready-made lines: `file:line: problem; fix`."""

    code = "policy"

    def __init__(self, problem: str, *, fix: str = "", findings: tuple[str, ...] = ()) -> None:
        super().__init__(problem, fix=fix)
        self.findings = findings

    def __str__(self) -> str:
        return "\n".join((super().__str__(), *self.findings))


class UnknownTenant(ConfigError):
    code = "unknown_tenant"


class ModelError(CircumspectError):
    """`usage` is what was spent before the model was given up, where that is known."""

    code = "model"
    usage: ModelUsage | None = None


class ModelUnavailable(ModelError):
    code = "model_unavailable"


class ModelRefused(ModelError):
    code = "model_refused"


class ModelGarbled(ModelError):
    code = "model_garbled"


class CallGarbled(ModelGarbled):
    """The model is there, and what it wrote to call a tool cannot be read exactly."""


class ToolError(CircumspectError):
    code = "tool"


class ToolTimeout(ToolError):
    code = "tool_timeout"


class CallUnderWay(CircumspectError):
    code = "call_under_way"


class NotYourConversation(CircumspectError):
    code = "not_found"


class ApproverRefused(CircumspectError):
    code = "approver_refused"


class StoreError(CircumspectError):
    code = "store"


class StoreNotLasting(StoreError):
    code = "store_not_lasting"


class ConversationBusy(StoreError):
    code = "conversation_busy"


class LeaseLost(StoreError):
    code = "lease_lost"
