"""Only `enforce` makes an Enforced, and `act` takes nothing else: read off the source."""

import ast
from pathlib import Path

from tests.source_trees import read_tree

import circumspect

SOURCE = Path(circumspect.__file__).parent


def calls(name):
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(read_tree(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name:
                yield path.relative_to(SOURCE).as_posix()


def test_an_enforced_call_is_made_in_one_place():
    assert set(calls("Enforced")) == {"steps/enforce.py"}


def test_tools_are_called_in_one_place():
    """Everything that runs a tool goes through `running.py`."""
    users = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(read_tree(path)):
            if isinstance(node, ast.Attribute) and node.attr == "call" and getattr(node.value, "id", "") == "tools":
                users.add(path.relative_to(SOURCE).as_posix())
    assert users == {"running.py"}


def test_the_step_that_acts_refuses_what_policy_holds():
    tree = ast.parse((SOURCE / "steps/act.py").read_text("utf-8"))
    act = next(node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "act")
    first = next(node for node in act.body if not isinstance(node, ast.Expr))
    assert isinstance(first, ast.If)
    assert "Allow" in ast.unparse(first.test)
    assert isinstance(first.body[0], ast.Raise)
