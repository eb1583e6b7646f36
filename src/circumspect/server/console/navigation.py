"""Navigation: which pages there are, and which of them a visitor may see. Pages register themselves by `add`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from circumspect.server.console.visitors import Visitor
from circumspect.server.stores.access import OperatorRole


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One line of the menu. `word` names a text in `words/`; `order` says where it stands."""

    word: str
    path: str
    order: int
    roles: tuple[OperatorRole, ...] = ()
    count: str = ""
    """What `/counts` says about it, such as how many escalations wait."""
    also: tuple[str, ...] = ()
    """Pages that belong to it and stand elsewhere."""


_ENTRIES: list[MenuEntry] = []


def add(entry: MenuEntry) -> None:
    if entry not in _ENTRIES:
        _ENTRIES.append(entry)
        _ENTRIES.sort(key=lambda one: one.order)


def entries(who: Visitor, path: str) -> list[dict[str, Any]]:
    """What this visitor sees of the menu, with the place where they are marked."""
    return [
        {"word": one.word, "path": one.path, "count": one.count, "current": _is_here(one, path)}
        for one in _ENTRIES
        if who.has(*one.roles)
    ]


def _is_here(entry: MenuEntry, path: str) -> bool:
    if entry.path == "/":
        return path == "/"
    return any(path == one or path.startswith(f"{one}/") for one in (entry.path, *entry.also))
