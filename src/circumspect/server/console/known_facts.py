"""What the business knows of a call's subject now: a call in, what the tenant's reading tools say of it out.

For whoever decides on it: the order's total and whose it is do not stand in `refund(order_id="12345")`. A tool is asked
when it only reads, by its own word and by the policy's, when the policy sets no condition on it, and when the call has
an argument for each that it needs: no other value is made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from circumspect.policy.keys.tool_policy import effect_of
from circumspect.running import look
from circumspect.server.console.result_facts import KnownFact, list_facts
from circumspect.server.services import Services
from circumspect.setup import TurnSetup
from circumspect.values import ConversationId, Incoming, Json, JsonObject, TenantId, ToolCall, ToolSpec, TurnId
from circumspect.wording import title

MOST_TOOLS = 2
MOST_FACTS = 14
LONGEST_WAIT = timedelta(seconds=6)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """What one tool said."""

    tool: str
    title: str
    facts: tuple[KnownFact, ...]
    problem: str = ""


async def look_up_subject(
    services: Services, tenant: TenantId, conversation: ConversationId, tool: str, arguments: JsonObject, language: str
) -> list[KnownFacts]:
    setup = await services.directory.setup(tenant)
    calls = choose_looks(setup, tool, arguments)
    now = services.clock.now()
    within = Incoming(tenant, conversation, TurnId(services.ids.new("look")), "", now)
    ended = await asyncio.gather(
        *(
            look(
                call, within, setup.ports.tools, services.clock, services.ids, LONGEST_WAIT.total_seconds(), again=False
            )
            for call in calls
        )
    )
    found = []
    for one in ended:
        named = title(one.call.tool, setup.tools.get(one.call.tool), language)
        facts = list_facts(one.result, language, MOST_FACTS) if one.state == "succeeded" else ()
        found.append(KnownFacts(one.call.tool, named[:1].upper() + named[1:], facts, one.error))
    return found


def choose_looks(setup: TurnSetup, tool: str, arguments: JsonObject) -> list[ToolCall]:
    """The calls that only read what this one is about; those that need most of its arguments first."""
    given = {name: value for name, value in arguments.items() if value not in (None, "", [], {})}
    fitting = [spec for name, spec in setup.tools.items() if name != tool and _may_ask(setup, spec, given)]
    fitting.sort(key=lambda spec: (-len(spec.required), spec.name))
    return [ToolCall(spec.name, {name: given[name] for name in spec.required}) for spec in fitting[:MOST_TOOLS]]


def _may_ask(setup: TurnSetup, spec: ToolSpec, given: Mapping[str, Json]) -> bool:
    policy = setup.policy.of(spec.name, setup.tenant.id)
    if spec.client or not spec.configured or not spec.required or not spec.required <= given.keys():
        return False
    if effect_of(spec, policy) != "read" or spec.effect != "read":
        return False
    return policy is None or not (policy.deny or policy.requires or policy.deny_unless or policy.when or policy.limits)
