"""The tenant file's model: everything about one tenant in one place. `reading.py` reads it, `applying.py` stores it.

What is stored of it is split in two: the `Tenant` that a turn knows, and `TenantSettings`, what a server does for it.
The policy is stored apart, by version, and so are secrets, sealed. The file names where a secret comes from and never
holds one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from circumspect.policy.keys.meaning import FileSection
from circumspect.policy.keys.tool_policy import UnitShare
from circumspect.profiles import PROFILES, STANDARD
from circumspect.server.tenants.business_section import BusinessToolsSection
from circumspect.server.tenants.end_user_keys import EndUsersSection
from circumspect.server.tenants.understanding_section import UnderstandingSection
from circumspect.tools.client_definition import CopiedDefinition
from circumspect.tools.http_definition import HttpToolDefinition
from circumspect.tools.mcp_definition import McpDefinition
from circumspect.values import Business, Faq, Json, Language, Mode, Plan, Profile, Purpose, Tenant, TenantId

LongText = Annotated[str, Field(max_length=100_000)]
ShortText = Annotated[str, Field(max_length=1_000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
FileTenantId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
PromptName = Annotated[str, Field(pattern=r"^[a-z_/-]{1,64}$")]
PromptId = Annotated[str, Field(pattern=r"^[a-z_/-]{1,64}@[0-9a-f]{8}$")]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
AnswerName = Annotated[str, Field(pattern=r"^[^\n\x00]{1,80}$")]
FilePath = Annotated[str, Field(pattern=r"^[^\n\x00]{1,1000}$")]
NotifyTopic = Literal["escalation", "approval", "indeterminate", "resolved"]


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as problem:
        raise ValueError(f"this is not a regular expression: {problem}") from None
    return text


def _plan(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Regex = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]


class PlanSection(FileSection):
    name: Name
    """What the plan is called: free, pro and enterprise are there from the start."""
    mode: Mode | None = None
    """How turns are processed: standard or adaptive. Changing it changes every tenant that has the plan."""
    multiplier: Annotated[float, Field(ge=0, le=1_000)] | None = None
    """What the cost of a tenant's turns is multiplied by on its bill."""
    quota: Annotated[int, Field(ge=0, le=999_999_999)] | None = None
    """How many messages a month (UTC) each tenant of the plan has; null lifts it."""
    message_price: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] | None = None
    """What each message costs on the bill, in US dollars, beside the models' cost."""


class FaqSection(FileSection):
    q: LongText
    """The question."""
    a: LongText
    """The answer."""


class BusinessSection(FileSection):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    """What the business is called. The agent speaks in this name."""
    description: LongText = ""
    """One or two sentences: what it is and does."""
    hours: ShortText = ""
    """When it is open, in words."""
    phone: ShortText = ""
    """A phone number to give out."""
    email: ShortText = ""
    """An e-mail address to give out."""
    about: LongText = ""
    """More about the business, shown to the model when it asks for it."""
    contact: LongText = ""
    """Addresses, directions, who answers where."""
    policies: Mapping[str, LongText] = Field(default_factory=dict)
    """Texts by name, for people: returns, shipping, privacy, terms."""
    faqs: tuple[FaqSection, ...] = ()
    """Questions and answers: `- {q: ..., a: ...}`."""
    instructions: LongText = ""
    """How the agent should behave: tone, what to say and what not."""


class ToolSection(FileSection):
    """One source of tools: exactly one of `python`, `http`, `mcp`, `business` and `client`."""

    python: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")] | None = None
    """`package.module:name` of a tool, a list of tools, or a function that takes a ToolContext and returns tools."""
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Handed to that function as `context.options`."""
    http: HttpToolDefinition | None = None
    """A tool that is one HTTP request: `circumspect docs tools`."""
    mcp: McpDefinition | None = None
    """An MCP server whose tools are used: `circumspect docs tools`."""
    business: BusinessToolsSection | None = None
    """CRM, calendar and mail: `circumspect docs business-tools`."""
    client: CopiedDefinition | None = None
    """A tool that clients bring along and run themselves; or the path of a JSON file that defines several."""

    @model_validator(mode="after")
    def _one(self) -> ToolSection:
        if sum(kind is not None for kind in (self.python, self.http, self.mcp, self.business, self.client)) != 1:
            raise ValueError("write exactly one of python, http, mcp, business and client")
        if self.options and self.python is None:
            raise ValueError("options belong to python")
        return self


class SecretSection(FileSection):
    """Where a secret comes from, read when the file is applied: exactly one of `env` and `file`."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """The name of an environment variable."""
    file: FilePath | None = None
    """The path of a file, whose text without the last line break is the secret."""

    @model_validator(mode="after")
    def _one(self) -> SecretSection:
        if (self.env is None) == (self.file is None):
            raise ValueError("write exactly one of env and file")
        return self


class WebhookSection(FileSection):
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$", max_length=2_000)]
    """Where it is sent: POST with a JSON body."""
    secret: Name
    """The name of the secret that signs it."""
    topics: tuple[NotifyTopic, ...] = ("escalation", "approval", "indeterminate")
    """What is sent: escalation, approval, indeterminate, resolved."""


class EmailSection(FileSection):
    to: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$", max_length=254)], ...],
        Field(min_length=1, max_length=50),
    ]
    """Addresses."""
    topics: tuple[NotifyTopic, ...] = ("escalation", "approval", "indeterminate")
    """What is sent: escalation, approval, indeterminate, resolved."""


class NotifySection(FileSection):
    webhooks: tuple[WebhookSection, ...] = ()
    """Addresses of your own systems."""
    emails: tuple[EmailSection, ...] = ()
    """People."""


class WidgetSection(FileSection):
    origins: Annotated[
        tuple[Annotated[str, Field(pattern=r"^https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?$", max_length=300)], ...],
        Field(max_length=50),
    ] = ()
    """Sites that may show the chat: `https://shop.example`, `https://*.shop.example`. Without any, none may."""
    name: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f]*$")] | None = None
    """What stands above the chat; without it the business's name."""
    colour: Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")] | None = None
    """The brand's colour, `#3450c8`. What is written on it or in it is made dark or light enough to be read."""
    greeting: Mapping[Language, Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]] = Field(
        default_factory=dict
    )
    """What the chat says first, by language: `en: Hello!`; without it, words of our own."""


class BrowserSection(FileSection):
    """How the agent acts on web pages: `circumspect docs browser`."""

    search: ShortText | None = None
    """Where is searched: documents (the tenant's own), tavily, searxng:URL or none; without it, the server's."""
    widening: bool = True
    """A search that finds too little on the page's own site may go beyond it."""
    searches: Annotated[int, Field(ge=0, le=3)] = 3
    """At most so many searches for one message."""
    smart: ShortText | None = None
    """The model that thinks; without it the tenant's."""
    smart_fallback: ShortText | None = None
    """Thinks when that one cannot be had."""
    fast: ShortText | None = None
    """The model that words actions and summaries; without it the one that thinks."""
    smart_temperature: Temperature | None = None
    """How freely the model that thinks chooses its words, 0 to 2; without it the server's, 0.3."""
    fast_temperature: Temperature | None = None
    """How freely the other one does, 0 to 2; without it the server's, 0.7."""


class TemperaturesSection(FileSection):
    """How freely a model chooses its words, 0 to 2, by what it is asked for. Without it, as the step has it."""

    draft: Temperature | None = None
    """The reply and the calls it proposes; what a client asks for itself counts more."""
    analyse: Temperature | None = None
    """What a message wants, and which way it goes."""
    choose: Temperature | None = None
    """Which of the tools, where a model cannot be given them."""
    critique: Temperature | None = None
    """The second opinion."""
    phrase: Temperature | None = None
    """A question or a result, put into words."""

    def by_purpose(self) -> dict[Purpose, float]:
        named: dict[Purpose, float | None] = {
            "draft": self.draft,
            "analyse": self.analyse,
            "choose": self.choose,
            "critique": self.critique,
            "phrase": self.phrase,
        }
        return {purpose: value for purpose, value in named.items() if value is not None}


class ReviewSection(FileSection):
    """How cases are reviewed: `circumspect docs review`."""

    controller: Literal["auto", "react", "heuristic"] = "auto"
    """Who decides a case whose request names nobody and that is in no experiment: the tenant's model (react), code
    alone (heuristic), or a model where there is one (auto)."""


class ClientsSection(FileSection):
    """Chat clients of other makers: `circumspect docs clients`."""

    models: Mapping[Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")], ShortText] = Field(default_factory=dict)
    """Names that clients ask for, and the model that each stands for: `gpt-4o: openai:gpt-4o`. Every other name gets
    the tenant's model."""
    passthrough: Literal["never", "on_request", "always"] | None = None
    """Whether a client's agent keeps its prompt, tools and options, and only its calls are ruled on and its replies
    checked. Without it on request, and never where messages are understood first."""


class TenantSettings(FileSection):
    """What a server does for a tenant, beside answering. This is what the store keeps as `settings`."""

    model: ShortText | None = None
    """The model that answers, `openai:gpt-4o`; without it the server's."""
    tools: tuple[ToolSection, ...] = ()
    """What the agent can do, from Python, HTTP and MCP; and what its clients can do."""
    understanding: UnderstandingSection | None = None
    """How messages are understood before anything is drafted; without it, they are not."""
    prompts: Annotated[Mapping[PromptName, PromptId], Field(max_length=100)] = Field(default_factory=dict)
    """Versions of prompts in place of those that come with the package: `adaptive: adaptive@1a2b3c4d`."""
    temperatures: TemperaturesSection = TemperaturesSection()
    """How freely the model chooses its words, by what it is asked for."""
    confirm_seconds: Annotated[float, Field(ge=10, le=30 * 24 * 3_600)] = STANDARD.confirm_seconds
    """How many seconds a question waits for the user's yes: 10 to 2592000 (30 days)."""
    escalate_failures: bool | None = None
    """Whether a person gets the conversation when the model cannot be had. Without it, where the profile is service."""
    hand_over_apologies: bool = False
    """Whether a person gets the conversation after three replies in a row that are sorry or do not know."""
    review: ReviewSection = ReviewSection()
    """How cases are reviewed (`/v1/evaluations`)."""
    browser: BrowserSection | None = None
    """How it acts on web pages (`/v1/agent/interact`); without it, as the defaults are."""
    clients: ClientsSection = ClientsSection()
    """How chat clients of other makers are served: `circumspect docs clients`."""
    notify: NotifySection = NotifySection()
    """Who hears of escalations and approvals."""
    saved_answers: Annotated[Mapping[AnswerName, LongText], Field(max_length=200)] = Field(default_factory=dict)
    """What colleagues say often, by name: whoever took a conversation over puts one in with a click."""
    policies_need_two: bool = False
    """Whether a policy is put in force by another operator than who wrote it, from a draft. Keys then put none."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Conversations are deleted so many days after their last message; without it they are kept."""
    redact: tuple[Regex, ...] = ()
    """Regular expressions: what they match is struck from logs and traces."""
    rate_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """How many requests a minute are answered; without it the server's limit."""
    widget: WidgetSection = WidgetSection()
    """The chat on the tenant's own web pages: `circumspect docs widget`."""
    end_users: EndUsersSection = EndUsersSection()
    """Who vouches for end users: `circumspect docs access`."""


class TenantFile(TenantSettings):
    """A tenant file as it is written."""

    version: Literal[1] = 1
    """Version of the file's format."""
    id: FileTenantId
    """The tenant's id. It never changes; another id is another tenant."""
    language: Language = "en"
    """What the agent speaks when a message does not tell: the code of a language."""
    plan: Annotated[PlanSection, BeforeValidator(_plan, json_schema_input_type=str | PlanSection)] = PlanSection(
        name="pro"
    )
    """The plan's name; or `{name, mode, multiplier, quota, message_price}`, which makes or changes the plan itself."""
    business: BusinessSection
    """What the agent may know about the business."""
    enabled_tools: tuple[Name, ...] | None = None
    """The tools that may be used, by name; without it all of them."""
    adaptive_share: UnitShare = 1.0
    """Share of the conversations that get the plan's adaptive mode, 0 to 1."""
    policy: FilePath | Mapping[str, Any] | None = None
    """What the tools may do: the path of a policy file, or the policy itself. Without it, what they declare holds."""
    documents: tuple[FilePath, ...] = ()
    """Files that the agent may answer from, by path; * stands for any letters."""
    secrets: Mapping[Name, SecretSection] = Field(default_factory=dict)
    """Where each secret comes from: `crm_token: {env: CRM_TOKEN}`. The value is stored sealed."""

    def settings_document(self) -> dict[str, Json]:
        """As the store keeps it. What was not said is left out, so that a default may change with the version."""
        said: dict[str, Json] = self.model_dump(
            mode="json", exclude_unset=True, by_alias=True, include=set(TenantSettings.model_fields)
        )
        return said

    def tenant(self, plan: Plan) -> Tenant:
        business = self.business
        return Tenant(
            id=TenantId(self.id),
            business=Business(
                **{
                    **{name: getattr(business, name) for name in BusinessSection.model_fields},
                    "policies": dict(business.policies),
                    "faqs": tuple(Faq(question=one.q, answer=one.a) for one in business.faqs),
                }
            ),
            plan=plan,
            language=self.language,
            tools=None if self.enabled_tools is None else frozenset(self.enabled_tools),
            adaptive_share=self.adaptive_share,
        )


def profiles_of(settings: TenantSettings) -> Mapping[Mode, Profile]:
    """How turns are run in each mode, as far as the tenant has a say."""
    hand_over = settings.escalate_failures
    if hand_over is None:
        hand_over = settings.understanding is not None and settings.understanding.profile == "service"
    return {
        mode: replace(
            one,
            confirm_seconds=settings.confirm_seconds,
            escalate_failures=hand_over,
            hand_over_apologies=settings.hand_over_apologies,
        )
        for mode, one in PROFILES.items()
    }


def read_settings(document: Mapping[str, Json]) -> TenantSettings:
    return TenantSettings.model_validate(document)
