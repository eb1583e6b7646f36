"""Do answers keep to the documents, and does what is in none of them go to a person?

    python -m bench.sourced_answers                                     the offline model quotes
    python -m bench.sourced_answers --model 'openai:NAME@http://127.0.0.1:8084/v1;tools=json_schema' \\
        --plain --parallel 60 --minutes 4 --out answers.jsonl

Every question is a conversation of its own with an agent of the profile `service` over the documents. A set is a JSON
file `{documents: [{id, title, text}], questions: [{id, question, language, answered, answer_contains}]}`: whether the
documents have the answer, and what belongs into it. `--plain` asks the same model with the passages that the same
search finds for the question, and nothing of ours around it.

Counted by code, and the same for both: *right*, everything that belongs into the answer is there; *not known*, handed
over, or the reply says so; *answered with a figure* where there is no answer, so that the figure is about something
else; *figures of nobody*, which no document has. Every reply is a line of `--out` as soon as it is there; Ctrl-C or
the end of `--minutes` prints the table of what was measured until then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.report import Table, lines
from circumspect import Agent
from circumspect.errors import CircumspectError
from circumspect.knowledge.answer_support import AtHand, find_unsupported
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.language import catalogue
from circumspect.language.doubts import says_not_known
from circumspect.language.pack import packs
from circumspect.models import close_model, open_model
from circumspect.policy.understanding.understood import SERVICE
from circumspect.ports import Model
from circumspect.values import Block, Business, ChatMessage, ModelRequest

SETS = Path(__file__).parent / "sourced"
BUSINESS = Business("the company", description="Answers questions of customers from its documents.")
PLAIN = (
    "You answer questions of customers. Use only the passages below and cite them by number: [1]. If they "
    "do not have the answer, say that you do not know."
)
Arm = Literal["service", "plain"]
ARMS: dict[Arm, str] = {"service": "profile service", "plain": "plain prompt, same search"}


@dataclass(frozen=True, slots=True)
class SourcedAnswer:
    set: str
    arm: Arm
    id: str
    question: str
    answered: bool
    outcome: str
    reply: str
    not_known: bool
    right: bool
    has_figure: bool
    unsupported: tuple[str, ...]
    """Sentences with a figure that no document has."""
    sources: int
    seconds: float

    @property
    def is_answer(self) -> bool:
        return self.outcome == "answered" and not self.not_known


# --- asking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    documents: Sequence[KnowledgeDocument]
    questions: Sequence[Any]


def read_set(path: Path) -> QuestionSet:
    asked = json.loads(path.read_text("utf-8"))
    documents = [read_document(one["text"].encode(), f"{one['id']}.md") for one in asked["documents"]]
    return QuestionSet(path.stem, documents, asked["questions"])


async def measure(
    sets: Sequence[QuestionSet],
    arms: Sequence[Arm],
    model: str,
    found: list[SourcedAnswer],
    *,
    out: Path | None = None,
    parallel: int = 4,
) -> None:
    """Fills `found`, the arms side by side, so that what there is can be compared whenever it ends."""
    waiting = iter([(asked, one, arm) for asked in sets for one in asked.questions for arm in arms])
    total, began = len(arms) * sum(len(asked.questions) for asked in sets), time.monotonic()
    plain = open_model(model)
    with tempfile.TemporaryDirectory() as folder:
        agents = {
            asked.name: Agent(
                asked.name, business=BUSINESS, tools=[], policy=None, understanding=SERVICE, documents=asked.documents,
                model=model, database=f"sqlite:///{folder}/{number}.db",
            )
            for number, asked in enumerate(sets)
        }  # fmt: skip

        async def work() -> None:
            for asked, one, arm in waiting:
                agent, began_at = agents[asked.name], time.perf_counter()
                try:
                    outcome, reply, sources = await _ask(agent, arm, plain, one)
                except CircumspectError as problem:
                    outcome, reply, sources = "failed", f"{type(problem).__name__}: {problem}", 0
                judged = _judge(asked, arm, one, outcome, reply, sources, time.perf_counter() - began_at)
                found.append(judged)
                if out:
                    with out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(judged), ensure_ascii=False) + "\n")
                if len(found) % 20 == 0:
                    past = time.monotonic() - began
                    print(f"{len(found)} of {total} after {past:.0f} s", file=sys.stderr, flush=True)

        try:
            for agent in agents.values():
                await agent.open()
            async with asyncio.TaskGroup() as group:
                for _ in range(parallel):
                    group.create_task(work())
        finally:
            await close_model(plain)
            for agent in agents.values():
                await agent.close()


async def _ask(agent: Agent, arm: Arm, model: Model, one: Any) -> tuple[str, str, int]:
    return await (_ask_service(agent, one) if arm == "service" else _ask_plainly(agent, model, one))


async def _ask_service(agent: Agent, one: Any) -> tuple[str, str, int]:
    turn = await agent.turn(one["question"], conversation=one["id"])
    return turn.outcome, _cut_preamble(turn.reply), len(turn.sources)


async def _ask_plainly(agent: Agent, model: Model, one: Any) -> tuple[str, str, int]:
    setup = await agent.open()
    passages = [
        passage
        for search in setup.searches
        for passage in await search.search(agent.tenant.id, one["question"], SERVICE.passages, one["language"])
    ]
    best = sorted(passages, key=lambda passage: -passage.score)[: SERVICE.passages]
    blocks = [
        Block(f"source [{number}]", "\n".join((" › ".join((each.title, *each.path)), each.text)))
        for number, each in enumerate(best, 1)
    ]
    request = ModelRequest(
        purpose="draft", prompt_id="bench", instructions=PLAIN, blocks=tuple(blocks),
        messages=(ChatMessage("user", one["question"]),), max_tokens=300, temperature=0.0,
    )  # fmt: skip
    reply = await model.complete(request)
    return "answered", reply.text, len(blocks)


# --- judging --------------------------------------------------------------------------------------------------------


def _cut_preamble(reply: str) -> str:
    """Without "How I understood your request", which repeats the question and its figures."""
    for one in packs():
        said = catalogue.say(one.code, "understood-normal")
        if reply.startswith(f"**{catalogue.say(one.code, 'understood-heading')}**") and said in reply:
            return reply.partition(said)[2].strip()
    return reply


def _judge(
    asked: QuestionSet, arm: Arm, one: Any, outcome: str, reply: str, sources: int, seconds: float
) -> SourcedAnswer:
    known = "\n".join(document.text for document in asked.documents)
    not_known = outcome == "escalated" or says_not_known(reply)
    right = one["answered"] and outcome == "answered" and all(_says(reply, piece) for piece in one["answer_contains"])
    # Any document may bear a figure out, whichever number the answer gives it.
    at_hand = AtHand(dict.fromkeys(range(1, 100), ""), known=known, said=one["question"], asked=one["question"])
    unsupported = find_unsupported(reply, at_hand) if outcome == "answered" else ()
    has_figure = any(map(str.isdigit, re.sub(r"\[\d+\]", "", reply)))
    return SourcedAnswer(
        asked.name, arm, one["id"], one["question"], one["answered"], outcome, reply, not_known, right, has_figure,
        unsupported, sources, seconds,
    )  # fmt: skip


def _says(reply: str, piece: str) -> bool:
    """The digit 3 is not said by "23"."""
    said, wanted = (re.sub(r"\s+", " ", text).casefold() for text in (reply, piece))
    return re.search(rf"(?<!\d){re.escape(wanted)}(?!\d)", said) is not None


def tabulate(found: Sequence[SourcedAnswer]) -> Table:
    header = (
        "", "right", "wrong", "not known, though it is there", "no answer there: not known", "answered all the same",
        "… with a figure", "asked back", "failed", "figures of nobody", "s each",
    )  # fmt: skip
    names = dict.fromkeys(one.set for one in found)
    rows = (
        _line(f"{name}, {title}" if len(names) > 1 else title, those)
        for name in names
        for arm, title in ARMS.items()
        if (those := [one for one in found if one.set == name and one.arm == arm])
    )
    return Table(header, tuple(rows))


def _line(title: str, rows: Sequence[SourcedAnswer]) -> tuple[str, ...]:
    there, absent = [one for one in rows if one.answered], [one for one in rows if not one.answered]
    return (
        title,
        f"{sum(one.right for one in there)} of {len(there)}",
        f"{sum(one.is_answer and not one.right for one in there)}",
        f"{sum(one.not_known and not one.right for one in there)}",
        f"{sum(one.not_known for one in absent)} of {len(absent)}",
        f"{sum(one.is_answer for one in absent)}",
        f"{sum(one.is_answer and one.has_figure for one in absent)}",
        f"{sum(one.outcome in ('asked', 'blocked') for one in rows)}",
        f"{sum(one.outcome == 'failed' for one in rows)}",
        f"{sum(bool(one.unsupported) for one in rows)} of {len(rows)}",
        f"{sum(one.seconds for one in rows) / len(rows):.1f}",
    )


def list_wrong(found: Sequence[SourcedAnswer]) -> list[str]:
    return [
        f"{one.set} {one.arm} {one.id} {one.outcome}: {one.question} {' '.join(one.reply.split())} "
        f"{list(one.unsupported) or ''}"
        for one in found
        if one.unsupported or (not one.right if one.answered else not one.not_known)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, action="append", help="documents and questions; may be repeated")
    parser.add_argument("--model", default="offline", help="as everywhere: offline, openai:NAME@URL, …")
    parser.add_argument("--plain", action="store_true", help="also the model with the passages in a plain prompt")
    parser.add_argument("--parallel", type=int, default=4, help="how many questions are asked at the same time")
    parser.add_argument("--minutes", type=float, help="stop after so long and print what there is")
    parser.add_argument("--out", type=Path, help="a JSONL file that each reply is added to")
    parser.add_argument("--wrong", action="store_true", help="print what went wrong")
    options = parser.parse_args(arguments)
    sets = [read_set(path) for path in options.set or [SETS / "ferry.json"]]
    arms: list[Arm] = ["service", "plain"] if options.plain else ["service"]
    found: list[SourcedAnswer] = []

    async def run() -> None:
        async with asyncio.timeout(options.minutes * 60 if options.minutes else None):
            await measure(sets, arms, options.model, found, out=options.out, parallel=options.parallel)

    try:
        asyncio.run(run())
    except (KeyboardInterrupt, TimeoutError):
        print("Stopped early; these are the results so far.", file=sys.stderr)
    print(f"\n## Answers with sources, {options.model}\n")
    print("\n".join(lines(tabulate(found))))
    for line in list_wrong(found) if options.wrong else ():
        print(line)


if __name__ == "__main__":
    main()
