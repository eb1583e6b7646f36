"""parse: a file's bytes in, its text, headings and pages out, as JSON. What `read_document` runs in another process."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any

from circumspect.knowledge.parsed import DocumentRefused, Parsed, clean

MAX_CHARACTERS = 5_000_000
MAX_HEADINGS = 20_000

MARKDOWN, HTML, PLAIN, PDF = "text/markdown", "text/html", "text/plain", "application/pdf"
_ENCODINGS = ["cp1251", "cp1255", "cp1252", "koi8_r", "cp866", "iso8859_8", "mac_cyrillic"]
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE)


def parse(data: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Raises `DocumentRefused`, also for more than is taken."""
    name = facts["name"]
    parsed = _parse(data, name, facts["kind"])
    if not parsed.text.strip():
        raise DocumentRefused(f"{name} has no text in it.", fix="Check that it is the right file.")
    for what, count, most in (
        ("characters", len(parsed.text), MAX_CHARACTERS),
        ("headings", len(parsed.headings), MAX_HEADINGS),
    ):
        if count > most:
            raise DocumentRefused(
                f"{name} has {count:,} {what}, and {most:,} is the limit.", fix="Split it into parts."
            )
    return {
        "text": parsed.text,
        "headings": [(one.start, one.level, one.title) for one in parsed.headings],
        "pages": [(one.start, one.end) for one in parsed.pages],
        "title": parsed.title,
    }


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
