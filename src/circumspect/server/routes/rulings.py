"""`/v1/rulings`: may this call of your agent's run? And `/v1/replies/check`: is it so, what your agent says?

The agent, its model and its tools stay where they are. It sends the call with the conversation so far and gets a
ruling; it puts the question to its user, sends the answer, runs what is allowed, and says what came of it. Everything
is kept with the tenant's other conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fastapi import Request
from starlette.responses import Response

from circumspect.aside import compute_aside, weigh_value
from circumspect.audit.tool_defs import BadTools, specs_of
from circumspect.errors import ConfigError
from circumspect.gate import CallHeld, Gate, Ruling
from circumspect.ports import Clock, Ids
from circumspect.server.access import Caller, ChatCaller, services_of
from circumspect.server.brought_tools import check_schemas
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import KEY, IdPath, describe_route, resource, to_response
from circumspect.server.schemas.rulings import (
    AnswerGiven,
    ReplyChecked,
    ReplyToCheck,
    ResultGiven,
    ResultNoted,
    RulingShown,
    RulingWanted,
)
from circumspect.server.services import Services
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.stores.people import require_own_conversation
from circumspect.values import ConversationId, ToolSpec

router = resource("rulings")


@router.post("/v1/rulings", **describe_route(RulingShown, 400, 404, 409, security=KEY))
async def rule(request: Request, who: ChatCaller, given: RulingWanted) -> Response:
    """Hold a call against the tenant's policy. The same call again, while it waits or was not run yet, gets the same
    ruling."""
    services = services_of(request)
    speaker = who.identify(given.person)
    gate = await _open_gate(services, who, given.tools)
    ruling = await gate.rule(
        given.call.model_dump(),
        messages=given.messages,
        conversation=given.conversation,
        person=speaker.person,
        account=who.name,
        claims=speaker.claims,
    )
    add_log_context(tenant=who.tenant, turn=ruling.id)
    return to_response(ruling.to_json())


@router.get("/v1/rulings/{ruling_id}", **describe_route(RulingShown, 404, security=KEY))
async def get_ruling(request: Request, who: ChatCaller, ruling_id: IdPath, person: str | None = None) -> Response:
    """What a ruling has come to since: a colleague may have decided."""
    gate = await _open_gate(services_of(request), who)
    return to_response((await _find(gate, ruling_id, who.identify(person).person)).to_json())


@router.post("/v1/rulings/{ruling_id}/answer", **describe_route(RulingShown, 400, 403, 404, 409, security=KEY))
async def answer_ruling(request: Request, who: ChatCaller, ruling_id: IdPath, given: AnswerGiven) -> Response:
    """The user's answer to the question of a ruling: in words, or pressed. A yes counts for exactly that call, once,
    while the question is fresh. What waits for a colleague is decided at `/v1/approvals`."""
    speaker = who.identify(given.person)
    gate = await _open_gate(services_of(request), who)
    asked = await _find(gate, ruling_id, speaker.person)
    if asked.intent is None:
        raise HttpProblem(409, "nothing_asked", "That ruling asks for no yes.", fix="Rule on the call again.")
    if asked.intent.kind == "approval":
        raise HttpProblem(
            409, "for_a_colleague", "This call waits for a colleague.", fix="An operator decides: /v1/approvals."
        )
    answered = await gate.answer(
        asked.intent, given.text, approve=given.approve, person=speaker.person, claims=speaker.claims
    )
    add_log_context(tenant=who.tenant, turn=answered.id)
    return to_response(answered.to_json())


@router.post("/v1/rulings/{ruling_id}/result", **describe_route(ResultNoted, 400, 404, 409, security=KEY))
async def note_result(request: Request, who: ChatCaller, ruling_id: IdPath, given: ResultGiven) -> Response:
    """What came of a call that was allowed. Said once: what was said first stays."""
    gate = await _open_gate(services_of(request), who)
    ruling = await _find(gate, ruling_id, who.identify(given.person).person)
    try:
        if not ruling.allowed and ruling.execution is None:  # what was let through and taken back may have run
            raise CallHeld(ruling)
        state = await gate.ran(ruling, given.result, error=given.error, not_run=given.not_run)
    except CallHeld as held:  # also what only read when it was ruled on, and by now changes something
        raise HttpProblem(409, held.code, "That call was not let through.", fix="Run only what is allowed.") from None
    return to_response({"state": state})


@router.post("/v1/replies/check", **describe_route(ReplyChecked, 400, 404, security=KEY))
async def check_reply(request: Request, who: ChatCaller, given: ReplyToCheck) -> Response:
    """Hold what an agent wants to say against what ran, as the messages and the ledger know it."""
    services = services_of(request)
    speaker = who.identify(given.person)
    gate = await _open_gate(services, who)
    if given.conversation:
        conversation = ConversationId(given.conversation)
        await services.store.tx(require_own_conversation, who.tenant, conversation, speaker.person)
        gate.note(conversation, await services.store.executions(who.tenant, conversation))
    checked = await compute_aside(
        len(given.text) + weigh_value(given.messages), gate.check_reply, given.text, messages=given.messages,
        conversation=given.conversation or "default",
    )  # fmt: skip
    return to_response(checked.to_json())


async def _open_gate(services: Services, who: Caller, tools: list[dict[str, object]] | None = None) -> Gate:
    """The tenant's policy and tools, and those that the client brings along. What a client says that its own tool does
    counts for nothing: the policy says that."""
    setup = await services.directory.setup(who.tenant)
    brought = await _read_tools(tools or [])
    if brought:
        await services.seen_tools.note(who.tenant, brought)
    return make_gate(setup, brought, services.store, services.clock, services.ids)


def make_gate(setup: TurnSetup, brought: Mapping[str, ToolSpec], store: SqlStore, clock: Clock, ids: Ids) -> Gate:
    """By the tenant's policy, with its tools, and with questions that wait as long as its file says."""
    known = {name: spec.for_client for name, spec in (*setup.tools.items(), *setup.clients.items())}
    return Gate(
        setup.policy,
        tools={**brought, **known},
        learns=True,
        store=store,
        tenant=setup.tenant,
        profile=setup.profiles["adaptive"],
        clock=clock,
        ids=ids,
    )


async def _read_tools(tools: list[dict[str, object]]) -> dict[str, ToolSpec]:
    try:
        found = {name: replace(spec, effect=None, client=True) for name, spec in specs_of(tools).items()}
    except BadTools as problem:
        raise ConfigError(f"`tools` cannot be read: {problem}.", fix="Send them as your model gets them.") from None
    await check_schemas(found.values())
    return found


async def _find(gate: Gate, ruling: str, person: str | None) -> Ruling:
    found = await gate.find(ruling, person=person)
    if found is None:
        raise not_found("ruling")
    return found
