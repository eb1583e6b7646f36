"""enforce: Facts about a proposed call -> Enforced. Pure: no port, no clock, no randomness.

Every decision about a call is made here, by rules; the model can only ever make it stricter. This is the only place
that makes an `Enforced`. `rule_on` collects the facts: it is the one function here that asks a port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from circumspect.aside import compute_aside, weigh_tools, weigh_value
from circumspect.journal import FindingRecord, Journal, RulingEvent
from circumspect.policy.arguments import materialise
from circumspect.policy.established import find_established
from circumspect.policy.facts import Facts
from circumspect.policy.judge import Rule, judge
from circumspect.policy.keys.tool_policy import cap_of, effect_of
from circumspect.policy.likeness import likeness
from circumspect.policy.policy_file import Policy
from circumspect.policy.rules import HARD_STOPS
from circumspect.reasons import ReasonCode
from circumspect.recall import needs_more, recall, recall_from_turn
from circumspect.setup import TurnSetup
from circumspect.values import (
    Allow,
    Ask,
    Confirm,
    Deny,
    Draft,
    Effect,
    Enforced,
    Execution,
    History,
    Intent,
    Mode,
    Profile,
    RuleFinding,
    Screened,
    TenantId,
    ToolCall,
    ToolSpec,
    Verdict,
)


async def rule_on(
    call: ToolCall,
    drafted: Draft | None,
    screened: Screened,
    profile: Profile,
    tools: Mapping[str, ToolSpec],
    notes: Journal,
    setup: TurnSetup,
    *,
    confirmed: Intent | None = None,
    earlier: Sequence[Execution] = (),
) -> tuple[Enforced, Facts]:
    """Hold a call against the rules, with no more of the past than they turn out to need. `earlier` are calls of an
    interrupted attempt at this turn."""
    scene = screened.incoming.scene
    if scene and setup.guide and not confirmed:  # what was confirmed stays what it was when it was shown
        call = setup.guide.resolve(call, scene)
    policy = setup.policy.of(call.tool, screened.incoming.tenant)
    session = recall_from_turn(screened, tools, notes)
    done = frozenset(likeness(one.call) for one in (*earlier, *notes.ran) if one.state == "succeeded")
    whole = scene is not None or needs_more(policy, tools)
    while True:
        if whole:
            session = await recall(screened, call.tool, policy, tools, notes, setup.ports.store)
        facts = look_at(
            call, screened, drafted, setup.policy, tools, profile.mode, setup.ports.clock.now(), session,
            confirmed=confirmed, done=done,
        )  # fmt: skip
        letters = session.letters + weigh_tools(tools.values()) + weigh_value(call.arguments)
        enforced = await compute_aside(letters, enforce, facts, setup.rules, setup.policy.hash, profile)
        if whole or ReasonCode.UNGROUNDED_PARAM not in enforced.reasons:
            write_down(enforced, facts, notes)
            return enforced, facts
        whole = True


def look_at(
    call: ToolCall,
    screened: Screened,
    drafted: Draft | None,
    policy: Policy,
    tools: Mapping[str, ToolSpec],
    mode: Mode,
    now: datetime,
    session: History,
    *,
    confirmed: Intent | None = None,
    done: frozenset[str] = frozenset(),
    mendings: Sequence[str] | None = None,
) -> Facts:
    """Everything that is known about a proposed call, with the arguments that would really run. `mendings`: they are
    those already, and this was done to them."""
    spec = tools.get(call.tool)
    said = policy.of(call.tool, screened.incoming.tenant)
    arguments = call.arguments
    if spec and mendings is None:
        arguments, mendings = materialise(spec, arguments)
    return Facts(
        call=ToolCall(call.tool, arguments, call.id) if arguments != call.arguments else call,
        spec=spec,
        policy=said,
        effect=effect_of(spec, said),
        mode=mode,
        now=now,
        words=screened.incoming.text,
        language=screened.language,
        assessment=drafted.assessment if drafted else None,
        disagreement=drafted.disagreement if drafted else False,
        confirmed=confirmed,
        unsettled=screened.opened.unsettled,
        happened=screened.opened.happened,
        done=done,
        session=session,
        person=screened.person,
        claims=screened.incoming.claims,
        scene=screened.incoming.scene,
        tools=tools,
        mendings=tuple(mendings or ()),
    )


def enforce(facts: Facts, rules: Sequence[Rule], policy_version: str, profile: Profile) -> Enforced:
    verdict, findings = judge(facts, rules)
    effect: Effect = facts.effect or "destructive"
    confidence, noted = _confidence(facts, effect, profile)
    said, spec = facts.policy, facts.spec
    return Enforced(
        call=facts.call,
        spec=spec,
        verdict=verdict,
        findings=(*noted, *findings),
        effect=effect,
        confidence=confidence,
        policy_version=policy_version,
        recovery=(said and said.recovery) or (spec.recovery if spec else "blind"),
        intent=facts.confirmed,
        critique=not (facts.assessment and facts.assessment.by_user)
        and _pays(verdict, effect, confidence, facts.confirmed, profile),
        established=partial(find_established, facts),
    )


def write_down(enforced: Enforced, facts: Facts, notes: Journal) -> None:
    """The verdict and who spoke, for the journal. What was decided about a scene says where: without it, it cannot be
    decided again."""
    verdict = enforced.verdict
    event = RulingEvent(
        f"{enforced.call.tool}: {verdict.kind}",
        tool=enforced.call.tool,
        arguments=enforced.call.arguments,
        verdict=verdict.kind,
        effect=enforced.effect,
        confidence=enforced.confidence,
        problem=verdict.problem if isinstance(verdict, Deny) else "",
        policy=enforced.policy_version,
        at=facts.now.isoformat(),
        page=facts.scene.address if facts.scene else None,
        mendings=facts.mendings or None,
        missing=(*verdict.missing, *verdict.named) if isinstance(verdict, Ask) else None,
        findings=tuple(
            FindingRecord(one.rule, one.verdict.kind, str(one.reason) if one.reason else None)
            for one in enforced.findings
        ),
    )
    notes.write(event, *enforced.reasons)


def wants_too_much(
    drafted: Draft,
    ran: Sequence[Execution],
    policy: Policy,
    tenant: TenantId,
    tools: Mapping[str, ToolSpec],
    profile: Profile,
) -> bool:
    """The draft has more calls than are looked at, or more that change something than this turn may still make."""
    if len(drafted.calls) > profile.calls:
        return True
    effects = [effect_of(tools.get(call.tool), policy.of(call.tool, tenant)) for call in drafted.calls]
    wanted = sum(effect != "read" for effect in effects)
    return wanted > 0 and wanted + sum(one.effect != "read" for one in ran) > profile.changes


def is_hard_stop(enforced: Enforced) -> bool:
    """Answered directly, with no further model call."""
    return any(
        finding.reason in HARD_STOPS and finding.verdict.kind == enforced.verdict.kind for finding in enforced.findings
    )


def _confidence(facts: Facts, effect: Effect, profile: Profile) -> tuple[float | None, tuple[RuleFinding, ...]]:
    """The model's confidence under the tool's cap, with a note where the cap bites and where what is left is low."""
    if facts.assessment is None or facts.mode == "standard":
        return None, ()
    cap = cap_of(effect, facts.policy)
    confidence = min(facts.assessment.confidence, cap)
    noted = []
    if confidence < facts.assessment.confidence:
        noted.append(RuleFinding("confidence_is_capped", Allow(), ReasonCode.CONFIDENCE_FLOOR_APPLIED))
    if facts.assessment.confidence < profile.critique_below:
        noted.append(RuleFinding("the_model_is_sure", Allow(), ReasonCode.LOW_CONFIDENCE))
    return confidence, tuple(noted)


def _pays(
    verdict: Verdict, effect: Effect, confidence: float | None, confirmed: Intent | None, profile: Profile
) -> bool:
    """Is a second opinion worth a model call? Never on a hard stop, never after the user's own yes."""
    if profile.mode == "standard" or confirmed or not isinstance(verdict, Allow | Confirm):
        return False
    unsure = confidence is None or confidence < profile.critique_below
    return effect == "destructive" or unsure or isinstance(verdict, Confirm)
