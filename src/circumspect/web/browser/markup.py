"""HTML -> a tree of plain nodes, of bounded size and depth: what was sent may be huge, broken, or made to break us."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from circumspect.web.browser.roles import MOST, SETS

MOST_CHARACTERS = 3_000_000
_DEEPEST = 500
_STEPS = 40_000_000
_LONG_TAG = 5_000
_ATTRIBUTES = 500
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/>]*))")
_RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
_SHALLOW = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p", "li",
     "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "caption", "html",
     "head", "body")
)  # fmt: skip
"""Void, or ended by what follows: leaving them open does not nest."""
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)", re.IGNORECASE
)


@dataclass(eq=False, slots=True)
class HtmlNode:
    tag: str
    attributes: Mapping[str, str]
    parent: HtmlNode | None = None
    children: list[HtmlNode | str] = field(default_factory=list)

    def get(self, name: str) -> str:
        return self.attributes.get(name, "")

    @property
    def nodes(self) -> Iterator[HtmlNode]:
        """The elements among its children."""
        return (one for one in self.children if isinstance(one, HtmlNode))

    @property
    def ancestors(self) -> Iterator[HtmlNode]:
        """Those that it is in, the nearest first."""
        one = self.parent
        while one is not None:
            yield one
            one = one.parent

    @property
    def descendants(self) -> Iterator[HtmlNode]:
        """All that is in it, in reading order."""
        stack = list(reversed(list(self.nodes)))
        while stack:
            one = stack.pop()
            yield one
            stack.extend(reversed(list(one.nodes)))

    @property
    def is_hidden(self) -> bool:
        """Neither it nor anything in it is shown. Style sheets are not asked: plain HTML does not have them all."""
        given = self.attributes
        if self.tag in SETS["dropped"] or "hidden" in given or "popover" in given or given.get("aria-hidden") == "true":
            return True
        if self.tag == "dialog" and "open" not in given:
            return True
        if self.parent is not None and self.parent.tag == "details" and "open" not in self.parent.attributes:
            return self is not next((one for one in self.parent.nodes if one.tag == "summary"), None)
        return "style" in given and _HIDING.search(given["style"]) is not None


def parse_html(html: str) -> HtmlNode:
    """Beyond the bounds it simply ends: an element too deep is left out with all that is in it."""
    document = LexborHTMLParser(_cut_excess(html[:MOST_CHARACTERS]).encode("utf-8", "replace"))
    root = HtmlNode("html", {})
    if document.root is None:
        return root
    left = MOST["nodes"]
    stack: list[tuple[LexborNode, HtmlNode, int]] = [(document.root, root, 0)]
    while stack and left > 0:
        found, made, depth = stack.pop()
        deeper: list[tuple[LexborNode, HtmlNode, int]] = []
        child = found.child
        while child is not None and left > 0:
            left -= 1
            if child.tag == "-text":
                made.children.append(child.text_content or "")
            elif depth < MOST["depth"] and child.tag and child.tag[0] not in "-!":
                given = {name.lower(): value or "" for name, value in child.attributes.items()}
                inner = HtmlNode(child.tag, given, made)
                made.children.append(inner)
                deeper.append((child, inner, depth + 1))
            child = child.next
        stack.extend(reversed(deeper))
    return root


def _cut_excess(html: str) -> str:
    """Cut where it nests too deeply, or where a tag has too many attributes or a select too many options: the parser
    looks through all of them at each new one, so that a megabyte of `<div>` would take it minutes."""
    lowered = html.lower()
    depth = steps = place = choices = 0
    while (tag := _TAG.search(lowered, place)) is not None:
        if tag.start() - place > _LONG_TAG and _is_crowded(lowered[place : tag.start()]):
            return html[:place]
        place = tag.end()
        comment, closing, name = tag.groups()
        if comment or (name in _RAW and not closing):
            place = lowered.find("-->" if comment else f"</{name}", place)
            if place < 0:
                return html
        elif closing:
            depth = max(0, depth - (name not in _SHALLOW))
        elif name not in _SHALLOW:
            depth += 1
        choices = 0 if name == "select" else choices + (name == "option")
        steps += depth + (choices if name == "option" else 0)
        if depth > _DEEPEST or steps > _STEPS:
            return html[: tag.start()]
    return html[:place] if _is_crowded(lowered[place:]) else html


def _is_crowded(after: str) -> bool:
    """Whether what follows a tag's name holds more attributes than anybody writes."""
    return len(_QUOTED.sub("", after).partition(">")[0].split()) > _ATTRIBUTES
