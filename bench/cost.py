"""Tokens and dollars of standard and adaptive mode on the sample shop, for three kinds of messages.

Real turns of a real agent run in both modes; only the model's words are given, the same visible words in both modes.
Every request is counted by a real tokenizer, and the prices are list prices without any caching discount. A risky
action is counted to its end: standard mode needs a second call to say what it did, adaptive mode a critique, the
user's yes and a call to say what was done.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench import tokens
from bench.report import Aim, Section, Table

if TYPE_CHECKING:
    from circumspect.models.scripted import Scripted
    from circumspect.values import Mode, ModelReply, ModelRequest, ModelUsage

TITLE = "Tokens and dollars: standard against adaptive"
PRICES = {"$3 in, $15 out": (3.0, 15.0), "$0.59 in, $0.79 out": (0.59, 0.79)}
"""Dollars per million tokens: a large hosted model, and an open one of 70 billion parameters."""
SAVING = 0.24
MINIMAL = range(500, 801)
MODES: tuple[Mode, ...] = ("standard", "adaptive")

EARLIER = (
    (
        "Hi! Do you only have things for the trail, or coffee gear as well?",
        "Both! Besides tents, boots and stoves we sell knives, cast iron and coffee kit, online and in our showroom in "
        "Haifa. Are you looking for something in particular?",
    ),
    (
        "A moka pot for two. I would rather hold it in my hands before I buy it.",
        "Then the showroom is the right place: you can take the pots out of the box there and compare the sizes. If "
        "you tell me when you would like to come, I can also reserve half an hour for you.",
    ),
)
HOURS = (
    "On Friday we are open from 9:00 to 13:00, so if you want to look at a few pots in peace it is best to come before "
    "noon. From Sunday to Thursday we are here from 9:00 to 19:00, and on Saturdays and holidays we are closed. If "
    "Friday is tight for you, you can also call us at +972-4-555-0134 and we will put a pot aside for you until Sunday."
)
RETURNS = (
    "Yes, you can send it back within 30 days of delivery, as long as it is unused and in its original packaging. Tell "
    "us the order number and we will send you a return label. The return costs ₪25, which we deduct from the refund; "
    "if the pot is faulty or not the one you ordered, it costs you nothing, and bringing it to the showroom is always "
    "free. The money goes back to the card you paid with within 5 working days of the refund being approved."
)
CANCELLED = (
    "Order 12345 is cancelled, and what you paid goes back to the card you used within 5 working days. If there is "
    "anything else I can do for you, just tell me."
)
OPINION = json.dumps(
    {
        "decision": "ASK_USER",
        "reasoning": "The user named the order and asked for its cancellation, but has not confirmed an action that "
        "cannot be undone.",
        "message": "Do you really want to cancel order 12345? This cannot be undone.",
    }
)


@dataclass(frozen=True)
class Situation:
    name: str
    share: float
    messages: tuple[str, ...]
    standard: tuple[Scripted, ...]
    adaptive: tuple[Scripted, ...]
    """What the model says, call by call."""


@dataclass(frozen=True)
class Spent:
    """What one situation took in one mode."""

    calls: tuple[tuple[int, int], ...] = field(default=())
    """Tokens in and out of each model call."""

    @property
    def read(self) -> int:
        return sum(read for read, _ in self.calls)

    @property
    def written(self) -> int:
        return sum(written for _, written in self.calls)

    def dollars(self, prices: tuple[float, float]) -> float:
        return (self.read * prices[0] + self.written * prices[1]) / 1e6


class Counting:
    """A scripted model that counts what it reads and writes."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        from circumspect.models.scripted import ScriptedModel

        self.scripted = ScriptedModel(script)
        self.name = "counted"
        self.stream = self.scripted.stream

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self.scripted.complete(request)
        return replace(reply, usage=self._usage(request, reply))

    def _usage(self, request: ModelRequest, reply: ModelReply) -> ModelUsage:
        from circumspect.values import ModelUsage

        return ModelUsage(self.name, tokens.read(request), tokens.written(reply))


def situations() -> tuple[Situation, ...]:
    from circumspect.models.scripted import calls, says

    order = {"order_id": "12345"}
    proposal = "I can cancel order 12345 for you."
    return (
        Situation("simple", 0.6, ("Until when can I come by on Friday?",), (HOURS,), (says(HOURS),)),
        Situation(
            "context fetch",
            0.2,
            ("And if I order it online and do not like it, can I send it back? Who pays for that?",),
            (RETURNS,),
            (says("Let me look that up for you.", confidence=5, context=["policies.returns"]), says(RETURNS)),
        ),
        Situation(
            "risky action",
            0.2,
            ("Please cancel order 12345.", "Yes, cancel it."),
            (calls("cancel_order", order, proposal), CANCELLED),
            (
                says(proposal, tool="cancel_order", params=order, destructive=True, needs_confirmation=True),
                OPINION,
                CANCELLED,
            ),
        ),
    )


async def run(rounds: int = 1) -> Section:
    """Nothing here varies from run to run, so there is but one round."""
    try:
        spent = {(one.name, mode): await spend(one, mode) for one in situations() for mode in MODES}
    except ModuleNotFoundError as error:
        return Section("cost", TITLE, f"Not measured: no module {error.name}. Install the group `bench`.", ())
    return section(spent)


async def spend(situation: Situation, mode: Mode) -> Spent:
    from circumspect import Agent
    from circumspect.demo.samples import load
    from circumspect.models.scripted import says

    earlier = [reply if mode == "standard" else says(reply) for _, reply in EARLIER]
    script = situation.standard if mode == "standard" else situation.adaptive
    messages = situation.messages[:1] if mode == "standard" else situation.messages
    sample = load("shop", directory=None, now=datetime.now(UTC))
    model = Counting([*earlier, *script])
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(
            sample.tenant,
            tools=sample.tools,
            policy=sample.policy_path,
            model=model,
            database=f"sqlite:///{Path(folder) / 'cost.db'}",
            mode=mode,
        )
        async with agent:
            for text, _ in EARLIER:
                await agent.turn(text)
            turns = [await agent.turn(text) for text in messages]
    if model.scripted.left or turns[-1].reply not in (HOURS, RETURNS, CANCELLED):
        raise RuntimeError(f"{situation.name} in {mode} mode did not go as written: {turns[-1]}")
    used = [call for turn in turns for call in turn.usage.calls]
    return Spent(tuple((call.input_tokens, call.output_tokens) for call in used))


def section(spent: dict[tuple[str, Mode], Spent]) -> Section:
    kinds = situations()
    header = ("per message", "share", "calls", "in", "out", *(f"{name} a thousand" for name in PRICES))
    tables, savings = [], {}
    for mode in MODES:
        rows = []
        for one in kinds:
            it = spent[one.name, mode]
            dollars = tuple(f"{1000 * it.dollars(price):.3f}" for price in PRICES.values())
            counts = (str(len(it.calls)), f"{it.read:,}", f"{it.written:,}")
            rows.append((f"{mode}, {one.name}", f"{one.share:.0%}", *counts, *dollars))
        mean = tuple(f"{1000 * _weighted(spent, mode, price):.3f}" for price in PRICES.values())
        rows.append((f"{mode}, weighted", "100%", "", "", "", *mean))
        tables.append(Table(header, tuple(rows)))
    differences = []
    for one in kinds:
        pair = (spent[one.name, "adaptive"], spent[one.name, "standard"])
        changes = (_change(pair[0].dollars(price), pair[1].dollars(price)) for price in PRICES.values())
        differences.append((one.name, *(f"{change:+.0%}" for change in changes)))
    for name, price in PRICES.items():
        savings[name] = -_change(_weighted(spent, "adaptive", price), _weighted(spent, "standard", price))
    differences.append(("weighted", *(f"{-saving:+.1%}" for saving in savings.values())))
    tables.append(Table(("adaptive against standard", *PRICES), tuple(differences)))
    tables.append(_dependence(spent))
    least, full = spent["simple", "adaptive"].calls[0][0], spent["simple", "standard"].calls[0][0]
    return Section(
        "cost",
        TITLE,
        f"The English sample shop, third message of a conversation, tokenizer {tokens.NAME}. The same visible replies "
        "in both modes. A risky action is counted until it is done and said: one message in standard mode, two in "
        "adaptive. Dollars per thousand messages at list prices per million tokens, no prompt caching.",
        tuple(tables),
        (
            Aim(
                f"adaptive is at least {SAVING:.0%} cheaper on the weighted mix",
                ", ".join(f"{saving:.1%} at {name}" for name, saving in savings.items()),
                min(savings.values()) >= SAVING,
            ),
            Aim(
                f"the first call of an adaptive turn reads {MINIMAL.start} to {MINIMAL.stop - 1} tokens",
                f"{least:,}, where standard reads {full:,}",
                least in MINIMAL,
            ),
        ),
        {f"{mode}, {name}": {"calls": it.calls} for (name, mode), it in spent.items()} | {"saving": savings},
    )


def _dependence(spent: dict[tuple[str, Mode], Spent]) -> Table:
    """The saving for other tenants, by arithmetic on what was counted: the less there is to leave out, the less is
    saved, and the longer the replies, the less it matters."""
    full = spent["simple", "standard"].calls[0][0]
    rows = []
    for context in (full, 2000):
        for longer in (0, 100):
            other = {
                key: _shifted(it, context - full if key[1] == "standard" else 0, longer) for key, it in spent.items()
            }
            first = {
                key: Spent(it.calls[: 1 if key[1] == "standard" else 2]) if key[0] == "risky action" else it
                for key, it in other.items()
            }
            name = f"{context:,} tokens of full context, replies {'as written' if not longer else f'{longer} longer'}"
            rows += [(name, *_savings(other)), ("   the same, risky action up to the question only", *_savings(first))]
    return Table(("saved on the weighted mix", *PRICES), tuple(rows))


def _shifted(spent: Spent, read: int, written: int) -> Spent:
    """Every call reads so much more, and the last one, which the user sees, writes so much more."""
    *others, last = [(before + read, after) for before, after in spent.calls]
    return Spent((*others, (last[0], last[1] + written)))


def _savings(spent: dict[tuple[str, Mode], Spent]) -> list[str]:
    pairs = [(_weighted(spent, "adaptive", price), _weighted(spent, "standard", price)) for price in PRICES.values()]
    return [f"{-_change(*pair):.0%}" for pair in pairs]


def _weighted(spent: dict[tuple[str, Mode], Spent], mode: Mode, price: tuple[float, float]) -> float:
    return sum(one.share * spent[one.name, mode].dollars(price) for one in situations())


def _change(value: float, base: float) -> float:
    return value / base - 1
