"""A drive as a folder that can be looked at: `report.html`, and a picture of the page before each step.

Written anew after every step, so that nothing is lost when the drive is broken off. Whatever comes from a page or from
the user is text in it, never markup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from circumspect import wording
from circumspect.private_files import make_folder, write
from circumspect.reports import render
from circumspect.web.browsing.drive import DriveStep
from circumspect.web.browsing.page_actions import page_tools

_KINDS = {"next_action": "Action", "answer": "Answer", "needs_user_input": "Question"}


@dataclass
class DriveReport:
    """Collects steps; `add` writes the page."""

    folder: Path
    task: str
    url: str
    steps: list[tuple[DriveStep, str]] = field(default_factory=list)

    def picture(self, number: int) -> Path:
        return self.folder / f"step-{number:03}.png"

    def add(self, step: DriveStep, picture: str = "") -> None:
        self.steps.append((step, picture))
        make_folder(self.folder)
        write(self.folder / "report.html", self._html().encode())

    def _html(self) -> str:
        after = [step.interaction.verified for step, _ in self.steps[1:]]
        steps = [(step, picture, seen) for (step, picture), seen in zip(self.steps, [*after, None], strict=True)]
        return render(
            "drive", title=self.task, subtitle=self.url, steps=steps, kinds=_KINDS, describe_step=describe_step
        )


def describe_step(step: DriveStep) -> str:
    """The step in a line: what is done, asked or answered."""
    made = step.interaction
    if made.action is None:
        return made.result.reply
    call = made.action.call
    shown = {name: value for name, value in call.arguments.items() if name in ("name", "text", "option", "url", "key")}
    shown |= {name: call.arguments[name] for name in ("direction", "seconds") if name in call.arguments}
    spec = page_tools().get(call.tool)
    template = spec.phrases["en"].replace(" on {on}", "") if spec else call.tool
    for name, value in shown.items():
        template = template.replace(f"{{{name}}}", wording.render_value(value))
    return template
