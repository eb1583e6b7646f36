"""read_tree: a Python file -> its syntax tree, whatever else the process does meanwhile."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def read_tree(path: Path) -> ast.Module:
    # Python 3.11 counts how deep it is while it builds the tree. Garbage that is collected in the middle may switch
    # greenlets (a browser's driver does), and then it takes the other one's depth for its own: SystemError.
    gc.disable()
    try:
        return ast.parse(path.read_text("utf-8"))
    finally:
        gc.enable()
