"""HTML -> Parsed, through lexbor's parser. Comes out as a person would see the page: blocks as paragraphs, a table's
row on one line, nothing that is not shown.

Hidden text is dropped, because nobody who checks the page reads it and a model would: comments, scripts, `hidden`,
`aria-hidden`, and styles that hide, inline or by a plain rule of the page's own style sheet. Text in the background's
colour is not recognised. So is what is struck through: it no longer holds. Digits above and below the line stay there,
because 20 with a footnote is not 201.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from circumspect.knowledge.parsed import Parsed, clean
from circumspect.knowledge.tree import SectionHeading

_DROPPED = frozenset(
    ("head", "script", "style", "template", "noscript", "nav", "svg", "math", "iframe", "object", "embed", "canvas",
     "audio", "video", "select", "datalist", "dialog", "button", "input", "textarea", "del", "s", "strike")
)  # fmt: skip
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
     "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "legend", "li", "main", "ol", "p",
     "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul")
)  # fmt: skip
_PARAGRAPHS = frozenset(["p", "table", "ul", "ol", "dl", "pre", "blockquote", "section", "article", "figure"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = ("td", "th")
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)"
    r"|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
    r"|text-decoration(?:-line)?\s*:[^;]*line-through",
    re.IGNORECASE,
)
_DIGITS = "0123456789"
_SHIFTED = {"sup": str.maketrans(_DIGITS, "⁰¹²³⁴⁵⁶⁷⁸⁹"), "sub": str.maketrans(_DIGITS, "₀₁₂₃₄₅₆₇₈₉")}
_FOOTNOTE = re.compile(r"\s*[\[(]?(?:\d{1,3}|[a-z*†‡])[\])]?\s*")
_RULE = re.compile(r"(?<![^{}])([^{}]+)\{([^{}]*)\}")
# One that nobody closed goes on to the end, as browsers have it.
_COMMENT = re.compile(r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)")
_AT_BLOCK = re.compile(r"@[^{};@]+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}")


def read_html(source: str) -> Parsed:
    page = LexborHTMLParser(source)
    hidden = _find_hidden_by_sheet(page)
    writer = _Writer()
    root = page.body or page.root
    if root is not None:
        _walk(root, hidden, writer)
    named = page.css_first("head > title")
    text = writer.text()
    headings = tuple(writer.headings)
    top = [heading for heading in headings if heading.level == 1]
    title = top[0].title if len(top) == 1 else _one_line(named.text()) if named else ""
    return Parsed(text, headings, title=title)


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _find_hidden_by_sheet(page: LexborHTMLParser) -> set[int]:
    found: set[int] = set()
    for sheet in page.css("style"):
        rules = _AT_BLOCK.sub("", _COMMENT.sub("", sheet.text()))
        for selector, body in _RULE.findall(rules):
            if not _HIDING.search(body):
                continue
            try:
                found.update(node.mem_id for node in page.css(selector.strip()))
            except SelectolaxError:
                continue
    return found


def _is_hidden(node: LexborNode, by_sheet: set[int]) -> bool:
    if node.tag in _DROPPED or node.mem_id in by_sheet:
        return True
    attributes = node.attributes
    return bool(
        attributes
        and (
            "hidden" in attributes
            or (attributes.get("aria-hidden") or "").lower() == "true"
            or (attributes.get("role") or "").lower() == "navigation"
            or _HIDING.search(attributes.get("style") or "")
        )
    )


def _is_footnote_mark(node: LexborNode) -> bool:
    """A link to a note, which is read where it stands."""
    return node.tag == "sup" and _FOOTNOTE.fullmatch(node.text()) is not None and node.css_first("a[href]") is not None


def _walk(root: LexborNode, hidden: set[int], writer: _Writer) -> None:
    """Depth first with a stack of our own: a page may nest deeper than Python's."""
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            writer.leave(node.tag or "")
            continue
        if node.tag == "-text":
            writer.write(node.text_content or "")
            continue
        if (node.tag or "-").startswith("-") or _is_hidden(node, hidden) or _is_footnote_mark(node):
            continue
        writer.enter(node.tag or "")
        stack.append((node, True))
        children: list[tuple[LexborNode, bool]] = []
        child = node.child
        while child is not None:
            children.append((child, False))
            child = child.next
        stack.extend(reversed(children))


class _Open(NamedTuple):
    """A heading whose words are still coming; `piece` is -1 until the first does."""

    level: int
    start: int = 0
    piece: int = -1


class _Writer:
    """Gathers the text; whitespace collapses as in a browser, and breaks wait until something follows them."""

    def __init__(self) -> None:
        self.headings: list[SectionHeading] = []
        self._pieces: list[str] = []
        self._length = 0
        self._break = 0
        self._space = False
        self._pre = 0
        self._shifted: list[str] = []
        self._table = 0
        self._cell = 0
        self._heading: _Open | None = None

    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, text: str) -> None:
        text = clean(text)
        if self._shifted:
            text = text.translate(_SHIFTED[self._shifted[-1]])
        if self._pre and text.strip():
            self._settle()
            self._put(text.strip("\n"))
            return
        words = text.split()
        if text[:1].isspace() or not words:
            self._space = True
        if not words:
            return
        self._settle()
        self._put(" ".join(words))
        self._space = text[-1:].isspace()

    def enter(self, tag: str) -> None:
        if tag == "tr":
            self._cell = 0
        if tag in _HEADINGS:
            self._breaks(2)
            if self._heading is None:
                self._heading = _Open(_HEADINGS[tag])
        elif tag in _CELLS:
            if self._cell:
                self._cell_ends()
            self._cell += 1
        elif tag == "br":
            self._breaks(1)
        elif tag in _BLOCKS:
            self._breaks(2 if tag in _PARAGRAPHS else 1)
        self._table += tag == "table"
        self._pre += tag == "pre"
        if tag in _SHIFTED:
            self._shifted.append(tag)
        if tag == "li":
            self._settle()
            self._put("- ")

    def leave(self, tag: str) -> None:
        self._pre -= tag == "pre"
        if tag in _SHIFTED:
            self._shifted.pop()
        self._table -= tag == "table"
        if tag in ("tr", "table"):
            self._cell = 0
        if tag in _HEADINGS:
            if self._heading is not None and self._heading.piece >= 0:
                words = "".join(self._pieces[self._heading.piece :]).split()
                self.headings.append(SectionHeading(self._heading.start, self._heading.level, " ".join(words)))
            self._heading = None
            self._breaks(2)
        elif tag in _BLOCKS:
            self._breaks(2 if tag in _PARAGRAPHS else 1)

    def _cell_ends(self) -> None:
        self._break = 0
        self._space = False
        self._put(" | ")

    def _breaks(self, count: int) -> None:
        if self._table and self._cell:
            self._space = True  # a block inside a cell is still the same row
        else:
            self._break = max(self._break, count)

    def _settle(self) -> None:
        if self._break and self._length:
            self._put("\n" * self._break)
        elif self._space and self._length and not self._pieces[-1][-1:].isspace():
            self._put(" ")
        self._break = 0
        self._space = False
        if self._heading is not None and self._heading.piece < 0:
            self._heading = _Open(self._heading.level, self._length, len(self._pieces))

    def _put(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
