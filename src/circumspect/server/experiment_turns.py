"""Experimenting: which arm a turn is under, the turn under that arm, and what is written down about it afterwards.

    trial = await experimenting.begin(incoming, setup)      # None: nothing is tried with this turn
    result = await trial.run(run, listener)
    trial.ended(result, seconds)

Which experiments are live is looked up at most once a second, for all tenants at once, so a switch holds on every
worker a second later. Nothing here may cost a user their answer: an arm that cannot be built, or that fails before it
has said or done anything, gives way to control; and what cannot be written down is logged and left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from circumspect.errors import CircumspectError, ModelError, StoreError
from circumspect.knowledge.semantic import Embedder
from circumspect.lab.trials.consistency import PlannedAnswer, by_meaning, by_words, find_planned_answer
from circumspect.lab.trials.experiments import CONTROL, Drawn, Experiment, ExperimentArm, draw, from_row, has_shadow
from circumspect.lab.trials.shadow import AnsweredTurn, prompts_of
from circumspect.lab.trials.variants import Overlay, Resources, Variant, make_variant
from circumspect.lab.trials.watching_store import Watch, Watching
from circumspect.ports import Clock, Listener
from circumspect.reasons import ReasonCode
from circumspect.review.reviewing import require_model
from circumspect.server.reviewing_model import pick_reviewing_model
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore, experiments
from circumspect.stores.experiments import ExposureRow
from circumspect.stores.rehearsals import is_rehearsal
from circumspect.values import Incoming, JournalEntry, Json, TenantId, TurnResult

log = logging.getLogger(__name__)

Run = Callable[[Incoming, TurnSetup, Listener | None], Awaitable[TurnResult]]
CHECK_SECONDS = 1.0
STALE_SECONDS = 30.0
"""What was read so long ago, and could not be read again, is not acted upon: everybody has control."""
RETRY_SECONDS = 5.0
BUILD_SECONDS = 10.0
"""A user waits for it: what takes longer has control this time."""
MOST_WAITING = 10_000
AT_ONCE = 100
_REMEMBERED = 10_000
_DENIED = frozenset({ReasonCode.DENIED_BY_USER, ReasonCode.DENIED_BY_COLLEAGUE})


@dataclass
class _Built:
    """The variants of one Setup, by arm. Held only as long as that Setup is."""

    setup: weakref.ref[TurnSetup]
    variants: dict[tuple[str, str], Variant] = field(default_factory=dict)
    failed: dict[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: ExposureRow
    kept: PlannedAnswer | None = None


@dataclass(frozen=True)
class CaseDrawn:
    experiment: str
    arm: ExperimentArm
    period: int
    counted: bool = True
    """False after a decision: the winner is served, and there is nothing left to compare it with."""
    fell_back: Overlay | None = None
    """What answers where the arm cannot be had now: control. The case counts as failed for the arm."""

    @property
    def overlay(self) -> Overlay:
        """What the case is reviewed with."""
        return self.arm.overlay if self.fell_back is None else self.fell_back

    def to_json(self) -> dict[str, Json]:
        """What goes with the request, for whoever reviews the case."""
        under: dict[str, Json] = {"id": self.experiment, "arm": self.arm.name, "period": self.period}
        under |= {"counted": self.counted, "prompts": dict(self.overlay.prompts)}
        return under if self.fell_back is None else {**under, "fell_back": True}


def _without_model(experiment: Experiment) -> Overlay:
    control = experiment.arm(CONTROL).overlay
    return Overlay() if control.controller == "react" else control


class Experimenting:
    def __init__(
        self,
        store: SqlStore,
        resources: Resources,
        clock: Clock,
        *,
        embedder: Embedder | None = None,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._store, self._resources, self._clock, self._check_seconds = store, resources, clock, check_seconds
        self._embedder = embedder
        self.watching = Watching(store)
        self.on_shadow: Callable[[Experiment, AnsweredTurn, TurnSetup], None] | None = None
        """Takes a turn that is to have a shadow; must return at once."""
        self._live: Mapping[TenantId, tuple[Experiment, ...]] = {}
        self._checked, self._read = float("-inf"), float("-inf")
        self._checking = asyncio.Lock()
        self._build_setup: dict[int, _Built] = {}
        self._building = asyncio.Lock()
        self._began: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._waiting: deque[_Waiting] = deque(maxlen=MOST_WAITING)

    # --- which are live ---------------------------------------------------------------------------------------------

    async def live(self, tenant: TenantId) -> tuple[Experiment, ...]:
        now = asyncio.get_running_loop().time
        if now() - self._checked >= self._check_seconds:
            async with self._checking:
                if now() - self._checked >= self._check_seconds:
                    await self._look(now)
        return self._live.get(tenant, ())

    def look_again(self) -> None:
        """Something was changed here: the next turn looks."""
        self._checked = float("-inf")

    async def _look(self, now: Callable[[], float]) -> None:
        try:
            rows = await self._store.tx(experiments.live)
        except StoreError as problem:
            if now() - self._read >= STALE_SECONDS:
                self._live = {}
            log.warning("experiments unknown", extra={"problem": problem.code})
        else:
            found: dict[TenantId, tuple[Experiment, ...]] = {}
            for row in rows:
                try:
                    found[row.tenant] = (*found.get(row.tenant, ()), from_row(row))
                except (CircumspectError, ValueError, TypeError, KeyError):
                    log.exception("experiment unreadable", extra={"tenant": row.tenant, "experiment": row.id})
            self._live, self._read = found, now()
        self._checked = now()

    # --- a turn -----------------------------------------------------------------------------------------------------

    async def begin(self, incoming: Incoming, setup: TurnSetup) -> Trial | None:
        try:
            live = () if is_rehearsal(incoming.conversation) else await self.live(incoming.tenant)
            return await self._draw_trial(incoming, setup, live) if live else None
        except Exception:
            log.exception("experiments were left out", extra={"turn": incoming.turn})
            return None

    async def _draw_trial(self, incoming: Incoming, setup: TurnSetup, live: tuple[Experiment, ...]) -> Trial | None:
        trial = Trial(self, incoming, setup)
        for experiment in live:
            if experiment.unit != "conversation":
                continue
            if experiment.kind == "shadow":
                if incoming.errand is None and has_shadow(experiment, incoming.turn, incoming.at.timestamp()):
                    trial.shadow = experiment
            elif drawn := draw(experiment, incoming.conversation, await self._beginning(incoming)):
                trial.experiment, trial.drawn = experiment, drawn
                trial.variant = await self.variant(setup, experiment, drawn.arm)
                if drawn.arm.name != CONTROL:
                    trial.control = await self.variant(setup, experiment, experiment.arm(CONTROL))
        return trial if trial.drawn or trial.shadow else None

    async def case(self, tenant: TenantId, case_id: str, *, has_model: bool) -> CaseDrawn | None:
        """The arm of a case that comes in now; None where nothing is tried with it. `has_model`: there is a model to
        review it with."""
        try:
            live = await self.live(tenant)
        except Exception:
            log.exception("experiments were left out", extra={"tenant": tenant})
            return None
        for experiment in live:
            if experiment.unit == "case" and (drawn := draw(experiment, case_id, self._clock.now().timestamp())):
                lacking = drawn.arm.overlay.controller == "react" and not has_model
                fell_back = _without_model(experiment) if lacking else None
                return CaseDrawn(experiment.id, drawn.arm, drawn.period, drawn.counted, fell_back)
        return None

    async def case_shadow(self, tenant: TenantId, evaluation: str) -> dict[str, Json] | None:
        """What is to be run beside this evaluation, as it goes with the request; None for nothing."""
        try:
            live = await self.live(tenant)
        except Exception:
            log.exception("shadows were left out", extra={"tenant": tenant})
            return None
        now = self._clock.now().timestamp()
        for one in live:
            if one.unit == "case" and has_shadow(one, evaluation, now):
                overlay, budgets = one.arms[0].overlay, ("budget_usd", "budget_tokens")
                chosen: dict[str, Json] = {"controller": overlay.controller, "prompts": dict(overlay.prompts)}
                return {"id": one.id, **chosen, **{name: one.plan.get(name) for name in budgets}}
        return None

    async def _beginning(self, incoming: Incoming) -> float:
        """When the conversation began; now, if this is its first turn."""
        key = (incoming.tenant, incoming.conversation)
        if key not in self._began:
            found = await self._store.tx(experiments.get_conversation_start, incoming.tenant, incoming.conversation)
            if found is None:
                return incoming.at.timestamp()
            self._began[key] = found
            if len(self._began) > _REMEMBERED:
                self._began.popitem(last=False)
        return self._began[key]

    async def check(self, setup: TurnSetup, arm: ExperimentArm) -> None:
        """Raises what is wrong with the arm, if it could not be built now."""
        await make_variant(replace(setup), arm.overlay, self._resources)
        require_model(arm.overlay.controller, pick_reviewing_model(setup))

    async def variant(self, setup: TurnSetup, experiment: Experiment, arm: ExperimentArm) -> Variant | None:
        """None when it cannot be built now."""
        if arm.overlay == Overlay():
            return Variant(setup)
        built, key, now = self._of(setup), (experiment.id, arm.name), asyncio.get_running_loop().time
        if key not in built.variants and now() - built.failed.get(key, float("-inf")) >= RETRY_SECONDS:
            async with self._building:
                if key not in built.variants:
                    await self._build(built, key, setup, arm)
        return built.variants.get(key)

    async def _build(self, built: _Built, key: tuple[str, str], setup: TurnSetup, arm: ExperimentArm) -> None:
        try:
            async with asyncio.timeout(BUILD_SECONDS):
                # Of a copy, which keeps nobody's Setup alive.
                built.variants[key] = await make_variant(replace(setup), arm.overlay, self._resources)
        except Exception as problem:
            built.failed[key] = asyncio.get_running_loop().time()
            said = str(problem) if isinstance(problem, CircumspectError) else type(problem).__name__
            about = {"tenant": setup.tenant.id, "experiment": key[0], "arm": key[1]}
            log.warning("an arm cannot be built", extra={**about, "problem": said})

    def _of(self, setup: TurnSetup) -> _Built:
        built = self._build_setup.get(id(setup))
        if built is None or built.setup() is not setup:
            number = id(setup)
            # A variant holds the tenant's tools; it goes with the Setup, so that these can be closed.
            built = self._build_setup[number] = _Built(
                weakref.ref(setup, lambda _: self._build_setup.pop(number, None))
            )
        return built

    # --- what is written down ---------------------------------------------------------------------------------------

    def note(self, row: ExposureRow, kept: PlannedAnswer | None = None) -> None:
        """`kept`: what was planned and answered, to be compared by meaning when it is written."""
        if len(self._waiting) == MOST_WAITING:
            log.warning("too many exposures wait to be written; the oldest is left out")
        self._waiting.append(_Waiting(row, kept if self._embedder else None))

    async def flush(self) -> int:
        """Write what turns came to since the last time, a few at a time: others wait for the same database. What cannot
        be written now is tried again later."""
        written = 0
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            try:
                some = await self._add_similarity(some)
                written += await self._store.tx(experiments.expose, [one.row for one in some])
            except BaseException as problem:
                self._waiting.extendleft(reversed(some))
                if not isinstance(problem, StoreError):
                    raise
                log.warning("exposures not written", extra={"problem": problem.code})
                break
        return written

    async def _add_similarity(self, some: list[_Waiting]) -> list[_Waiting]:
        """With how alike plans and answers are in meaning, where that can be told."""
        pairs = [one.kept for one in some if one.kept]
        if self._embedder is None or not pairs:
            return some
        try:
            alike = iter(await by_meaning(pairs, self._embedder))
        except ModelError as problem:
            log.warning("plans and answers not compared by meaning", extra={"problem": problem.code})
            return [_Waiting(one.row) for one in some]
        return [_Waiting(replace(one.row, similarity=next(alike))) if one.kept else one for one in some]

    async def close(self) -> None:
        with contextlib.suppress(CircumspectError):
            await self.flush()
        self._build_setup.clear()


@dataclass
class Trial:
    """One turn under an experiment, a shadow, or both."""

    _owner: Experimenting
    incoming: Incoming
    setup: TurnSetup
    experiment: Experiment | None = None
    drawn: Drawn | None = None
    variant: Variant | None = None
    control: Variant | None = None
    shadow: Experiment | None = None
    fell_back: bool = False
    watch: Watch | None = None

    async def run(self, run: Run, listener: Listener | None) -> TurnResult:
        plain = self.control or Variant(self.setup)
        if self.drawn is None or self.drawn.arm.name == CONTROL:
            return await self._once(run, self.variant or Variant(self.setup), self.incoming, listener)
        if self.variant is None:
            self.fell_back = True
            return await self._once(run, plain, self.incoming, listener)
        # Under a key, a turn that was closed as interrupted can be run again.
        incoming = self.incoming if self.incoming.key else replace(self.incoming, key=f"arm:{self.incoming.turn}")
        heard = _Heard(listener)
        try:
            result = await self._once(
                run, self.variant, incoming, heard if listener else None, lambda: not heard.spoken
            )
        except Exception:
            if heard.spoken or (self.watch and self.watch.changed):
                raise
            log.exception("an arm's turn broke off", extra=self._about())
        else:
            if self.watch is None or not self.watch.withdrawn:
                return result
            log.warning("an arm's turn failed; control answers", extra=self._about())
        self.fell_back = True
        return await self._once(run, plain, incoming, listener)

    async def _once(
        self,
        run: Run,
        variant: Variant,
        incoming: Incoming,
        listener: Listener | None,
        may_withdraw: Callable[[], bool] | None = None,
    ) -> TurnResult:
        watching = self._owner.watching
        setup = replace(variant.setup, ports=replace(variant.setup.ports, store=watching))
        with watching.watch(incoming.turn, may_withdraw) as self.watch, variant.use_prompts():
            return await run(incoming, setup, listener)

    def note_result(self, result: TurnResult, seconds: float) -> None:
        """Writes nothing itself, and never raises."""
        try:
            self._note_result(result, seconds)
        except Exception:
            log.exception("an exposure was left out", extra={"turn": self.incoming.turn})

    def _note_result(self, result: TurnResult, seconds: float) -> None:
        opened = self.watch.opened if self.watch else None
        if result.turn != self.incoming.turn or opened is None or opened.answered is not None:
            return  # it was answered before and counted then, or nothing of it is stored
        if self.experiment and self.drawn and self.drawn.counted:
            usage, kept = result.usage, find_planned_answer(result)
            self._owner.note(
                ExposureRow(
                    tenant=self.incoming.tenant,
                    experiment=self.experiment.id,
                    turn=self.incoming.turn,
                    conversation=self.incoming.conversation,
                    arm=self.drawn.arm.name,
                    period=self.drawn.period,
                    fell_back=self.fell_back,
                    outcome=result.outcome,
                    denied=bool(_DENIED & {*result.reason_codes}),
                    corrected=self._is_corrected(result),
                    cost_usd=usage.cost_usd,
                    tokens=usage.input_tokens + usage.output_tokens,
                    seconds=seconds,
                    calls=len(usage.calls),
                    prompts=prompts_of(result),
                    at=self.incoming.at.timestamp(),
                    consistency=by_words(kept.plan, kept.answer) if kept else None,
                ),
                kept,
            )
        if self.shadow and self._owner.on_shadow and self.watch:
            answered = AnsweredTurn(self.incoming, opened, self.watch.history, result, seconds, self.setup.policy)
            self._owner.on_shadow(self.shadow, answered, self.setup)

    def _is_corrected(self, result: TurnResult) -> bool:
        """Somebody changed the call that was waiting for their yes."""
        if ReasonCode.EDITED_BY_COLLEAGUE in result.reason_codes:
            return True
        before = self.watch.opened.intent if self.watch and self.watch.opened else None
        after = result.pending
        if before is None or after is None or before.state != "pending" or before.id == after.id:
            return False
        return before.call.tool == after.call.tool and before.hash != after.hash

    def _about(self) -> dict[str, str]:
        arm = self.drawn.arm.name if self.drawn else ""
        about = {"tenant": self.incoming.tenant, "turn": self.incoming.turn, "arm": arm}
        return {**about, "experiment": self.experiment.id if self.experiment else ""}


class _Heard:
    """A listener that knows whether the user has heard anything yet: what was said is never taken back."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self.spoken = False

    def entry(self, entry: JournalEntry) -> None:
        if self._listener:
            self._listener.entry(entry)

    def text(self, piece: str) -> None:
        self.spoken = True
        if self._listener:
            self._listener.text(piece)
