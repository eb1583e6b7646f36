"""Labelled criteria: our sample set, and rules that somebody wrote into a JSON or YAML file.

A rule is `{id, policy_text, criterion, facts, truth}`: a small policy in Markdown, one criterion, the facts of one
case, and what a careful reader says (MET, NOT_MET or UNCERTAIN). Other keys are for people and reach no reviewer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from circumspect.knowledge.read_document import read_document
from circumspect.review.case_files import read_case, read_cases, read_criteria, read_documents
from circumspect.review.citations import cite
from circumspect.review.shelf import Shelf
from circumspect.review.values import Citation, Criterion, ReviewCase

SAMPLES = Path(__file__).parents[1] / "examples" / "review"


@dataclass(frozen=True)
class LabelledCriterion:
    name: str
    case: ReviewCase
    criterion: Criterion
    shelf: Shelf
    """What the criterion is judged by, and nothing else."""
    truth: str
    trap: str = ""
    gold: tuple[Citation, ...] = ()
    """The sentences that decide, where the set has them."""


def read_samples() -> list[LabelledCriterion]:
    criteria, shelf = read_criteria(SAMPLES / "criteria.yaml"), Shelf(read_documents(SAMPLES / "policies"))
    by_id, cases = {one.id: one for one in criteria.items}, {one.id: one for one in read_cases(SAMPLES / "cases")}
    found = []
    for line in (SAMPLES / "labels.jsonl").read_text("utf-8").splitlines():
        label = json.loads(line)
        criterion = by_id[label["criterion"]]
        gold = [cite(one["quote"], shelf.searchable, document=one["document"]) for one in label["gold"]]
        own = shelf.only(criteria.document_of(criterion, shelf.names))
        name, trap = f"{label['case']} {label['criterion']}", label["trap"] or ""
        quotes = tuple(one for one in gold if one)
        found.append(LabelledCriterion(name, cases[label["case"]], criterion, own, label["verdict"], trap, quotes))
    return found


def read_rules(path: Path) -> list[LabelledCriterion]:
    text = path.read_text("utf-8")
    rules: Sequence[dict[str, Any]] = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    shelves: dict[str, Shelf] = {}
    found = []
    for rule in rules:
        policy = rule["policy_text"]
        if policy not in shelves:
            shelves[policy] = Shelf([read_document(policy.encode(), "policy.md")])
        case = read_case({"id": rule["id"], "facts": rule["facts"]}, rule["id"])
        criterion = Criterion(rule["id"], rule["criterion"])
        trap = ", ".join(rule.get("tags", ()))
        found.append(LabelledCriterion(rule["id"], case, criterion, shelves[policy], rule["truth"], trap))
    return found
