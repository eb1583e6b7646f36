"""Navigation: which pages there are, and which of them a visitor may see. Pages register themselves by `add`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from circumspect.server.console.visitors import Visitor
from circumspect.server.stores.access import OperatorRole


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One line of the menu. `word` names a text in `words/`; `order` says where it stands, and under which heading:
    from 50 on what agents may do and how they do it, from 60 on who uses the server."""

    word: str
    path: str
    order: int
    roles: tuple[OperatorRole, ...] = ()
    count: str = ""
    """What `/counts` says about it, such as how many escalations wait."""
    also: tuple[str, ...] = ()
    """Pages that belong to it and stand elsewhere."""
    icon: str = ""
    """By its name in `icons.txt`."""


_ENTRIES: list[MenuEntry] = []


def add(entry: MenuEntry) -> None:
    if entry not in _ENTRIES:
        _ENTRIES.append(entry)
        _ENTRIES.sort(key=lambda one: one.order)


def entries(who: Visitor, path: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """What this visitor sees of the menu, below the headings, with the place where they are marked."""
    seen = [one for one in _ENTRIES if who.has(*one.roles)]
    return [
        (heading, [_show(one, path) for one in group])
        for heading, group in groupby(seen, lambda one: _heading(one.order))
    ]


def _show(one: MenuEntry, path: str) -> dict[str, Any]:
    return {"word": one.word, "path": one.path, "count": one.count, "icon": one.icon, "current": _is_here(one, path)}


def _heading(order: int) -> str:
    return "" if order < 50 else "nav-agents" if order < 60 else "nav-server"


def _is_here(entry: MenuEntry, path: str) -> bool:
    if entry.path == "/":
        return path == "/"
    return any(path == one or path.startswith(f"{one}/") for one in (entry.path, *entry.also))
