"""read_document: a file's bytes and name -> Document, or DocumentRefused with what to do about it.

    document = read_document(path.read_bytes(), path.name)

Markdown, HTML, plain text and PDF. The name is the document's id: reading a newer version of the same file gives the
same id with another `hash`. What cannot be read whole is refused rather than read in part, because an answer from half
a policy is worse than none.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from pathlib import PurePath

from circumspect.extras import explain_imports
from circumspect.knowledge.parsed import DocumentRefused, Parsed, clean
from circumspect.knowledge.tree import KnowledgeDocument, grow

MAX_BYTES = 25_000_000
MAX_CHARACTERS = 5_000_000

MARKDOWN, HTML, PLAIN, PDF = "text/markdown", "text/html", "text/plain", "application/pdf"
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
_ENCODINGS = ["cp1251", "cp1255", "cp1252", "koi8_r", "cp866", "iso8859_8", "mac_cyrillic"]
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE)


def read_document(
    data: bytes, name: str, *, media_type: str | None = None, max_bytes: int = MAX_BYTES
) -> KnowledgeDocument:
    """The document in `data`. `name` is its id; `media_type` is worth more than the name's ending."""
    if len(data) > max_bytes:
        raise DocumentRefused(
            f"{name} has {len(data) / 1e6:.1f} MB, and {max_bytes / 1e6:g} MB is the limit.",
            fix="Split it into parts, or raise the limit.",
        )
    kind = _kind(data, name, media_type)
    with explain_imports():
        parsed = _parse(data, name, kind)
    if not parsed.text.strip():
        raise DocumentRefused(f"{name} has no text in it.", fix="Check that it is the right file.")
    if len(parsed.text) > MAX_CHARACTERS:
        raise DocumentRefused(
            f"{name} has {len(parsed.text):,} characters, and {MAX_CHARACTERS:,} is the limit.",
            fix="Split it into parts.",
        )
    title = parsed.title or PurePath(name).stem.replace("_", " ").replace("-", " ").strip() or name
    root = grow(parsed.text, title, parsed.headings, parsed.pages)
    return KnowledgeDocument(name, title, parsed.text, root, parsed.pages, kind, hashlib.sha256(data).hexdigest())


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


def _parse(data: bytes, name: str, kind: str) -> Parsed:
    # The parsers are imported where they are needed: a reader of Markdown should not wait for a PDF library.
    if kind == PDF:
        from circumspect.knowledge.pdf import read_pdf

        return read_pdf(data, name)
    text = decode_text(data, name, declared=_DECLARED.search(data[:4096]) if kind == HTML else None)
    if kind == HTML:
        from circumspect.knowledge.html_documents import read_html

        return read_html(text)
    if kind == MARKDOWN:
        from circumspect.knowledge.markdown import read_markdown

        return read_markdown(clean(text))
    from circumspect.knowledge.plain import read_plain

    return read_plain(clean(text))


def decode_text(data: bytes, name: str, declared: re.Match[bytes] | None = None) -> str:
    """The text of the bytes: UTF-8, UTF-16, what an HTML page declares, or one of the old encodings by its letters."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return _strictly(data, encoding, name)
    if (bare := _bare_utf16(data)) is not None:
        return _strictly(data, bare, name)
    if _binary(data):
        raise DocumentRefused(f"{name} is not text.", fix="Use Markdown, HTML, plain text or PDF.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if declared is not None:
        try:
            return data.decode(declared[1].decode("ascii"))
        except (LookupError, UnicodeDecodeError):
            pass
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=_ENCODINGS).best()
    if best is None:
        raise DocumentRefused(f"The encoding of {name} is not known.", fix="Save it as UTF-8.")
    return str(best)


def _strictly(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise DocumentRefused(f"{name} is damaged: it is not valid {encoding}.", fix="Save it as UTF-8.") from None


def _bare_utf16(data: bytes) -> str | None:
    """UTF-16 without its mark: the high bytes of one alphabet are nearly all the same few."""
    sample = data[: 4096 - len(data[:4096]) % 2]
    if len(data) % 2 or len(sample) < 4:
        return None
    for encoding, high in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if sum(byte in (0x00, 0x04, 0x05, 0x20) for byte in high) > 0.95 * len(high) and (0 in high):
            return encoding
    return None


def _binary(data: bytes) -> bool:
    sample = data[:65536]
    controls = sum(byte < 32 and byte not in (9, 10, 11, 12, 13, 27) for byte in sample)
    return controls > len(sample) // 100
