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
    TranscriptGap,
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
        self._past_calls: list[PastCall] = []
        self._session: History | None = None
        """What the rules stand on, as long as nothing is added; with it goes what they have worked out."""
        self.names: list[str] = []
        """Whose each of them is, where messages name their users."""
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

    def is_answered_by_another(self, person: str | None, about: Callable[[str], bool]) -> bool:
        """Where messages name their users: the last word is not that of whoever was asked. That is the `person`, where
        the messages name them; else who wished for it, by words that are `about` it, or who spoke last before."""
        users = [(name, one) for name, one in zip(self.names, self.utterances, strict=True) if one.speaker == "user"]
        named = {name for name, _ in users if name}
        if not named:
            return False
        answers = users[-1][0]
        asked_at = next((one.index for one in reversed(self.utterances) if one.speaker == "assistant"), 0)
        before = [(name, one.text) for name, one in users if one.index < asked_at]
        wished = next((name for name, text in reversed(before) if about(text)), before[-1][0] if before else "")
        asked = person if person in named else wished
        if not answers:
            return len(named) > 1 or (person in named and asked != wished)
        return answers != (asked or person)

    @property
    def is_answered(self) -> bool:
        """The user had the last word."""
        return bool(self.utterances) and self.utterances[-1].speaker == "user"

    @property
    def session(self) -> History:
        if self._session is None or len(self._session.events) != len(self.events):
            made = History(tuple(self.events))
            made.__dict__.update(utterances=tuple(self.utterances), past_calls=tuple(self._past_calls))
            self._session = condition_view.attach(attach(made, self._ledger), self._index)
        return self._session

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
                self._leave_out(str(problem) or "it is nested too deeply")
                continue
            for step in found:
                match step:
                    case TranscriptGap():
                        self._leave_out(f"a piece of kind {step.kind!r}")
                    case TranscriptText():
                        self._hear(step)
                    case TranscriptCall():
                        self._open[step.call.id] = step.call
                    case TranscriptResult():
                        self._take_result(step)

    def _leave_out(self, why: str) -> None:
        self.unread += 1
        self.why_unread = why

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
        self.names.append(said.name)
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
        if call is None and (found := self._find_unnumbered(returned)) is not None:
            call = self._open.pop(found)
        if call is None:
            self._leave_out("a result that answers no call")
        else:
            content = returned.content[:LONGEST]
            if content.startswith(HELD):
                return  # our own words about a call that did not run
            value = result_value(content)
            failed = returned.failed or has_failed(content, value)
            self.imports.append(self._add(call, value, not failed, raw=content if value is not content else None))

    def _find_unnumbered(self, returned: TranscriptResult) -> str | None:
        """The call that a result is of where not both have a number: the old format has none, and some leave it out."""
        if not returned.call_id:
            named = (key for key, call in self._open.items() if call.tool == returned.tool)
            return next(named, next(iter(self._open), None))
        unnumbered = [key for key, call in self._open.items() if key in ("", call.tool)]
        return unnumbered[0] if len(unnumbered) == 1 and returned.tool in ("", self._open[unnumbered[0]].tool) else None

    def _add(
        self, call: ToolCall, result: Any, ok: bool, *, raw: str | None = None, unknown: bool = False, at: Any = None
    ) -> PastCall:
        trusted = not self._is_open_world(call.tool)
        self.letters += weigh_value(result if raw is None else raw)
        event = PastCall(call, result, ok, trusted, len(self.events), at, unknown=unknown)
        self.events.append(event)
        self._past_calls.append(event)
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
