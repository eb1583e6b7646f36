"""A Markdown page in, its fenced blocks out, and what they promise, checked.

    ```python            runs, in the page's own namespace and folder; `await` at the top level is allowed
    ```output            what the python block before it prints
    ```console           each line after `$ ` runs in a shell; the lines below it are what it prints
    ```sql               runs, read-only, on the database that the page has filled
    ```yaml policy.yaml  (or any other language with a file name) is written to that file
    ```python no-run     none of this; also ```sh, for what installs things or needs a service

In printed output, `…` stands for anything within a line, and on a line of its own for any lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<kind>[\w+-]*)[ \t]*(?P<info>[^`\n]*)$")


@dataclass(frozen=True)
class Block:
    kind: str
    info: str
    text: str
    line: int
    """Of its first line of text, counted from 1."""

    @property
    def runs(self) -> bool:
        return "no-run" not in self.info.split()

    @property
    def file(self) -> str:
        return self.info if self.runs and self.kind not in ("python", "console", "output", "sql", "sh") else ""


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text("utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        at += 1
        if not opened:
            continue
        first = at
        while at < len(lines) and lines[at].strip() != opened["ticks"]:
            at += 1
        text = textwrap.dedent("\n".join(lines[first:at]) + "\n")
        yield Block(opened["kind"], opened["info"].strip(), text, first + 1)
        at += 1


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    kept, inside = [], ""
    for line in page.read_text("utf-8").splitlines():
        fence = _FENCE.match(line)
        if inside:
            inside = "" if line.strip() == inside else inside
        elif fence:
            inside = fence["ticks"]
        else:
            kept.append(line)
    return "\n".join(kept)


def commands(block: Block) -> Iterator[tuple[str, str, int]]:
    """The commands of a console block: each with what it should print and its line."""
    command, printed, line = "", [], 0
    for number, text in enumerate(block.text.splitlines(), block.line):
        if command.endswith("\\"):
            command = f"{command}\n{text}"
        elif text.startswith("$ "):
            if command:
                yield command, "\n".join(printed), line
            command, printed, line = text[2:], [], number
        else:
            printed.append(text)
    if command:
        yield command, "\n".join(printed), line


def fits(expected: str, printed: str) -> bool:
    """Is this what was promised? Blanks at the ends of lines do not count."""
    if not expected.strip("\n"):
        return not printed.strip()
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() in ("…", "..."):
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.sub(r"…|\\\.\\\.\\\.", ".*", re.escape(line.rstrip())) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.strip("\n") + "\n") is not None
