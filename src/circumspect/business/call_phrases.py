"""How each call is said to the person who is asked about it: a tool's name -> a sentence a language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources


def phrases_of(tool: str) -> Mapping[str, str]:
    return {language: sentences[tool] for language, sentences in _sentences().items()}


@cache
def _sentences() -> Mapping[str, Mapping[str, str]]:
    import yaml

    loaded: Mapping[str, Mapping[str, str]] = yaml.safe_load(
        resources.files(__package__).joinpath("call_phrases.yaml").read_text("utf-8")
    )
    return loaded
