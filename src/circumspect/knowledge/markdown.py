"""Markdown -> Parsed, through markdown-it's block tokens, whose line numbers give the offsets.

The text is the source itself, so that a quote can be found in the file, less what a reader of the rendered page never
sees: the front matter and HTML comments outside of code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from circumspect.knowledge.parsed import Parsed
from circumspect.knowledge.tree import SectionHeading

_FRONT = re.compile(r"\A---[ \t]*\n(?P<yaml>(?:[^\n]*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*(?P<title>[^\n]+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CODE = ("fence", "code_block")


def read_markdown(source: str) -> Parsed:
    front = _FRONT.match(source)
    title = ""
    if front:
        named = _FRONT_TITLE.search(front["yaml"])
        title = named["title"].strip().strip("\"'") if named else ""
        source = source[front.end() :]
    text = _without_comments(source)
    headings = tuple(_headings(text))
    if not title:
        top = [heading for heading in headings if heading.level == 1]
        title = top[0].title if len(top) == 1 and headings[0] is top[0] else ""
    return Parsed(text, headings, title=title)


def _tokens(text: str) -> Sequence[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def _headings(text: str) -> list[SectionHeading]:
    starts = _line_starts(text)
    tokens = _tokens(text)
    return [
        SectionHeading(starts[token.map[0]], int(token.tag[1:]), _words(inline))
        for token, inline in pairwise(tokens)
        # A heading inside a quotation or a list item divides that, not the document.
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _words(inline: Token) -> str:
    pieces = (" " if child.type == "softbreak" else child.content for child in inline.children or ())
    return " ".join("".join(pieces).split())


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))]


def _without_comments(source: str) -> str:
    if "<!--" not in source:
        return source
    starts = _line_starts(source)
    code = [
        range(starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)])
        for token in _tokens(source)
        if token.type in _CODE and token.map
    ]
    pieces: list[str] = []
    kept = 0
    for comment in _COMMENT.finditer(source):
        if any(comment.start() in lines for lines in code):
            continue
        pieces.append(source[kept : comment.start()])
        kept = comment.end()
    return "".join(pieces) + source[kept:]
