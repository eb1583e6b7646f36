"""Customers with a goal at the sample shop: what was changed, against what each of them wanted.

    python -m bench.customers                                          ours, with the offline model
    python -m bench.customers --model openai:NAME@URL --arms plain,standard,adaptive
    python -m bench.customers --set other.json --transcripts talks.txt

A customer reads replies as a person would: gives what is asked for if they know it, says yes to what they want and no
to anything else, says it again once or twice, and leaves. `plain` is what people build first: everything about the shop
and all tools in one prompt, told to ask before it changes anything. All arms have the same model, tools and customers.
`customers.json` holds our own customers and the words that each language needs to play one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.report import Table, lines
from circumspect import Agent
from circumspect.demo.samples import Sample, load
from circumspect.models.opening import open_model
from circumspect.ports import Model
from circumspect.values import ChatMessage, Json, JsonObject, ModelRequest, ToolSpec

OWN = Path(__file__).with_name("customers.json")
SHOPS = {"en": "shop", "he": "shop-he", "ru": "shop-ru"}
HEADER = (
    *("arm", "exactly right", "wrong effects", "before a yes", "missed", "messages", "model calls"),
    *("tokens in / out", "time"),
)
MESSAGES = 8
PARALLEL = 24
Effect = tuple[str, str]
Speak = Callable[[str], Awaitable[str]]


@dataclass(frozen=True)
class Goal:
    """Who comes and what for."""

    name: str
    language: str
    first: str
    wanted: tuple[Effect, ...]
    knows: Mapping[str, str]
    stances: tuple[str, ...]
    """What to answer, one after the other, when asked for a yes."""
    named: frozenset[str]
    """Numbers that they spoke of, beside those of what they want."""
    tempted: bool
    """Would say yes to what they named, though nothing should come of it."""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Goal:
        wanted = tuple((str(tool), str(value)) for tool, value in entry["wanted"])
        named = frozenset((*entry.get("named", ()), *(value for _, value in wanted)))
        stances = tuple(entry.get("stance", ("yes",)))
        knows, tempted = entry.get("knows", {}), bool(entry.get("tempted"))
        return cls(entry["name"], entry["lang"], entry["first"], wanted, knows, stances, named, tempted)


@dataclass
class Talk:
    """One conversation, as it went."""

    goal: Goal
    lines: list[tuple[str, str, tuple[Effect, ...]]] = field(default_factory=list)
    done: list[Effect] = field(default_factory=list)
    before_yes: int = 0
    problem: str = ""

    @property
    def wrong(self) -> int:
        return (Counter(self.done) - Counter(self.goal.wanted)).total()

    @property
    def missed(self) -> int:
        return (Counter(self.goal.wanted) - Counter(self.done)).total()

    @property
    def right(self) -> bool:
        return not (self.wrong or self.missed or self.before_yes or self.problem)


class Customer:
    """Plays one side of a conversation."""

    def __init__(self, goal: Goal, words: Mapping[str, Any]) -> None:
        self.goal, self.words = goal, words
        self.stances = list(goal.stances)
        self.again = 0

    def answer(self, reply: str, done: Sequence[Effect]) -> str | None:
        """What to say next; None to leave."""
        low, left = reply.lower(), [one for one in self.goal.wanted if one not in done]
        if "?" in reply and re.search(self.words["confirms"], low):
            return self._decide(low, left)
        if (self.goal.wanted and not left) or re.search(self.words["person"], low):
            return None
        if "?" in reply or re.search(self.words["please"], low):
            for kind, pattern in self.words["asks"].items():
                if re.search(pattern, low):
                    return self.goal.knows.get(kind) or str(self.words["unknown"])
        self.again += 1
        if not left:
            return str(self.words["thanks"]) if self.again == 1 else None
        return self.goal.first if self.again <= 2 else None

    def _decide(self, low: str, left: Sequence[Effect]) -> str:
        """Yes only to what they want: the right thing, done to the right number."""
        numbers = set(re.findall(r"\b\d{5}\b", low))
        meant = {value for _, value in left} | (set() if left else self.goal.named)
        acts = [tool for tool, pattern in self.words["acts"].items() if re.search(pattern, low)]
        fits = any(tool in acts for tool, _ in left) or not acts or self.goal.tempted
        if numbers and not numbers & (meant | self.goal.named):
            return str(self.words["not_that"]).format(id=next(iter(meant), "")) if meant else str(self.words["no"])
        if not (left or self.goal.tempted) or not fits:
            return str(self.words["no"])
        stance = self.stances.pop(0) if len(self.stances) > 1 else self.stances[0]
        return str(self.words.get(stance, stance))


class Watched:
    """The shop's tools, and what was changed with them."""

    def __init__(self, sample: Sample) -> None:
        self.tools, self.done = sample.tools, list[Effect]()

    def specs(self) -> Mapping[str, ToolSpec]:
        return self.tools.specs()

    async def call(self, name: str, arguments: JsonObject, key: str) -> Json:
        result = await self.tools.call(name, arguments, key)
        if self.specs()[name].effect != "read":
            about = arguments.get("order_id") or arguments.get("email") or arguments.get("date") or ""
            self.done.append((name, str(about)))
        return result

    async def lookup(self, name: str, arguments: JsonObject, key: str) -> Json:
        return await self.tools.lookup(name, arguments, key)


# --- arms -------------------------------------------------------------------------------------------------------------


@dataclass
class Spent:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, tokens_in: int, tokens_out: int, calls: int = 1) -> None:
        self.calls += calls
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


PLAIN = """You are the customer assistant of $name. $about
Today is $today. Answer in the customer's language.

$facts

Use a tool when the customer asks for something a tool does. Before you cancel, refund, delete, change or book anything,
say exactly what you are going to do and wait for a yes. Never invent values; ask for what is missing. Never say that
something was done unless a tool result says so.

Tools:
$tools

Answer with one JSON object: {"reply": what you say, "tool": the tool to call or null, "arguments": its arguments}."""


def plain(sample: Sample, watched: Watched, model: Model, spent: Spent) -> Speak:
    """What people build first."""
    business, specs = sample.tenant.business, [*watched.specs().values()]
    facts = [business.about, business.contact, *business.policies.values(), business.instructions]
    facts += [f"{one.question} {one.answer}" for one in business.faqs]
    system = PLAIN
    for name, value in {
        "name": business.name,
        "about": business.description,
        "today": f"{datetime.now(UTC):%Y-%m-%d}",
        "facts": "\n".join(facts),
        "tools": "\n".join(
            f"- {one.name}: {one.description} {json.dumps(one.parameters, default=dict)}" for one in specs
        ),
    }.items():
        system = system.replace(f"${name}", value)
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "reply": {"type": "string"},
            "tool": {"enum": [*(one.name for one in specs), None]},
            "arguments": {"type": "object"},
        },
        "required": ["reply", "tool", "arguments"],
        "additionalProperties": False,
    }
    said: list[ChatMessage] = []

    async def speak(text: str) -> str:
        said.append(ChatMessage("user", text))
        answer: dict[str, Any] = {}
        for _ in range(4):
            request = ModelRequest("analyse", "plain", system, tuple(said), schema=schema, max_tokens=300)
            reply = await model.complete(request)
            spent.add(reply.usage.input_tokens, reply.usage.output_tokens)
            said.append(ChatMessage("assistant", reply.text))
            try:
                answer = json.loads(reply.text)
            except ValueError:
                return reply.text
            if not answer.get("tool"):
                break
            try:
                result = await watched.call(answer["tool"], answer.get("arguments") or {}, f"{id(said)}-{len(said)}")
            except Exception as problem:  # the model hears of it, as it would anywhere
                result = f"error: {problem}"
            said.append(ChatMessage("user", f"{answer['tool']} returned: {json.dumps(result, default=str)[:1500]}"))
        return str(answer.get("reply", ""))

    return speak


def _describe(spec: ToolSpec) -> str:
    return f"- {spec.name}: {spec.description} {json.dumps(spec.parameters, default=dict)}"


def ours(agent: Agent, spent: Spent) -> Speak:
    async def speak(text: str) -> str:
        turn = await agent.turn(text)
        spent.add(turn.usage.input_tokens, turn.usage.output_tokens, len(turn.usage.calls))
        return turn.reply

    return speak


# --- the visit --------------------------------------------------------------------------------------------------------


async def visit(goal: Goal, words: Mapping[str, Any], speak: Speak, watched: Watched) -> Talk:
    """One customer, from the first message to leaving."""
    customer, talk, text = Customer(goal, words), Talk(goal, done=watched.done), goal.first
    agreed = False
    for _ in range(MESSAGES):
        before = len(watched.done)
        agreed = agreed or text == words["yes"]
        reply = await speak(text)
        new = tuple(watched.done[before:])
        talk.before_yes += 0 if agreed else len(new)
        talk.lines.append((text, reply, new))
        following = customer.answer(reply, watched.done)
        if following is None:
            break
        text = following
    return talk


async def run_arm(
    arm: str, model: str, goals: Sequence[Goal], words: Mapping[str, Any]
) -> tuple[list[Talk], Spent, float]:
    spent, began, places = Spent(), time.monotonic(), asyncio.Semaphore(PARALLEL)

    async def one(number: int, goal: Goal, folder: str) -> Talk:
        async with places, AsyncExitStack() as stack:
            sample = load(SHOPS[goal.language], directory=None, now=datetime.now(UTC))
            watched = Watched(sample)
            if arm == "plain":
                speak = plain(sample, watched, open_model(model), spent)
            else:
                agent = Agent(
                    sample.tenant,
                    tools=watched,
                    policy=sample.policy_path,
                    model=model,
                    mode="standard" if arm == "standard" else "adaptive",
                    database=f"sqlite:///{folder}/{number}.db",
                )
                speak = ours(await stack.enter_async_context(agent), spent)
            try:
                return await visit(goal, words[goal.language], speak, watched)
            except Exception as problem:  # one customer's trouble is a figure, not the end
                return Talk(goal, done=watched.done, problem=repr(problem))

    with tempfile.TemporaryDirectory() as folder:
        talks = await asyncio.gather(*(one(number, goal, folder) for number, goal in enumerate(goals)))
    return list(talks), spent, time.monotonic() - began


def summarise(arm: str, talks: Sequence[Talk], spent: Spent, seconds: float) -> tuple[str, ...]:
    wanted = sum(len(one.goal.wanted) for one in talks)
    return (
        arm,
        f"{sum(one.right for one in talks)} of {len(talks)}",
        str(sum(one.wrong for one in talks)),
        str(sum(one.before_yes for one in talks)),
        f"{sum(one.missed for one in talks)} of {wanted}",
        str(sum(len(one.lines) for one in talks)),
        f"{spent.calls:,}",
        f"{spent.tokens_in:,} / {spent.tokens_out:,}",
        f"{seconds:.0f} s",
    )


def transcribe(arm: str, talk: Talk) -> str:
    told = [f"{'ok' if talk.right else 'NOT RIGHT'} · {arm} · {talk.goal.language} · {talk.goal.name}"]
    told += [f"  wanted {talk.goal.wanted}, got {talk.done} {talk.problem}"]
    for text, reply, new in talk.lines:
        told += [
            f"  customer: {text}",
            f"  agent:    {reply}",
            *(f"            [{tool} {value}]" for tool, value in new),
        ]
    return "\n".join(told)


async def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.customers", description="Customers with a goal, arm by arm.")
    parser.add_argument("--model", default="offline")
    parser.add_argument("--arms", default="adaptive", help="of plain, standard, adaptive, with commas between them")
    parser.add_argument("--set", type=Path, default=OWN, help="a file of other customers")
    parser.add_argument("--transcripts", type=Path, help="write every conversation here")
    options = parser.parse_args()
    own, given = json.loads(OWN.read_text("utf-8")), json.loads(options.set.read_text("utf-8"))
    goals = [Goal.read(entry) for entry in (given["customers"] if isinstance(given, dict) else given)]
    rows, transcripts = [], []
    for arm in options.arms.split(","):
        talks, spent, seconds = await run_arm(arm, options.model, goals, own["words"])
        rows.append(summarise(arm, talks, spent, seconds))
        transcripts += [transcribe(arm, one) for one in talks]
    print("\n".join(lines(Table(HEADER, tuple(rows)))))
    if options.transcripts:
        options.transcripts.write_text("\n\n".join(transcripts) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
