"""What the spine needs from the outside world: Protocols only. Adapters implement them; steps name the ones they use.

Error policy, for all ports: an adapter raises from `circumspect.errors` and nothing else. A step that meets such an
error fails closed on actions and open on talk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from circumspect.frozen_slots import fill_directly
from circumspect.journal import Journal
from circumspect.values import (
    ConversationId,
    Draft,
    Escalation,
    Execution,
    Incoming,
    Intent,
    IntentId,
    JournalEntry,
    Json,
    JsonObject,
    Language,
    Message,
    Mode,
    ModelReply,
    ModelRequest,
    Opened,
    PastCall,
    Preparation,
    Scene,
    Screened,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnResult,
)


class Clock(Protocol):
    """The time. Aware, UTC."""

    def now(self) -> datetime: ...


class Ids(Protocol):
    """Fresh identifiers and nonces. Unique across workers, unguessable; a seeded one makes a turn repeatable."""

    def new(self, prefix: str) -> str: ...


class Model(Protocol):
    """A language model.

    `complete` returns a whole reply or raises a `ModelError`; timeouts, retries and fallbacks have happened by then.
    `stream` yields pieces of text as they come and ends with the whole `ModelReply`; it is retried only before its
    first piece. Neither has side effects.
    """

    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest) -> ModelReply: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]: ...


class Tools(Protocol):
    """The tenant's tools.

    `call` runs one and returns a JSON value, or raises `ToolError` (it said no, nothing happened) or `ToolTimeout`
    (nobody knows). The key is the same for every attempt at the same call. `lookup` asks a tool of recovery class
    `lookup` whether the call with that key happened: its result, or None.
    """

    def specs(self) -> Mapping[str, ToolSpec]: ...

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json: ...

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None: ...


@fill_directly
@dataclass(frozen=True, slots=True)
class Closing:
    """All that the end of a turn writes, in one transaction that also gives the conversation back."""

    incoming: Incoming
    token: str
    language: Language
    result: TurnResult
    entries: tuple[JournalEntry, ...]
    at: datetime
    denied: IntentId | None = None
    escalation: Escalation | None = None
    interrupted: bool = False
    """The turn was broken off: the same key may run it again."""
    silent: bool = False
    """The conversation has gone on since: the answer is kept with the turn and said to nobody, and what its calls came
    to is told by whoever speaks next."""
    executions: tuple[Execution, ...] = ()
    """Calls that only read: they need no write-ahead, so they are written down here."""
    unwritten: tuple[Execution, ...] = ()
    """Calls whose end could not be stored when they ended."""
    multiplier: float = 1.0
    message_price: float = 0.0
    beside: bool = False
    """Questions that wait go on waiting beside the one that this turn asks: each is answered by its id."""
    wishes: JsonObject | None = None
    """What the next turn is to find in `Opened.wishes`."""

    @property
    def speaks(self) -> bool:
        """There are words for the user to see."""
        return bool(self.result.reply) and not self.silent


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A notification that must leave at least once. `attempts` counts deliveries tried so far."""

    id: str
    topic: str
    payload: Mapping[str, Json]
    attempts: int
    token: str


class Store(Protocol):
    """Where everything is written down. Each method is one transaction: it happened whole, or not at all.

    A conversation belongs to one worker at a time: `open_turn` takes a lease with a random token, `renew` lengthens
    it, `close_turn` gives it back. Every write of a turn carries the token; a worker whose lease was taken over gets
    `LeaseLost` and writes nothing. Leases go by the store's own time, which all workers share; no worker's clock can
    end another's.
    """

    async def open_turn(
        self, incoming: Incoming, *, mode: Mode, history: int, token: str, lease_seconds: float, drawn: bool = False
    ) -> Opened:
        """Claim the conversation (made on first use with `mode`; the first that is `drawn` it keeps for life), store
        the user's message, read what the turn needs. Raises `ConversationBusy` while another worker holds it. A turn
        with the same key that was answered before comes back as `Opened.answered`, with nothing claimed or written; so
        does a colleague's decision on an approval that does not wait any more, with a result that is `late`."""
        ...

    async def renew(self, incoming: Incoming, token: str, lease_seconds: float) -> None: ...

    async def give_back(self, incoming: Incoming, token: str) -> None:
        """Let the conversation go with the turn unfinished: its key may run it again."""
        ...

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        """Write-ahead: consume `execution.intent` if there is one (pending, not expired, same hash) and write the
        `started` row, in one transaction. False, with nothing written, when the intent is not there to be consumed.
        `token` is the conversation's; `by` is whose yes it is. Raises `ApproverRefused`, with nothing written, where
        it is an approval and they are not the one to give it: `approvers.py`."""
        ...

    async def finish_call(self, execution: Execution) -> bool:
        """Write the result where the row still is `started` under the same execution token. False when somebody else
        (the sweeper) settled it first. An indeterminate one also puts an escalation into the outbox."""
        ...

    async def close_turn(self, closing: Closing) -> None:
        """Visible and internal messages, the new pending intent (older ones are superseded), denials, usage,
        escalation and outbox, the turn's result; then the lease is given back."""
        ...

    async def claim_expired(
        self, token: str, lease_seconds: float, limit: int, tenant: TenantId | None = None
    ) -> Sequence[Execution]:
        """Started calls whose lease ran out, now leased under `token`. No two sweepers get the same one. A sweeper that
        has the tools of one tenant names it: a call is never settled by somebody else's tools."""
        ...

    async def messages(
        self,
        tenant: TenantId,
        conversation: ConversationId,
        *,
        internal: bool = False,
        after: int = -1,
        limit: int = 1000,
    ) -> Sequence[Message]: ...

    async def executions(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Execution]: ...

    async def past(
        self, tenant: TenantId, conversation: ConversationId, *, after: int = -1, limit: int = 1000
    ) -> tuple[Sequence[Message], Sequence[Execution]]:
        """What was said and what ran, as of one moment: `messages` and `executions` together."""
        ...

    async def recent_executions(
        self, tenant: TenantId, tools: Collection[str], since: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        """Calls of these tools that began since then, in all of the tenant's conversations, oldest first; with
        `person`, in those of that person, or ("") in those of nobody who is known."""
        ...

    async def count_messages(self, tenant: TenantId, period: str) -> int:
        """Turns of the month (`YYYY-MM`, UTC) that were closed; those turned away for the plan's quota are none."""
        ...

    async def intents(self, tenant: TenantId, conversation: ConversationId) -> Sequence[Intent]: ...

    async def claim_outbox(self, token: str, lease_seconds: float, limit: int) -> Sequence[OutboxItem]: ...

    async def settle_outbox(self, item: OutboxItem, *, delivered: bool) -> None:
        """Delivered items are done; others come back later, each time after a longer wait."""
        ...


class Span(Protocol):
    """Characters [start, end) of a document's text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class CandidatePassage(Protocol):
    """A piece of a document that may answer. `score` is 0 to 1."""

    @property
    def document(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def page(self) -> int | None: ...
    @property
    def span(self) -> Span: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...


class PassageSearch(Protocol):
    """Finds passages of a tenant's documents, the best first. Raises from `circumspect.errors` and nothing else."""

    async def search(
        self, tenant: str, query: str, limit: int = 5, language: str | None = None
    ) -> Sequence[CandidatePassage]: ...


class SceneGuide(Protocol):
    """How a turn deals with what is on the user's screen. A wing brings one: the core knows conversations only.

    Nothing here has effects; what cannot be found out is left out, and nothing raises for it.
    """

    def note_results(self, incoming: Incoming, notes: Journal) -> None:
        """Write down what the client's last actions did, as far as the scene itself tells."""
        ...

    async def before_draft(self, screened: Screened, knowledge: str, notes: Journal) -> Preparation:
        """Is what the user's words take known already, to be looked up, or to be asked? `knowledge` is what the
        tenant's own documents say on the matter."""
        ...

    def show(self, scene: Scene, words: str) -> str:
        """The part of a scene that matters for the user's words, as the model gets to see it."""
        ...

    def limit(self, drafted: Draft) -> Draft:
        """A draft with no more actions in it than one look at the scene is good for."""
        ...

    def resolve(self, call: ToolCall, scene: Scene) -> ToolCall:
        """What a proposed call amounts to on this scene."""
        ...

    def find_unsupported_claims(
        self, reply: str, language: Language, ran: Collection[PastCall], tools: Mapping[str, ToolSpec], scene: Scene
    ) -> Sequence[str]:
        """Sentences of a reply that claim what neither an action nor the scene bears out."""
        ...


class Listener(Protocol):
    """Somebody who follows a turn while it runs. Called on the event loop; must return at once and never raise.

    `entry` is one line of the journal, for operators' eyes. `text` is a piece of the reply, for the user's: the pieces
    joined are the beginning of the reply that the turn ends with, and nothing that was said is ever taken back.
    """

    def entry(self, entry: JournalEntry) -> None: ...

    def text(self, piece: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """What `run_turn` is given. Built once per agent, shared by all of its turns."""

    model: Model
    tools: Tools
    store: Store
    clock: Clock
    ids: Ids
