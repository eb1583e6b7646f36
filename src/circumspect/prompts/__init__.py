"""Every word of ours that a model sees, one file a prompt. A prompt's id is its name and a hash of its text, so that
every stored answer says exactly which words produced it.

Placeholders are `$name`; values are inserted as they are and never expanded again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from string import Template


@dataclass(frozen=True)
class Prompt:
    name: str
    text: str

    @cached_property
    def id(self) -> str:
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    def render(self, **values: str) -> str:
        return Template(self.text).substitute(values)


@cache
def prompt(name: str) -> Prompt:
    return Prompt(name, resources.files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip())
