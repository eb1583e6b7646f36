"""`circumspect check-model MODEL`: how a model does before it is trusted, told by what code had to mend and hold."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import click

from circumspect.cli.options import json_option
from circumspect.errors import ModelUnavailable

if TYPE_CHECKING:
    from circumspect.agent import Agent
    from circumspect.lab.model_check.cases import ModelCheckCase
    from circumspect.lab.model_check.checking import ModelCheckOutcome, ModelCheckReport

_SHOPS = {"en": "shop", "he": "shop-he", "ru": "shop-ru"}
_GIVES_UP = 3
"""So many cases without an answer, at the beginning, and the model is taken for one that cannot be had."""
_LABELS = {
    "format": "answers that could be read",
    "unmended": "  of them without mending",
    "tools": "right tools",
    "values": "right values, none invented",
    "claims": "no false claim",
    "language": "the user's language",
}


@click.command("check-model")
@click.argument("model")
@click.option("--quick", is_flag=True, help="A few cases of each language, for a first impression.")
@json_option
def check_model(model: str, quick: bool, as_json: bool) -> None:
    """How a model does in a sample shop, in English, Hebrew and Russian.

    MODEL is named as everywhere: openai:gpt-4o, openai:NAME@http://127.0.0.1:8084/v1, offline. Every case is a whole
    turn; nothing is ever confirmed, so nothing is changed. Progress goes to standard error. The exit code is 1 where
    something is below its mark (see `circumspect docs models`). Ctrl-C ends it with a report on what was played so
    far, and exit code 130.

    \b
    circumspect check-model offline --quick
    circumspect check-model openai:qwen2.5-coder@http://127.0.0.1:8084/v1 --json > qwen.json
    """
    from circumspect.lab.model_check.cases import read_cases
    from circumspect.lab.model_check.checking import report

    cases, stopped = read_cases(quick=quick), False
    outcomes: list[ModelCheckOutcome] = []
    try:
        asyncio.run(_play(model, cases, outcomes))
    except KeyboardInterrupt:
        stopped = True
    made = report(model, outcomes, len(cases))
    click.echo(json.dumps(made.to_json(), ensure_ascii=False, indent=2) if as_json else _render(made))
    sys.exit(130 if stopped else 1 if made.below else 0)


async def _play(model: str, cases: tuple[ModelCheckCase, ...], outcomes: list[ModelCheckOutcome]) -> None:
    """Every outcome is in the list as soon as it is known, so that none is lost."""
    from circumspect.lab.model_check.checking import check_case
    from circumspect.models import open_model

    opened = open_model(model)
    agents: dict[tuple[str, bool], Agent] = {}
    try:
        for number, case in enumerate(cases, 1):
            key = (_SHOPS[case.language], case.form)
            if key not in agents:
                agents[key] = _open_shop(key[0], opened, understood=case.form)
            outcome = await check_case(agents[key], case)
            outcomes.append(outcome)
            click.echo(f"{number}/{len(cases)} {case.id}: {outcome.format}, {outcome.seconds:.1f} s", err=True)
            if len(outcomes) == _GIVES_UP and all(one.format == "unanswered" for one in outcomes):
                problem = f"{model} gave no answer to {_GIVES_UP} messages."
                raise ModelUnavailable(problem, fix="Check its address, its key and that it runs.")
    finally:
        for agent in agents.values():
            await agent.close()


def _open_shop(name: str, model: object, *, understood: bool) -> Agent:
    from circumspect.agent import Agent as MadeAgent
    from circumspect.clock import SystemClock
    from circumspect.demo import samples

    sample = samples.load(name, directory=None, now=SystemClock().now())
    return MadeAgent(
        sample.tenant,
        tools=sample.tools,
        policy=sample.policy_path,
        model=model,  # type: ignore[arg-type]
        database="sqlite://",
        mode="adaptive",
        understanding="service" if understood else None,
    )


def _render(made: ModelCheckReport) -> str:
    from circumspect.lab.model_check.checking import MARKS
    from circumspect.reports import format_percent

    lines = [f"{made.model}: {made.played} of {made.cases} cases", ""]
    for name, label in _LABELS.items():
        mark = f"  (mark: {format_percent(MARKS[name], 0)})" if name in MARKS else ""
        below = "  BELOW" if name in made.below else ""
        lines.append(f"{label:<30}{format_percent(made.shares[name]):>10}{mark}{below}")
    languages = ", ".join(f"{code} {format_percent(share, 0)}" for code, share in made.by_language.items())
    lines += ["", f"{'right tools by language':<30}{languages}"]
    lines += [f"{'format':<30}" + ", ".join(f"{count} {name}" for name, count in made.formats.items())]
    lines += [f"{'mended most often':<30}{line} ({count})" for line, count in made.mendings]
    lines += [
        f"{'model calls':<30}{made.calls}",
        f"{'tokens in, out':<30}{made.input_tokens:,}, {made.output_tokens:,}",
        f"{'cost':<30}{made.cost_usd:.4f} USD",
        f"{'seconds a turn (half, 95 %)':<30}{made.seconds[0]:.2f}, {made.seconds[1]:.2f}",
    ]
    return "\n".join(lines)
