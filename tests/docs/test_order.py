"""The picture of a turn is drawn once, shown wherever somebody looks for it, and is what the code does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

import pytest
from tests.docs.pages import ROOT

from circumspect import pipeline

STEPS = "circumspect.steps."
NAMED_OTHERWISE = {"rule_on": "enforce"}
"""Functions that do a step which is not called as they are."""


def picture() -> str:
    """The drawn lines at the top of the pipeline."""
    return "\n".join(line[4:] for line in (pipeline.__doc__ or "").splitlines() if re.search("[─└┘]", line))


def drawn_steps() -> list[str]:
    return re.findall(r"[a-z]+", picture().splitlines()[0])


class Flow:
    """The steps that `run_turn` comes to, in the order of the source, whichever of its own functions calls them, and
    whichever method of the turn."""

    @cached_property
    def order(self) -> ast.Module:
        return ast.parse((ROOT / "src" / "circumspect" / "pipeline.py").read_text("utf-8"))

    @cached_property
    def given(self) -> ast.Module:
        return ast.parse((ROOT / "src" / "circumspect" / "turn.py").read_text("utf-8"))

    @cached_property
    def functions(self) -> dict[str, ast.AST]:
        """Its own: functions by name, methods of the turn by name with a dot before it."""
        (turn,) = (node for node in self.given.body if isinstance(node, ast.ClassDef))
        own = {node.name: node for node in self.order.body if isinstance(node, ast.AsyncFunctionDef)}
        return own | {
            f".{node.name}": node for node in turn.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    @cached_property
    def steps(self) -> dict[str, str]:
        """The imported functions that are a step, each with its name."""
        imported = {
            name.name: node.module.removeprefix(STEPS)
            for node in (*self.order.body, *self.given.body)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(STEPS)
            for name in node.names
        }
        return {name: step for name, step in imported.items() if NAMED_OTHERWISE.get(name, name) == step}

    def calls(self, node: ast.AST) -> Iterator[str]:
        """In the order in which they are evaluated: arguments before the call."""
        for child in ast.iter_child_nodes(node):
            yield from self.calls(child)
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in self.steps:
                yield self.steps[name]
            case ast.Call(func=ast.Name(id=name)) if name in self.functions:
                yield from self.calls(self.functions[name])
            case ast.Call(func=ast.Attribute(value=ast.Name(id="turn" | "self"), attr=name)):
                yield from self.calls(self.functions[f".{name}"])


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_picture_is_the_one_in_the_pipeline(page: str) -> None:
    assert f"```\n{picture()}\n```" in (ROOT / page).read_text("utf-8")


def test_steps_are_drawn_in_the_order_in_which_a_message_comes_to_them() -> None:
    """A step may be come to several times; a message that takes the longest way comes to it last."""
    flow = Flow()
    sequence = list(flow.calls(flow.functions["run_turn"]))
    drawn = drawn_steps()
    assert len(drawn) >= 10
    assert set(drawn) <= set(sequence)
    last = {step: place for place, step in enumerate(sequence)}
    assert sorted(drawn, key=last.__getitem__) == drawn
