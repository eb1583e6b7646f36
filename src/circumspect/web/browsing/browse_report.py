"""A drive as a folder that can be looked at: `report.html`, and a picture of the page before each step.

Written anew after every step, so that nothing is lost when the drive is broken off. Whatever comes from a page or from
the user is text in it, never markup.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from pathlib import Path

from circumspect import wording
from circumspect.web.browsing.drive import DriveStep
from circumspect.web.browsing.page_actions import page_tools
from circumspect.web.page import Verified

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-inline-size: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border: 1px solid light-dark(#ccc, #555); border-radius: .5rem; padding: 1rem; margin-block: 1rem; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
@media (min-width: 50rem) { section { display: grid; grid-template-columns: 3fr 2fr; gap: 1rem; align-items: start; }
  h2 { grid-column: 1 / -1; } body { max-inline-size: 75rem; } }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; overflow-wrap: anywhere; }
img { max-inline-size: 100%; border: 1px solid light-dark(#ccc, #555); }
.yes { color: light-dark(#0a6b2d, #7fd99a); } .no { color: light-dark(#a31515, #ff9a9a); }
code { font-size: .85em; }
"""


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
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / "report.html.part"
        unfinished.write_text(self._html(), "utf-8")
        os.replace(unfinished, self.folder / "report.html")

    def _html(self) -> str:
        sections = []
        for at, (step, picture) in enumerate(self.steps):
            after = self.steps[at + 1][0].interaction.verified if at + 1 < len(self.steps) else None
            sections.append(_section(step, picture, after))
        title = html.escape(self.task)
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{title}</title><style>{_STYLE}</style></head><body>'
            f"<h1>{title}</h1><p>{html.escape(self.url)}</p>{''.join(sections)}</body></html>\n"
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


def _section(step: DriveStep, picture: str, after: Verified | None) -> str:
    made = step.interaction
    rows: list[tuple[str, str]] = []
    if step.query:
        rows.append(("The user", html.escape(step.query)))
    rows.append(("Page", html.escape(f"{step.page.title} · {step.page.url}")))
    if made.reasoned:
        source, confidence = made.reasoned.get("source"), made.reasoned.get("confidence")
        searches = made.reasoned.get("searches") or 0
        rows.append(("Where from", html.escape(f"{source} ({confidence}), searches: {searches}")))
    if made.action:
        rows.append(("Expected", html.escape(made.action.expected.why)))
    if after:
        mark = "yes" if after.success else "no"
        text = f"{'✓' if after.success else '✗'} {after.happened} ({after.confidence:.0%})"
        rows.append(("Happened", f'<span class="{mark}">{html.escape(text)}</span>'))
    codes = ", ".join(str(code) for code in made.result.reason_codes)
    rows.append(("Reason codes", f"<code>{html.escape(codes or 'none')}</code>"))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    image = f'<img src="{html.escape(picture)}" alt="The page before this step" loading="lazy">' if picture else ""
    kind = {"next_action": "Action", "answer": "Answer", "needs_user_input": "Question"}[made.status]
    return (
        f"<section><h2>{step.number}. {kind}: {html.escape(describe_step(step))}</h2><dl>{listed}</dl>{image}</section>"
    )
