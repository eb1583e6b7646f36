"""ForeignTalk: the messages of somebody else's agent -> the history that rules stand on, grown message by message.

An agent hands over its whole conversation with every call. What was read before is not read again while the messages go
on from there; a conversation that was shortened or rewritten is read anew.
What may surprise: results come from two sides, from the messages and from the ledger of what the gate itself saw run.
Each call counts once, and of what the ledger knows the messages are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from circumspect.aside import weigh_value
from circumspect.audit.message_formats import steps
from circumspect.audit.tool_defs import Specs
from circumspect.audit.transcript_steps import (
    TranscriptCall,
    TranscriptResult,
    TranscriptText,
    Unknown,
    has_failed,
    result_value,
)
from circumspect.gating.plain_values import to_plain_message
from circumspect.language.detection import detect
from circumspect.policy import condition_view
from circumspect.policy.condition_view import HistoryIndex
from circumspect.policy.grounding.tracing import OriginLedger, attach
from circumspect.values import Execution, ExecutionId, History, Language, PastCall, ToolCall, Utterance

HELD = "NOT RUN"
"""How everything begins that a model is told instead of a result."""
LONGEST = 200_000
"""Characters of a message that are read."""


class ForeignTalk:
    """One conversation as far as it was read."""

    def __init__(self, specs: Specs, is_open_world: Callable[[str], bool]) -> None:
        self.specs = specs
        self._is_open_world = is_open_world
        """Can strangers write what a tool returns?"""
        self.events: list[Utterance | PastCall] = []
        self.utterances: list[Utterance] = []
        self.heard = -1
        """Where the user last spoke, among the events."""
        self.told: int | None = None
        """How many utterances are written down; None while nobody has looked."""
        self.unread = 0
        """Messages of no kind that we know."""
        self.why_unread = ""
        self.letters = 0
        """In all that was read: what a value of a call may have to be looked for in."""
        self.read_ahead = 0
        """So many of them when what they say was last looked for."""
        self._ledger, self._index = OriginLedger(), HistoryIndex()
        self._open: dict[str, ToolCall] = {}
        self.answered: set[str] = set()
        """Ids of calls whose results stand in the messages."""
        self.imports: list[PastCall] = []
        """What the messages say has run, as far as nobody has written it down yet."""
        self.waiting: dict[str, ToolCall] = {}
        """Calls that wait for a yes, or were handed out and have not ended."""
        self._known: set[ExecutionId] = set()
        self._settled: set[str] = set()
        """Ids of calls, as the model numbered them, whose results came from the ledger."""
        self._language: tuple[tuple[str, Language], Language] | None = None
        self._read: list[tuple[Any, Any]] = []
        """The messages, each with its content as it was: hosts change messages in place."""

    @property
    def words(self) -> str:
        """What the user said last."""
        last = self.events[self.heard] if self.heard >= 0 else None
        return last.text if isinstance(last, Utterance) else ""

    def detect_language(self, default: Language, values: Sequence[str] = ()) -> Language:
        """The user's, found once for each of their messages: that of the sentence, not of the `values` in it."""
        words = self.words
        for value in values:
            words = words.replace(value, " ")
        if self._language is None or self._language[0] != (words, default):
            self._language = (words, default), detect(words, None, default)
        return self._language[1]

    @property
    def asked(self) -> str:
        """What the assistant had said when the user spoke last."""
        before = (one for one in reversed(self.events[: max(self.heard, 0)]) if isinstance(one, Utterance))
        last = next(before, None)
        return last.text if last and last.speaker == "assistant" else ""

    @property
    def is_answered(self) -> bool:
        """The user had the last word."""
        return bool(self.utterances) and self.utterances[-1].speaker == "user"

    @property
    def session(self) -> History:
        return condition_view.attach(attach(History(tuple(self.events)), self._ledger), self._index)

    def goes_on(self, messages: Sequence[Any]) -> bool:
        """Do these messages begin with what was read?"""
        if len(messages) < len(self._read):
            return False
        for now, (before, content) in zip(messages, self._read, strict=False):
            if now is before:
                if isinstance(now, dict) and now.get("content") is not content:
                    return False
            elif now != before:
                return False
        return True

    def read(self, messages: Sequence[Any]) -> None:
        """Take in what is new. Call it only with messages that go on from here."""
        for message in messages[len(self._read) :]:
            self._read.append((message, message.get("content") if isinstance(message, dict) else None))
            try:
                found = steps(to_plain_message(message))
            except (Unknown, RecursionError) as problem:
                self.unread += 1
                self.why_unread = str(problem) or "it is nested too deeply"
                continue
            for step in found:
                match step:
                    case TranscriptText():
                        self._hear(step)
                    case TranscriptCall():
                        self._open[step.call.id] = step.call
                    case TranscriptResult():
                        self._take_result(step)

    def note(self, ran: Sequence[Execution]) -> None:
        """What the ledger knows to have ended."""
        for one in ran:
            if one.id in self._known or one.state in ("started", "delegated"):
                continue
            self._known.add(one.id)
            if self._has_read(one):
                continue
            self._settled.add(one.call.id)
            self._open.pop(one.call.id, None)
            succeeded, unknown = one.state == "succeeded", one.state == "indeterminate"
            self._add(one.call, one.result, succeeded, unknown=unknown, at=one.finished_at or one.started_at)

    def _hear(self, said: TranscriptText) -> None:
        text = said.text[:LONGEST]
        self.letters += len(text)
        if said.speaker == "system":
            # What the application itself said is context: trusted, and no result of any tool.
            self._ledger.add(PastCall(ToolCall("(system)"), text, True, True, len(self.events)))
            return
        heard = Utterance(said.speaker, text, len(self.events))
        if said.speaker == "user":
            self.heard = len(self.events)
        self.events.append(heard)
        self.utterances.append(heard)
        self._ledger.add(heard)

    def _has_read(self, one: Execution) -> bool:
        if one.call.id:
            return one.call.id in self.answered
        return one.runner == "import" and any(
            isinstance(past, PastCall) and past.call.hash == one.call.hash for past in self.events
        )

    def _take_result(self, returned: TranscriptResult) -> None:
        if returned.call_id:
            self.answered.add(returned.call_id)
            if returned.call_id in self._settled:
                return
        call = self._open.pop(returned.call_id, None)
        if call is None and not returned.call_id and self._open:
            call = self._open.pop(next(iter(self._open)))
        if call is not None:
            content = returned.content[:LONGEST]
            if content.startswith(HELD):
                return  # our own words about a call that did not run
            value = result_value(content)
            failed = returned.failed or has_failed(content, value)
            self.imports.append(self._add(call, value, not failed, raw=content if value is not content else None))

    def _add(
        self, call: ToolCall, result: Any, ok: bool, *, raw: str | None = None, unknown: bool = False, at: Any = None
    ) -> PastCall:
        trusted = not self._is_open_world(call.tool)
        self.letters += weigh_value(result if raw is None else raw)
        event = PastCall(call, result, ok, trusted, len(self.events), at, unknown=unknown)
        self.events.append(event)
        self._index.add(event)
        self._ledger.add(event, raw)
        return event


def find_new(stored: Sequence[tuple[str, str]], said: Sequence[Utterance]) -> int:
    """How many of the utterances are written down already: up to the last place where the end of what is stored stands
    among them. Clients send all of a conversation, or only its end."""
    for end in range(len(said), 0, -1):
        length = min(end, len(stored))
        if length and [(one.speaker, one.text) for one in said[end - length : end]] == list(stored[-length:]):
            return end
    return 0
