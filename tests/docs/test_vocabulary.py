"""One word, one meaning: what the names in the source may be, and what the glossary may say of them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT
from tests.source_trees import read_tree

SOURCE = ROOT / "src" / "circumspect"
WINGS = ("web", "server", "lab", "review", "demo", "business", "cli")
GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_WORDS = 60
MOST_PARTICIPLES = 0.05

IRREGULAR = frozenset(
    [
        "begun",
        "bound",
        "broken",
        "brought",
        "built",
        "caught",
        "chosen",
        "done",
        "drawn",
        "driven",
        "fallen",
        "felt",
        "forbidden",
        "forgotten",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "ran",
        "said",
        "seen",
        "sent",
        "shown",
        "sought",
        "sold",
        "spent",
        "spoken",
        "stood",
        "struck",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "understood",
        "undone",
        "withheld",
        "won",
        "worn",
        "woken",
        "written",
    ]
)
ENDS_LIKE_ONE = frozenset(["bleed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"])

SIDES = ("cli", "server/routes", "server/schemas", "server/console/pages", "server/stores", "stores")
"""Folders whose modules are named for the thing that they offer or keep, which has one name on all sides."""
SHARED_MODULES = {
    "report_html": "a report as a page",
    "report_text": "a report as lines of text",
    "opening": "a port opened from what the configuration says",
    "values": "the words of a package, as frozen values",
}
"""Module names of several packages, each with the one meaning that it has in all of them."""

HEBREW_OR_CYRILLIC = re.compile(r"[\u0590-\u05ff\u0400-\u04ff]")


@cache
def trees() -> dict[Path, ast.Module]:
    return {path.relative_to(SOURCE): read_tree(path) for path in sorted(SOURCE.rglob("*.py"))}


def public_types(tree: ast.Module) -> Iterator[str]:
    """Classes, and aliases that are written like classes."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.Assign(targets=targets):
                names = [one.id for one in targets if isinstance(one, ast.Name)]
            case _:
                continue
        yield from (name for name in names if re.fullmatch(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)*", name))


def definitions() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for name in public_types(tree):
            found[name].append(str(path))
    return found


def is_core(path: str) -> bool:
    return Path(path).parts[0] not in WINGS


def test_a_type_has_a_name_of_its_own_in_the_core_and_shares_it_with_at_most_one_elsewhere() -> None:
    found = definitions()
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if sum(map(is_core, paths)) > 1} == {}
    assert {name: paths for name, paths in found.items() if len(paths) > 2} == {}


def test_functions_are_named_by_verbs_and_not_by_participles() -> None:
    names = [
        (node.name, str(path))
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    offenders = [f"{path}: {name}" for name, path in names if is_participle(name.strip("_").split("_")[0])]
    print(f"{len(offenders)} of {len(names)} functions are named by a participle:", *offenders, sep="\n")
    assert len(offenders) < MOST_PARTICIPLES * len(names)


def is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith("ed") and word not in ENDS_LIKE_ONE)


def test_a_module_name_means_the_same_wherever_it_is_used() -> None:
    packages: dict[str, set[str]] = defaultdict(set)
    for path in trees():
        if path.stem != "__init__" and path.parent.as_posix() not in SIDES:
            packages[path.stem].add(path.parent.as_posix())
    shared = {name: sorted(where) for name, where in packages.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in SHARED_MODULES} == {}
    assert set(SHARED_MODULES) - set(shared) == set(), "these are shared no more"


def test_what_depends_on_a_human_language_is_in_the_language_folder() -> None:
    with_literals = {
        path.as_posix()
        for path in trees()
        if path.parts[0] != "language"
        and path.parts[:2] != ("demo", "samples")
        and HEBREW_OR_CYRILLIC.search((SOURCE / path).read_text("utf-8"))
    }
    assert with_literals == set()


def glossary() -> dict[str, tuple[str, str]]:
    """Each word with its module and its sentence."""
    rows = re.findall(r"^- \*\*(.+?)\*\* \(\[`(.+?)`\]\(.+?\)\): (.+)$", GLOSSARY.read_text("utf-8"), re.M)
    assert len(rows) == GLOSSARY.read_text("utf-8").count("\n- **"), "a line that cannot be read"
    return {word: (module, sentence) for word, module, sentence in rows}


def test_the_glossary_is_short_and_says_each_word_in_one_sentence() -> None:
    words = glossary()
    assert 40 <= len(words) <= MOST_WORDS
    for word, (_, sentence) in words.items():
        assert sentence.endswith("."), word
        assert ". " not in sentence, word


def words_in(tree: ast.Module) -> set[str]:
    """Every name that the code defines or uses, and every name that it has as a value."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                found.add(word)
            case ast.ClassDef(name=word) | ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word):
                found.add(word)
            case ast.Constant(value=str(word)):
                found.add(word)
    return found


def test_every_word_of_the_glossary_is_used_in_its_module() -> None:
    for word, (module, _) in glossary().items():
        tree = trees().get(Path(module))
        assert tree is not None, (word, module)
        as_a_type = "".join(part.capitalize() for part in word.split())
        assert {as_a_type, word.replace(" ", "_")} & words_in(tree), (word, module)
