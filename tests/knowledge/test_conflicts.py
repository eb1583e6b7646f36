"""Contradicting statements are found, with both quotes; statements about different cases are left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import circumspect.demo.samples
from circumspect.knowledge.conflicts import conflicts_among, find_conflicts
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.stated_values import values

PAIRS = yaml.safe_load(Path(__file__).with_name("conflict_pairs.yaml").read_text(encoding="utf-8"))
UNSEEN = yaml.safe_load(Path(__file__).with_name("conflict_pairs_unseen.yaml").read_text(encoding="utf-8"))
DOCUMENTS = Path(circumspect.demo.samples.__file__).parent / "documents"


def between(left, right):
    pair = [
        read_document(f"# {title}\n\n{text}".encode(), name)
        for name, (title, text) in (("a.md", left), ("b.md", right))
    ]
    return conflicts_among(pair)


def judged(pairs):
    """How many conflicts were found, and the pairs that were judged wrongly."""
    right, false_alarms, missed = 0, [], []
    for expected, _, left, other in pairs:
        found = bool(between(left, other))
        right += found and expected
        if found and not expected:
            false_alarms.append((left, other))
        if expected and not found:
            missed.append((left, other))
    return right, false_alarms, missed


def show(capsys, name, pairs):
    right, false_alarms, missed = judged(pairs)
    precision, recall = right / (right + len(false_alarms)), right / (right + len(missed))
    with capsys.disabled():
        print(f"\nconflicts, {name}: {len(pairs)} pairs, precision {precision:.2f}, recall {recall:.2f}")
    return precision, recall


@pytest.mark.parametrize("language", ["en", "ru", "he"])
def test_pairs_are_judged_with_few_misses_and_no_false_alarms(language, capsys):
    precision, recall = show(capsys, language, [pair for pair in PAIRS if pair[1] == language])
    assert precision == 1
    assert recall >= 0.85


def test_pairs_that_no_rule_was_made_for_are_mostly_judged_right(capsys):
    precision, recall = show(capsys, "unseen", UNSEEN)
    assert precision >= 0.75
    assert recall >= 0.6


def test_there_are_pairs_enough():
    assert len(PAIRS) >= 60
    assert len({str(pair) for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize(("language", "values_found"), [("en", ("30 days", "14 days")), ("ru", ("30 дней", "14 дней")), ("he", ("30 ימים", "14 ימים"))])  # fmt: skip
def test_the_sample_documents_contradict_each_other_once(language, values_found):
    documents = [read_document(path.read_bytes(), path.name) for path in sorted((DOCUMENTS / language).glob("*.md"))]
    (conflict,) = conflicts_among(documents)
    assert conflict.kind == "duration"
    assert (conflict.left.document, conflict.left.section, conflict.left.value) == ("guide.md", "1.7", values_found[0])
    assert (conflict.right.document, conflict.right.section, conflict.right.value) == (
        "terms.md",
        "1.1",
        values_found[1],
    )
    assert conflict.subject
    by_id = {document.id: document for document in documents}
    for side in (conflict.left, conflict.right):
        assert by_id[side.document].quote(side.span) == side.quote
        assert side.value in side.quote


def test_order_does_not_matter():
    for _, _, left, right in PAIRS:
        assert bool(between(left, right)) == bool(between(right, left))


def test_a_text_does_not_contradict_itself_or_its_copy():
    for _, _, left, _ in PAIRS:
        assert not between(left, left)
    assert not find_conflicts([])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("₪1,950 or 170 ₪, 1 950 ₪, €1.950,00, 20 руб.", [1950, 170, 1950, 1950, 20]),
        ("two weeks, 24 hours, 90 minutes", [336, 24, 1.5]),
        ("ten working days; десяти рабочих дней; עשרה ימי עסקים", [10, 10, 10]),
        ("שבועיים, בשלושה ימים", [336, 72]),
        ("2026-12-31, 31.12.2026, December 31, 2026, 31 декабря 2026, 31 בדצמבר 2026", [20261231] * 5),
        ("10 %, 8 процентов, 20 אחוז, 2.5%", [10, 8, 20, 2.5]),
        ("room 12A, version 2.5.1, B2, phone 04-555-0134", []),
    ],
)
def test_values_are_read_as_written(text, expected):
    found = values(text)
    assert [value.amount for value in found] == expected
    for value in found:
        assert text[value.start : value.end] in value.written
