"""`circumspect doctor`: every setting with its value and where it came from, then what works and what does not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from circumspect.cli.options import config_option, database_option, json_option
from circumspect.cli.store_options import need_packages, print_result, table


@click.command()
@config_option
@database_option
@click.option("--redis", help="redis:// URL instead of the one in the settings.")
@click.option("--model", help="Model instead of the one in the settings.")
@click.option("--model-seconds", type=float, help="How long it is waited for, instead of what the settings say.")
@click.option("--host", help="Address instead of the one in the settings.")
@click.option("--port", type=int, help="Port instead of the one in the settings.")
@click.option("--online", is_flag=True, help="Also ask the model something. This costs a few tokens.")
@json_option
def doctor(config: Path | None, online: bool, as_json: bool, **overrides: Any) -> None:
    """What is set, where it came from, what is wrong and how to fix it. Exit code 1 when something is wrong.

    Nothing is made or changed by looking. Passwords and keys are not shown.
    """
    need_packages()
    from circumspect.cli.doctor_checks import DoctorFinding, run_checks
    from circumspect.server.config import label_setting, read, render_setting

    reading = read(config, **overrides)
    wrong = [
        DoctorFinding(
            "settings", "wrong", f"{label_setting(name, reading)}: {said.rstrip('.')}.", _explain_setting(name)
        )
        for name, said in reading.problems.items()
    ]
    wrong += [
        DoctorFinding("secrets", "warning", f"Every user of this machine can read {path}.", f"chmod 600 {path}")
        for path in reading.open_files
    ]
    found = wrong + asyncio.run(run_checks(reading.settings, online=online))
    ok = all(one.state != "wrong" for one in found)
    rows = [
        {
            "name": name,
            "value": render_setting(name, getattr(reading.settings, name)),
            "origin": f"{origin} {reading.secret_files[name]}" if name in reading.secret_files else origin,
            "problem": reading.problems.get(name),
        }
        for name, origin in reading.origins.items()
    ]
    checks = [{"check": one.check, "state": one.state, "said": one.said, "fix": one.fix} for one in found]
    file = str(reading.file) if reading.file else None
    print_result(as_json, {"ok": ok, "file": file, "settings": rows, "checks": checks}, _text(rows, found, file))
    sys.exit(0 if ok else 1)


def _explain_setting(name: str) -> str:
    from circumspect.server.config import Settings

    field = Settings.model_fields.get(name)
    return f"It means: {field.description}" if field else "Correct it, or take it out."


def _text(rows: list[dict[str, Any]], found: list[Any], file: str | None) -> str:
    settings = [
        (
            row["name"],
            "(wrong, default used)" if row["problem"] else row["value"] or "-",
            f"{row['origin']} {file}" if row["origin"] == "file" else row["origin"],
        )
        for row in rows
    ]
    marks = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  "}
    lines = [table(settings, ("SETTING", "VALUE", "FROM")), ""]
    for one in found:
        lines.append(f"{marks[one.state]}  {one.check}: {one.said}")
        if one.fix and one.state != "ok":
            lines.append(f"         -> {one.fix}")
    wrong = sum(one.state == "wrong" for one in found)
    lines += ["", f"{wrong} thing(s) to put right." if wrong else "Nothing is wrong."]
    return "\n".join(lines)
