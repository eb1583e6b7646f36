"""What understanding first saves, and what telling the model its own analysis costs.

    python -m bench.understand [--model openai:NAME@URL] [--embeddings openai:NAME@URL] [--talks en]

Conversations in three languages (`understand_talks.yaml`) over the sample documents, twice: as the profile `service`
has it, and as an agent that analyses and searches at every message. Then the arms of the injection: the analysis as the
assistant's own message, as a tool's result, not at all.

Without --model the offline model fills the forms in and drafts the replies, by rules. It does not follow the analysis
that is put into its context, so the consistency figures show only that the measure works; whether an injected plan is
followed better is a question for a language model, which --model asks. Tokens are the provider's count, and for the
offline model an estimate of four letters a token.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from bench.report import Table, lines
from bench.retrieval import sample
from circumspect.business import business_tools
from circumspect.business.settings import BusinessConfig
from circumspect.demo.offline import OfflineModel
from circumspect.guardian import RuleGuardian
from circumspect.journal import Journal
from circumspect.knowledge.search import Library
from circumspect.knowledge.semantic import Embedder, open_embedder
from circumspect.lab.trials.consistency import PlannedAnswer, by_meaning, by_words
from circumspect.language.yes_no import classify
from circumspect.policy.understanding.analysis import NAME
from circumspect.policy.understanding.understood import SERVICE, RetrievalResult, Understood
from circumspect.ports import Model
from circumspect.profiles import ADAPTIVE
from circumspect.steps.draft import draft
from circumspect.steps.gather import gather
from circumspect.steps.retrieve import retrieve
from circumspect.steps.understand import add_understanding, understand
from circumspect.stores import SqlStore
from circumspect.values import (
    LANGUAGES,
    Business,
    ChatMessage,
    ConversationId,
    Incoming,
    Language,
    Message,
    ModelReply,
    ModelRequest,
    Opened,
    Screened,
    TenantId,
    ToolCall,
    TurnId,
)
from circumspect.wording import compact

TALKS = Path(__file__).with_name("understand_talks.yaml")
NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
BUSINESSES: dict[Language, Business] = {
    "en": Business("Levels", "A school for languages: groups, individual lessons, courses for companies."),
    "ru": Business("Уровни", "Школа языков: группы, индивидуальные уроки, курсы для компаний."),
    "he": Business("רמות", "בית ספר לשפות: קבוצות, שיעורים פרטיים, קורסים לחברות."),
}
WAYS = {"RETRIEVE": "R", "REASON_ONLY": "N", "USE_TOOL": "T", "CLARIFY": "C", "ESCALATE": "E"}
ARMS = ("own words", "tool result", "nothing")


@dataclass
class Counting:
    """A model whose calls and tokens are counted."""

    model: Model
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    name: str = "counting"

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self.model.complete(request)
        self.calls += 1
        # The offline model's own estimate leaves the form out, which a language model would be billed for.
        form = len(compact(request.schema)) // 4 if request.schema and reply.usage.estimated else 0
        self.tokens_in += reply.usage.input_tokens + form
        self.tokens_out += reply.usage.output_tokens
        return reply

    def stream(self, request: ModelRequest) -> Any:
        return self.model.stream(request)


@dataclass
class Turn:
    language: Language
    text: str
    expected: str
    way: str
    calls: int
    tokens: int
    searches: int
    verdict: str
    plan: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    context: dict[str, int] = field(default_factory=dict)
    """Input tokens of the draft, by arm."""
    alike: dict[str, float] = field(default_factory=dict)
    """How near the answer is to the plan in meaning, by arm."""


def talks() -> dict[Language, list[list[str]]]:
    loaded: dict[Language, list[list[str]]] = yaml.safe_load(TALKS.read_text(encoding="utf-8"))
    return loaded


def way_of(understood: Understood, found: RetrievalResult | None) -> str:
    """Where the message went: by its ending, else by its decision."""
    if understood.ends == "blocked":
        return "B"
    if understood.ends == "asked" or (found and found.verdict == "clarify"):
        return "C"
    return WAYS[understood.decision.way] if understood.decision else "?"


async def play(language: Language, library: Library, model: Model, tools: Any) -> list[Turn]:
    turns: list[Turn] = []
    for talk in talks()[language]:
        history: list[Message] = []
        for line in talk:
            expected, _, text = line.partition(" ")
            turn, reply = await _turn(text, expected, language, history, library, model, tools)
            turns.append(turn)
            for role, said in (("user", text), ("assistant", reply)):
                history.append(Message(len(history), TurnId("t"), role, "message", said, NOW))  # type: ignore[arg-type]
    return turns


async def _turn(
    text: str,
    expected: str,
    language: Language,
    history: Sequence[Message],
    library: Library,
    model: Model,
    tools: Any,
) -> tuple[Turn, str]:
    incoming = Incoming(TenantId(language), ConversationId("c"), TurnId("t"), text, NOW)
    opened = Opened("token", "adaptive", language, tuple(history[-5:]), len(history), None)
    screened = Screened(incoming, opened, language, classify(text))
    business, notes, counted = BUSINESSES[language], Journal(), Counting(model)
    understood = await understand(screened, business, tools, None, SERVICE, notes, counted, RuleGuardian())
    found = None
    if understood.ends is None:
        found = await retrieve(understood, business, tools, {}, (), SERVICE, notes, [library])
    turn = Turn(
        language,
        text,
        expected,
        way_of(understood, found),
        counted.calls,
        counted.tokens_in + counted.tokens_out,
        found.searches if found else 0,
        found.verdict if found else understood.ends or "",
    )
    reply = understood.response
    if found and found.verdict == "answer":
        reply = await _drafted(turn, understood, found, business, tools, model)
    return turn, reply


async def _drafted(
    turn: Turn, understood: Understood, found: RetrievalResult, business: Business, tools: Any, model: Model
) -> str:
    """The same draft in every arm, from a context that differs in nothing but the analysis."""
    analysis = understood.analysis
    base = gather(understood.screened, business, tools, ADAPTIVE, NOW)
    base = replace(base, blocks=(*base.blocks, *found.blocks))
    arms = {"nothing": base}
    if analysis:
        turn.plan = " ".join((analysis.user_intent, *analysis.action_plan))
        arms["own words"] = add_understanding(understood, base)
        arms["tool result"] = add_understanding(replace(understood, context=_as_result(understood)), base)
    for name, gathered in arms.items():
        counted = Counting(model)
        drafted = await draft(gathered, business.name, ADAPTIVE, Journal(), counted)
        turn.answers[name], turn.context[name] = drafted.reply, counted.tokens_in
    return turn.answers.get("own words") or turn.answers["nothing"]


def _as_result(understood: Understood) -> Any:
    assert understood.analysis is not None
    called = ChatMessage("assistant", "", calls=(ToolCall(NAME, {}, id="analysis"),))
    return called, ChatMessage("tool", compact(understood.analysis.to_json()), call_id="analysis", tool=NAME)


def saved(turns: Sequence[Turn]) -> Table:
    rows = []
    for language in (*LANGUAGES, "all"):
        mine = [turn for turn in turns if language in (turn.language, "all")]
        if not mine:
            continue
        count, searched = len(mine), sum(turn.searches > 0 for turn in mine)
        calls = sum(turn.calls for turn in mine)
        right = sum(turn.way == turn.expected for turn in mine)
        rows.append(
            (
                language,
                f"{count}",
                f"{searched}",
                f"{1 - searched / count:.0%}",
                f"{sum(turn.searches for turn in mine)}",
                f"{calls}",
                f"{1 - calls / count:.0%}",
                f"{sum(turn.tokens for turn in mine) / count:.0f}",
                f"{right}/{count}",
            )
        )
    header = ("", "messages", "searched", "saved", "rounds", "analyses", "saved", "tokens a message", "as judged")
    return Table(header, tuple(rows))


def arms(turns: Sequence[Turn]) -> Table:
    drafted = [turn for turn in turns if turn.plan]
    rows = []
    for arm in ARMS:
        alike = [turn.alike[arm] for turn in drafted if arm in turn.alike]
        scores = [by_words(turn.plan, turn.answers[arm]) for turn in drafted]
        context = [turn.context[arm] for turn in drafted]
        same = sum(turn.answers[arm] == turn.answers["nothing"] for turn in drafted)
        rows.append(
            (
                arm,
                f"{len(drafted)}",
                "1",
                f"{_mean(context):.0f}",
                f"{_mean(scores):.3f}",
                f"{_mean(alike):.3f}" if alike else "not asked",
                f"{same}/{len(drafted)}",
            )
        )
    header = (
        "analysis in the context as",
        "drafts",
        "calls a draft",
        "tokens in",
        "ROUGE-L plan/answer",
        "cosine plan/answer",
        "same answer",
    )
    return Table(header, tuple(rows))


async def compare(turns: Sequence[Turn], embedder: Embedder) -> None:
    drafted = [turn for turn in turns if turn.plan]
    for arm in ARMS:
        found = await by_meaning([PlannedAnswer(turn.plan, turn.answers[arm]) for turn in drafted], embedder)
        for turn, number in zip(drafted, found, strict=True):
            turn.alike[arm] = number


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


async def run(model: Model, languages: Sequence[Language]) -> list[Turn]:
    turns: list[Turn] = []
    with tempfile.TemporaryDirectory() as folder:
        store = await SqlStore.open(f"sqlite:///{folder}/bench.db")
        try:
            library = Library(store)
            tools = business_tools(BusinessConfig(Path(folder))).specs()
            for language in languages:
                for document in sample(language):
                    await library.put(language, document)
                turns += await play(language, library, model, tools)
        finally:
            await store.close()
    return turns


async def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.understand", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="a language model instead of the offline one, such as openai:NAME@URL")
    parser.add_argument("--talks", choices=LANGUAGES, action="append", help="only these languages")
    parser.add_argument("--embeddings", help="compare by meaning too, such as openai:NAME@URL")
    options = parser.parse_args()
    if options.model:
        from circumspect.models import open_model

        model: Model = open_model(options.model)
    else:
        model = OfflineModel()
    turns = await run(model, options.talks or LANGUAGES)
    if options.embeddings:
        await compare(turns, open_embedder(options.embeddings))
    print(f"model: {model.name}; an agent that always analyses and searches: one of each a message\n")
    print("\n".join(lines(saved(turns))))
    print("\n" + "\n".join(lines(arms(turns))))
    print("\nverdicts:", dict(Counter(turn.verdict for turn in turns)))
    for turn in turns:
        if turn.way != turn.expected:
            print(f"judged {turn.expected}, went {turn.way}: {turn.text}")


if __name__ == "__main__":
    asyncio.run(main())
