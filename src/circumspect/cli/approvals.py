"""`circumspect approvals`: calls that wait for a colleague, decided from the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import click

from circumspect.cli.options import read_json_object
from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages, table

if TYPE_CHECKING:
    from circumspect.server.services import Services
    from circumspect.values import JsonObject, TurnResult


@click.group()
def approvals() -> None:
    """Calls that wait for a second person.

    \b
    circumspect approvals list
    circumspect approvals show intent_…
    circumspect approvals approve intent_…      it runs now, exactly as shown
    circumspect approvals edit intent_… '{"order_id": "12345", "amount": 20}'
    """
    need_packages()


@approvals.command("list")
@click.option("--tenant", help="Only this tenant's.")
@click.option("--all", "everything", is_flag=True, help="Also those that were decided or expired.")
@add_store_options
def list_(tenant: str | None, everything: bool, target: StoreTarget) -> None:
    """What waits, the newest first.

    \b
    circumspect approvals list --tenant shop
    """
    from circumspect.clock import SystemClock
    from circumspect.server.schemas.approvals import ApprovalShown
    from circumspect.server.stores.approvals import list_approvals
    from circumspect.values import TenantId

    tenants, now = None if tenant is None else (TenantId(tenant),), SystemClock().now()
    found = target.tx(list_approvals, tenants, None, 200, waiting=not everything, now=now)
    rows = [ApprovalShown.at(row, now) for row in found]
    lines = [(row.id, row.tenant, row.state, row.tool, row.expires_at.isoformat(timespec="seconds")) for row in rows]
    text = table(lines, ("id", "tenant", "state", "tool", "expires")) if rows else "Nothing waits."
    target.say(rows, text)


@approvals.command()
@click.argument("approval_id")
@add_store_options
def show(approval_id: str, target: StoreTarget) -> None:
    """Exactly what will run.

    \b
    circumspect approvals show int_4f2a
    """
    from circumspect.clock import SystemClock
    from circumspect.server.schemas.approvals import ApprovalShown
    from circumspect.server.stores.approvals import get_approval

    row = ApprovalShown.at(target.tx(get_approval, None, approval_id), SystemClock().now())
    facts = "".join(f"\n  {one.place} = {json.dumps(one.value, ensure_ascii=False)}" for one in row.facts)
    lines = [f"{name:<16}{value}" for name, value in row.to_json().items() if name != "facts"]
    target.say(row, "\n".join((*lines, f"{'facts':<16}{facts or 'none'}")))


@approvals.command()
@click.argument("approval_id")
@add_store_options
def approve(approval_id: str, target: StoreTarget) -> None:
    """Let it run, now and once.

    \b
    circumspect approvals approve int_4f2a
    """
    _decide(approval_id, "approve", {}, target)


@approvals.command()
@click.argument("approval_id")
@add_store_options
def deny(approval_id: str, target: StoreTarget) -> None:
    """Turn it down; the user is told.

    \b
    circumspect approvals deny int_4f2a
    """
    _decide(approval_id, "deny", {}, target)


@approvals.command()
@click.argument("approval_id")
@click.argument("arguments", metavar="JSON")
@add_store_options
def edit(approval_id: str, arguments: str, target: StoreTarget) -> None:
    """Change the arguments. The rules look at them again, and the changed call waits for an approval of its own."""
    _decide(approval_id, "edit", read_json_object(arguments, "The arguments are", '{"amount": 20}'), target)


def _decide(
    approval_id: str, decision: Literal["approve", "deny", "edit"], arguments: JsonObject, target: StoreTarget
) -> None:
    from circumspect.approvers import COMMAND_LINE, WHO_MAY
    from circumspect.errors import ConfigError
    from circumspect.reasons import ReasonCode
    from circumspect.server.known_tools import find_deciding_setup
    from circumspect.server.stores.approvals import describe_end, get_approval
    from circumspect.stores.people import settle_approvals
    from circumspect.values import Incoming, PersonDecision, TurnId

    who = f"{COMMAND_LINE}{login()}"

    async def body(services: Services) -> TurnResult:
        waiting = (await services.store.tx(get_approval, None, approval_id)).intent
        setup = await find_deciding_setup(services, waiting)
        incoming = Incoming(
            tenant=waiting.tenant,
            conversation=waiting.conversation,
            turn=TurnId(services.ids.new("turn")),
            text="",
            at=services.clock.now(),
            errand=PersonDecision(waiting.id, decision, who, arguments),
        )
        result = await services.turns.take(incoming, setup)
        now = services.clock.now()
        if ReasonCode.PENDING_INTENT_MISSING in result.reason_codes:
            ended = await services.store.tx(get_approval, None, approval_id)
            raise ConfigError(describe_end(ended, now), fix=f"Look at it: circumspect approvals show {approval_id}")
        await services.store.tx(settle_approvals, waiting.tenant, waiting.conversation, who, now)
        return result

    result = target.with_services(body)
    said = f"{result.outcome}: {', '.join(str(code) for code in result.reason_codes)}"
    if refused := [one.content for one in result.entries if one.reason is ReasonCode.APPROVER_REFUSED]:
        said += f"\n{refused[0]} {WHO_MAY}"
    if result.pending is not None:
        said += f"\nWaiting for approval: {result.pending.id}"
    target.say(result.to_json(), said)
    if result.outcome in ("failed", "blocked") or (decision == "approve" and result.outcome != "acted"):
        raise SystemExit(1)
