"""The MCP gateway: a tenant's tools behind its policy, for any MCP client.

A call is ruled on like any other; what is allowed runs and its result comes back. What needs a yes is asked of the
client's own user where the client can ask (elicitation, in either of the protocol's ways); otherwise it waits for a
colleague. A held call answers "pending", and the same call made again attaches to it: still pending, or what became
of it, once. An MCP client does not tell us what its user said, so values cannot be traced to words here; every rule
about the call itself holds.

A session is a conversation. What one session looked up satisfies no rule in another; what it left pending is its
client's, and attaches to the same call in any later session, because approvals may take days.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mcp_types as mcp
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from circumspect import __version__
from circumspect.journal import ExecutionEvent, LookEvent, RulingEvent, find_events, read_event
from circumspect.policy.arguments import find_missing, find_problems, materialise
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.rules import RULES_FOR_BARE_CALLS
from circumspect.prompts import prompt
from circumspect.server.end_users import EndUser
from circumspect.server.services import Services
from circumspect.server.stores import approvals
from circumspect.server.stores.approvals import HeldCall
from circumspect.setup import TurnSetup
from circumspect.stores.codec import dumps
from circumspect.values import (
    ConversationId,
    Errand,
    Incoming,
    Intent,
    Json,
    JsonObject,
    OutsideCall,
    PersonDecision,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
    TurnResult,
)

GatewayContext = ServerRequestContext[Any, Any]
Elicit = Callable[[str, GatewayContext], Awaitable[mcp.ElicitResult]]
"""Puts a question before the client's user, with the form that asks for a yes, and waits for what comes back."""
ASKED = "confirm"
YES_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Yes, do exactly this"}},
    "required": ["confirm"],
}


async def elicit_in_session(question: str, context: GatewayContext) -> mcp.ElicitResult:
    """For a client at the other end of a pipe."""
    return await context.session.elicit_form(question, YES_FORM, context.request_id)


@dataclass(frozen=True)
class Gateway:
    """One session of one client with one tenant. The conversation is where its calls are kept."""

    services: Services
    tenant: TenantId
    conversation: ConversationId
    client: str
    """Whose it is: a login, the name that its configuration gives it, an API key, or the person whom a token names."""
    account: str = ""
    """By which account it came, where that is not the client. It approves nothing that it proposed."""
    speaker: EndUser = field(default_factory=EndUser)
    """The client's user, where a signed token says who that is."""
    elicit: Elicit = elicit_in_session

    @property
    def principal(self) -> str:
        """The prefix keeps a client apart from an end user or an operator of the same name."""
        return f"mcp:{self.client}"

    def server(self) -> Server[Any]:
        return Server(
            "circumspect",
            version=__version__,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def _setup(self) -> TurnSetup:
        return replace(await self.services.directory.setup(self.tenant), rules=RULES_FOR_BARE_CALLS)

    async def list_tools(self, _: GatewayContext, __: mcp.PaginatedRequestParams | None) -> mcp.ListToolsResult:
        setup = await self._setup()
        shown = [_tool(spec, setup) for spec in setup.tools.values() if spec.configured]
        return mcp.ListToolsResult(tools=shown)

    async def call_tool(
        self, context: GatewayContext, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        setup = await self._setup()
        spec = setup.tools.get(params.name)
        given: JsonObject = params.arguments or {}
        call = ToolCall(params.name, materialise(spec, given)[0] if spec else given)
        waiting = await self.services.store.tx(
            approvals.waiting_call, self.tenant, self.principal, call.hash, self.services.clock.now()
        )
        if waiting is None:
            errand = OutsideCall(call, _can_ask(context))
            return await self._report_turn(await self._run(errand, self.conversation, setup), context, setup)
        answer = _answer(params, waiting.intent)
        if answer is not None and waiting.intent.state == "pending":
            return await self._report_turn(await self._decide(waiting.intent, answer, setup), context, setup)
        if waiting.intent.state == "pending" and _was_closed(params, waiting.intent):
            # Asked again at once, whoever closed it would close it again until their client gives up.
            return _text(_pending(waiting.intent), status="pending", intent=waiting.intent.id)
        return await self._report_waiting_call(waiting, context, setup)

    async def _report_waiting_call(
        self, waiting: HeldCall, context: GatewayContext, setup: TurnSetup
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        """The call was made before: what has become of it."""
        intent, ran = waiting.intent, waiting.execution
        if intent.state == "pending":
            return await self._ask_user(intent, context, setup)
        if ran is not None and ran.state == "started":
            return _text(prompt("gateway-running").text, status="pending")
        await self.services.store.tx(approvals.collect, self.tenant, intent.id)
        if intent.state == "denied" or ran is None:
            return _text(prompt("gateway-declined").text, status="declined", wrong=True)
        return _outcome(ran.state, ran.result, ran.error)

    async def _ask_user(
        self, intent: Intent, context: GatewayContext, setup: TurnSetup
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        """Ask the client's user, in the way its protocol has; or say that it waits for somebody else."""
        if intent.kind == "approval" or not _can_ask(context):
            return _text(_pending(intent), status="pending", intent=intent.id)
        form = mcp.ElicitRequestFormParams(message=intent.question, requested_schema=YES_FORM)
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return mcp.InputRequiredResult(
                input_requests={ASKED: mcp.ElicitRequest(params=form)}, request_state=str(intent.id)
            )
        decided = _parse_consent(await self.elicit(intent.question, context))
        if decided is None:
            return _text(_pending(intent), status="pending", intent=intent.id)
        return await self._report_turn(await self._decide(intent, decided, setup), context, setup)

    async def _decide(self, intent: Intent, yes: bool, setup: TurnSetup) -> TurnResult:
        decision = PersonDecision(intent.id, "approve" if yes else "deny", self.principal)
        result = await self._run(decision, intent.conversation, setup)
        # Its proposer hears of it now.
        await self.services.store.tx(approvals.collect, self.tenant, intent.id)
        return result

    async def _run(self, errand: Errand, conversation: ConversationId, setup: TurnSetup) -> TurnResult:
        services = self.services
        incoming = Incoming(
            tenant=self.tenant,
            conversation=conversation,
            turn=TurnId(services.ids.new("turn")),
            text="",
            at=services.clock.now(),
            principal=self.principal,
            person=self.speaker.person,
            claims=self.speaker.claims,
            account=self.account or self.client,
            errand=errand,
        )
        return await services.turns.take(incoming, setup)

    async def _report_turn(
        self, result: TurnResult, context: GatewayContext, setup: TurnSetup
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        """What a turn came to, for a model of somebody else's."""
        if result.pending is not None:
            return await self._ask_user(result.pending, context, setup)
        events = map(read_event, reversed(result.entries))
        ran = next((event for event in events if isinstance(event, ExecutionEvent | LookEvent)), None)
        if isinstance(ran, ExecutionEvent):
            return _outcome(ran.state, ran.result, ran.error)
        if result.outcome == "answered":
            return _text(prompt("gateway-declined").text, status="declined", wrong=True)
        ruled = next(find_events(reversed(result.entries), RulingEvent), None)
        problem = (ruled.problem if ruled else "") or result.reply or _name_values(ruled, setup)
        reasons = ", ".join(str(code) for code in result.reason_codes)
        return _text(prompt("gateway-held").render(problem=problem, reasons=reasons), status="held", wrong=True)


# --- in the protocol's words ----------------------------------------------------------------------------------------


def _tool(spec: ToolSpec, setup: TurnSetup) -> mcp.Tool:
    effect = effect_of(spec, setup.policy.of(spec.name, setup.tenant.id))
    hints = mcp.ToolAnnotations(
        read_only_hint=effect == "read",
        destructive_hint=effect not in ("read", "write"),
        idempotent_hint=False,
        open_world_hint=spec.open_world,
    )
    schema = {"type": "object", **dict(spec.parameters)}
    return mcp.Tool(name=spec.name, description=spec.description, input_schema=schema, annotations=hints)


def _name_values(ruled: RulingEvent | None, setup: TurnSetup) -> str:
    """What the call left out or wrote in another form: its model has to ask, nobody here knows its user."""
    spec = setup.ports.tools.specs().get(ruled.tool) if ruled else None
    if ruled is None or spec is None:
        return ""
    names = dict.fromkeys((*find_missing(spec, ruled.arguments), *find_problems(spec, ruled.arguments)))
    return prompt("gateway-values").render(names=", ".join(names)) if names else ""


def _can_ask(context: GatewayContext) -> bool:
    """The client has a user and can put a form before them."""
    known = context.session.client_capabilities
    if known is None or not shows_forms(known):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def shows_forms(known: mcp.ClientCapabilities) -> bool:
    """Elicitation that names no mode is by form; one that names only others is not."""
    named = known.elicitation
    return named is not None and (named.form is not None or named.url is None)


def _pending(intent: Intent) -> str:
    return prompt("gateway-pending").render(action=f"{intent.call.tool} {dumps(intent.call.arguments).strip()}")


def _answer(params: mcp.CallToolRequestParams, intent: Intent) -> bool | None:
    """The user's answer that a retried call brings; only to the question that was asked."""
    if params.request_state != intent.id or intent.kind != "confirmation":
        return None
    given = (params.input_responses or {}).get(ASKED)
    return _parse_consent(given) if isinstance(given, mcp.ElicitResult) else None


def _was_closed(params: mcp.CallToolRequestParams, intent: Intent) -> bool:
    """The retried call says that its form was closed with no answer."""
    given = (params.input_responses or {}).get(ASKED)
    return params.request_state == intent.id and isinstance(given, mcp.ElicitResult) and given.action == "cancel"


def _parse_consent(answer: mcp.ElicitResult) -> bool | None:
    """Yes is exactly what the form asks for. Anything else that comes back filled in, "no" and "false" among it, is a
    no: a client that does not keep to the form has not shown it to anybody as it is."""
    match answer.action:
        case "accept":
            content = answer.content or {}
            return content.keys() == {"confirm"} and content["confirm"] is True
        case "decline":
            return False
        case _:
            return None


def _outcome(state: str, result: Json, error: str) -> mcp.CallToolResult:
    match state:
        case "succeeded":
            return _to_tool_result(result)
        case "failed":
            return mcp.CallToolResult(content=[mcp.TextContent(text=error)], is_error=True)
        case _:
            return _text(prompt("gateway-unknown").text, status="unknown", wrong=True)


def _to_tool_result(result: Json) -> mcp.CallToolResult:
    text = result if isinstance(result, str) else dumps(result).strip()
    structured = dict(result) if isinstance(result, Mapping) else None
    return mcp.CallToolResult(content=[mcp.TextContent(text=text)], structured_content=structured)


def _text(text: str, *, wrong: bool = False, **meta: str) -> mcp.CallToolResult:
    """`meta` says it to programs: `io.circumspect/status` and the like."""
    said: Sequence[tuple[str, str]] = [(f"io.circumspect/{name}", value) for name, value in meta.items()]
    return mcp.CallToolResult(content=[mcp.TextContent(text=text)], is_error=wrong, _meta=dict(said))
