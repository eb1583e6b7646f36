"""Every word of ours that a model sees, one file a prompt. A prompt's id is its name and a hash of its text, so that
every stored answer says exactly which words produced it.

Placeholders are `$name`; values are inserted as they are and never expanded again. Which version a turn sees can be
chosen around it, with `chosen`: whatever asks for the prompt by name gets that one, and its id is what is written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from string import Template

from circumspect.errors import ConfigError

FIXED = frozenset(
    {"analyse_fields", "decide_fields", "reflection", "wire_assessment", "wire_form", "wire_result", "wire_tools"}
)
"""There is one version of these: lists of a form's fields, read once for all turns; what writes other prompts; how a
model without tools is to answer, which code reads."""


@dataclass(frozen=True)
class Prompt:
    name: str
    text: str

    @cached_property
    def id(self) -> str:
        return f"{self.name}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    def render(self, **values: str) -> str:
        return Template(self.text).substitute(values)


_chosen: ContextVar[Mapping[str, Prompt] | None] = ContextVar("chosen_prompts", default=None)


def prompt(name: str) -> Prompt:
    """The version that was chosen around this turn; else the one that comes with the package."""
    versions = _chosen.get()
    return load_default_prompt(name) if versions is None or name not in versions else versions[name]


@cache
def load_default_prompt(name: str) -> Prompt:
    return Prompt(name, resources.files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip())


@contextmanager
def use_prompts(versions: Mapping[str, Prompt]) -> Iterator[None]:
    """Inside, `prompt(name)` is the version given here; tasks and threads that are started inside see it too."""
    token = _chosen.set({**(_chosen.get() or {}), **versions})
    try:
        yield
    finally:
        # A turn that nobody waits for any more is ended from somewhere else, where this choice was never made.
        with suppress(ValueError):
            _chosen.reset(token)


@contextmanager
def use_unchosen_prompts(versions: Mapping[str, Prompt]) -> Iterator[None]:
    """Inside, `prompt(name)` is the version given here, unless another was chosen around this: whoever tries a version
    out tries it on tenants that have one of their own, too."""
    if not versions:
        yield
        return
    with use_prompts({**versions, **(_chosen.get() or {})}):
        yield


@cache
def list_prompt_names() -> tuple[str, ...]:
    """Of all prompts that come with the package."""
    folder = resources.files(__package__)
    below = [("", folder), *((f"{one.name}/", one) for one in folder.iterdir() if one.is_dir())]
    found = [f"{prefix}{one.name[:-3]}" for prefix, place in below for one in place.iterdir() if one.name[-3:] == ".md"]
    return tuple(sorted(found))


def make_prompt_version(name: str, text: str) -> Prompt:
    """Another text for a prompt. Raises `ConfigError` when a turn could not use it."""
    if name not in list_prompt_names():
        raise ConfigError(f"There is no prompt '{name}'.", fix=f"Use one of: {', '.join(list_prompt_names())}.")
    if name in FIXED:
        raise ConfigError(f"The prompt '{name}' has one version only.", fix="Choose a version of another prompt.")
    made = Prompt(name, text.strip())
    if not made.text:
        raise ConfigError(f"The text of '{name}' is empty.", fix="Say what the model should do.")
    ours, theirs = Template(load_default_prompt(name).text), Template(made.text)
    if not ours.get_identifiers():
        return made
    if not theirs.is_valid():
        raise ConfigError(f"A $ in the text of '{name}' names nothing.", fix="Write $$ for a dollar sign.")
    if unknown := sorted({*theirs.get_identifiers()} - {*ours.get_identifiers()}):
        raise ConfigError(
            f"Nothing fills in ${unknown[0]} in '{name}'.",
            fix=f"It may use: {', '.join('$' + one for one in ours.get_identifiers())}. Write $$ for a dollar sign.",
        )
    if missing := sorted({*ours.get_identifiers()} - {*theirs.get_identifiers()}):
        raise ConfigError(
            f"The text of '{name}' leaves out ${missing[0]}.", fix="The model needs it: put it where it belongs."
        )
    return made
