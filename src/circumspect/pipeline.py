"""run_turn: one message in, one reply out. Read this first.

    claim ─▶ screen ─▶ settle a pending yes/no ─▶ gather ─▶ ┌ draft ─▶ enforce ─▶ critique ─▶ act ┐ ─▶ reply ─▶ record
                                                            └──── bounded: until answered ───────┘

Only this file knows the order. It fails closed on actions and open on talk: whatever breaks, nothing runs that was not
enforced, and the user gets an answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from circumspect.errors import ModelError, StoreError
from circumspect.policy.file import Policy
from circumspect.policy.judge import Rule
from circumspect.policy.rules import RULES
from circumspect.ports import Ports
from circumspect.reasons import ReasonCode
from circumspect.steps import reply as ending
from circumspect.steps.act import act, told
from circumspect.steps.claim import claim
from circumspect.steps.critique import critique
from circumspect.steps.draft import draft
from circumspect.steps.enforce import enforce, is_hard_stop, write_down
from circumspect.steps.gather import everything, gather, more, with_result
from circumspect.steps.phrase import phrase
from circumspect.steps.record import record
from circumspect.steps.reply import Desk
from circumspect.steps.screen import screen
from circumspect.steps.settle import settle
from circumspect.steps.sweep import sweep
from circumspect.turn import (
    SEVERITY,
    Allow,
    Deny,
    Draft,
    Enforced,
    Execution,
    Gathered,
    Incoming,
    Intent,
    Mode,
    Notes,
    Opened,
    Profile,
    Reply,
    Screened,
    Tenant,
    ToolCall,
    ToolSpec,
    TurnResult,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """Everything about a tenant that a turn needs and that no message can change."""

    tenant: Tenant
    policy: Policy
    profiles: Mapping[Mode, Profile]
    ports: Ports
    rules: tuple[Rule, ...] = RULES

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """Enabled for this tenant."""
        specs, enabled = self.ports.tools.specs(), self.tenant.tools
        return specs if enabled is None else {name: spec for name, spec in specs.items() if name in enabled}


@dataclass(frozen=True)
class Work:
    """One turn under way: the setup, the message, and the journal that grows."""

    setup: Setup
    screened: Screened
    profile: Profile
    tools: Mapping[str, ToolSpec]
    notes: Notes

    @property
    def desk(self) -> Desk:
        ports = self.setup.ports
        return Desk(self.screened, self.setup.policy, self.tools, self.profile, ports.clock, ports.ids)


async def run_turn(incoming: Incoming, setup: Setup) -> TurnResult:
    tenant, ports, notes = setup.tenant, setup.ports, Notes()
    mode = tenant.mode_of(incoming.conversation)
    try:
        async with claim(incoming, mode, setup.profiles[mode].history, ports.store, ports.clock, ports.ids) as opened:
            if opened.answered:
                return opened.answered
            profile = setup.profiles[mode if tenant.adaptive_share >= 1.0 else opened.mode]
            opened, settled = await _caught_up(opened, setup)
            screened = screen(incoming, opened, tenant.language, profile, notes)
            work = Work(setup, screened, profile, setup.tools, notes)
            try:
                reply = ending.with_notices(await _answered(work), settled, work.desk)
            except asyncio.CancelledError:
                notes.write("notice", "interrupted", ReasonCode.TURN_INTERRUPTED)
                await asyncio.shield(_recorded(Reply("failed", ""), work))
                raise
            return await _recorded(reply, work)
    except StoreError as problem:
        return ending.without_store(incoming, tenant.language, mode, problem)


async def _answered(work: Work) -> Reply:
    """Whatever breaks in here, the user gets an answer and nothing further runs."""
    notes, desk = work.notes, work.desk
    try:
        if work.screened.stop:
            return ending.stopped(desk, work.screened.stop)
        return await _settled(work) or await _worked_out(work)
    except ModelError as problem:
        notes.write("notice", problem.code, ReasonCode.MODEL_FAILED)
        return ending.failed(desk, "failed-model", notes.ran)
    except StoreError as problem:
        notes.write("notice", problem.code, ReasonCode.STORE_FAILED)
        return ending.failed(desk, "failed-store", notes.ran)
    except Exception as problem:
        log.exception("turn failed", extra={"turn": work.screened.incoming.turn})
        notes.write("notice", type(problem).__name__, ReasonCode.INTERNAL_ERROR)
        return ending.failed(desk, "failed-internal", notes.ran)


async def _settled(work: Work) -> Reply | None:
    """A yes or no to what is pending; None when the message is an ordinary one."""
    setup, notes, desk, intent = work.setup, work.notes, work.desk, work.screened.opened.intent
    decision, reason = settle(work.screened, work.tools, setup.policy, setup.ports.clock.now())
    if reason:
        notes.write("intent", decision, reason, meta={"intent": intent.id if intent else None})
    if decision == "ordinary" or (decision != "nothing" and intent is None):
        return None
    if decision == "nothing" or intent is None:
        return ending.nothing_pending(desk)
    if decision == "drop":
        return ending.dropped(intent, desk)
    enforced = _ruled(intent.call, None, work, confirmed=intent)
    if not isinstance(enforced.verdict, Allow):
        return ending.held(enforced, None, desk)
    if decision == "ask_again":
        expired = reason is ReasonCode.PENDING_INTENT_EXPIRED
        return ending.confirmation(enforced, desk, "confirm-again-expired" if expired else "confirm-again-mismatch")
    ended = await _acted(enforced, work)
    if ended is None:
        return ending.nothing_pending(desk)
    business = setup.tenant.business.name
    return ending.done(ended, await phrase(ended, told(ended), work.screened, business, notes, setup.ports.model), desk)


async def _worked_out(work: Work) -> Reply:
    """Draft, enforce, critique, act, until there is an answer or the turn has used up its steps."""
    setup, profile, notes, desk = work.setup, work.profile, work.notes, work.desk
    business, model = setup.tenant.business, setup.ports.model
    gathered = gather(work.screened, business, work.tools, profile, setup.ports.clock.now())
    denied: set[str] = set()
    for _ in range(profile.steps + profile.context_rounds + 1):
        drafted = await draft(gathered, business.name, profile, notes, model)
        if drafted.wants_context:
            if gathered.full:
                notes.write("context", "asked again with everything at hand", ReasonCode.CONTEXT_LOOP_DETECTED)
                return ending.handed_over(desk, ReasonCode.CONTEXT_LOOP_DETECTED, work.screened.incoming.text)
            if gathered.rounds < profile.context_rounds:
                gathered = more(gathered, drafted.wants_context, business, work.tools, notes)
            else:
                gathered = everything(gathered, business, work.tools, notes)
            continue
        if not drafted.calls:
            return ending.answered(drafted, notes.ran, desk)
        ruled = [await _weighed(call, drafted, gathered, work) for call in drafted.calls]
        worst = max(ruled, key=lambda one: SEVERITY[one.verdict.kind])
        if isinstance(worst.verdict, Deny) and not is_hard_stop(worst) and len(denied) < profile.redrafts:
            denied.add(worst.call.hash)
            gathered = with_result(gathered, worst.call, f"DENIED: {worst.verdict.problem}")
            continue
        if not isinstance(worst.verdict, Allow):
            return ending.held(worst, drafted, desk)
        for enforced in ruled:
            ended = await _acted(enforced, work)
            if ended is None or ended.state == "indeterminate":
                return ending.done(ended, "", desk) if ended else ending.nothing_pending(desk)
            gathered = with_result(gathered, enforced.call, told(ended))
    notes.write("notice", "the turn used up its steps", ReasonCode.TOO_MANY_STEPS)
    return ending.handed_over(desk, ReasonCode.TOO_MANY_STEPS, work.screened.incoming.text, acted=bool(notes.ran))


def _ruled(call: ToolCall, drafted: Draft | None, work: Work, *, confirmed: Intent | None = None) -> Enforced:
    setup, done = work.setup, frozenset(ran.call.hash for ran in work.notes.ran)
    enforced = enforce(
        call, work.screened, drafted, setup.policy, work.tools, setup.rules, work.profile, setup.ports.clock.now(),
        confirmed=confirmed, done=done,
    )  # fmt: skip
    write_down(enforced, work.notes)
    return enforced


async def _weighed(call: ToolCall, drafted: Draft, gathered: Gathered, work: Work) -> Enforced:
    enforced = _ruled(call, drafted, work)
    return await critique(enforced, gathered, tuple(work.tools.values()), work.notes, work.setup.ports.model)


async def _acted(enforced: Enforced, work: Work) -> Execution | None:
    incoming, opened, ports = work.screened.incoming, work.screened.opened, work.setup.ports
    return await act(enforced, incoming, opened.token, work.notes, ports.tools, ports.store, ports.clock, ports.ids)


async def _recorded(reply: Reply, work: Work) -> TurnResult:
    ports, multiplier = work.setup.ports, work.setup.tenant.plan.multiplier
    return await record(reply, work.screened, work.profile.mode, multiplier, work.notes, ports.store, ports.clock)


async def _caught_up(opened: Opened, setup: Setup) -> tuple[Opened, tuple[Execution, ...]]:
    """If an earlier turn died while a call was under way, settle that call before anything else."""
    ports, now = setup.ports, setup.ports.clock.now()
    if not any(one.state == "started" and one.lease_until <= now for one in opened.unsettled):
        return opened, ()
    settled = await sweep(ports.tools, ports.store, ports.clock, ports.ids)
    known = {one.id: one for one in settled}
    mine = tuple(known[one.id] for one in opened.unsettled if one.id in known)
    still = tuple(known.get(one.id, one) for one in opened.unsettled)
    open_ones = tuple(one for one in still if one.state in ("started", "indeterminate"))
    return replace(opened, unsettled=open_ones), mine
