"""How many searches thinking first saves, and how often it looks in the right place.

    python -m bench.searches [--model openai:NAME@URL] [--smart NAME --fast NAME] [--wrong]

Tasks with a page, a conversation and documents (`searches_tasks.yaml`), each with the first place that has everything
it takes, as a person judged it. Ours: the step `reason`, over a small web of the file's own pages. Against it: an agent
that searches at every new task, once. Half of the tasks were held out while the offline model's rules were tuned, by
those who had written them; a third lot was written when the rules were done.

Without --model the offline model answers, by rules. A search counts when it is sent; a loop is a query that is sent
twice in a task, or a fourth search.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from bench.report import Table, lines
from circumspect.journal import Journal
from circumspect.language.detection import detect
from circumspect.values import ConversationId, Incoming, Message, Opened, Screened, TenantId, TurnId
from circumspect.web.model_pair import ModelPair, open_pair
from circumspect.web.page import Element, Page
from circumspect.web.reasoning.reason import reason
from circumspect.web.reasoning.reasoned import Reasoned, Reasoning
from circumspect.web.reasoning.routing import WHERES, Where
from circumspect.web.search.domains import registrable_domain
from circumspect.web.search.results import Hits, WebResult
from circumspect.web.search.scoped_search import Scoped

TASKS = Path(__file__).with_name("searches_tasks.yaml")
NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
SPLITS, LATER = ("tuned on", "held out"), "written later"
ALWAYS = 1
"""Searches of an agent that searches at every new task."""
_ELEMENT = re.compile(r'(?P<role>\w+) "(?P<name>[^"]*)"(?P<rest>.*)')
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Task:
    ask: str
    page: Page
    right: Where
    split: str
    """Whether it was run while the rules were tuned."""
    history: tuple[str, ...] = ()
    """A leading `?` marks what the assistant said."""
    documents: str = ""


@dataclass
class Web:
    """A search engine over a few pages: by shared words, with a count of what it was asked."""

    pages: Sequence[WebResult]
    name: str = "bench"
    remote: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        self.asked.append((query, domain))
        wanted = {word[:5] for word in _WORD.findall(query.casefold()) if len(word) > 2}
        scored: list[WebResult] = []
        for page in self.pages:
            if domain is None or registrable_domain(page.url) == domain:
                had = {word[:5] for word in _WORD.findall(f"{page.title} {page.text}".casefold())}
                scored.append(replace(page, score=len(wanted & had) / max(1, len(wanted))))
        best = sorted((one for one in scored if one.score > 0), key=lambda one: -one.score)
        return best[:limit]


@dataclass
class Counted:
    """A scoped search, with every query as the turn sent it. A widened search is one search."""

    scoped: Scoped
    queries: list[str] = field(default_factory=list)

    @property
    def remote(self) -> bool:
        return self.scoped.remote

    async def find(self, query: str, page_url: str = "", allow_widening: bool = True) -> Hits:
        self.queries.append(query)
        return await self.scoped.find(query, page_url, allow_widening)

    def remember(self, hits: Hits, confidence: float) -> None:
        self.scoped.remember(hits, confidence)


@dataclass(frozen=True)
class Outcome:
    task: Task
    reasoned: Reasoned
    queries: tuple[str, ...]

    @property
    def looped(self) -> bool:
        return len({" ".join(sorted(query.casefold().split())) for query in self.queries}) < len(self.queries) or (
            len(self.queries) > 3
        )


def tasks() -> tuple[list[Task], list[WebResult]]:
    data = yaml.safe_load(TASKS.read_text("utf-8"))
    pages = {name: _page(one) for name, one in data["pages"].items()}
    found = [
        Task(
            ask=one["ask"],
            page=pages[one["page"]],
            right=right,
            split=LATER if part == "later" else SPLITS[number % 2],
            history=tuple(one.get("history", ())),
            documents=data["documents"].get(one.get("documents"), ""),
        )
        for part in ("tasks", "later")
        for right, listed in data[part].items()
        for number, one in enumerate(listed)
    ]
    return found, [WebResult(one["title"], one["url"], one["text"], 0.0) for one in data["web"]]


def _page(data: Mapping[str, Any]) -> Page:
    elements = []
    for number, line in enumerate(data["elements"], 1):
        read = _ELEMENT.fullmatch(line)
        assert read, line
        said = dict(part.split("=", 1) for part in re.findall(r"\w+=[^=]+?(?= \w+=|$)", read["rest"]))
        flags = read["rest"].split()
        elements.append(
            Element(
                id=said.get("id", f"e{number}"),
                role=read["role"],
                name=read["name"],
                required="required" in flags,
                type=said.get("type", "").strip(),
                haspopup=said.get("haspopup", ""),
                href=said.get("href", ""),
                options=tuple(filter(None, said.get("options", "").split("|"))),
                inside=said.get("form", ""),
                form=said.get("form", ""),
                method=said.get("method", ""),
            )
        )
    return Page(data["url"], data["title"], tuple(elements), data.get("text", ""))


def screened(task: Task) -> Screened:
    conversation, turn = ConversationId("c"), TurnId("t")
    history = tuple(
        Message(seq, turn, "assistant" if said.startswith("?") else "user", "message", said.removeprefix("?"), NOW)
        for seq, said in enumerate(task.history)
    )
    language = detect(task.ask, None, "en")
    opened = Opened("token", "adaptive", language, history, len(history), None)
    return Screened(Incoming(TenantId("t"), conversation, turn, task.ask, NOW), opened, language, "other")


async def run(pair: ModelPair, task: Task, web: Sequence[WebResult]) -> Outcome:
    search = Counted(Scoped(Web(web)))
    found = await reason(screened(task), task.page, task.documents, Reasoning(), Journal(), pair, search)
    return Outcome(task, found, tuple(search.queries))


def _rows(name: str, outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for right in (*WHERES, "all"):
        mine = [one for one in outcomes if right in ("all", one.task.right)]
        if not mine:
            continue
        hits = sum(one.reasoned.analysis.source == one.task.right for one in mine)
        made = sum(len(one.queries) for one in mine)
        baseline = ALWAYS * len(mine)
        saved = f"{1 - made / baseline:.0%}"
        rows.append((name, right, str(len(mine)), f"{hits / len(mine):.0%}", str(made), str(baseline), saved))
    return rows


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="for everything; without it the offline model")
    parser.add_argument("--smart")
    parser.add_argument("--fast")
    parser.add_argument("--wrong", action="store_true", help="list the tasks that went to another place")
    asked = parser.parse_args()
    pair = open_pair(asked.smart or asked.model or "offline", fast=asked.fast)
    listed, web = tasks()
    outcomes = [await run(pair, task, web) for task in listed]
    rows = []
    for name in (*SPLITS, LATER):
        rows += _rows(name, [one for one in outcomes if one.task.split == name])
    rows += _rows("together", outcomes)
    header = ("tasks", "right place", "n", "place found", "searches", "always-search", "saved")
    print(f"{len(outcomes)} tasks, model {pair.name}")
    print("\n".join(lines(Table(header, tuple(rows)))))
    made, baseline = sum(len(one.queries) for one in outcomes), ALWAYS * len(outcomes)
    saved = 1 - made / baseline
    loops = sum(one.looped for one in outcomes)
    switches = Counter(f"{one.before} → {one.after}" for outcome in outcomes for one in outcome.reasoned.switches)
    aim = "met" if saved >= 0.3 else "NOT MET"
    print(f"searches saved: {saved:.0%} ({made} against {baseline}); aim at least 30%: {aim}")
    print(f"panic loops: {loops}; aim 0: {'met' if loops == 0 else 'NOT MET'}")
    print(f"switches: {dict(switches)}")
    blind = [one for one in outcomes if one.task.right == "ASK_USER" and not one.reasoned.ends]
    needless = [one for one in outcomes if one.task.right != "ASK_USER" and one.reasoned.ends]
    print(f"went on where the person had to be asked: {len(blind)}; asked needlessly: {len(needless)}")
    if asked.wrong:
        for one in outcomes:
            found, task = one.reasoned.analysis, one.task
            if found.source != task.right:
                print(f"  {task.split}: {task.right} not {found.source} ({found.confidence}): {task.ask}")


if __name__ == "__main__":
    asyncio.run(main())
