"""Demo data: conversations of the sample shops, really run through the engine at past moments, and taken away again.

The offline model answers, the shops' own tools act on a back end in memory, the rules in force decide. A few things go
wrong on purpose, as they do in life: a payment provider that does not answer, a model that cannot be reached for an
hour, an agent of somebody else's that proposes calls. Everything carries the mark `demo-` in its conversation's id and
in its person's, by which it is found and removed, its usage included.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import yaml

from circumspect.clock import FixedClock, RandomIds, SystemClock
from circumspect.demo import demo_experiments, demo_reviews, samples
from circumspect.demo.demo_desks import seed_desks
from circumspect.demo.demo_experiments import Trials
from circumspect.errors import ModelUnavailable, ToolTimeout
from circumspect.models import open_model
from circumspect.pipeline import run_turn
from circumspect.policy.judge import Rule
from circumspect.policy.load import load
from circumspect.policy.rules import RULES, RULES_FOR_BARE_CALLS
from circumspect.ports import Model, Ports, Tools
from circumspect.profiles import PROFILES
from circumspect.server.stores import policies, privacy
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore, codec, people
from circumspect.stores.day_counts import count_escalation, count_escalation_beside_turns, count_turn
from circumspect.stores.held_calls import uncount_holds
from circumspect.stores.tables import conversations, escalations, turns, usage
from circumspect.values import (
    ConversationId,
    Incoming,
    Json,
    ModelReply,
    ModelRequest,
    OutsideCall,
    Tenant,
    TenantId,
    ToldOutcome,
    ToolCall,
    ToolSpec,
    TurnId,
)

if TYPE_CHECKING:
    from circumspect.server.config import Settings

MARK = "demo-"
OPERATOR = "demo-noa"
SPAN = timedelta(days=21)
HOW_MANY = {"shop": 48, "shop-he": 20, "shop-ru": 18}
ADAPTIVE_SHARE = 0.88
_PROCESSING, _SHIPPED, _DELIVERED = range(12343, 12351), range(12336, 12343), range(12300, 12334)
_PEOPLE = (
    ("Tom Hartley", "tom.hartley@example.com", "+972-58-555-0104"),
    ("Dana Levi", "dana.levi@example.com", "+972-52-555-0101"),
    ("Olga Kagan", "olga.kagan@example.com", "+972-53-555-0105"),
    ("Maya Cohen", "maya.cohen@example.com", "+972-52-555-0109"),
)


@dataclass(frozen=True, slots=True)
class _Silent:
    """A payment provider that takes the call and never answers."""

    tools: Tools

    def specs(self) -> Mapping[str, ToolSpec]:
        return self.tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        if name == "refund":
            raise ToolTimeout("The payment provider did not answer in time.")
        return await self.tools.call(name, arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None


@dataclass(frozen=True, slots=True)
class _Unreachable:
    """A model during an outage."""

    name: str = "offline"

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("The model cannot be reached.")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        yield await self.complete(request)


async def seed_demo(
    store: SqlStore, settings: Settings, *, now: datetime | None = None, share: float = 1.0, seed: int = 11
) -> int:
    """Add the demo's conversations; none when they are there already. How many were added. The sample shops have to be
    there (`serve --demo`). `share` makes fewer of them."""
    if await store.tx(_find_demo_conversations):
        return 0
    now, dice, made = now or SystemClock().now(), random.Random(seed), 0
    scripts = yaml.safe_load(resources.files("circumspect.demo").joinpath("demo_data.yaml").read_text("utf-8"))
    for name, many in HOW_MANY.items():
        tenant = await store.get_tenant(TenantId(name))
        if tenant is None:
            continue
        trials = await demo_experiments.begin(store, MARK, OPERATOR, now - SPAN) if name == "shop" else None
        stage = await _build_stage(store, tenant, trials)
        wanted = max(1, round(many * share))
        moments = sorted(now - SPAN * (dice.random() ** 1.3) - timedelta(minutes=20) for _ in range(wanted))
        for number, at in enumerate(moments):
            script = scripts[tenant.language][number % len(scripts[tenant.language])]
            id_ = ConversationId(f"{MARK}{name}-{number + 1:03}")
            await stage.play(id_, script, at, dice, number)
            made += 1
        made += await _extras(stage, scripts, now, dice)
        if trials:
            await trials.close(MARK, OPERATOR, now)
    made += await seed_desks(store, settings, MARK, now, SPAN, dice)
    await _people_at_work(store, now)
    if await store.get_tenant(demo_reviews.TENANT):
        await demo_reviews.seed_reviews(store, MARK, now)
    return made


async def remove_demo(store: SqlStore) -> int:
    """Take all of it away, its usage included. How many conversations there were."""
    marked = await store.tx(_find_demo_conversations)
    await demo_reviews.remove_reviews(store, MARK)
    await demo_experiments.remove(store, MARK)
    for tenant, conversation in marked:
        await store.tx(_forget, tenant, conversation)
    return len(marked)


# --- playing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stage:
    store: SqlStore
    tenant: Tenant
    policy_text: str
    model: Model
    ids: RandomIds
    trials: Trials | None = None
    """What is tried with the conversations of this tenant."""

    def setup(
        self, clock: FixedClock, *, silent: bool = False, outage: bool = False, rules: tuple[Rule, ...] = RULES
    ) -> TurnSetup:
        """As a worker would have it, with a back end of its own as it was at that time."""
        shop = samples.load(self.tenant.id, directory=None, now=clock.now())
        tools: Tools = _Silent(shop.tools) if silent else shop.tools
        model = _Unreachable() if outage else self.model
        policy = load(self.policy_text, specs=tools.specs(), name="policy")
        tenant = replace(self.tenant, adaptive_share=1.0 if silent else ADAPTIVE_SHARE)
        profiles = {mode: replace(one, escalate_failures=outage) for mode, one in PROFILES.items()}
        return TurnSetup(tenant, policy, profiles, Ports(model, tools, self.store, clock, self.ids), rules)

    async def play(
        self,
        conversation: ConversationId,
        script: Sequence[str | int],
        at: datetime,
        dice: random.Random,
        number: int,
        *,
        silent: bool = False,
        outage: bool = False,
    ) -> None:
        clock, filled = FixedClock(at), _pick_values(at, dice)
        setup = self.setup(clock, silent=silent, outage=outage)
        for line in script:
            if isinstance(line, int):
                clock.advance(minutes=line)
                continue
            clock.advance(seconds=dice.randint(8, 70))
            incoming = self._incoming(conversation, clock, number, line.format(**filled))
            # An arm that fails is tried twice, which no sum of a conversation's turns would give back.
            await (self.trials.run(incoming, setup) if self.trials and not outage else run_turn(incoming, setup))

    async def propose(self, conversation: ConversationId, call: ToolCall, at: datetime, number: int) -> None:
        """A call of somebody else's agent; what needs a yes waits for a colleague."""
        clock = FixedClock(at)
        incoming = self._incoming(conversation, clock, number, "")
        setup = self.setup(clock, rules=RULES_FOR_BARE_CALLS)
        await run_turn(replace(incoming, errand=OutsideCall(call), principal="crm-assistant"), setup)

    def _incoming(self, conversation: ConversationId, clock: FixedClock, number: int, text: str) -> Incoming:
        person = f"{MARK}{self.tenant.language}-{number % 17 + 1:02}"
        turn = TurnId(self.ids.new("turn"))
        return Incoming(self.tenant.id, conversation, turn, text, clock.now(), person=person)


async def _build_stage(store: SqlStore, tenant: Tenant, trials: Trials | None) -> _Stage:
    current = await store.tx(policies.current, tenant.id)
    text = f"{current.text}\n" if current else "version: 1\n"
    return _Stage(store, tenant, text, open_model("offline"), RandomIds(), trials)


def _pick_values(at: datetime, dice: random.Random) -> dict[str, str]:
    """What the scripts leave open, as it is at that time."""
    name, email, phone = dice.choice(_PEOPLE)
    day = at.astimezone(UTC).date() + timedelta(days=3)
    while day.weekday() in (4, 5):
        day += timedelta(days=1)
    processing, other = dice.sample(_PROCESSING, 2)
    return {
        "processing": str(processing),
        "other": str(other),
        "shipped": str(dice.choice(_SHIPPED)),
        "delivered": str(dice.choice(_DELIVERED)),
        "name": name,
        "email": email,
        "phone": phone,
        "day": str(day),
    }


async def _extras(stage: _Stage, scripts: Mapping[str, Any], now: datetime, dice: random.Random) -> int:
    """What goes wrong, and what somebody else's agent proposes. How many conversations."""
    name, language = stage.tenant.id, stage.tenant.language
    made = 0
    for back in (timedelta(days=9), timedelta(days=2, hours=3), timedelta(hours=5), timedelta(minutes=40)):
        made += 1
        id_ = ConversationId(f"{MARK}{name}-silent-{made}")
        await stage.play(id_, scripts["refund"][language], now - back, dice, made, silent=True)
    for number, back in enumerate((timedelta(days=6), timedelta(days=6, minutes=-20)), start=1):
        id_ = ConversationId(f"{MARK}{name}-outage-{number}")
        await stage.play(id_, scripts["hours"][language], now - back, dice, number, outage=True)
    orders = {"shop": ("12346", "12344"), "shop-he": ("12348",), "shop-ru": ("12349",)}[str(name)]
    for number, order in enumerate(orders, start=1):
        id_ = ConversationId(f"{MARK}{name}-crm-{number}")
        call = ToolCall("cancel_order", {"order_id": order})
        await stage.propose(id_, call, now - timedelta(hours=3 * number, minutes=7), number)
    return made + 2 + len(orders)


async def _people_at_work(store: SqlStore, now: datetime) -> None:
    """Of what was handed over, the oldest are resolved, one is being worked on, the rest wait."""
    rows = [
        row for row in await store.tx(people.list_escalations, None, "open", None, 1000) if _is_demo(row.conversation)
    ]
    oldest = sorted(rows, key=lambda row: row.created_at)
    for row in oldest[: len(oldest) // 2]:
        await store.tx(_work_on, row.id, row.created_at + timedelta(minutes=25), resolve=True)
    if len(oldest) > 3:
        await store.tx(_work_on, oldest[-2].id, now - timedelta(minutes=12), resolve=False)


def _work_on(connection: sa.Connection, escalation: str, at: datetime, *, resolve: bool) -> None:
    taken = people.take_over(connection, None, escalation, OPERATOR, at)
    if resolve:
        outcome: ToldOutcome | None = "happened" if taken.asks_outcome else None
        people.resolve(connection, None, escalation, OPERATOR, at + timedelta(minutes=6), outcome)


def _is_demo(conversation: str) -> bool:
    return conversation.startswith(MARK)


# --- removing -------------------------------------------------------------------------------------------------------


def _find_demo_conversations(connection: sa.Connection) -> list[tuple[TenantId, ConversationId]]:
    """Both marks are asked for: nobody's own conversation is taken away because of its name."""
    query = sa.select(conversations.c.tenant, conversations.c.id).where(
        conversations.c.id.startswith(MARK, autoescape=True), conversations.c.person.startswith(MARK, autoescape=True)
    )
    return [(row.tenant, row.id) for row in connection.execute(query)]


_COUNTED = ("messages", "critiques", "context_fetches", "escalations", "model_calls", "input_tokens", "output_tokens")


_MODE = sa.select(conversations.c.mode).where(
    conversations.c.tenant == sa.bindparam("tenant"), conversations.c.id == sa.bindparam("conversation")
)


def _forget(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> None:
    mine = (turns.c.tenant == tenant, turns.c.conversation == conversation)
    wanted = sa.select(turns.c.id, turns.c.result, turns.c.started_at, turns.c.finished_at).where(*mine)
    rows: Sequence[Any] = connection.execute(wanted).all()
    theirs = (escalations.c.tenant == tenant, escalations.c.conversation == conversation)
    begun = connection.execute(sa.select(escalations.c.id, escalations.c.created_at).where(*theirs)).all()
    by_turns = {f"esc-{row.id}" for row in rows}
    counted: dict[tuple[str, str, str], Counter[str]] = {}
    for row in rows:
        if not row.result or row.finished_at is None:
            continue
        ended, period = codec.result(row.result), f"{codec.moment(row.finished_at):%Y-%m}"
        spent = ended.usage
        began = codec.moment(row.started_at)
        count_turn(connection, tenant, began, ended.outcome, spent, ended.reason_codes, times=-1)
        first = spent.calls[0].model if spent.calls else ""
        own = counted.setdefault((period, spent.mode, first), Counter())
        handed = sum(one.id == f"esc-{row.id}" for one in begun)
        sums = {"critiques": spent.critiques, "context_fetches": spent.context_rounds, "escalations": handed}
        own.update(messages=1, **sums)
        for call in spent.calls:
            tokens = {"input_tokens": call.input_tokens, "output_tokens": call.output_tokens}
            counted.setdefault((period, spent.mode, call.model), Counter()).update(model_calls=1, **tokens)
    for one in begun:
        at = codec.moment(one.created_at)
        count_escalation(connection, tenant, at, times=-1)
        if one.id not in by_turns:
            count_escalation_beside_turns(connection, tenant, conversation, at, times=-1)
            mode = connection.execute(_MODE, {"tenant": tenant, "conversation": conversation}).scalar_one()
            counted.setdefault((f"{at:%Y-%m}", mode, ""), Counter())
    for (period, mode, model), less_of in counted.items():
        place = (usage.c.tenant == tenant, usage.c.period == period, usage.c.mode == mode, usage.c.model == model)
        if less := {name: usage.c[name] - less_of[name] for name in _COUNTED if less_of[name]}:
            connection.execute(sa.update(usage).where(*place).values(less))
        empty = (usage.c.messages <= 0, usage.c.model_calls <= 0, usage.c.escalations <= 0)
        connection.execute(sa.delete(usage).where(*place, *empty))
    uncount_holds(connection, tenant, conversation)
    privacy.forget(connection, tenant, conversation)
