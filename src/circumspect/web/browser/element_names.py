"""Roles, names and states of plain HTML, as `snapshot.js` has them of a living page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from circumspect.web.browser.markup import Node
from circumspect.web.browser.roles import FACTS, MOST, SETS
from circumspect.web.page import Popup

_SECRET = re.compile(FACTS["secret"], re.IGNORECASE)
_BUTTONS = ("button", "submit", "reset")
_STEPS = 300_000
_WORDS = 2_000
_NEAR = 500
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def flat(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Document:
    """A page's tree with what must be looked up across it."""

    root: Node
    left: list[int] = field(default_factory=lambda: [_STEPS])
    """How many steps may still be taken to put names together. Nested containers each read all that is in them, so
    that a page could be built to take hours; when nothing is left, names stay short."""

    @cached_property
    def by_id(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for one in self.root.under:
            if one.get("id"):
                found.setdefault(one.get("id"), one)
        return found

    @cached_property
    def labels(self) -> dict[Node, list[Node]]:
        """The labels of each field."""
        found: dict[Node, list[Node]] = {}
        for one in self.root.under:
            if one.tag == "label" and (field := self.field_of(one)) is not None:
                found.setdefault(field, []).append(one)
        return found

    @cached_property
    def told(self) -> frozenset[Node]:
        """What is read out as the name or description of something else."""
        return frozenset(
            other
            for one in self.root.under
            for name in ("aria-labelledby", "aria-describedby")
            if name in one.attributes
            for other in self.referenced(one, name)
        )

    def field_of(self, label: Node) -> Node | None:
        if "for" in label.attributes:
            return self.by_id.get(label.get("for"))
        near = islice(label.under, _NEAR)
        return next((one for one in near if one.tag in SETS["labelled"] or one.tag == "button"), None)

    def form_of(self, node: Node) -> Node | None:
        if "form" in node.attributes:
            return self.by_id.get(node.get("form"))
        return None if node.tag == "form" else next((one for one in node.over if one.tag == "form"), None)

    def referenced(self, node: Node, name: str) -> list[Node]:
        return [self.by_id[one] for one in node.get(name).split()[:20] if one in self.by_id]

    def said(self, nodes: list[Node]) -> str:
        return flat(" ".join(flat(one.get("aria-label")) or self.text_of(one, whole=True) for one in nodes))

    def type_of(self, node: Node) -> str:
        said = flat(node.get("type")).lower()
        if node.tag == "input":
            return said or "text"
        if node.tag != "button":
            return ""
        return said if said in _BUTTONS else "submit" if self.form_of(node) else "button"

    def text_of(self, node: Node, whole: bool = False, skipped: Node | None = None) -> str:
        """What is read in it, up to a length that no name needs; with `whole`, also what is hidden."""
        said: list[str] = []
        length = 0

        def within(one: Node | str) -> None:
            nonlocal length
            self.left[0] -= 1
            if one is skipped or length > _WORDS or self.left[0] < 0:
                return
            if isinstance(one, str):
                said.append(one[:_WORDS])
                length += len(one.strip())
                return
            if one is not node and not whole and one.gone:
                return
            alone = _alone(one) if one is not node or one.tag == "svg" else None
            if alone is not None:
                said.append(f" {alone} ")
                return
            space = " " if one.tag in SETS["blocks"] else ""
            said.append(space)
            for child in one.children:
                within(child)
            said.append(space)

        within(node)
        return flat("".join(said))

    def holds_controls(self, node: Node) -> bool:
        """Something in it can be used by itself."""
        for one in node.under:
            self.left[0] -= 1
            role = role_of(one)
            if (role in SETS["interactive"] and role != "gridcell") or (role != "none" and activatable(one)):
                return True
            if self.left[0] < 0:
                break
        return False

    def label_of(self, node: Node) -> str:
        return self.said(self.referenced(node, "aria-labelledby")) or flat(node.get("aria-label"))

    def name_of(self, node: Node, role: str) -> str:
        kind = self.type_of(node)
        if label := self.label_of(node):
            return label
        if node.tag == "input" and kind in _BUTTONS:
            if value := flat(node.get("value")):
                return value
            if kind != "button":
                return kind.capitalize()
        if (node.tag in ("img", "area") or (node.tag == "input" and kind == "image")) and flat(node.get("alt")):
            return flat(node.get("alt"))
        if node.tag in SETS["labelled"] and node in self.labels:
            labels = flat(" ".join(self.text_of(one, skipped=node) for one in self.labels[node]))
            if labels:
                return labels
        if node.tag == "fieldset" and (legend := next((one for one in node.nodes if one.tag == "legend"), None)):
            return self.text_of(legend)
        if (role in SETS["by_content"] or node.tag == "summary") and (content := self.text_of(node)):
            return content
        if hint := flat(node.get("title")) or flat(node.get("placeholder")) or flat(node.get("aria-placeholder")):
            return hint
        if role in ("dialog", "alertdialog"):
            near = islice(node.under, _NEAR)
            return next((self.text_of(one) for one in near if one.tag in _HEADINGS and not one.gone), "")
        return ""

    def description_of(self, node: Node, name: str) -> str:
        by = self.said([one for one in self.referenced(node, "aria-describedby") if not one.gone])
        if text := by or flat(node.get("aria-description")):
            return text
        if (title := flat(node.get("title"))) and title != name:
            return title
        hint = flat(node.get("placeholder"))
        return hint if hint != name else ""

    def value_of(self, node: Node, role: str, name: str) -> str:
        match node.tag:
            case "input":
                if self.type_of(node) in ("checkbox", "radio", "file", "image", "hidden", *_BUTTONS):
                    return ""
                return "•••" if node.get("value") and _is_secret(node) else node.get("value")
            case "textarea":
                return "".join(one for one in node.children if isinstance(one, str))
            case "select":
                return ", ".join(_caption(one) for one in _chosen(node))
            case "progress" | "meter":
                return node.get("value")
        if role in ("combobox", "textbox", "searchbox"):
            return self.text_of(node)
        if role in SETS["messages"]:
            text = self.text_of(node)
            return "" if text == name else text
        if role in ("slider", "spinbutton", "progressbar", "meter", "scrollbar"):
            return node.get("aria-valuetext") or node.get("aria-valuenow")
        return ""

    def options_of(self, node: Node) -> tuple[str, ...]:
        holder = node if node.tag == "select" else self.by_id.get(node.get("list")) if node.tag == "input" else None
        if holder is None:
            return ()
        options = [one for one in holder.under if one.tag == "option"][: MOST["options"]]
        captions = (_caption(one)[: MOST["name"]] for one in options if "hidden" not in one.attributes)
        return tuple(filter(None, captions))


def role_of(node: Node) -> str:
    for said in node.get("role").lower().split():
        if said in ("none", "presentation"):
            if "tabindex" not in node.attributes:
                return "none"
        elif said in SETS["known"]:
            return said
    match node.tag:
        case "a" | "area" if "href" in node.attributes:
            return "link"
        case "input":
            kind = flat(node.get("type")).lower() or "text"
            if kind == "hidden":
                return "none"
            inputs: dict[str, str] = FACTS["inputs"]
            return inputs.get(kind) or ("combobox" if "list" in node.attributes else "textbox")
        case "select":
            return "listbox" if "multiple" in node.attributes or _number(node.get("size"), 0) > 1 else "combobox"
    if node.attributes.get("contenteditable", "false") != "false":
        return "textbox"
    if node.tag == "td" and any(one.get("role") in ("grid", "treegrid") for one in node.over):
        return "gridcell"
    tags: dict[str, str] = FACTS["tags"]
    return tags.get(node.tag, "")


def activatable(node: Node) -> bool:
    return ("tabindex" in node.attributes and _number(node.get("tabindex"), -1) >= 0) or "onclick" in node.attributes


def _alone(node: Node) -> str | None:
    """What stands for an element within a longer text, where that is not simply its content."""
    if node.tag == "svg":
        titles = (_own_text(one) for one in islice(node.under, _NEAR) if one.tag == "title")
        return next(titles, "") or node.get("aria-label")
    if node.tag in SETS["dropped"] or node.get("role") == "group":
        return ""
    if label := flat(node.get("aria-label")):
        return label
    if node.tag == "img":
        return node.get("alt")
    return "" if node.tag in SETS["labelled"] or node.tag == "iframe" else None


def popup_of(node: Node, role: str) -> Popup:
    raw = node.attributes.get("aria-haspopup", node.get("data-has-popup")).strip().lower()
    for known in ("menu", "listbox", "tree", "grid", "dialog", "true"):
        if raw == known:
            return known
    return "listbox" if role == "combobox" and node.tag not in ("select", "input") else ""


def truth(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text)


def is_disabled(node: Node) -> bool:
    if node.tag in ("button", "input", "select", "textarea", "fieldset", "option") and "disabled" in node.attributes:
        return True
    around = [node, *node.over]
    if any(one.get("aria-disabled") == "true" or "inert" in one.attributes for one in around):
        return True
    return node.tag in ("button", "input", "select", "textarea") and any(
        one.tag == "fieldset" and "disabled" in one.attributes for one in around
    )


def _is_secret(node: Node) -> bool:
    if flat(node.get("type")).lower() == "password":
        return True
    return any(_SECRET.search(node.get(one)) for one in ("name", "id", "autocomplete"))


def _chosen(select: Node) -> list[Node]:
    options = [one for one in select.under if one.tag == "option"]
    chosen = [one for one in options if "selected" in one.attributes]
    if "multiple" in select.attributes:
        return chosen
    if chosen or _number(select.get("size"), 0) > 1:
        return chosen[-1:]
    return [one for one in options if "disabled" not in one.attributes][:1]


def _caption(option: Node) -> str:
    return flat(option.get("label")) or flat(_own_text(option))


def _own_text(node: Node) -> str:
    return "".join(one if isinstance(one, str) else _own_text(one) for one in node.children)


def _number(text: str, otherwise: int) -> int:
    try:
        return int(text.strip())
    except ValueError:
        return otherwise
