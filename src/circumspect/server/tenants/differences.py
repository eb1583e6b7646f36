"""What is stored and what a file says -> the difference, in words.

Values are shown where they are plain settings and short. What may hold something private (requests, addresses of
webhooks, environments) is only said to have changed, and so are secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from circumspect.policy.diff import changes as policy_changes
from circumspect.policy.load import check
from circumspect.stores.codec import tenant_document
from circumspect.values import Json, JsonObject, Plan, Tenant

FileChangeKind = Literal["added", "changed", "removed"]
_LONGEST = 60
_SIGNS = {"added": "+", "changed": "~", "removed": "-"}
_KEYS = ("python", "http", "mcp", "client", "question", "url")
"""What names an item of a list, where its items have names."""
_SHOWN = (
    "language", "plan", "adaptive_share", "model", "retention_days", "rate_per_minute", "widget", "business",
    "confirm_seconds", "escalate_failures", "hand_over_apologies", "prompts", "review", "temperatures",
    "understanding",
)  # fmt: skip
"""Sections whose values are no secret to anyone who reads the difference."""


@dataclass(frozen=True, slots=True)
class FileChange:
    kind: FileChangeKind
    what: str
    """What it is about: `business.hours`, `tool cancel_order`, `secret crm_token`."""
    detail: str = ""

    def __str__(self) -> str:
        return f"{_SIGNS[self.kind]} {self.what}" + (f": {self.detail}" if self.detail else "")

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "what": self.what, "detail": self.detail}


def of_tenant(
    old: Tenant | None, old_settings: JsonObject | None, new: Tenant, new_settings: JsonObject
) -> Iterator[FileChange]:
    """The tenant and its settings. What a plan says itself is not the tenant's: see `of_plan`."""
    before = {} if old is None else _document(old, old_settings or {})
    yield from _find_changes(before, _document(new, new_settings), ())


def of_plan(old: Plan | None, new: Plan, others: int) -> Iterator[FileChange]:
    if old is None:
        yield FileChange("added", f"plan {new.name}", f"{new.mode}, multiplier {new.multiplier:g}")
        return
    told = f" (for {others} other tenant{'s' if others > 1 else ''} too)" if others else ""
    if old.mode != new.mode:
        yield FileChange("changed", f"plan {new.name}", f"mode {old.mode} → {new.mode}{told}")
    if old.multiplier != new.multiplier:
        yield FileChange("changed", f"plan {new.name}", f"multiplier {old.multiplier:g} → {new.multiplier:g}{told}")
    if old.quota != new.quota:
        before, after = ("none" if one.quota is None else one.quota for one in (old, new))
        yield FileChange("changed", f"plan {new.name}", f"quota {before} → {after}{told}")
    if old.message_price != new.message_price:
        detail = f"message price {old.message_price:g} → {new.message_price:g}{told}"
        yield FileChange("changed", f"plan {new.name}", detail)


def of_policy(old: str | None, new: str, version: int) -> Iterator[FileChange]:
    """`version` is the one in force."""
    if old == new:
        return
    if old is None:
        yield FileChange("added", "policy", "version 1")
        return
    before, after = check(f"{old}\n")[0], check(f"{new}\n")[0]
    found = policy_changes(before, after) if before and after else []
    detail = f"version {version} → {version + 1}"
    yield FileChange("changed", "policy", detail if found else f"{detail}; nothing that could change a verdict")
    for one in found:
        yield FileChange(
            "changed", f"policy of {one.where}", one.what + (f" [{one.direction}]" if one.direction else "")
        )


def of_names(what: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[FileChange]:
    """Things that are told by name only: secrets, documents."""
    for name in new:
        if name not in old:
            yield FileChange("added", f"{what} {name}")
        elif old[name] != new[name]:
            yield FileChange("changed", f"{what} {name}")
    for name in old:
        if name not in new:
            yield FileChange("removed", f"{what} {name}")


def _document(tenant: Tenant, settings: JsonObject) -> dict[str, Json]:
    stored = tenant_document(tenant)
    return {
        "language": tenant.language,
        "plan": tenant.plan.name,
        "enabled_tools": stored["tools"],
        "adaptive_share": stored["adaptive_share"],
        "business": stored["business"],
        **settings,
    }


def _find_changes(old: Any, new: Any, place: tuple[str, ...]) -> Iterator[FileChange]:
    if old == new:
        return
    if isinstance(old, Mapping | None) and isinstance(new, Mapping | None) and len(place) < 3 and _opens(place):
        before, after = old or {}, new or {}
        for key in dict.fromkeys((*before, *after)):
            yield from _find_changes(before.get(key), after.get(key), (*place, str(key)))
    elif _are_named(old) and _are_named(new):
        before, after = _by_name(old or ()), _by_name(new or ())
        for name in dict.fromkeys((*before, *after)):
            yield from _item(before.get(name), after.get(name), f"{_singular(place[-1])} {_short(name)}")
    elif _is_empty(old) and not _is_empty(new):
        yield FileChange("added", ".".join(place), _value(new, place))
    elif _is_empty(new):
        if not _is_empty(old):
            yield FileChange("removed", ".".join(place))
    else:
        yield FileChange("changed", ".".join(place), _arrow(old, new, place))


def _opens(place: tuple[str, ...]) -> bool:
    return not place or place[0] in ("business", "notify", "prompts", "review", "temperatures", "understanding")


def _item(old: Any, new: Any, what: str) -> Iterator[FileChange]:
    if old is None:
        yield FileChange("added", what)
    elif new is None:
        yield FileChange("removed", what)
    elif old != new:
        names = sorted(_paths(old, new))
        yield FileChange("changed", what, ", ".join(names[:6]) + (", …" if len(names) > 6 else ""))


def _paths(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Which fields differ, without what is in them."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                yield from _paths(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))
    elif place:
        yield place


def _are_named(items: Any) -> bool:
    if items is None:
        return True
    return isinstance(items, Sequence) and not isinstance(items, str) and all(_name(one) is not None for one in items)


def _by_name(items: Sequence[Any]) -> dict[str, Any]:
    """Twice the same name gets a number, so that neither hides the other."""
    found: dict[str, Any] = {}
    for one in items:
        name = str(_name(one))
        found[name if name not in found else f"{name} ({sum(key.startswith(name) for key in found) + 1})"] = one
    return found


def _name(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return None
    for key in _KEYS:
        found = item.get(key)
        if isinstance(found, Mapping):
            found = found.get("name")
        if isinstance(found, str):
            return found.partition("?")[0] if key == "url" else found
    if "business" in item:
        return "business"
    to = item.get("to")
    return ", ".join(map(str, to)) if isinstance(to, Sequence) else None


def _singular(section: str) -> str:
    return {"tools": "tool", "faqs": "faq", "webhooks": "webhook", "emails": "e-mail to"}.get(section, section)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {}, ())


def _value(value: Any, place: tuple[str, ...]) -> str:
    return _render_value(value) if place[0] in _SHOWN else ""


def _arrow(old: Any, new: Any, place: tuple[str, ...]) -> str:
    if place[0] not in _SHOWN:
        return ""
    before, after = _render_value(old), _render_value(new)
    if before and after:
        return f"{before} → {after}"
    return f"{len(old)} → {len(new)} characters" if isinstance(old, str) and isinstance(new, str) else ""


def _render_value(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= _LONGEST and "\n" not in value else ""
    return f"{value:g}" if isinstance(value, int | float) else ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
