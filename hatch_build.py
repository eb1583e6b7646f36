"""Build hook. It packs the pages of docs/, which messages point to, into the wheel. And it copies htmx out of the wheel
that carries it, so that `pip install .` needs neither Node nor a network of its own, and nobody's code is kept in our
repository; the file it makes is ignored by git and packed too."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE, NAMES = "django-htmx", {"htmx-2.min.js": "htmx.min.js"}
TARGET = Path("src/circumspect/server/console/static/vendor")


class PackedFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        copy(Path(self.root) / TARGET)
        if self.target_name == "wheel" and version == "standard":
            pages = (Path(self.root) / "docs").glob("*.md")
            build_data["force_include"] |= {str(page): f"circumspect/docs/{page.name}" for page in pages}


def copy(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = dict(NAMES)
    for file in metadata.files(SOURCE) or ():
        if file.name in wanted:
            shutil.copyfile(Path(str(file.locate())), folder / wanted.pop(file.name))
    if wanted:
        raise RuntimeError(f"{SOURCE} does not contain {', '.join(wanted)}: check the version in pyproject.toml")
