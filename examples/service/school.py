"""A language school with documents, a CRM, a calendar and mail: what the four walkthroughs beside this file share.

`async with walk(...) as talk` opens the school with a model, `await talk.say(...)` is one message. Each prints what was
said and, indented, what happened inside: the decision, the sources, how sure that made the agent, the calls. When the
walk is over, what the school's books say is kept in it.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import circumspect.demo.samples
from circumspect import Agent
from circumspect.business import BusinessConfig, CalDav, business_tools
from circumspect.clock import FixedClock
from circumspect.journal import ExecutionEvent, LookEvent, read_event
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.models.scripted import ScriptedModel
from circumspect.policy.understanding.journal_events import ConflictEvent, RetrievalEvent, UnderstoodEvent
from circumspect.values import Business, ConversationId, Execution, JournalEntry, ModelRequest, TurnResult

BUSINESS = Business(
    "Meridian School", description="A language school in Haifa: courses, lessons, training for companies."
)
POLICY = Path(__file__).with_name("policy.yaml")
MONDAY = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)
OFFLINE = "the offline model: rules decide and answer, no language model is involved"
SCRIPTED = "a scripted model: says what a language model would; what is done with it is real"


def documents() -> dict[str, KnowledgeDocument]:
    """The school's documents as they are; two of them contradict each other about leaving a course."""
    folder = Path(circumspect.demo.samples.__file__).parent / "documents" / "en"
    return {path.name: read_document(path.read_bytes(), path.name) for path in sorted(folder.glob("*.md"))}


@dataclass
class Walk:
    """One conversation, and afterwards what is in the books."""

    agent: Agent
    folder: Path
    conversation: str = "c1"
    turns: list[TurnResult] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    escalations: list[Any] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)

    async def say(self, text: str) -> TurnResult:
        turn = await self.agent.turn(text, conversation=self.conversation)
        self.turns.append(turn)
        said = turn.reply.replace("\n\n", "\n").replace("\n", "\n       ")
        print(f"user:  {text}\nagent: {said}")
        for line in inside(turn):
            print(f"         {line}")
        print()
        return turn

    async def look_up(self) -> None:
        store = (await self.agent.open()).ports.store
        self.executions = list(await store.executions(self.agent.tenant.id, ConversationId(self.conversation)))
        self.escalations = list(await store.escalations(self.agent.tenant.id))  # type: ignore[attr-defined]
        self.mails = [path.read_text("utf-8") for path in sorted((self.folder / "outbox").glob("*.eml"))]


@asynccontextmanager
async def walk(
    model: ScriptedModel | None = None,
    *,
    texts: dict[str, KnowledgeDocument] | None = None,
    calendar: CalDav | None = None,
) -> AsyncIterator[Walk]:
    """The school, opened anew: with the offline model, or with one that follows a script."""
    print(f"--- {SCRIPTED if model else OFFLINE} ---\n")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        config = BusinessConfig(
            folder=folder,
            zone="Asia/Jerusalem",
            hours=dict.fromkeys((6, 0, 1, 2, 3), (time(9), time(12))),
            slot_minutes=60,
            sender="office@meridian-school.example",
            calendar=calendar,
            now=lambda: MONDAY,
        )
        known = documents() if texts is None else texts
        async with Agent(
            "school",
            business=BUSINESS,
            tools=business_tools(config),
            policy=POLICY,
            understanding="service",
            documents=known.values(),
            model=model or "offline",
            database=":memory:",
            clock=FixedClock(MONDAY),
        ) as agent:
            talk = Walk(agent, folder)
            yield talk
            await talk.look_up()


# --- what happened inside -------------------------------------------------------------------------------------------


def inside(turn: TurnResult) -> list[str]:
    lines = [line for entry in turn.entries for line in _told(entry)]
    codes = ", ".join(turn.reason_codes)
    return [*lines, f"outcome: {turn.outcome}" + (f" ({codes})" if codes else "")]


def _told(entry: JournalEntry) -> list[str]:
    match read_event(entry):
        case ExecutionEvent() | LookEvent() as event:
            given = {name: value for name, value in event.arguments.items() if value}
            return [f"called: {event.content} {json.dumps(given, ensure_ascii=False)} {event.error}".rstrip()]
        case ConflictEvent(sides=sides):
            return [f"conflict: {side.document} says {side.value}: “{side.quote}”" for side in sides]
        case UnderstoodEvent(content=content):
            return [f"decided: {content}"]
        case RetrievalEvent() as event:
            return _told_of_search(event)
    return []


def _told_of_search(event: RetrievalEvent) -> list[str]:
    lines = [f"source [{one.number}]: {one.document}, score {one.score:.2f}" for one in event.sources[:2]]
    if event.saved:
        lines.append("searched: nothing, nothing had to be")
    if event.confidence:
        lines.append(f"confidence: {event.confidence.value:.2f}")
        lines += [
            f"  {one.name} {one.value:.2f}, {one.contribution:.2f} of {one.weight}: {one.why}"
            for one in event.confidence.factors
        ]
    return lines


# --- a language model's part, written down --------------------------------------------------------------------------


def script(*replies: str | Callable[[ModelRequest], str]) -> ScriptedModel:
    """Analyses and drafts in this order. The second opinion on a call is always that it may go on, and words for what
    was done are left to the catalogue."""
    queue = list(replies)

    def answers(request: ModelRequest) -> str:
        if request.purpose == "critique":
            return '{"decision": "PROCEED", "reasoning": "Every value was said."}'
        if request.purpose == "phrase":
            return ""
        reply = queue.pop(0)
        return reply if isinstance(reply, str) else reply(request)

    return ScriptedModel(answers)


def understood(intent: str, decision: str, why: str, *, tools: tuple[str, ...] = (), search: str = "") -> str:
    """The form, as a language model fills it in."""
    return json.dumps(
        {
            "spam_score": 0.02,
            "spam_reason": "It is about the school.",
            "user_intent": intent,
            "topic": "",
            "category": "question" if decision == "RETRIEVE" else "action",
            "context": "",
            "subqueries": [search or intent],
            "action_plan": ["Do that.", "Say what came of it."],
            "intent_confidence": 0.95,
            "uncertainties": [],
            "action": "normal",
            "clarification_question": "",
            "decision": decision,
            "decision_reason": why,
            "decision_confidence": 0.9,
            "tools_needed": list(tools),
            "retrieval_needed": decision == "RETRIEVE",
        }
    )
