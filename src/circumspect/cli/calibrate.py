"""`circumspect calibrate`: what stated confidences are worth, by what people said and how things turned out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.input_files import read_from
from circumspect.cli.options import FILE, NEW_FILE, default_database_option, json_option, since_option
from circumspect.cli.store_options import unknown_tenant

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.lab.learning.calibration import Fit
    from circumspect.lab.learning.calibration_report import CalibrationReport
    from circumspect.lab.learning.outcomes import Whose
    from circumspect.policy.policy_file import Policy
    from circumspect.policy.understanding.confidence import Bands
    from circumspect.values import TenantId, ToolSpec


@click.command()
@click.option("--tenant", required=True, help="Whose labels.")
@since_option("Only what was said, or ended, since then.")
@default_database_option("SQLite file or postgresql:// URL with the conversations. Nothing is written to it.")
@click.option(
    "--policy", "policy_path", type=FILE, help="The policy that holds today; without it, the newest in the database."
)
@click.option(
    "--error",
    type=click.FloatRange(0.001, 0.5),
    default=0.05,
    show_default=True,
    help="Suggest for at most this share of wrong decisions.",
)
@click.option(
    "--labels-by",
    "whose",
    type=click.Choice(["colleagues", "everyone"]),
    default="colleagues",
    show_default=True,
    help="Whose thumbs and corrections count; everyone's are also those of users, and of visitors of a widget.",
)
@json_option
@click.option("--html", "html_path", type=NEW_FILE, metavar="FILE", help="Also write a page with reliability diagrams.")
@click.option("--maps", "maps_path", type=NEW_FILE, metavar="FILE", help="Also write the maps that help, as JSON.")
def calibrate(
    tenant: str,
    since: datetime | None,
    database: str,
    policy_path: Path | None,
    error: float,
    whose: Whose,
    as_json: bool,
    html_path: Path | None,
    maps_path: Path | None,
) -> None:
    """How far off confidences are, which caps and bands would fit, and who should have been asked.

    Labels are what people said and did about decisions (approve, edit, deny, correct, thumbs) and how calls and
    escalations ended. Maps are learnt from seven conversations of ten and measured on the others. Nothing is changed:
    suggestions are lines for your files, and say so where they loosen.

    The exit code is 1 when there are too few labels for any map.

    \b
    circumspect calibrate --tenant shop
    circumspect calibrate --tenant shop --since 2026-03-01 --html calibration.html
    circumspect calibrate --tenant shop --labels-by everyone
    """
    from circumspect.lab.learning.calibration import calibration_of
    from circumspect.lab.learning.calibration_report import lines, page
    from circumspect.policy.load import load
    from circumspect.values import TenantId
    from circumspect.wording import compact

    policy = load(policy_path) if policy_path else None
    report = read_from(
        database,
        lambda connection: _report(connection, TenantId(tenant), since, whose=whose, policy=policy, error=error),
    )
    if as_json:
        click.echo(compact(report.to_json()))
    else:
        for line in lines(report):
            click.echo(line)
    for path, text in (
        (html_path, page(report) if html_path else ""),
        (maps_path, compact(calibration_of(report.fits).to_json()) + "\n"),
    ):
        if path:
            path.write_text(text, "utf-8")
            click.echo(f"Wrote {path}.", err=True)
    sys.exit(0 if report.fits else 1)


def _report(
    connection: sa.Connection,
    tenant: TenantId,
    since: datetime | None,
    *,
    whose: Whose,
    policy: Policy | None,
    error: float,
) -> CalibrationReport:
    from circumspect.lab.learning import suggestions
    from circumspect.lab.learning.calibration import fit
    from circumspect.lab.learning.calibration_report import CalibrationReport
    from circumspect.lab.learning.outcomes import handing_over, observations, pick_counted, read_labels
    from circumspect.stores import admin

    if admin.get_tenant(connection, tenant) is None and not admin.get_tools(connection, tenant):
        raise unknown_tenant(tenant, " in this database")
    said = list(read_labels(connection, tenant, since))
    # A complaint is for a person to read, whoever made it; only what is measured depends on who counts.
    found, complete = pick_counted(said, whose), pick_counted(said, "everyone")
    fits, few = fit(observations(found))
    caps = suggestions.caps(fits, _caps(connection, tenant, policy, fits), error)
    answers = next((one for one in fits if one.key == ("", "answer")), None)
    bands = _bands(connection, tenant)
    return CalibrationReport(
        tenant=tenant,
        kinds=Counter(one.kind for one in found),
        by=Counter(one.group for one in found),
        whose=whose,
        left_out=sum(one.opinion for one in said) - sum(one.opinion for one in found),
        unstated=sum(one.confidence is None for one in found),
        fits=fits,
        few=few,
        handing=handing_over(complete),
        caps=caps,
        bands=suggestions.bands(answers, bands, error) if answers and bands else None,
        error=error,
    )


def _caps(
    connection: sa.Connection, tenant: TenantId, policy: Policy | None, fits: Sequence[Fit]
) -> Mapping[str, float]:
    """What holds today for each tool."""
    from circumspect.policy.keys.tool_policy import cap_of, effect_of
    from circumspect.policy.load import load
    from circumspect.server.stores import policies
    from circumspect.stores import admin

    if policy is None and (stored := policies.current(connection, tenant)):
        policy = load(stored.text)
    specs: Mapping[str, ToolSpec] = admin.get_tools(connection, tenant)
    found = {}
    for one in fits:
        tool = one.key[0]
        if tool:
            said = policy.of(tool, tenant) if policy else None
            found[tool] = cap_of(effect_of(specs.get(tool), said) or "destructive", said)
    return found


def _bands(connection: sa.Connection, tenant: TenantId) -> Bands | None:
    """Today's, where the tenant's profile computes a confidence; None elsewhere."""
    from circumspect.policy.understanding.confidence import Bands
    from circumspect.server.stores import tenants

    row = tenants.get(connection, tenant)
    said: Any = row.settings.get("understanding") if row and row.settings else None
    if not isinstance(said, Mapping) or said.get("profile") != "service":
        return None
    usual = Bands()
    return Bands(said.get("answer_from", usual.high), said.get("escalate_below", usual.low))
