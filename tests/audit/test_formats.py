"""Every format that docs/audit.md promises, from a small file in the exact shape that its tool writes.

All files hold the same conversation: an order is looked up, the user is asked, says yes, and it is cancelled. Being
allowed to cancel takes the order's state from the look-up and the user's yes, so a reader that loses either is found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from circumspect.audit.auditor import audit
from circumspect.audit.readers.record_formats import FORMAT_NAMES
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.transcript_files import TranscriptProblem
from circumspect.audit.transcript_steps import LITERAL_LIMIT, result_value
from circumspect.policy.load import load

FORMATS = Path(__file__).parent / "formats"
POLICY = load(
    """
version: 1
tools:
  get_order: {effect: read}
  cancel_order:
    effect: destructive
    confirm: always
    deny_unless:
      - if: facts.get_order[args.order_id].status == 'open'
        because: Only an open order can be cancelled.
"""
)
ORDER = {"order_id": "A10077"}


PROMISED = [
    (name, row[row.rindex("| `") + 3 : -3])
    for row in (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8").splitlines()
    if "<!-- " in row
    for name in row[row.index("<!-- ") + 5 : row.index(" -->")].split()
]
"""The files behind each row of the table of formats, and the name that forces it."""


def test_every_row_of_the_table_has_its_files_and_every_file_its_row() -> None:
    assert sorted(name for name, _ in PROMISED) == sorted(path.name for path in FORMATS.iterdir())
    assert {forced for _, forced in PROMISED} == set(FORMAT_NAMES)


@pytest.mark.parametrize(("name", "forced"), PROMISED)
def test_the_same_conversation_is_read_from_every_format(name: str, forced: str) -> None:
    path = FORMATS / name
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    rows = list(audit(files, POLICY))
    assert list(audit(files, POLICY, format_name=forced)) == rows
    assert not [str(row) for row in rows if isinstance(row, TranscriptProblem)]
    # A log of the protocol holds no words, so nobody is seen to agree.
    cancelling = "ask" if name.startswith("mcp") else "allow"
    assert [(row.tool, row.arguments, row.verdict) for row in rows if isinstance(row, AuditedCall)] == [
        ("get_order", ORDER, "allow"),
        ("cancel_order", ORDER, cancelling),
    ]


def test_a_result_that_python_printed_is_read_as_a_value() -> None:
    assert result_value("{'status': 'open', 'paid': True, 'items': ('a', {'b': None})}") == {
        "status": "open",
        "paid": True,
        "items": ["a", {"b": None}],
    }
    assert result_value("{1, 'a'} or so") == "{1, 'a'} or so"
    assert result_value("{'at': datetime.date(2026, 1, 1)}") == "{'at': datetime.date(2026, 1, 1)}"


@pytest.mark.parametrize(
    "text", ["['" + "x" * LITERAL_LIMIT + "']", "[" * 30_000 + "''", "['a', " + "-" * 60_000 + "1]", "['\x00']"]
)
def test_a_text_that_would_take_python_too_far_stays_a_text(text: str) -> None:
    assert result_value(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Order(order_id='1', status='paid', total=Decimal('1.50'), day=datetime.date(2026, 1, 2), lines=[Line(sku='a')])",
        "order_id='1' status='paid' total=Decimal('1.50') day=datetime.date(2026, 1, 2) lines=[Line(sku='a')]",
        "order_id='1' status=<Status.PAID: 'paid'> total=Decimal('1.50') day=datetime.date(2026, 1, 2) "
        "lines=[Line(sku='a')]",
    ],
)
def test_a_record_that_python_printed_has_its_fields(text: str) -> None:
    """What LangChain makes of a dataclass, and of a pydantic model."""
    assert result_value(text) == {
        "order_id": "1",
        "status": "paid",
        "total": "1.50",
        "day": "2026-01-02",
        "lines": [{"sku": "a"}],
    }


def test_records_in_a_list_and_quotes_in_a_field_are_read() -> None:
    assert result_value("[Row(id='1'), Row(id=-2)]") == [{"id": "1"}, {"id": -2}]
    assert result_value("Row(id='1', at=Clock('x').now())") == {"id": "1", "at": "Clock('x').now()"}
    assert result_value("""note="it's x=1, y='2'" n=3""") == {"note": "it's x=1, y='2'", "n": 3}


@pytest.mark.parametrize(
    "text",
    [
        "Order(order_id=status)",
        "Set a=1 and b=2, then order.",
        "a=1 b",
        "Order(**{'a': 1})",
        "total=5 EUR",
        "print('x')",
        "Order(id='1'" + ")" * 3,
        "x=" + "(" * 9_000,
        "x='" + "a=' b=" * 9_000,
        "f(" * 9_000 + "a='1'" + ")" * 9_000,
    ],
)
def test_words_that_look_like_a_record_stay_words(text: str) -> None:
    assert result_value(text) == text
