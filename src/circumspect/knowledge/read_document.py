"""read_document: a file's bytes and name -> Document, or DocumentRefused with what to do about it.

    document = read_document(path.read_bytes(), path.name)

Markdown, HTML, plain text and PDF. The name is the document's id: reading a newer version of the same file gives the
same id with another `hash`. What cannot be read whole is refused rather than read in part, because an answer from half
a policy is worse than none.

Files are strangers' work, so the parsers run in a process that has limits and can be killed (`parse_document`). A tree
is made here of what they found.
"""

from __future__ import annotations

import hashlib
import re
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from circumspect.confined.processes import ReadingLimits, run_confined
from circumspect.extras import explain_missing
from circumspect.knowledge.parse_document import HTML, MARKDOWN, MAX_CHARACTERS, PDF, PLAIN
from circumspect.knowledge.parsed import DocumentRefused, Parsed
from circumspect.knowledge.tree import KnowledgeDocument, SectionHeading, TextSpan, grow

MAX_BYTES = 25_000_000
BOUNDS = f"A file may have {MAX_BYTES / 1e6:g} MB and {MAX_CHARACTERS:,} characters of text."
_LARGE = 2_000_000
"""Bytes of a file from which on its size may be why it was refused: then the bounds are told."""
_PARSER = "circumspect.knowledge.parse_document:parse"

_PACKAGES = {MARKDOWN: ("markdown_it",), HTML: ("selectolax",), PLAIN: (), PDF: ("pdfplumber",)}
_BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".pdf": PDF,
}
_OTHER = {
    b"PK\x03\x04": "an Office or ZIP file",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"{\\rtf": "an RTF file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
}


def read_document(
    data: bytes,
    name: str,
    *,
    media_type: str | None = None,
    max_bytes: int = MAX_BYTES,
    limits: ReadingLimits | None = None,
    bounds: str = BOUNDS,
) -> KnowledgeDocument:
    """The document in `data`. `name` is its id; `media_type` is worth more than the name's ending; `bounds` says how
    large it may be, all at once, so that nobody splits it for each of them again. Waits for another process: not for an
    event loop."""
    if len(data) > max_bytes:
        raise DocumentRefused(
            f"{name} has {len(data) / 1e6:.1f} MB, and {max_bytes / 1e6:g} MB is the limit.",
            fix=f"Split it into parts. {bounds}",
        )
    try:
        return _read(data, name, media_type, limits)
    except DocumentRefused as problem:
        if len(data) <= _LARGE:
            raise
        raise DocumentRefused(problem.problem, fix=f"{problem.fix} {bounds}".strip()) from None


def _read(data: bytes, name: str, media_type: str | None, limits: ReadingLimits | None) -> KnowledgeDocument:
    kind = _kind(data, name, media_type)
    _require_packages(data, kind)
    told = name.encode("utf-8", "replace").decode()
    found = run_confined(_PARSER, data, {"name": told, "kind": kind}, what=told, limits=limits, refusal=DocumentRefused)
    parsed = _to_parsed(found, told)
    title = parsed.title or PurePath(name).stem.replace("_", " ").replace("-", " ").strip() or name
    root = grow(parsed.text, title, parsed.headings, parsed.pages)
    return KnowledgeDocument(name, title, parsed.text, root, parsed.pages, kind, hashlib.sha256(data).hexdigest())


def _require_packages(data: bytes, kind: str) -> None:
    """What reading this will need. Asked here, before a process is started only to say so."""
    needed = _PACKAGES[kind]
    if kind != PDF and not _is_utf8(data):
        needed = (*needed, "charset_normalizer")
    for package in needed:
        if find_spec(package) is None:
            missing = ModuleNotFoundError(name=package)
            raise explain_missing(missing) or missing


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _kind(data: bytes, name: str, media_type: str | None) -> str:
    if media_type:
        named = media_type.partition(";")[0].strip().lower()
        if named in (MARKDOWN, HTML, PLAIN, PDF):
            return named
        if named != "application/octet-stream":
            raise DocumentRefused(
                f"{name} is of the type '{named}', which is not read.", fix="Use Markdown, HTML, plain text or PDF."
            )
    if b"%PDF-" in data[:1024]:
        return PDF
    if what := next((what for magic, what in _OTHER.items() if data.startswith(magic)), None):
        raise DocumentRefused(f"{name} is {what}.", fix="Export it as PDF, HTML, Markdown or plain text.")
    if kind := _BY_SUFFIX.get(PurePath(name).suffix.lower()):
        if kind == PDF:
            raise DocumentRefused(f"{name} is not a PDF, whatever its name says.", fix="Export it again.")
        return kind
    return HTML if re.match(rb"\s*(<!doctype html|<html)", data[:1024], re.IGNORECASE) else PLAIN


def _to_parsed(found: Any, name: str) -> Parsed:
    """What the process says is looked at like anything else that comes from outside."""
    try:
        text = str(found["text"])
        headings = tuple(
            SectionHeading(int(start), int(level), str(title)) for start, level, title in found["headings"]
        )
        pages = tuple(TextSpan(int(start), int(end)) for start, end in found["pages"])
        sound = all(0 <= one.start <= len(text) and 1 <= one.level <= 100 for one in headings)
        sound = sound and all(0 <= one.start <= one.end <= len(text) for one in pages)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise DocumentRefused(f"{name} makes its reader fail.", fix="Check the file, or save it as plain text.")
    return Parsed(text, headings, pages, str(found["title"]))
