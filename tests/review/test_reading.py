"""Cases, criteria and documents: read in every form they come in, refused with file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from circumspect.errors import ConfigError
from circumspect.knowledge.parsed import DocumentRefused
from circumspect.review.case_files import criteria_of, read_case, read_cases, read_criteria, read_documents
from circumspect.review.values import Field, ReviewCase


def test_plain_facts_become_fields_with_dotted_names() -> None:
    case = read_case({"id": 7, "facts": {"a": {"b": [1, 2]}, "list": [{"x": "y"}], "none": [], "no": None}}, "f")
    assert case.id == "7"
    assert {name: one.value for name, one in case.fields.items()} == {
        "a.b": [1, 2],
        "list.0.x": "y",
        "none": [],
        "no": None,
    }


def test_extracted_fields_carry_their_confidence_and_source() -> None:
    given: dict[str, Any] = {
        "id": "c",
        "fields": {
            "age": {"value": 42, "confidence": 0.8, "source": {"document": "scan.pdf", "page": 3}},
            "plain": {"deep": 1},
        },
    }
    case = read_case(given, "f")
    assert case.fields["age"] == Field(42, 0.8, "scan.pdf", 3)
    assert case.fields["plain.deep"] == Field(1)
    listed = read_case({"id": "c", "fields": [{"name": "age", "value": 42, "document": "scan.pdf", "page": 3}]}, "f")
    assert listed.fields["age"] == Field(42, 1.0, "scan.pdf", 3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "is not a case"),
        ({"id": "x"}, "no facts"),
        ({"facts": {"a": 1}, "fact": 2}, "'fact' is not known"),
        ({"facts": {"a": 1}}, "'id' is missing"),
        ({"id": "x", "facts": [1]}, "'facts' is not an object"),
        ({"id": "x", "fields": {"a": {"value": 1, "confidence": 7}}}, "fields.a.confidence is 7"),
        ({"id": "x", "fields": {"a": {"value": 1, "page": "two"}}}, "fields.a.page"),
        ({"id": "x", "fields": [{"value": 1}]}, "fields[0]: 'name' is missing"),
        ({"id": "x", "facts": {"a": 1}, "policy": 3}, "'policy' is not a text"),
        ({"id": "x", "facts": {"a": 1}, "documents": [{"name": "n"}]}, "documents[0] has no 'text'"),
    ],
)
def test_a_wrong_case_is_refused_with_its_field(value: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_case(value, "case.json")
    assert "case.json" in refused.value.problem
    assert said in refused.value.problem
    assert refused.value.fix


def test_cases_come_from_files_lists_lines_and_folders(tmp_path: Path) -> None:
    one, two, three = ({"id": name, "facts": {"a": 1}} for name in "abc")
    (tmp_path / "1.json").write_text(json.dumps(one))
    (tmp_path / "2.json").write_text(json.dumps([two]))
    (tmp_path / "3.jsonl").write_text(json.dumps(three) + "\n\n")
    (tmp_path / "notes.txt").write_text("no case")
    assert [case.id for case in read_cases(tmp_path)] == ["a", "b", "c"]
    assert [case.id for case in read_cases(tmp_path / "3.jsonl")] == ["c"]
    (tmp_path / "4.json").write_text(json.dumps(one))
    with pytest.raises(ConfigError, match=r"'a' is in .*1\.json too"):
        list(read_cases(tmp_path))
    (tmp_path / "4.json").write_text("{broken")
    with pytest.raises(ConfigError, match=r"4\.json is not valid JSON"):
        list(read_cases(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("criteria: []", "no criteria"),
        ("criteria:\n  - id: A", "criteria[0]: 'text' is missing"),
        ("criteria:\n  - {id: A, text: t, wether: x}", "'wether' is not known"),
        ("criteria:\n  - {id: A, text: t}\n  - {id: A, text: u}", "'A' is there twice"),
        ("criteria:\n  - {id: A, text: t, facts: a.b}", "'facts' is not a list"),
        ("policies: {p: {title: x}}\ncriteria:\n  - {id: A, text: t}", "policies.p names no document"),
        ("critera: []", "'critera' is not known"),
        ("a: [", "not valid YAML"),
    ],
)
def test_wrong_criteria_are_refused_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "criteria.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        read_criteria(path)
    assert said in refused.value.problem
    assert "criteria.yaml" in refused.value.problem


def test_a_case_gets_the_criteria_of_its_policy_and_they_their_document() -> None:
    criteria = criteria_of(
        {
            "policies": {"p": {"document": "folder/p.pdf"}, "q": "q.md"},
            "criteria": [
                {"id": "1", "text": "t", "policy": "p"},
                {"id": "2", "text": "t", "policy": "q"},
                {"id": "3", "text": "t"},
            ],
        },
        "f",
    )
    named, unnamed = ReviewCase("c", {"a": Field(1)}, "p"), ReviewCase("c", {"a": Field(1)})
    assert [one.id for one in criteria.of(named, ("p.pdf", "q.md"))] == ["1", "3"]
    assert [one.id for one in criteria.of(unnamed, ("q.md",))] == ["2", "3"]
    assert criteria.document_of(criteria.items[0], ("p.pdf", "q.md")) == "p.pdf"
    assert criteria.document_of(criteria.items[0], ("renamed.pdf",)) is None


def test_documents_that_cannot_be_read_stop_the_run(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="no documents in it"):
        read_documents(tmp_path)
    (tmp_path / "a.md").write_text("# A\n\nText.")
    assert [one.id for one in read_documents(tmp_path)] == ["a.md"]
    (tmp_path / "b.pdf").write_bytes(b"not a pdf")
    with pytest.raises(DocumentRefused, match="not a PDF"):
        read_documents(tmp_path)


def test_a_case_that_changed_has_another_hash() -> None:
    one = read_case({"id": "c", "facts": {"a": 1, "b": 2}}, "f")
    same = read_case({"id": "c", "facts": {"b": 2, "a": 1}}, "f")
    other = read_case({"id": "c", "facts": {"a": 1, "b": 2.0}}, "f")
    assert one.hash == same.hash != other.hash
