"""Shadow: a turn that was answered, and a second configuration -> what that one would have done with it.

The second one sees the message, the conversation and the clock as the live turn saw them. Nothing it does has effects:
its store writes nowhere, and a call that would change something ends it there, noted as what it would have done, unless
the live turn made the very same call; then it goes on from that result. Read calls are answered from what the live turn
got, or, where that is configured, really made. It has a model budget of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import Any, Literal

from circumspect.errors import ModelUnavailable, ToolError
from circumspect.journal import ExecutionEvent, LookEvent, PromptEvent, RulingEvent, find_events, read_event
from circumspect.lab.trials.variants import Variant
from circumspect.lab.trials.watching_store import Passing
from circumspect.pipeline import run_turn
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.policy_file import Policy
from circumspect.ports import Clock, Closing, Model, Store, Tools
from circumspect.reasons import ReasonCode
from circumspect.values import (
    ConversationId,
    Execution,
    Incoming,
    Intent,
    Json,
    Message,
    Mode,
    ModelReply,
    ModelRequest,
    Opened,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnResult,
)

Reads = Literal["recorded", "live"]
SECONDS = 120.0
MODEL_CALLS = 16
"""Of one turn: one that asks more often has lost its way, and nobody is waiting for it."""
_REACH = 400
_COUNTED = ("outcome", "calls", "reason_codes")


@dataclass(frozen=True)
class AnsweredTurn:
    """A live turn: what came in, the conversation as it found it, and what came of it."""

    incoming: Incoming
    opened: Opened
    history: int
    """How many earlier messages it asked for."""
    result: TurnResult
    seconds: float
    policy: Policy


@dataclass(frozen=True)
class ShadowResult:
    """Both sides, and in what they differ. `reply` alone is no difference that counts: no two wordings are alike."""

    live: Mapping[str, Json]
    shadow: Mapping[str, Json]
    differences: tuple[str, ...]
    error: str = ""
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def same(self) -> bool:
        return not self.error and not {*self.differences} & {*_COUNTED}


async def shadow(answered: AnsweredTurn, variant: Variant, reads: Reads, clock: Clock) -> ShadowResult:
    """Never raises for what the second configuration does."""
    live = _describe_turn(answered.result, answered.seconds)
    ports, began = variant.setup.ports, perf_counter()
    store = _Nowhere(ports.store, answered)
    tools = _Harmless(ports.tools, answered, variant.setup.policy, reads)
    past = _Past(answered.incoming.at, clock)
    setup = replace(
        variant.setup, ports=replace(ports, store=store, tools=tools, model=_Rationed(ports.model), clock=past)
    )
    try:
        with variant.use_prompts(), _suppress_log():
            async with asyncio.timeout(SECONDS):
                result = await run_turn(answered.incoming, setup)
    except TimeoutError:
        return ShadowResult(live, {}, (), "It took too long.", seconds=perf_counter() - began)
    except Exception as problem:
        return ShadowResult(
            live, {}, (), f"{type(problem).__name__} in the second configuration.", seconds=perf_counter() - began
        )
    seconds = perf_counter() - began
    other = _describe_turn(result, seconds)
    if store.would:
        # The turn was ended at the call, so its words are not what the user would have read.
        other |= {"outcome": "acted", "reply": "", "would": [_call(one) for one in store.would]}
        other["reason_codes"] = [one for one in _codes(result) if one != ReasonCode.PENDING_INTENT_MISSING]
    if tools.unknown:
        other["unknown_reads"] = [_call(one) for one in tools.unknown]
    failed = "It could not answer." if result.outcome == "failed" else ""
    usage = result.usage
    tokens = usage.input_tokens + usage.output_tokens
    return ShadowResult(live, other, _differences(live, other), failed, usage.cost_usd, tokens, seconds)


# --- what is compared -----------------------------------------------------------------------------------------------


def _describe_turn(result: TurnResult, seconds: float) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "calls": _list_rulings(result),
        "reason_codes": list(_codes(result)),
        "reply": result.reply,
        "pending": None if result.pending is None else _call(result.pending.call),
        "prompts": list(prompts_of(result)),
        "usage": result.usage.to_json(),
        "seconds": round(seconds, 3),
    }


def _list_rulings(result: TurnResult) -> list[Json]:
    """Every call that was ruled on, and how."""
    return [
        {"tool": event.tool, "arguments": event.arguments, "verdict": event.verdict}
        for event in find_events(result.entries, RulingEvent)
    ]


def _codes(result: TurnResult) -> tuple[str, ...]:
    return tuple(str(code) for code in result.reason_codes)


def _call(call: ToolCall) -> dict[str, Json]:
    return {"tool": call.tool, "arguments": dict(call.arguments)}


def _differences(live: Mapping[str, Json], other: Mapping[str, Json]) -> tuple[str, ...]:
    found = [name for name in ("outcome", "calls") if live[name] != other[name]]
    if {*_texts(live["reason_codes"])} != {*_texts(other["reason_codes"])}:
        found.append("reason_codes")
    return (*found, "reply") if live["reply"] != other["reply"] else tuple(found)


def _texts(value: Json) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def prompts_of(result: TurnResult) -> tuple[str, ...]:
    """The ids of all prompts that the turn's journal names."""
    named = [event.prompt for event in find_events(result.entries, PromptEvent) if event.prompt]
    return tuple(sorted({id_ for one in named for id_ in one.split("+")}))


# --- ports without effects ------------------------------------------------------------------------------------------


class _Nowhere(Passing):
    """The conversation as the live turn found it. Nothing is written."""

    def __init__(self, store: Store, answered: AnsweredTurn) -> None:
        super().__init__(store)
        self._answered = answered
        self._made = {one.hash for one in _changes(answered.result)}
        self.would: list[ToolCall] = []
        """Calls that would have been made and that the live turn did not make."""

    async def open_turn(
        self, incoming: Incoming, *, mode: Mode, history: int, token: str, lease_seconds: float, drawn: bool = False
    ) -> Opened:
        opened, asked = self._answered.opened, self._answered.history
        said = opened.history
        if history > asked <= len(said):
            first = max(-1, opened.next_seq - _REACH)
            said = tuple(await self.messages(incoming.tenant, incoming.conversation, after=first))
        return replace(opened, token=token, history=said[-history:] if history else (), answered=None)

    async def renew(self, incoming: Incoming, token: str, lease_seconds: float) -> None:
        return

    async def give_back(self, incoming: Incoming, token: str) -> None:
        return

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        """Before every call that changes something; nothing runs that is not let through here."""
        if execution.call.hash in self._made:
            return True
        self.would.append(execution.call)
        return False

    async def finish_call(self, execution: Execution) -> bool:
        return True

    async def close_turn(self, closing: Closing) -> None:
        return

    async def claim_expired(
        self, token: str, lease_seconds: float, limit: int, tenant: TenantId | None = None
    ) -> Sequence[Execution]:
        return ()

    async def count_messages(self, tenant: TenantId, period: str) -> int:
        """By now the live turn itself is counted: what was within the quota for it is so here."""
        refused = ReasonCode.QUOTA_REACHED in self._answered.result.reason_codes
        return await super().count_messages(tenant, period) if refused else 0

    async def messages(
        self,
        tenant: TenantId,
        conversation: ConversationId,
        *,
        internal: bool = False,
        after: int = -1,
        limit: int = 1000,
    ) -> Sequence[Message]:
        said = await super().messages(tenant, conversation, internal=internal, after=after, limit=limit)
        return [one for one in said if one.seq < self._answered.opened.next_seq and one.turn != self._turn]

    async def executions(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Execution]:
        return self._earlier(await super().executions(tenant, conversation))

    async def recent_executions(
        self, tenant: TenantId, tools: Collection[str], since: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        return self._earlier(await super().recent_executions(tenant, tools, since, person))

    async def intents(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Intent]:
        then, at = self._answered.opened.intent, self._answered.incoming.at
        earlier = [one for one in await super().intents(tenant, conversation) if one.created_at < at]
        return [then if then and then.id == one.id else one for one in earlier]

    @property
    def _turn(self) -> str:
        return self._answered.incoming.turn

    def _earlier(self, ran: Sequence[Execution]) -> Sequence[Execution]:
        at = self._answered.incoming.at
        return [one for one in ran if one.turn != self._turn and one.started_at <= at]


class _Harmless:
    """Tools of which only those that read may run, and these only where that is configured."""

    def __init__(self, tools: Tools, answered: AnsweredTurn, policy: Policy, reads: Reads) -> None:
        self._tools, self._reads, self._tenant = tools, reads, answered.incoming.tenant
        self._policies = (answered.policy, policy)
        self._recorded = {ToolCall(one.tool, one.arguments).hash: one for one in _read_calls(answered.result)}
        self.unknown: list[ToolCall] = []
        """Read calls whose answer nobody knows."""

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        call = ToolCall(name, dict(arguments))
        if recorded := self._recorded.get(call.hash):
            if recorded.state == "succeeded":
                return recorded.result
            raise ToolError(recorded.error or "The tool failed.")
        if self._reads == "live" and self._only_reads(name):
            return await self._tools.call(name, arguments, key)
        self.unknown.append(call)
        raise ToolError("What this tool would say is not known here.")

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None

    def _only_reads(self, name: str) -> bool:
        """By the tool's own word and by both policies: the live one may know better than the one on trial."""
        spec = self.specs().get(name)
        return all(effect_of(spec, policy.of(name, self._tenant)) == "read" for policy in self._policies)


@dataclass(frozen=True)
class _Ran:
    tool: str
    arguments: Mapping[str, Json]
    state: str
    result: Json = None
    error: str = ""


def _read_calls(result: TurnResult) -> Iterator[_Ran]:
    """What the live turn's calls brought, from its journal."""
    for entry in result.entries:
        match read_event(entry):
            case ExecutionEvent(tool=tool, arguments=arguments, state=state, result=brought, error=error):
                yield _Ran(tool, arguments, state, brought, error)
            case LookEvent(tool=tool, arguments=arguments, result=brought, error=error):
                # A look has no state of its own: it failed where it says why.
                yield _Ran(tool, arguments, "failed" if error else "succeeded", brought, error)


def _changes(result: TurnResult) -> Iterator[ToolCall]:
    """Calls of the live turn whose outcome is known."""
    return (ToolCall(one.tool, one.arguments) for one in _read_calls(result) if one.state in ("succeeded", "failed"))


class _Rationed:
    """A model that may be asked so many times."""

    def __init__(self, model: Model, calls: int = MODEL_CALLS) -> None:
        self._model, self._left = model, calls

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        self._take()
        return await self._model.complete(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self._take()
        return self._model.stream(request)

    def _take(self) -> None:
        if not self._left:
            raise ModelUnavailable("The second configuration asked its model too often.", fix="Look at its prompts.")
        self._left -= 1


class _Past:
    """The time as it was for the live turn: what had expired then has, what had not has not."""

    def __init__(self, at: datetime, clock: Clock) -> None:
        self._at, self._clock, self._began = at, clock, clock.now()

    def now(self) -> datetime:
        return self._at + (self._clock.now() - self._began)


# --- the log --------------------------------------------------------------------------------------------------------

_in_shadow: ContextVar[bool] = ContextVar("in_shadow", default=False)


@contextmanager
def _suppress_log() -> Iterator[None]:
    """A shadow is no turn, and is not logged as one."""
    token = _in_shadow.set(True)
    try:
        yield
    finally:
        _in_shadow.reset(token)


logging.getLogger("circumspect.turn").addFilter(
    lambda record: record.levelno >= logging.WARNING or not _in_shadow.get()
)
