"""The policies of examples/review, a PDF of 27 pages among them: every quote its labels name is where they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.knowledge.test_tree import holds

from circumspect.knowledge.conflicts import conflicts_among
from circumspect.knowledge.read_document import read_document

REVIEW = Path(__file__).resolve().parents[2] / "examples" / "review"


def test_every_quote_of_the_labels_is_found_on_its_page_and_in_its_section():
    documents = {path.name: read_document(path.read_bytes(), path.name) for path in (REVIEW / "policies").iterdir()}
    for document in documents.values():
        holds(document)
    labels = [json.loads(line) for line in (REVIEW / "labels.jsonl").read_text("utf-8").splitlines()]
    gold = {json.dumps(one, sort_keys=True) for label in labels for one in label["gold"]}
    assert len(gold) > 100
    for one in map(json.loads, sorted(gold)):
        document = documents[one["document"]]
        words = r"\s+".join(map(re.escape, one["quote"].split()))
        places = [match.start() for match in re.finditer(words, document.text)]
        assert places, one
        assert one.get("page") is None or one["page"] in {document.page_of(place) for place in places}, one
        assert any(one["section"] in document.section_at(place).path for place in places), one
    assert conflicts_among(documents.values()) == [], "no false alarms; those that are there it does not see"
