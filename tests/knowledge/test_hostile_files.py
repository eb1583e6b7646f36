"""A small file that is large work is refused in words, and whoever asked for it is none the worse."""

from __future__ import annotations

import contextlib
import time

import psutil
import pytest
from tests.knowledge import hostile_files
from tests.patience import PATIENCE

from circumspect.confined.processes import ReadingLimits
from circumspect.knowledge.parsed import DocumentRefused
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import SectionHeading, grow

LIMITS = ReadingLimits(seconds=3, megabytes=150)


def test_a_pdf_of_a_few_hundred_bytes_that_unfolds_to_gigabytes_is_refused_and_leaves_nothing_behind():
    data = hostile_files.nested_streams(400)
    assert len(data) < 2_000
    read_document(b"# Terms", "terms.md", limits=LIMITS)
    own = psutil.Process()
    before, others = own.memory_info().rss, set(own.children())
    for _ in range(2):
        with pytest.raises(
            DocumentRefused, match=r"terms\.pdf needs more than 150 MB of memory to be read\."
        ) as refused:
            read_document(data, "terms.pdf", limits=LIMITS)
        assert refused.value.fix
    assert own.memory_info().rss - before < 20_000_000
    assert all(one.memory_info().rss < 150_000_000 for one in set(own.children()) - others)
    assert read_document(b"# Terms\n\nTen days.", "terms.md", limits=LIMITS).title == "Terms"


@pytest.mark.parametrize(
    "data",
    [hostile_files.deep_pages(3_000), hostile_files.circular_pages(), hostile_files.repeated_form(9)],
    ids=["deep pages", "circular pages", "repeated drawings"],
)
def test_a_pdf_that_leads_its_reader_in_circles_is_refused_in_time(data):
    assert len(data) < 500_000
    began = time.monotonic()
    with pytest.raises(DocumentRefused):
        read_document(data, "terms.pdf", limits=LIMITS)
    assert time.monotonic() - began < PATIENCE


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<div>" * 1_000_000, "deep.html"),
        (b"<a" + b" x" * 1_000_000 + b">", "attributes.html"),
        (b"<style>" + b"a{display:none}" * 100_000 + b"</style>" + b"<a>" * 100_000, "styles.html"),
        (b"[" * 2_000_000, "links.md"),
        (b"> " * 1_000_000, "quotes.md"),
        (b"# a\n\n" * 500_000, "headings.md"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_text_that_is_made_to_be_slow_is_read_or_refused_in_time(data, name):
    began = time.monotonic()
    with contextlib.suppress(DocumentRefused):
        read_document(data, name, limits=LIMITS)
    assert time.monotonic() - began < PATIENCE


def test_a_tree_of_very_many_headings_is_made_in_one_pass():
    headings = [SectionHeading(start, 1 + start % 3, "a") for start in range(60_000)]
    began = time.process_time()
    root = grow("a" * 60_000, "Terms", headings)
    assert sum(1 for _ in root.walk()) == 60_001
    assert time.process_time() - began < PATIENCE / 4
