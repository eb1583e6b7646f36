"""Places: which parts of the conversation an expression reads, from its syntax tree.

`booking.guests.all(g, g.age > 17)` reads `booking.guests[*].age` and nothing else. Where a key is only known when the
condition runs, any key may be read: the answer may be too wide, never too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from circumspect.policy.cel.syntax import SyntaxNode


class Many:
    """A step that stands for more than one key."""

    __slots__ = ()


EACH = Many()
"""What a loop goes over, or `in` looks into: the elements of a list, the keys of a map."""
ANY = Many()
"""A key that is only known when the condition runs, so any of them."""
COUNT = Many()
"""After EACH: nothing of the elements, only how many there are."""

PathStep: TypeAlias = "str | int | float | bool | Many | ExpressionPath"
ReadTree: TypeAlias = "dict[PathStep, ReadTree] | None"
"""Which parts of a value are read: by key, or None for all of it."""


@dataclass(frozen=True, slots=True)
class ExpressionPath:
    """A place: `facts.get_order[args.order_id].status`. A step is a constant, or another place that holds the key."""

    root: str
    steps: tuple[PathStep, ...] = ()

    def __str__(self) -> str:
        return self.root + "".join(_render_step(step) for step in self.steps)


def _render_step(step: PathStep) -> str:
    if isinstance(step, Many):
        return "[*]"
    if isinstance(step, str) and step.isidentifier():
        return f".{step}"
    return f"[{step}]" if isinstance(step, ExpressionPath) else f"[{step!r}]"


LoopBindings: TypeAlias = Mapping[str, ExpressionPath | None]
"""Loop variables: the place that each stands for, where there is one."""


def as_path(node: SyntaxNode, bound: LoopBindings) -> ExpressionPath | None:
    """The node as a place, if it is one: a name, fields of it, elements of it."""
    if node.kind == "ident":
        return bound[node.name] if node.name in bound else ExpressionPath(node.name)
    if node.kind == "select":
        before = as_path(node.parts[0], bound)
        return before and ExpressionPath(before.root, (*before.steps, node.name))
    if node.kind == "call" and node.name == "_[_]":
        before = as_path(node.parts[0], bound)
        return before and ExpressionPath(before.root, (*before.steps, _step(node.parts[1], bound)))
    return None


def _step(key: SyntaxNode, bound: LoopBindings) -> PathStep:
    """A constant, a place that holds the key, or ANY."""
    if key.kind == "const":
        return key.constant if isinstance(key.constant, str | int) else ANY
    path = as_path(key, bound)
    return ANY if path is None or is_many(path) else path


def is_many(path: ExpressionPath) -> bool:
    """Does it stand for more than one place?"""
    return any(isinstance(step, Many) or (isinstance(step, ExpressionPath) and is_many(step)) for step in path.steps)


def paths(node: SyntaxNode, bound: LoopBindings) -> Iterator[ExpressionPath]:
    """Every place that the node reads."""
    path = as_path(node, bound)
    if path is None and node.kind == "has":
        before = as_path(node.parts[0], bound)
        path = before and ExpressionPath(before.root, (*before.steps, node.name))
    if path is not None:
        yield from with_keys(path)
        yield from _in_keys(node, bound)
    elif node.kind == "loop":
        yield from _in_loop(node, bound)
    elif node.name == "@in" or (node.name == "size" and len(node.parts) == 1):
        yield from _inside(node, bound)
    else:
        for part in node.parts:
            yield from paths(part, bound)


def _in_keys(node: SyntaxNode, bound: LoopBindings) -> Iterator[ExpressionPath]:
    """What is read to find the keys along a place."""
    while node.parts:
        if node.name == "_[_]" and _step(node.parts[1], bound) is ANY:
            yield from paths(node.parts[1], bound)
        node = node.parts[0]


def _inside(node: SyntaxNode, bound: LoopBindings) -> Iterator[ExpressionPath]:
    """`x in place` reads no more than its elements or keys, `size(place)` not even those."""
    *rest, container = node.parts
    path = as_path(container, bound)
    if path is None:
        rest.append(container)
    else:
        inside = (EACH, COUNT) if node.name == "size" else (EACH,)
        yield from with_keys(ExpressionPath(path.root, (*path.steps, *inside)))
        yield from _in_keys(container, bound)
    for part in rest:
        yield from paths(part, bound)


def _in_loop(node: SyntaxNode, bound: LoopBindings) -> Iterator[ExpressionPath]:
    """Of what the loop goes over, only the parts that its body reads."""
    over, *body = node.parts
    path = as_path(over, bound)
    element = ExpressionPath(path.root, (*path.steps, EACH)) if path else None
    inner: LoopBindings = {**bound, node.bound: element}
    if element is None:
        yield from paths(over, bound)
    else:
        yield from with_keys(ExpressionPath(element.root, (*element.steps, COUNT)))
        yield from _in_keys(over, bound)
        if node.name == "filter":  # it hands on whole elements
            yield element
    for part in body:
        yield from paths(part, inner)


def with_keys(path: ExpressionPath) -> Iterator[ExpressionPath]:
    """The place, and the places that hold its keys."""
    yield path
    for step in path.steps:
        if isinstance(step, ExpressionPath):
            yield from with_keys(step)


def build_read_tree(found: Iterable[ExpressionPath]) -> dict[str, ReadTree]:
    roots: dict[str, ReadTree] = {}
    for path in found:
        wanted: Any = roots
        chain = (path.root, *path.steps)
        for position, step in enumerate(chain):
            if step is COUNT:
                break
            if position == len(chain) - 1:
                wanted[step] = None
            elif wanted.setdefault(step, {}) is None:
                break
            else:
                wanted = wanted[step]
    return roots


def merge_read_trees(one: ReadTree, other: ReadTree) -> ReadTree:
    """What is read by either."""
    if one is None or other is None:
        return None
    return {
        **one,
        **{step: merge_read_trees(one[step], inner) if step in one else inner for step, inner in other.items()},
    }
