"""HTML -> Page, for clients that send the markup and not a snapshot.

Roles, names and ids are those that the live snapshot gives to the same markup. What only a browser knows is not there:
what was typed since, where things are, what a style sheet hides, what is inside shadow roots and frames.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from circumspect.confined.processes import ReadingLimits, run_confined
from circumspect.web.browser.element_names import (
    HtmlDocument,
    activatable,
    collapse_spaces,
    is_disabled,
    popup_of,
    role_of,
    truth,
)
from circumspect.web.browser.markup import HtmlNode, parse_html
from circumspect.web.browser.roles import FACTS, MOST, SETS
from circumspect.web.page import Element, Page

_GENERATED = re.compile(FACTS["generated_id"], re.IGNORECASE)
_COUNT = re.compile(r"\(\d+\)")
_QUIET = ("row", "gridcell", "treeitem")


def page_of_html(html: str, url: str) -> Page:
    """What a person would see of it, as far as markup alone tells."""
    root = parse_html(html)
    writer = _Writer(HtmlDocument(root), url)
    body = next((one for one in root.descendants if one.tag == "body"), root)
    writer.walk(body, _Place(silent=False))
    return writer.page()


def read_page(html: str, url: str, limits: ReadingLimits | None = None) -> Page:
    """The same, in a process that has limits and can be killed: for markup that a stranger wrote. Raises `ConfigError`
    when it takes too much."""
    found = run_confined(
        f"{__name__}:take_snapshot", html.encode("utf-8", "replace"), {"url": url}, what="The page", limits=limits
    )
    return Page.from_json(found)


def take_snapshot(data: bytes, facts: Mapping[str, str]) -> dict[str, Any]:
    """What runs in that process."""
    return page_of_html(data.decode(), facts["url"]).to_json()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is: what ids start from, and what it is inside of."""

    anchor: str = ""
    inside: str = ""
    form: str = ""
    silent: bool = True


class _Writer:
    def __init__(self, document: HtmlDocument, url: str) -> None:
        self._document = document
        base = next((one for one in document.root.descendants if one.tag == "base" and one.get("href")), None)
        self._url = url
        self._base = _make_absolute(url, base.get("href")) if base else url
        self._elements: list[Element] = []
        self._nodes: list[HtmlNode] = []
        self._ids: dict[HtmlNode, str] = {}
        self._targets: dict[HtmlNode, str] = {}
        self._taken: set[str] = set()
        self._equals: Counter[str] = Counter()
        self._counts = {name: self._count_values(name) for name in (*FACTS["test_ids"], "id")}
        self._text: list[str] = []
        self._length = 0
        self._dropped = 0
        self._busy = False

    def page(self) -> Page:
        title = next((one for one in self._document.root.descendants if one.tag == "title"), None)
        lines = (collapse_spaces(line) for line in "".join(self._text).split("\n"))
        return Page(
            url=self._url,
            title=self._document.text_of(title)[: MOST["name"]] if title else "",
            elements=tuple(map(self._link, self._elements, self._nodes)),
            text="\n".join(filter(None, lines))[: MOST["text"]],
            dropped=self._dropped,
            busy=self._busy,
            status=0,
        )

    def walk(self, node: HtmlNode | str, place: _Place) -> None:
        if isinstance(node, str):
            if not place.silent:
                self._write(node)
            return
        if node.is_hidden:
            return
        self._busy = self._busy or node.get("aria-busy") == "true"
        role = role_of(node)
        block = "\n" if node.tag in SETS["blocks"] and not place.silent else ""
        self._text.append(block)
        inner = self._inside(node, role, place)
        if node.tag not in ("select", "textarea", "svg", "iframe"):
            for child in node.children:
                self.walk(child, inner)
        self._text.append(block)

    def _inside(self, node: HtmlNode, role: str, place: _Place) -> _Place:
        """Lists the node where it is worth listing, and says where its children are."""
        document = self._document
        generic = role in ("", "generic")
        name = self._generic_name(node) if generic else "" if role == "none" else document.name_of(node, role)
        inner = place
        if self._is_listed(node, role, name):
            shown, key = self._list(node, "generic" if generic else role, name, place)
            holds = role in SETS["containers"]
            leaf = role in SETS["leaves"] or role in SETS["messages"] or role in _QUIET or generic
            inner = _Place(
                anchor=key if holds or role == "treeitem" else place.anchor,
                inside=shown if holds else place.inside,
                form=key if node.tag == "form" else place.form,
                silent=place.silent or leaf,
            )
        else:
            label = document.label_of(node) if role in SETS["landmarks"] or role == "tablist" else ""
            if own := self._own_key(node):
                inner = replace(place, anchor=f"/{own}")
            elif label:
                inner = replace(place, anchor=f"{place.anchor}/{role}:{label}")
            if node.tag == "img" and not place.silent:
                self._write(f" {node.get('alt')} ")
        labels = node.tag == "label" and document.field_of(node) is not None
        return (
            replace(inner, silent=True)
            if node in document.describing_nodes or labels or node.tag == "legend"
            else inner
        )

    def _is_listed(self, node: HtmlNode, role: str, name: str) -> bool:
        given = node.attributes
        if role == "none":
            return False
        if role in SETS["landmarks"] or role == "listitem":
            return activatable(node) and bool(node.get("aria-label") or node.get("aria-labelledby"))
        if role == "gridcell":
            usable = "tabindex" in given or "aria-selected" in given or activatable(node)
            return usable and not self._document.holds_controls(node)
        if role == "row":
            return "aria-selected" in given or activatable(node) or self._document.holds_controls(node)
        if role == "heading":
            return name != "" and not self._document.holds_controls(node)
        if role == "group" or role in SETS["messages"]:
            return name != ""
        if role in SETS["interactive"] or role in SETS["containers"] or role in SETS["measures"]:
            return True
        return role in ("", "generic") and name != ""

    def _generic_name(self, node: HtmlNode) -> str:
        if not activatable(node):
            return ""
        document = self._document
        return document.label_of(node) or ("" if document.holds_controls(node) else document.text_of(node))

    def _list(self, node: HtmlNode, role: str, name: str, place: _Place) -> tuple[str, str]:
        key = self._key(node, role, name, place)
        made, again = hash_text(key), 2
        while made in self._taken:
            made, again = hash_text(f"{key}#{again}"), again + 1
        self._taken.add(made)
        self._ids[node] = made
        if len(self._elements) >= MOST["elements"]:
            self._dropped += 1
            return made, key
        document, most = self._document, MOST["name"]
        kind = document.type_of(node)
        ticked = node.tag == "input" and kind in ("checkbox", "radio")
        selected = truth(node.get("aria-selected"))
        current = node.get("aria-current") not in ("", "false")
        folds = node.parent if node.tag == "summary" else None
        leads = role in ("link", "menuitem", "tab") and "href" in node.attributes
        element = Element(
            id=made,
            role=role,
            name=name[:most],
            value=collapse_spaces(document.value_of(node, role, name))[:most],
            description=document.description_of(node, name)[:most],
            haspopup=popup_of(node, role),
            expanded="open" in folds.attributes if folds else truth(node.get("aria-expanded")),
            checked="checked" in node.attributes if ticked else truth(node.get("aria-checked")),
            selected=True if selected is None and current else selected,
            pressed=truth(node.get("aria-pressed")),
            disabled=is_disabled(node),
            required="required" in node.attributes or node.get("aria-required") == "true",
            invalid=node.get("aria-invalid") not in ("", "false"),
            href=_make_absolute(self._base, node.get("href")) if leads else "",
            type=kind,
            options=document.options_of(node),
            inside=place.inside,
            method=(node.get("method") or "get").lower() if node.tag == "form" else "",
        )
        self._elements.append(element)
        self._nodes.append(node)
        return made, key

    def _link(self, element: Element, node: HtmlNode) -> Element:
        form = self._document.form_of(node)
        targets = [
            one for name in ("aria-controls", "aria-owns") for one in self._document.resolve_references(node, name)
        ]
        return replace(
            element,
            form=self._ids.get(form, "") if form else "",
            controls=self._target(targets[0]) if targets else "",
        )

    def _target(self, node: HtmlNode) -> str:
        """Its id, or that of the first container in it."""
        if node not in self._targets:
            inner = (
                one for one in islice(node.descendants, 500) if one in self._ids and role_of(one) in SETS["containers"]
            )
            found = node if node in self._ids else next(inner, None)
            self._targets[node] = self._ids[found] if found else ""
        return self._targets[node]

    def _count_values(self, name: str) -> Counter[str]:
        return Counter(one.get(name) for one in self._document.root.descendants if name in one.attributes)

    def _own_key(self, node: HtmlNode) -> str:
        for name in FACTS["test_ids"]:
            if (value := node.get(name)) and self._counts[name][value] == 1:
                return f"t:{value}"
        given = node.get("id")
        return f"i:{given}" if given and not _GENERATED.search(given) and self._counts["id"][given] == 1 else ""

    def _key(self, node: HtmlNode, role: str, name: str, place: _Place) -> str:
        if own := self._own_key(node):
            return f"/{own}"
        if node.tag in SETS["labelled"] and (field := node.get("name")):
            kinds = ("radio", "checkbox")
            value = f"={node.get('value')}" if self._document.type_of(node) in kinds else ""
            return self._number_key(f"{place.form}/n:{field}{value}")
        told = collapse_spaces(_COUNT.sub("", name))[:80]
        if role in SETS["messages"] or role == "tabpanel":
            told = ""
        if role == "row":
            told = next(filter(None, map(self._document.text_of, node.nodes)), "")[:80]
        if role == "link":
            told += f">{self._path(node.get('href'))}"
        if node.tag == "form":
            told += f">{self._path(node.get('action'))}"
        if role == "iframe":
            told += f">{node.get('name') or self._path(node.get('src'))}"
        return self._number_key(f"{place.anchor}/{role}:{told}")

    def _number_key(self, key: str) -> str:
        before = self._equals[key]
        self._equals[key] += 1
        return f"{key}~{before}" if before else key

    def _path(self, address: str) -> str:
        if not address or address.startswith("#"):
            return address
        return urlsplit(_make_absolute(self._base, address)).path

    def _write(self, words: str) -> None:
        if words.strip() and self._length <= MOST["text"]:
            self._text.append(re.sub(r"\s+", " ", words))
            self._length += len(words)


def hash_text(text: str) -> str:
    """FNV-1a, mixed, in an alphabet without vowels so that no words come out; the script in the page does the same."""
    value = 0x811C9DC5
    for byte in text.encode("utf-8", "replace"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    value ^= value >> 16
    alphabet: str = FACTS["alphabet"]
    said = ""
    for _ in range(5):
        value, place = divmod(value, len(alphabet))
        said += alphabet[place]
    return said


def _make_absolute(base: str, address: str) -> str:
    """Absolute, and written as a browser writes it."""
    try:
        return quote(urljoin(base, address.strip()), safe="!#$%&'()*+,/:;=?@[]~")
    except ValueError:
        return ""
