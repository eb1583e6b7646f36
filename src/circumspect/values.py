"""The words of a turn, top to bottom in the order in which they come to be.

    Tenant, Profile, ToolSpec                             who is served, and how
    Incoming ─▶ Opened ─▶ Screened                        what comes in, and what it was found with
    Gathered ─▶ ModelRequest ─▶ ModelReply ─▶ Draft       what the model sees and says
    Utterance, PastCall ─▶ History                        what the conversation has established so far
    ToolCall ─▶ RuleFinding ─▶ Verdict ─▶ Enforced        what code decides
    Execution ─▶ Reply ─▶ TurnResult                      what happened, and what the caller gets

Everything here is a frozen value: no behaviour beyond what can be read off the value itself. What grows during a turn
is its journal, which is all that a replay needs: `journal.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NewType, Protocol, TypeAlias, TypeGuard

from typing_extensions import TypedDict

from circumspect.frozen_slots import fill_directly
from circumspect.hashing import digest, stable_share
from circumspect.language.registry import LANGUAGES as LANGUAGES
from circumspect.language.registry import Language as Language
from circumspect.reasons import ReasonCode

TenantId = NewType("TenantId", str)
ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
IntentId = NewType("IntentId", str)
ExecutionId = NewType("ExecutionId", str)

REHEARSED = "playground-"
"""How the ids of conversations begin in which operators play the user: nothing happens there, and nothing counts."""

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
JsonObject: TypeAlias = Mapping[str, Json]

Mode = Literal["standard", "adaptive"]
Effect = Literal["read", "write", "destructive"]
Recovery = Literal["keyed", "local_tx", "lookup", "blind"]
TurnOutcome = Literal["answered", "asked", "acted", "escalated", "blocked", "failed"]


# --- who is served, and how -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """What a tenant pays for. The mode belongs to the plan; multiplier and price are for the bill, in US dollars."""

    name: str
    mode: Mode = "standard"
    multiplier: float = 1.0
    quota: int | None = None
    """How many messages a tenant may send in a calendar month (UTC); None is as many as it likes."""
    message_price: float = 0.0
    """What each message costs, beside what the models cost times the multiplier."""


@dataclass(frozen=True, slots=True)
class Faq:
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Business:
    """What the agent may know about the tenant. Only name, description, hours, phone and e-mail are always shown."""

    name: str
    description: str = ""
    hours: str = ""
    phone: str = ""
    email: str = ""
    about: str = ""
    contact: str = ""
    policies: Mapping[str, str] = field(default_factory=dict)
    faqs: tuple[Faq, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Tenant:
    id: TenantId
    business: Business
    plan: Plan = Plan("pro", "adaptive")
    language: Language = "en"
    tools: frozenset[str] | None = None
    """Names of the enabled tools; None enables every tool that is registered."""
    adaptive_share: float = 1.0
    """Share of conversations that get the plan's adaptive mode (0 to 1), sticky by conversation."""

    def mode_of(self, conversation: ConversationId) -> Mode:
        """A conversation keeps its arm for life: the share is a threshold on a stable hash of its id."""
        if self.plan.mode == "standard" or self.adaptive_share >= 1.0:
            return self.plan.mode
        return "adaptive" if stable_share(self.id, conversation) < self.adaptive_share else "standard"


@dataclass(frozen=True, slots=True)
class Profile:
    """How the spine is configured for a turn. The named profiles are in `profiles.py`."""

    mode: Mode
    history: int
    """How many earlier visible messages the model sees."""
    context_rounds: int = 2
    steps: int = 4
    """How many times the model may be asked for a draft before the turn is handed over."""
    calls: int = 25
    """How many calls one draft may propose; of more, none is looked at."""
    changes: int = 5
    """How many calls of one turn may change something; a draft that wants more gets none of them."""
    redrafts: int = 1
    apologies: int = 3
    """So many replies in a row that are sorry or do not know are a loop, which is counted."""
    hand_over_apologies: bool = False
    """Such a loop ends with a person."""
    """How many times a denied call goes back to the model before the user hears what is possible instead."""
    critique_below: float = 0.7
    confirm_seconds: float = 300.0
    approval_seconds: float = 7 * 24 * 3600.0
    message_limit: int = 20_000
    prompt: str = ""
    """The words that a draft is asked for with; without it, those of the mode."""
    passthrough: bool = False
    """Somebody else's agent speaks: its prompt, tools and options go to the model as they are, and nothing is added.
    Its calls are ruled on and its replies checked, as everywhere."""
    escalate_failures: bool | None = None
    """Hand the conversation to a person when the model could not be had at all. None: only under `service`."""


@dataclass(frozen=True)
class ToolSpec:
    """What is known about a tool before anyone calls it. `effect` None means that nobody declared one."""

    name: str
    description: str = ""
    parameters: JsonObject = field(default_factory=dict)
    effect: Effect | None = None
    recovery: Recovery = "blind"
    timeout: float = 30.0
    configured: bool = True
    open_world: bool = False
    client: bool = False
    """The client runs it: a call that policy lets through is handed out, and its result comes back later."""
    returns: JsonObject = field(default_factory=dict)
    """JSON schema of its results, as far as somebody says what they are like."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """How to say the call to a person, by language: `{"en": "cancel order {order_id}"}`."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """What the tool does, by language, with no values: `{"en": "cancel an order"}`."""
    unspoken: frozenset[str] = frozenset()
    """Parameters that mean nothing to a person and that our own code fills or checks. No schema can say this."""

    @cached_property
    def version(self) -> str:
        """Also of who runs it: a yes to a call of the client's own is none to one of ours by the same name."""
        return digest([self.name, self.parameters, *(("client",) if self.client else ())])[:16]

    @cached_property
    def for_client(self) -> ToolSpec:
        """The same tool where the client runs it: one value for all requests, which keeps what is worked out of it."""
        return self if self.client else replace(self, client=True)

    @cached_property
    def required(self) -> frozenset[str]:
        names = self.parameters.get("required", ())
        return frozenset(str(name) for name in names) if isinstance(names, Sequence) else frozenset()

    @cached_property
    def properties(self) -> Mapping[str, JsonObject]:
        properties = self.parameters.get("properties", {})
        if not isinstance(properties, Mapping):
            return {}
        return {name: schema if isinstance(schema, Mapping) else {} for name, schema in properties.items()}

    @cached_property
    def signature(self) -> str:
        """The one line a model sees of a tool whose schema it has not asked for."""
        required = [name for name in self.properties if name in self.required]
        return f"{self.name}({', '.join(required)})"


# --- what comes in --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PersonDecision:
    """A person's decision on a call that waits: a colleague's on an approval, the user's own given by a button.

    An edit is no yes: it puts the call with other arguments before the rules and, if they let it, makes a new approval.
    """

    intent: IntentId
    decision: Literal["approve", "deny", "edit"]
    by: str
    arguments: JsonObject = field(default_factory=dict)
    words: str = ""
    """Those on the button, where the user pressed one in a conversation of ours: said as if they had typed them."""


@fill_directly
@dataclass(frozen=True)
class OutsideCall:
    """A call that an agent of somebody else's wants to make: ruled on and run with no model of ours."""

    call: ToolCall
    can_ask: bool = False
    """Its user can be asked there and then; otherwise what needs a yes waits for a colleague."""


@dataclass(frozen=True, slots=True)
class ClientResult:
    """What a client's own tool returned for a call that was handed to it."""

    execution: ExecutionId
    result: Json
    error: str = ""
    """Set when it did not work."""


@dataclass(frozen=True, slots=True)
class ClientResults:
    """The client ran what it was handed, and the turn goes on from there."""

    returned: tuple[ClientResult, ...]


class Scene(Protocol):
    """What the user has before them and a turn may act on, beside the conversation: a web page, say.

    What is in it was written by strangers: it is data, and it gives no orders.
    """

    @property
    def address(self) -> str:
        """Where it is, with nothing in it that could be private: this is written into the journal."""
        ...

    @property
    def listing(self) -> str:
        """What is on it, as text for a model."""
        ...

    def to_json(self) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A turn that was broken off and that nobody sends again: it is ended with what is known."""


Errand: TypeAlias = "PersonDecision | OutsideCall | ClientResults | Abandoned"

ANONYMOUS = "user"
"""Who speaks where nobody says who it is: one unnamed person for each conversation."""

PERSON = "person:"
"""How an end user's name begins among those who speak: it keeps a customer apart from an operator of the same name."""

VISITOR = "visitor:"
"""How the id of somebody begins who is told apart from others by a token of ours, and whom the tenant does not know."""


def is_known_person(person: str | None) -> TypeGuard[str]:
    return person is not None and not person.startswith(VISITOR)


def name_principal(person: str | None) -> str:
    """Who an end user is to the rules."""
    return ANONYMOUS if person is None else f"{PERSON}{person}"


@fill_directly
@dataclass(frozen=True, slots=True)
class Incoming:
    """A user's message on its way in. `key` is the client's idempotency key; `principal` is who speaks."""

    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    text: str
    at: datetime
    key: str | None = None
    principal: str = ANONYMOUS
    language: Language | None = None
    """Set when the client knows; otherwise the message tells."""
    person: str | None = None
    """The tenant's own id of the end user, by which their data is found again."""
    account: str = ""
    """By which account it came: an operator's name, or `key:` and the id of an API key; empty where nobody signed in.
    Whoever it is has proposed what comes of it."""
    claims: JsonObject = field(default_factory=dict)
    """What a signed token says about that person beside who they are; nothing that a message claims is ever here."""
    errand: Errand | None = None
    """Set when this is no message."""
    again: bool = False
    """The turn was begun before, and is taken up again by its id. One that is not there any more was deleted since."""
    begun: bool = False
    """The conversation has to be there: a message does not begin one."""
    answers: IntentId | None = None
    """The question that these words answer, where the client says so."""
    seen: TurnId | None = None
    """The turn of the newest reply that stood before the user when they wrote, where the client says so."""
    heard: str = ""
    """The assistant's last words as the client has them, where it sends the whole conversation each time."""
    talk: tuple[ChatMessage, ...] = ()
    """The whole conversation as a client sent it, for clients that do so each time; the model sees this one."""
    instructions: str = ""
    """What the client's own system prompt says."""
    options: ModelOptions | None = None
    """What the client asks of the model beside the messages."""
    form: JsonObject | None = None
    """The JSON schema that the reply has to fit, where the client wants data and no words."""
    returned: tuple[ClientResult, ...] = ()
    """What the client's tools returned, where it comes together with new words of the user."""
    scene: Scene | None = None
    """What is on the user's screen, where the agent is there to act on it."""
    findings: str = ""
    """What was looked up for this task in an earlier turn. Strangers wrote it."""

    @property
    def is_said(self) -> bool:
        """The user says something in it, in words or by a button that stands for some."""
        match self.errand:
            case None:
                return True
            case PersonDecision(words=words):
                return bool(words)
        return False

    @property
    def note(self) -> str:
        """What the conversation keeps of an errand, for those who look inside; of a user's button, its words."""
        match self.errand:
            case PersonDecision(intent=intent, decision=decision, by=by, words=words):
                return words or f"{by}: {decision} {intent}"
            case OutsideCall(call=call):
                return f"proposed: {call.tool}"
            case ClientResults(returned=returned):
                return f"results: {', '.join(one.execution for one in returned)}"
        return self.text


Role = Literal["user", "assistant", "internal"]
EntryKind = Literal[
    "message", "understanding", "assessment", "critique", "context", "policy", "tool", "model", "intent", "notice"
]


@dataclass(frozen=True, slots=True)
class Message:
    """One row of a conversation: what was said, or (role `internal`) what was thought and decided."""

    seq: int
    turn: TurnId
    role: Role
    kind: EntryKind
    content: str
    at: datetime
    reason: ReasonCode | None = None
    meta: JsonObject = field(default_factory=dict)


@fill_directly
@dataclass(frozen=True)
class ToolCall:
    """A call somebody proposes. `id` is the provider's own, kept so that results can be matched."""

    tool: str
    arguments: JsonObject = field(default_factory=dict)
    id: str = ""

    @cached_property
    def hash(self) -> str:
        return digest({"tool": self.tool, "arguments": self.arguments})


@dataclass(frozen=True, slots=True)
class EstablishedFact:
    """What a result said that a condition of the policy reads: `facts.get_order['12345'].status` is `paid`."""

    place: str
    value: Json


IntentKind = Literal["confirmation", "approval"]
IntentState = Literal["pending", "consumed", "denied", "superseded", "collected"]
"""`collected`: settled, and an agent of somebody else's that proposed the call has heard what became of it."""


@fill_directly
@dataclass(frozen=True, slots=True)
class Intent:
    """What a "yes" is bound to: exactly this call, as it was shown, for a while, once."""

    id: IntentId
    tenant: TenantId
    conversation: ConversationId
    kind: IntentKind
    call: ToolCall
    hash: str
    tool_version: str
    policy_version: str
    principal: str
    nonce: str
    question: str
    """The words that were shown; their digest is stored with the intent."""
    created_at: datetime
    expires_at: datetime
    question_seq: int = -1
    """Sequence number of the message that asked; set by the store."""
    state: IntentState = "pending"
    proposed_by: tuple[str, ...] = ()
    """Of an approval: whoever spoke in the conversation, as principal or by an account; completed by the store."""
    edited_by: tuple[str, ...] = ()
    """Of an approval: who changed the call, version by version."""
    keys_approve: bool = False
    """The policy lets API keys approve it, too."""
    facts: tuple[EstablishedFact, ...] = ()
    """Of an approval: what the call rests on."""

    @property
    def shown(self) -> str:
        """What stood before whoever says yes."""
        return self.question

    def is_still(self, spec: ToolSpec | None, policy_version: str) -> bool:
        """The call is the one that was shown, and neither its tool nor the policy has changed since."""
        return (
            spec is not None
            and spec.version == self.tool_version
            and policy_version == self.policy_version
            and self.call.hash == self.hash
        )


@fill_directly
@dataclass(frozen=True, slots=True)
class Opened:
    """The conversation as this worker found it, claimed for the length of the turn by `token`."""

    token: str
    mode: Mode
    language: Language | None
    history: tuple[Message, ...]
    next_seq: int
    intent: Intent | None
    """The newest intent of the conversation, in whatever state it is."""
    unsettled: tuple[Execution, ...] = ()
    """Calls of earlier turns that were started and whose outcome is not known."""
    happened: tuple[Execution, ...] = ()
    """Calls whose outcome nobody knew until a person said that they had happened."""
    paused_by: str = ""
    """The person who took the conversation over; the agent does not answer while they have it."""
    person: str | None = None
    """The tenant's own id of the end user whose conversation this is: the first that it was given."""
    waited: bool = False
    """The conversation was busy when the message came, or it is sent again and was written before the question:
    whatever was asked meanwhile, its sender had not read."""
    answered: TurnResult | None = None
    """Set when this very turn (by the client's key) was answered before."""
    before: tuple[Execution, ...] = ()
    """What this very turn changed, or may have changed, before it was broken off."""
    overtaken: bool = False
    """It was broken off, and another one was begun since."""
    wishes: JsonObject | None = None
    """What the user wanted when the last turn ended, as it wrote that down; None where nobody did."""


YesNo = Literal["confirm", "deny", "other"]


@fill_directly
@dataclass(frozen=True, slots=True)
class Screened:
    """The message, understood as far as code can: its language, and whether it answers a pending question."""

    incoming: Incoming
    opened: Opened
    language: Language
    answer: YesNo
    stop: ReasonCode | None = None
    """Set when nothing further should be spent on this message."""

    @property
    def person(self) -> str | None:
        """Whose conversation it is, whoever decides on something in it; None when nobody said."""
        return self.opened.person or self.incoming.person


# --- what the model sees and says -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of context with the key it is asked for by (`policies.returns`, `tool_schema:refund`)."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message in a model request. Tool results carry the id of the call they answer; `system` is what an application
    says in the middle of a talk."""

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""


Purpose = Literal["draft", "choose", "critique", "phrase", "analyse", "evaluate", "verify", "summarise"]


@dataclass(frozen=True, slots=True)
class FormRules:
    """How what comes back is read, where a request has a form."""

    decides: tuple[str, ...] | None = None
    """The fields without which the answer is asked for once more; None for all that the form requires."""
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """A field, and what else models call it, likeliest first; in lower case, with underscores."""
    other_words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """A field with choices, and what models say instead of one: their word (as above), and the choice."""
    exact: bool = False
    """The form permits something: of a text that is broken anywhere, nothing is read."""
    unread: bool = False
    """The form is a client's, who gets what the model wrote."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a client asks of its model beside the messages. None leaves it to the model, or to us."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: Mapping[str, int] = field(default_factory=dict)
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How long the model may think first."""
    verbosity: Literal["low", "medium", "high"] | None = None
    must_call: bool = False
    """One of the tools has to be called."""
    choices: tuple[str, ...] = ()
    """The tools among which the model may choose; empty for all."""
    one_call: bool = False
    """At most one call at a time."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call to a language model. `instructions` and `blocks` together are its system prompt."""

    purpose: Purpose
    prompt_id: str
    instructions: str
    messages: tuple[ChatMessage, ...]
    blocks: tuple[Block, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    listed: tuple[ToolSpec, ...] = ()
    """Tools that a block names without their schemas; a model that is weak is shown an example of each."""
    schema: JsonObject | None = None
    """When set, the reply must be one JSON object of this schema, as far as it can be mended into one."""
    reading: FormRules = FormRules()
    language: Language = "en"
    max_tokens: int | None = 1024
    temperature: float | None = 0.2
    options: ModelOptions = ModelOptions()
    """Its temperature and number of tokens are in the two above already."""

    @property
    def system(self) -> str:
        return "\n\n".join((self.instructions, *(f"## {block.key}\n{block.text}" for block in self.blocks)))


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model call cost. `estimated` where the provider did not count for us."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class ModelReply:
    text: str
    usage: ModelUsage
    calls: tuple[ToolCall, ...] = ()
    finish: Literal["stop", "length", "tool_calls", "filtered"] = "stop"
    mendings: tuple[str, ...] = ()
    """What had to be mended so that the answer fits the form that was asked for, one line each."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything the next draft is made from. Grows by context blocks and by tool results within a turn."""

    screened: Screened
    blocks: tuple[Block, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[ChatMessage, ...]
    rounds: int = 0
    full: bool = False
    """True once the whole business context is loaded."""
    listed: tuple[ToolSpec, ...] = ()
    """Tools of which the model sees one line each."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """How the model judges its own draft, on our 0-1 scale. It can only ever make the verdict stricter."""

    confidence: float
    tool_call: str | None = None
    tool_params: JsonObject = field(default_factory=dict)
    missing_params: tuple[str, ...] = ()
    is_destructive: bool = False
    needs_confirmation: bool = False
    needs_more_context: tuple[str, ...] = ()
    reasons: tuple[ReasonCode, ...] = ()
    """What the parser had to say: `ASSESSMENT_UNPARSABLE`, `ASSESSMENT_MISSING`, `ASSESSMENT_NOT_ENGLISH`."""
    by_user: bool = False
    """No model's guess: the call stands in the user's own words, and no second opinion is had on it."""

    @property
    def readable(self) -> bool:
        return ReasonCode.ASSESSMENT_UNPARSABLE not in self.reasons


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model proposes: words, at most one batch of calls, and how sure it is. Nothing has happened yet."""

    reply: str
    calls: tuple[ToolCall, ...] = ()
    assessment: Assessment | None = None
    disagreement: bool = False
    """The provider's native call and the assessment name different calls."""

    @property
    def wants_context(self) -> tuple[str, ...]:
        return self.assessment.needs_more_context if self.assessment else ()


# --- what the conversation has established so far -------------------------------------------------------------------


@fill_directly
@dataclass(frozen=True, slots=True)
class Utterance:
    """Words of the conversation that anyone could read: the user's, or the assistant's to the user."""

    speaker: Literal["user", "assistant"]
    text: str
    index: int


@fill_directly
@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that ran, with what came back. `trusted` is False when strangers can write what the tool returns."""

    call: ToolCall
    result: Json
    ok: bool
    trusted: bool
    index: int
    at: datetime | None = None
    vouched: bool = True
    """False when a client alone says that it ran, and the call that is ruled on is one that we run."""
    unknown: bool = False
    """Nobody knows whether it took effect."""
    same_person: bool = True
    """False when it ran for somebody else."""


@fill_directly
@dataclass(frozen=True)
class History:
    """The conversation as rules see it, oldest first: from the store in a live turn, from the file in an audit."""

    events: tuple[Utterance | PastCall, ...] = ()
    elsewhere: tuple[PastCall, ...] = ()
    """Calls of the tenant's other conversations, for limits over time. They ground and establish nothing here."""

    @cached_property
    def past_calls(self) -> tuple[PastCall, ...]:
        return tuple(event for event in self.events if isinstance(event, PastCall))

    @cached_property
    def utterances(self) -> tuple[Utterance, ...]:
        return tuple(event for event in self.events if isinstance(event, Utterance))

    @cached_property
    def letters(self) -> int:
        """How much was said."""
        return sum(len(event.text) for event in self.utterances)


# --- what code decides ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allow:
    kind: ClassVar[Literal["allow"]] = "allow"


@dataclass(frozen=True, slots=True)
class Confirm:
    """The call is complete and permitted, and waits for a yes."""

    kind: ClassVar[Literal["confirm"]] = "confirm"
    by: Literal["user", "colleague"] = "user"


@dataclass(frozen=True, slots=True)
class Ask:
    """Something that only the user knows is missing or wrong."""

    kind: ClassVar[Literal["ask"]] = "ask"
    missing: tuple[str, ...] = ()
    invalid: Mapping[str, str] = field(default_factory=dict)
    """Parameter name to what is wrong with its value."""
    named: tuple[str, ...] = ()
    """What is missing, as the page that asks for it calls it."""
    words: str = ""
    """The catalogue's key of the question, where none of the usual ones will do."""


@dataclass(frozen=True, slots=True)
class Escalate:
    kind: ClassVar[Literal["escalate"]] = "escalate"


@dataclass(frozen=True, slots=True)
class Deny:
    kind: ClassVar[Literal["deny"]] = "deny"
    problem: str = ""
    """Said to the model, in English, so that it can do better."""
    because: str = field(default="", compare=False)
    """The policy file's own sentence, which was written for people: the user hears it too."""
    look_up: bool = field(default=False, compare=False)
    """The model can mend it by itself, with a call that tells what is not known yet."""


Verdict = Allow | Confirm | Ask | Escalate | Deny
VerdictKind = Literal["allow", "confirm", "ask", "escalate", "deny"]
SEVERITY: Mapping[str, int] = {"allow": 0, "confirm": 1, "ask": 2, "escalate": 3, "deny": 4}


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """The one that holds. Of equals the first, so that the order of rules decides who speaks."""
    return max(verdicts, key=lambda verdict: SEVERITY[verdict.kind], default=Allow())


@fill_directly
@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What one rule said about a call."""

    rule: str
    verdict: Verdict
    reason: ReasonCode | None = None


@fill_directly
@dataclass(frozen=True, slots=True)
class Enforced:
    """A call as policy left it. `act` takes nothing else, and only `enforce` makes one (a test reads the source).

    `call` holds the materialised arguments: what will run, not what was proposed.
    """

    call: ToolCall
    spec: ToolSpec | None
    verdict: Verdict
    findings: tuple[RuleFinding, ...]
    effect: Effect
    confidence: float | None
    policy_version: str
    recovery: Recovery = "blind"
    intent: Intent | None = None
    """The confirmed intent that this call consumes when it runs."""
    critique: bool = False
    """Code says that a second opinion pays."""
    established: Callable[[], tuple[EstablishedFact, ...]] = tuple
    """What the conditions read of earlier results, for whoever is asked for approval."""
    doubt: str = ""
    """What a second opinion would have the user asked, or a person told: a model's words."""
    wholes: Mapping[str, str] = field(default_factory=dict)
    """What parameters that the call leaves open come to, as people read it."""

    @property
    def reasons(self) -> tuple[ReasonCode, ...]:
        """Why, the deciding reason first."""
        by_weight = sorted(self.findings, key=lambda finding: -SEVERITY[finding.verdict.kind])
        return tuple(dict.fromkeys(finding.reason for finding in by_weight if finding.reason))

    def tighten(self, finding: RuleFinding, *, doubt: str = "") -> Enforced:
        """The same call after one more opinion. An opinion can hold a call; it cannot let one through."""
        verdict = strictest((self.verdict, finding.verdict))
        return replace(self, findings=(*self.findings, finding), verdict=verdict, doubt=doubt or self.doubt)

    def with_whole(self, parameter: str, amount: str) -> Enforced:
        """The same call, with what a parameter that it leaves open comes to."""
        return replace(self, wholes={**self.wholes, parameter: amount})


@dataclass(frozen=True, slots=True)
class Critique:
    """The second opinion, on the wire in English only."""

    decision: Literal["PROCEED", "ASK_USER", "ESCALATE"]
    reasoning: str = ""
    message: str = ""


# --- what happened --------------------------------------------------------------------------------------------------

ExecutionState = Literal["started", "succeeded", "failed", "indeterminate", "delegated"]
"""`delegated`: let through and handed to the client, which has not said yet what came of it."""
Runner = Literal["us", "client", "import", "test"]
"""`client`: handed to the client, which says what came of it; `import`: it stands in a history that a client sent."""


ToldOutcome = Literal["happened", "not", "unknown"]
"""What a person says of a call whose outcome is not known."""


@fill_directly
@dataclass(frozen=True, slots=True)
class Execution:
    """A row of the ledger: written before the tool is called, completed after."""

    id: ExecutionId
    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    call: ToolCall
    effect: Effect
    recovery: Recovery
    state: ExecutionState
    token: str
    lease_until: datetime
    started_at: datetime
    finished_at: datetime | None = None
    intent: IntentId | None = None
    result: Json = None
    error: str = ""
    reason: ReasonCode | None = None
    runner: Runner = "us"

    @property
    def key(self) -> str:
        """The idempotency key a tool receives."""
        return self.id


@dataclass(frozen=True, slots=True)
class Escalation:
    """A conversation handed to a person, and why."""

    reason: ReasonCode
    summary: str
    suggestion: str = ""
    """What an answer could be made from."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """What a number in brackets of an answer stands for."""

    number: int
    document: str
    title: str
    section: str
    page: int | None
    quote: str
    """The passage, as the document has it."""
    score: float
    """How well it was found to fit what was asked, 0 to 1."""

    def to_json(self) -> SourceJson:
        return {
            "number": self.number,
            "document": self.document,
            "title": self.title,
            "section": self.section,
            "page": self.page,
            "quote": self.quote,
            "score": self.score,
        }


@fill_directly
@dataclass(frozen=True, slots=True)
class Reply:
    """How the turn ends: the words for the user and what they amount to."""

    outcome: TurnOutcome
    text: str
    intent: Intent | None = None
    """A question was asked; a yes will be bound to this."""
    escalation: Escalation | None = None
    dropped: IntentId | None = None
    """A pending intent that was turned down."""
    calls: tuple[ToolCall, ...] = ()
    """Calls that the client is to run now; their ids are ours."""
    sources: tuple[AnswerSource, ...] = ()
    """What the numbers in brackets stand for."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What was found out about a scene before anything is drafted."""

    reply: Reply | None = None
    """Set when the turn ends here: something that only the user knows is missing."""
    findings: str = ""
    """What was looked up. Strangers wrote it."""
    withheld: frozenset[str] = frozenset()
    """Tools that the draft may not use, because what was found could not be checked."""


class UsageJson(TypedDict):
    mode: Mode
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    estimated: bool
    critiques: int
    context_rounds: int


@fill_directly
@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn cost, summed over all of its model calls."""

    mode: Mode
    calls: tuple[ModelUsage, ...] = ()
    critiques: int = 0
    context_rounds: int = 0

    @property
    def input_tokens(self) -> int:
        return sum(call.input_tokens for call in self.calls)

    @property
    def output_tokens(self) -> int:
        return sum(call.output_tokens for call in self.calls)

    @property
    def cost_usd(self) -> float:
        return sum(call.cost_usd for call in self.calls)

    def to_json(self) -> UsageJson:
        return {
            "mode": self.mode,
            "model_calls": len(self.calls),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": round(self.cost_usd, 8),
            "estimated": any(call.estimated for call in self.calls),
            "critiques": self.critiques,
            "context_rounds": self.context_rounds,
        }


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the journal as it is stored, as an internal message. `journal.read_event` makes an event of it."""

    kind: EntryKind
    content: str
    reason: ReasonCode | None = None
    meta: JsonObject = field(default_factory=dict)


class TimeFormat:
    """Says in the API's description that a text is a time: pydantic asks by this method."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {**handler(schema), "format": "date-time"}


class PendingJson(TypedDict):
    """A call that waits for a yes: exactly this, and for how long."""

    intent_id: IntentId
    kind: IntentKind
    tool: str
    arguments: Mapping[str, Any]
    hash: str
    expires_at: Annotated[str, TimeFormat()]


class SourceJson(TypedDict):
    """What a number in brackets, like [1], stands for: a passage of one of the tenant's documents."""

    number: int
    document: str
    title: str
    section: str
    page: int | None
    quote: str
    score: float


class TurnJson(TypedDict):
    """What the turn came to."""

    turn_id: TurnId
    outcome: TurnOutcome
    reply: str
    reason_codes: list[ReasonCode]
    pending: PendingJson | None
    usage: UsageJson
    sources: list[SourceJson]


@fill_directly
@dataclass(frozen=True, slots=True)
class TurnResult:
    """What the caller gets. `to_json` is what `POST /v1/conversations/{id}/messages` answers."""

    turn: TurnId
    conversation: ConversationId
    outcome: TurnOutcome
    reply: str
    reason_codes: tuple[ReasonCode, ...]
    pending: Intent | None
    usage: Usage
    language: Language = "en"
    entries: tuple[JournalEntry, ...] = ()
    """The journal, for debug views; never part of `to_json`."""
    calls: tuple[ToolCall, ...] = ()
    """Calls that the client is to run now."""
    sources: tuple[AnswerSource, ...] = ()
    """What the numbers in brackets of the reply stand for."""
    lost: bool = False
    """What the turn came to is written down nowhere and nothing was changed: the message has to be sent again."""
    late: bool = False
    """A colleague's decision on what was decided before: no turn was begun, and nothing is written down."""

    def to_json(self) -> TurnJson:
        return {
            "turn_id": self.turn,
            "outcome": self.outcome,
            "reply": self.reply,
            "reason_codes": list(self.reason_codes),
            "pending": None
            if self.pending is None
            else {
                "intent_id": self.pending.id,
                "kind": self.pending.kind,
                "tool": self.pending.call.tool,
                "arguments": self.pending.call.arguments,
                "hash": self.pending.hash,
                "expires_at": self.pending.expires_at.isoformat(),
            },
            "usage": self.usage.to_json(),
            "sources": [one.to_json() for one in self.sources],
        }
