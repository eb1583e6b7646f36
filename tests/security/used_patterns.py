"""Every regular expression that the package uses, with the places where it stands and the ways in which it is run.

Python compiles a pattern in one function, so all of them pass through there: those of modules while everything is
imported, those of language packs while every cache without parameters is filled. Patterns that a function spells out in
a call (`re.sub(r"\\s+", …)`) are read from the source, since nobody knows which input makes that function run.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2] / "src" / "circumspect"
_WAYS = frozenset(("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"))
_IS_RE = re.compile(r"[\\/]re[\\/]\w+\.py$")
_OF_TABLES = ("items", "values", "get")
_HELPERS = ("note_compiled", "_compile")
_ABSENT = frozenset(("circumspect.adapters",))
"""Whose modules need the package that they adapt, which need not be installed."""


@dataclass
class UsedPattern:
    pattern: re.Pattern[str]
    place: str
    ways: set[str] = field(default_factory=set)
    """Empty where the source does not tell: then it may be run in any way."""


def collect_patterns() -> dict[tuple[str, int], UsedPattern]:
    """By text and flags. Must run in a process that has not imported the package yet."""
    assert not any(name.startswith("circumspect.") for name in sys.modules), "import nothing before"
    found: dict[tuple[str, int], UsedPattern] = {}

    def note(pattern: re.Pattern[Any], place: str, way: str) -> None:
        if isinstance(pattern.pattern, str):
            known = found.setdefault((pattern.pattern, pattern.flags), UsedPattern(pattern, place))
            known.ways.add(way)

    ways = dict(_read_ways())
    compile_pattern = re._compile  # type: ignore[attr-defined]

    def note_compiled(text: Any, flags: int) -> re.Pattern[Any]:
        made: re.Pattern[Any] = compile_pattern(text, flags)
        frame = inspect.currentframe()
        while frame and (frame.f_code.co_name in _HELPERS or _IS_RE.search(frame.f_code.co_filename)):
            frame = frame.f_back
        if frame and frame.f_code.co_filename.startswith(str(ROOT)):
            file, line = str(Path(frame.f_code.co_filename).relative_to(ROOT)), frame.f_lineno
            for way in ways.get((file, line), {"any"}):
                note(made, f"{file}:{line}", way)
        return made

    re._compile = note_compiled  # type: ignore[attr-defined]
    re.purge()
    try:
        for module in list(_import_all()):
            _fill_caches(module)
    finally:
        re._compile = compile_pattern  # type: ignore[attr-defined]
    for file, call, text, flags in _read_calls():
        note(re.compile(text, flags), f"{file}:{call.lineno}", call.func.attr)  # type: ignore[attr-defined]
    for one in found.values():
        if "any" in one.ways:
            one.ways.clear()
    return found


def _import_all() -> Iterator[ModuleType]:
    for one in pkgutil.walk_packages([str(ROOT)], "circumspect."):
        if not one.name.endswith("__main__") and one.name.rpartition(".")[0] not in _ABSENT:
            yield import_module(one.name)


def _fill_caches(module: ModuleType) -> None:
    """Calls the module's remembered functions that need nothing: they are where patterns are put together on first
    use. What cannot be made here, such as a pool of connections, has no patterns."""
    for value in list(vars(module).values()):
        if not hasattr(value, "cache_info") or value.__module__ != module.__name__:
            continue
        parameters = inspect.signature(value).parameters.values()
        if any(one.annotation == "Language" for one in parameters) and len(parameters) == 1:
            from circumspect.language.registry import LANGUAGES

            for language in LANGUAGES:
                with suppress(FileNotFoundError):  # the demo shops speak fewer languages
                    value(language)
        elif not parameters:
            value()


# --- the source -----------------------------------------------------------------------------------------------------


def _read_ways() -> Iterator[tuple[tuple[str, int], set[str]]]:
    """(file, line) of `NAME = re.compile(…)` -> the methods that its module calls on NAME, where it does nothing else
    with it."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        made: dict[str, ast.AST] = {}
        for node in tree.body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and value and any(map(_compiles, ast.walk(value))):
                made[target.id] = value
            elif isinstance(node, ast.FunctionDef) and any(map(_compiles, ast.walk(node))):
                made[node.name] = node
        methods: dict[str, set[str]] = {name: set() for name in made}
        held = set()
        everywhere = {
            one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute) and one.attr in _WAYS - {"split"}
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (name := _name_held(node.value)) in methods:
                methods[name] |= (
                    {node.attr} if node.attr in _WAYS else everywhere if node.attr in _OF_TABLES else {"any"}
                )
                held |= {id(one) for one in ast.walk(node.value)}
        for node in ast.walk(tree):
            read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in held
            if read and node.id in methods:
                methods[node.id].add("any")
        for name, value in made.items():
            used = methods[name] if methods[name] and name.startswith("_") else {"any"}
            for line in range(value.lineno, (value.end_lineno or value.lineno) + 1):
                yield (str(path.relative_to(ROOT)), line), used


def _name_held(node: ast.expr) -> str:
    """NAME of `NAME.method` and of `NAME(…).method`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else ""


def _compiles(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return called is not None and (
        _is_re(called, "compile") or (isinstance(called, ast.Name) and called.id == "_compile")
    )


def _read_calls() -> Iterator[tuple[str, ast.Call, str, int]]:
    """Patterns that stand in a call, as far as they are spelled out there: `re.sub(r"…", …)`."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and any(_is_re(node.func, way) for way in _WAYS) and node.args:
                text = node.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    named = {
                        one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr.isupper()
                    }
                    flags = sum(getattr(re, one) for one in named if hasattr(re, one))
                    yield str(path.relative_to(ROOT)), node, text.value, flags


def _is_re(function: ast.expr, way: str) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == way
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )
