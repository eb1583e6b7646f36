"""`circumspect outbox`: notifications that wait to leave or were given up, listed and sent again from the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages, table

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.stores.notifications import NotificationState


@click.group()
def outbox() -> None:
    """Notifications that wait to leave, or were given up.

    \b
    circumspect outbox list
    circumspect outbox redrive esc-…:0
    circumspect outbox redrive --all      all that were given up
    """
    need_packages()


@outbox.command("list")
@click.option("--tenant", help="Only this tenant's.")
@click.option(
    "--state",
    type=click.Choice(["dead", "pending", "delivered"]),
    default="dead",
    show_default=True,
    help="`dead` are those that were given up.",
)
@add_store_options
def list_(tenant: str | None, state: NotificationState, target: StoreTarget) -> None:
    """The newest first.

    \b
    circumspect outbox list
    """
    from circumspect.server.schemas.outbox import NotificationShown
    from circumspect.stores.notifications import list_notifications

    tenants = None if tenant is None else (tenant,)
    rows = target.tx(list_notifications, tenants, state, None, 200)
    lines = [(row.id, row.tenant or "", row.topic, row.target, str(row.attempts)) for row in rows]
    text = table(lines, ("id", "tenant", "kind", "to", "attempts")) if rows else f"None is {state}."
    target.say([NotificationShown.of(row) for row in rows], text)


@outbox.command()
@click.argument("notification_id", required=False)
@click.option("--all", "everything", is_flag=True, help="All that were given up.")
@click.option("--tenant", help="Only this tenant's.")
@add_store_options
def redrive(notification_id: str | None, everything: bool, tenant: str | None, target: StoreTarget) -> None:
    """Send again what was given up, as if it had just been written."""
    from circumspect.approvers import COMMAND_LINE
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.server.schemas.outbox import Redriven
    from circumspect.stores import notifications
    from circumspect.stores.action_log import log_action

    if (notification_id is None) is not everything:
        raise click.UsageError("Name one notification, or say --all.")
    tenants = None if tenant is None else (tenant,)
    id_, now = RandomIds().new("log"), SystemClock().now()

    def body(connection: sa.Connection) -> int:
        number = 1
        if notification_id is None:
            number = notifications.redrive_all(connection, tenants)
        else:
            notifications.redrive(connection, tenants, notification_id)
        log_action(
            connection,
            id=id_,
            at=now,
            operator=f"{COMMAND_LINE}{login()}",
            action="redrive",
            tenant=tenant,
            subject=notification_id or "",
            detail={"notifications": number},
        )
        return number

    number = target.tx(body)
    target.say(Redriven(notifications=number), f"{number} to be sent again, by the next worker that delivers.")
