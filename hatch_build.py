"""Build hook. It packs the pages of docs/, which messages point to, into the wheel. It copies htmx out of the wheel
that carries it, and the icons that the console names out of Lucide's, and makes one script of CodeMirror
(`hatch_editor.py`), so that `pip install .` needs no Node, and nobody's code is kept in our repository; what it makes
is ignored by git and packed too."""

from __future__ import annotations

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.append(str(Path(__file__).parent))
from hatch_editor import Pins, put_editor

SOURCE, NAMES = "django-htmx", {"htmx-2.min.js": "htmx.min.js"}
CONSOLE = Path("src/circumspect/server/console")
TARGET = CONSOLE / "static/vendor"
NOTICE = "<!-- Icons of Lucide, https://lucide.dev: ISC License, (c) Lucide Contributors; some by Cole Bemis, MIT. -->"


class PackedFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        copy(root / TARGET)
        write_icons(root / CONSOLE / "icons.txt", root / TARGET / "icons.svg")
        pins: Pins = {name: (pin["version"], pin["integrity"]) for name, pin in self.config["modules"].items()}
        if problem := put_editor(root / TARGET, pins):
            self.app.display_warning(f"The policy editor will be a plain text field: {problem}")
        if self.target_name == "wheel" and version == "standard":
            pages = (root / "docs").glob("*.md")
            build_data["force_include"] |= {str(page): f"circumspect/docs/{page.name}" for page in pages}


def copy(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = dict(NAMES)
    for file in metadata.files(SOURCE) or ():
        if file.name in wanted:
            shutil.copyfile(Path(str(file.locate())), folder / wanted.pop(file.name))
    if wanted:
        raise RuntimeError(f"{SOURCE} does not contain {', '.join(wanted)}: check the version in pyproject.toml")


def write_icons(names: Path, target: Path) -> None:
    """One sprite of the icons that are named, each a symbol by its name."""
    archive = next(file for file in metadata.files("lucide") or () if file.name == "lucide.zip")
    symbols = []
    with ZipFile(Path(str(archive.locate()))) as icons:
        for name in names.read_text("utf-8").split():
            drawn = icons.read(f"{name}.svg").decode("utf-8")
            inside = re.sub(r"\s+", " ", drawn[drawn.index(">") + 1 : drawn.rindex("</svg>")]).strip()
            symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{inside}</symbol>')
    body = "\n".join([NOTICE, *symbols])
    target.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">\n{body}\n</svg>\n', "utf-8")
