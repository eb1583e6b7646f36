"""Small files that are large work: what a stranger can send to whoever reads documents."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

PIECE = bytes(1_000_000)


def shrink_twice(megabytes: int) -> bytes:
    """So many megabytes of nothing, deflated, and that deflated again: a thousand to one each time."""
    inner, outer = zlib.compressobj(9), zlib.compressobj(9)
    found = b"".join(outer.compress(inner.compress(PIECE)) for _ in range(megabytes))
    return found + outer.compress(inner.flush()) + outer.flush()


def make_pdf(objects: Sequence[bytes], root: int = 1) -> bytes:
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer <</Size %d /Root %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, root, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


def nested_streams(megabytes: int) -> bytes:
    """A page whose content is deflated twice."""
    data = shrink_twice(megabytes)
    stream = b"<</Length %d /Filter [/FlateDecode /FlateDecode]>>\nstream\n%s\nendstream" % (len(data), data)
    return make_pdf(
        [
            b"<</Type /Catalog /Pages 2 0 R>>",
            b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
            b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Resources <<>>>>",
            stream,
        ]
    )


def deep_pages(depth: int) -> bytes:
    """A tree of pages with one branch, so deep that walking it runs out of stack."""
    tree = [
        b"<</Type /Pages /Kids [%d 0 R] /Count 1 /Parent %d 0 R>>" % (number + 1, number - 1)
        for number in range(2, depth + 2)
    ]
    page = b"<</Type /Page /Parent %d 0 R /MediaBox [0 0 100 100]>>" % (depth + 1)
    return make_pdf([b"<</Type /Catalog /Pages 2 0 R>>", *tree, page])


def circular_pages() -> bytes:
    """Pages that are their own children, and a length that is found only by reading what it is the length of."""
    return make_pdf(
        [
            b"<</Type /Catalog /Pages 2 0 R>>",
            b"<</Type /Pages /Kids [2 0 R 3 0 R 3 0 R] /Count 9 /Parent 2 0 R>>",
            b"<</Type /Page /Parent 3 0 R /MediaBox 3 0 R /Contents [4 0 R 4 0 R]>>",
            b"<</Length 4 0 R>>\nstream\nx\nendstream",
        ]
    )


def repeated_form(levels: int) -> bytes:
    """Drawings that draw the next one ten times: ten to the power of `levels` in a kilobyte."""
    forms = [
        b"<</Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <</XObject <</F %d 0 R>>>> /Length 50>>\n"
        b"stream\n%s\nendstream" % (number + 1, b"/F Do " * 10)
        for number in range(4, 4 + levels)
    ]
    last = b"<</Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 11>>\nstream\n0 0 9 9 re f\nendstream"
    page = b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Resources <</XObject <</F 5 0 R>>>>>>"
    return make_pdf(
        [b"<</Type /Catalog /Pages 2 0 R>>", b"<</Type /Pages /Kids [3 0 R] /Count 1>>", page, *forms, last]
    )
