"""What a reviewer reads: a table in the terminal, and a page with the quotes highlighted and everything escaped."""

from __future__ import annotations

import re
from html import unescape

from markupsafe import escape
from tests.review.conftest import IN_TIME, PLAIN, POLICY, RULE, case, document

from circumspect.knowledge.tree import TextSpan
from circumspect.review.citations import citation
from circumspect.review.heuristic import heuristic
from circumspect.review.report_html import page
from circumspect.review.report_text import lines
from circumspect.review.shelf import Shelf
from circumspect.review.values import CaseEvidence, Criterion, CriterionResult, ReviewCase

EVIL = "<script>alert(\"x\")</script> & 'quoted' </pre>"


def test_the_table_shows_verdict_quote_place_and_facts(plain_shelf: Shelf) -> None:
    text = "\n".join(lines([heuristic(case(), IN_TIME, plain_shelf)], {"K-1": IN_TIME}))
    for piece in ("✓ MET", "K-1", RULE[:40], "handbook.md, 1 Time limits › 1.1 Claims for a trip", "claim.submitted = 2026-04-05",
                  "1 criterion: 1 met, 0 not met, 0 uncertain"):  # fmt: skip
        assert piece in text, piece


def test_the_page_highlights_the_quote_in_the_document(plain_shelf: Shelf) -> None:
    html = page([heuristic(case(), IN_TIME, plain_shelf)], {"K-1": IN_TIME}, plain_shelf.documents)
    assert f"<mark>{RULE}</mark>" in html
    target = re.search(r'href="#(x[0-9a-f]+)"', html)
    assert target is not None
    assert f'<span id="{target[1]}"></span><mark>' in html
    shown = unescape(re.sub(r"<[^>]+>", "", html[html.index("<pre>") : html.index("</pre>")]))
    assert shown == PLAIN


def test_whatever_is_in_a_case_or_a_policy_is_escaped() -> None:
    one = document(f"# Rules {EVIL}\n\nA rule that says {EVIL} and more.\n", "<b>.md")
    start = one.text.index("A rule")
    quoted = citation(one, TextSpan(start, start + 40))
    result = CriterionResult(
        EVIL, EVIL, "MET", 0.9, EVIL, "react", (quoted,), (CaseEvidence(EVIL, EVIL),), prompt_id=EVIL
    )
    html = page([result], {EVIL: Criterion(EVIL, EVIL)}, {one.id: one})
    assert "<script" not in html
    assert html.count("</pre>") == 1
    assert "default-src 'none'" in html


def test_the_texts_of_a_case_are_on_the_page_as_they_were_written(plain_shelf: Shelf) -> None:
    noted = ReviewCase("C-1", case().fields, notes=(("letter", f"I was ill. {EVIL}"),))
    html = page([heuristic(noted, IN_TIME, plain_shelf)], {"K-1": IN_TIME}, plain_shelf.documents, [noted])
    assert "letter" in html
    assert f"<pre>{escape(f'I was ill. {EVIL}')}</pre>" in html


def test_quotes_that_overlap_are_marked_once(shelf: Shelf) -> None:
    one = shelf.documents["handbook.md"]
    start = POLICY.index("A claim for a trip")
    quotes = tuple(citation(one, TextSpan(start + a, start + b)) for a, b in ((0, 30), (10, 50), (10, 50)))
    result = CriterionResult("c", "k", "MET", 0.9, "r", "react", quotes)
    html = page([result], {}, shelf.documents)
    assert html.count("<mark>") == 1
    assert f"<mark>{POLICY[start : start + 50]}</mark>" in html
