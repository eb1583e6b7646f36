"""`circumspect escalations`: conversations that wait for a person, listed and resolved from the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages, table
from circumspect.values import ToldOutcome

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.stores.people import EscalationRow


@click.group()
def escalations() -> None:
    """Conversations that wait for a person.

    \b
    circumspect escalations list
    circumspect escalations resolve esc-…
    circumspect escalations resolve esc-… --outcome happened      for a call whose outcome nobody knew
    """
    need_packages()


@escalations.command("list")
@click.option("--tenant", help="Only this tenant's.")
@click.option("--all", "everything", is_flag=True, help="Also those that somebody has, and those that are resolved.")
@add_store_options
def list_(tenant: str | None, everything: bool, target: StoreTarget) -> None:
    """What waits, the newest first.

    \b
    circumspect escalations list --tenant shop
    """
    from circumspect.server.schemas.escalations import EscalationShown
    from circumspect.stores.people import list_escalations

    tenants = None if tenant is None else (tenant,)
    rows = target.tx(list_escalations, tenants, None if everything else "open", None, 200)
    lines = [
        (row.id, row.tenant, row.state, str(row.reason or ""), "to be said" if row.asks_outcome else "") for row in rows
    ]
    text = table(lines, ("id", "tenant", "state", "reason", "outcome")) if rows else "Nothing waits."
    target.say([EscalationShown.of(row) for row in rows], text)


@escalations.command()
@click.argument("escalation_id")
@click.option(
    "--outcome",
    type=click.Choice(get_args(ToldOutcome)),
    help="What became of the call whose outcome nobody knew: it happened, it did not, or that is still unknown.",
)
@add_store_options
def resolve(escalation_id: str, outcome: ToldOutcome | None, target: StoreTarget) -> None:
    """Done with; the agent answers again. A call that happened is not made again, one that did not may be asked for
    anew; while it is unknown, the escalation stays open."""
    from circumspect.approvers import COMMAND_LINE
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.server.schemas.escalations import EscalationShown
    from circumspect.stores import people
    from circumspect.stores.action_log import log_action

    who, now, id_ = f"{COMMAND_LINE}{login()}", SystemClock().now(), RandomIds().new("log")

    def body(connection: sa.Connection) -> EscalationRow:
        before = people.get_escalation(connection, None, escalation_id)
        row = people.resolve(connection, None, escalation_id, who, now, outcome)
        if before.state == "resolved":
            return row  # by the same person, who has said so before
        log_action(
            connection,
            id=id_,
            at=now,
            operator=who,
            action="resolve",
            tenant=row.tenant,
            subject=row.id,
            detail={"conversation": row.conversation, **({"outcome": outcome} if outcome else {})},
        )
        return row

    row = target.tx(body)
    target.say(EscalationShown.of(row), f"{row.id} is {row.state}.")
