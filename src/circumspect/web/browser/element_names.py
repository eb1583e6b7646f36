"""Roles, names and states of plain HTML, as `snapshot.js` has them of a living page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from circumspect.web.browser.markup import HtmlNode
from circumspect.web.browser.roles import FACTS, MOST, SETS
from circumspect.web.page import Popup

_SECRET = re.compile(FACTS["secret"], re.IGNORECASE)
_BUTTONS = ("button", "submit", "reset")
_STEPS = 300_000
_WORDS = 2_000
_NEAR = 500
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def collapse_spaces(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class HtmlDocument:
    """A page's tree with what must be looked up across it."""

    root: HtmlNode
    left: list[int] = field(default_factory=lambda: [_STEPS])
    """How many steps may still be taken to put names together. Nested containers each read all that is in them, so
    that a page could be built to take hours; when nothing is left, names stay short."""

    @cached_property
    def by_id(self) -> dict[str, HtmlNode]:
        found: dict[str, HtmlNode] = {}
        for one in self.root.descendants:
            if one.get("id"):
                found.setdefault(one.get("id"), one)
        return found

    @cached_property
    def labels(self) -> dict[HtmlNode, list[HtmlNode]]:
        """The labels of each field."""
        found: dict[HtmlNode, list[HtmlNode]] = {}
        for one in self.root.descendants:
            if one.tag == "label" and (field := self.field_of(one)) is not None:
                found.setdefault(field, []).append(one)
        return found

    @cached_property
    def describing_nodes(self) -> frozenset[HtmlNode]:
        """What is read out as the name or description of something else."""
        return frozenset(
            other
            for one in self.root.descendants
            for name in ("aria-labelledby", "aria-describedby")
            if name in one.attributes
            for other in self.resolve_references(one, name)
        )

    def field_of(self, label: HtmlNode) -> HtmlNode | None:
        if "for" in label.attributes:
            return self.by_id.get(label.get("for"))
        near = islice(label.descendants, _NEAR)
        return next((one for one in near if one.tag in SETS["labelled"] or one.tag == "button"), None)

    def form_of(self, node: HtmlNode) -> HtmlNode | None:
        if "form" in node.attributes:
            return self.by_id.get(node.get("form"))
        return None if node.tag == "form" else next((one for one in node.ancestors if one.tag == "form"), None)

    def resolve_references(self, node: HtmlNode, name: str) -> list[HtmlNode]:
        return [self.by_id[one] for one in node.get(name).split()[:20] if one in self.by_id]

    def join_texts(self, nodes: list[HtmlNode]) -> str:
        return collapse_spaces(
            " ".join(collapse_spaces(one.get("aria-label")) or self.text_of(one, whole=True) for one in nodes)
        )

    def type_of(self, node: HtmlNode) -> str:
        said = collapse_spaces(node.get("type")).lower()
        if node.tag == "input":
            return said or "text"
        if node.tag != "button":
            return ""
        return said if said in _BUTTONS else "submit" if self.form_of(node) else "button"

    def text_of(self, node: HtmlNode, whole: bool = False, skipped: HtmlNode | None = None) -> str:
        """What is read in it, up to a length that no name needs; with `whole`, also what is hidden."""
        said: list[str] = []
        length = 0

        def within(one: HtmlNode | str) -> None:
            nonlocal length
            self.left[0] -= 1
            if one is skipped or length > _WORDS or self.left[0] < 0:
                return
            if isinstance(one, str):
                said.append(one[:_WORDS])
                length += len(one.strip())
                return
            if one is not node and not whole and one.is_hidden:
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
        return collapse_spaces("".join(said))

    def holds_controls(self, node: HtmlNode) -> bool:
        """Something in it can be used by itself."""
        for one in node.descendants:
            self.left[0] -= 1
            role = role_of(one)
            if (role in SETS["interactive"] and role != "gridcell") or (role != "none" and activatable(one)):
                return True
            if self.left[0] < 0:
                break
        return False

    def label_of(self, node: HtmlNode) -> str:
        return self.join_texts(self.resolve_references(node, "aria-labelledby")) or collapse_spaces(
            node.get("aria-label")
        )

    def name_of(self, node: HtmlNode, role: str) -> str:
        kind = self.type_of(node)
        if label := self.label_of(node):
            return label
        if node.tag == "input" and kind in _BUTTONS:
            if value := collapse_spaces(node.get("value")):
                return value
            if kind != "button":
                return kind.capitalize()
        if (node.tag in ("img", "area") or (node.tag == "input" and kind == "image")) and collapse_spaces(
            node.get("alt")
        ):
            return collapse_spaces(node.get("alt"))
        if node.tag in SETS["labelled"] and node in self.labels:
            labels = collapse_spaces(" ".join(self.text_of(one, skipped=node) for one in self.labels[node]))
            if labels:
                return labels
        if node.tag == "fieldset" and (legend := next((one for one in node.nodes if one.tag == "legend"), None)):
            return self.text_of(legend)
        if (role in SETS["by_content"] or node.tag == "summary") and (content := self.text_of(node)):
            return content
        if (
            hint := collapse_spaces(node.get("title"))
            or collapse_spaces(node.get("placeholder"))
            or collapse_spaces(node.get("aria-placeholder"))
        ):
            return hint
        if role in ("dialog", "alertdialog"):
            near = islice(node.descendants, _NEAR)
            return next((self.text_of(one) for one in near if one.tag in _HEADINGS and not one.is_hidden), "")
        return ""

    def description_of(self, node: HtmlNode, name: str) -> str:
        by = self.join_texts([one for one in self.resolve_references(node, "aria-describedby") if not one.is_hidden])
        if text := by or collapse_spaces(node.get("aria-description")):
            return text
        if (title := collapse_spaces(node.get("title"))) and title != name:
            return title
        hint = collapse_spaces(node.get("placeholder"))
        return hint if hint != name else ""

    def value_of(self, node: HtmlNode, role: str, name: str) -> str:
        match node.tag:
            case "input":
                if self.type_of(node) in ("checkbox", "radio", "file", "image", "hidden", *_BUTTONS):
                    return ""
                return "•••" if node.get("value") and _is_secret(node) else node.get("value")
            case "textarea":
                return "".join(one for one in node.children if isinstance(one, str))
            case "select":
                return ", ".join(_caption(one) for one in _find_selected(node))
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

    def options_of(self, node: HtmlNode) -> tuple[str, ...]:
        holder = node if node.tag == "select" else self.by_id.get(node.get("list")) if node.tag == "input" else None
        if holder is None:
            return ()
        options = [one for one in holder.descendants if one.tag == "option"][: MOST["options"]]
        captions = (_caption(one)[: MOST["name"]] for one in options if "hidden" not in one.attributes)
        return tuple(filter(None, captions))


def role_of(node: HtmlNode) -> str:
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
            kind = collapse_spaces(node.get("type")).lower() or "text"
            if kind == "hidden":
                return "none"
            inputs: dict[str, str] = FACTS["inputs"]
            return inputs.get(kind) or ("combobox" if "list" in node.attributes else "textbox")
        case "select":
            return "listbox" if "multiple" in node.attributes or _number(node.get("size"), 0) > 1 else "combobox"
    if node.attributes.get("contenteditable", "false") != "false":
        return "textbox"
    if node.tag == "td" and any(one.get("role") in ("grid", "treegrid") for one in node.ancestors):
        return "gridcell"
    tags: dict[str, str] = FACTS["tags"]
    return tags.get(node.tag, "")


def activatable(node: HtmlNode) -> bool:
    return ("tabindex" in node.attributes and _number(node.get("tabindex"), -1) >= 0) or "onclick" in node.attributes


def _alone(node: HtmlNode) -> str | None:
    """What stands for an element within a longer text, where that is not simply its content."""
    if node.tag == "svg":
        titles = (_own_text(one) for one in islice(node.descendants, _NEAR) if one.tag == "title")
        return next(titles, "") or node.get("aria-label")
    if node.tag in SETS["dropped"] or node.get("role") == "group":
        return ""
    if label := collapse_spaces(node.get("aria-label")):
        return label
    if node.tag == "img":
        return node.get("alt")
    return "" if node.tag in SETS["labelled"] or node.tag == "iframe" else None


def popup_of(node: HtmlNode, role: str) -> Popup:
    raw = node.attributes.get("aria-haspopup", node.get("data-has-popup")).strip().lower()
    for known in ("menu", "listbox", "tree", "grid", "dialog", "true"):
        if raw == known:
            return known
    return "listbox" if role == "combobox" and node.tag not in ("select", "input") else ""


def truth(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text)


def is_disabled(node: HtmlNode) -> bool:
    if node.tag in ("button", "input", "select", "textarea", "fieldset", "option") and "disabled" in node.attributes:
        return True
    around = [node, *node.ancestors]
    if any(one.get("aria-disabled") == "true" or "inert" in one.attributes for one in around):
        return True
    return node.tag in ("button", "input", "select", "textarea") and any(
        one.tag == "fieldset" and "disabled" in one.attributes for one in around
    )


def _is_secret(node: HtmlNode) -> bool:
    if collapse_spaces(node.get("type")).lower() == "password":
        return True
    return any(_SECRET.search(node.get(one)) for one in ("name", "id", "autocomplete"))


def _find_selected(select: HtmlNode) -> list[HtmlNode]:
    options = [one for one in select.descendants if one.tag == "option"]
    chosen = [one for one in options if "selected" in one.attributes]
    if "multiple" in select.attributes:
        return chosen
    if chosen or _number(select.get("size"), 0) > 1:
        return chosen[-1:]
    return [one for one in options if "disabled" not in one.attributes][:1]


def _caption(option: HtmlNode) -> str:
    return collapse_spaces(option.get("label")) or collapse_spaces(_own_text(option))


def _own_text(node: HtmlNode) -> str:
    return "".join(one if isinstance(one, str) else _own_text(one) for one in node.children)


def _number(text: str, otherwise: int) -> int:
    try:
        return int(text.strip())
    except ValueError:
        return otherwise
