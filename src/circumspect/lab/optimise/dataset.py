"""A folder with cases, policies, criteria and labels -> examples for training, validation and the held-out test.

Which part a case belongs to is decided by a hash of its id alone: it stays there when cases are added, on every
machine and in every run. All criteria of a case go together, so that nothing of a held-out case was seen before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import orjson

from circumspect.errors import ConfigError
from circumspect.hashing import digest
from circumspect.lab.optimise.values import Example, GoldLabel, QuoteSpan
from circumspect.review.case_files import Criteria, read_cases, read_criteria, read_documents
from circumspect.review.citations import cite
from circumspect.review.shelf import Shelf
from circumspect.review.values import STATUSES, ReviewCase

DatasetPart = Literal["train", "validation", "held"]
TRAIN, VALIDATION = 0.5, 0.25
"""Shares of the cases; the rest is held out."""
FROM_STORE = "store.json"
"""In a folder that was made from a store: whose."""


def part_of(case_id: str) -> DatasetPart:
    place = int.from_bytes(hashlib.sha256(case_id.encode()).digest()[:8]) / 2**64
    return "train" if place < TRAIN else "validation" if place < TRAIN + VALIDATION else "held"


@dataclass(frozen=True)
class Dataset:
    """Held-out examples are looked at once, at the end, by nobody but the final comparison."""

    examples: tuple[Example, ...]
    shelf: Shelf
    tenant: str | None = None
    """Whose store the cases come from, if they do."""

    def part(self, name: DatasetPart) -> tuple[Example, ...]:
        return tuple(one for one in self.examples if part_of(one.case.id) == name)

    @cached_property
    def train(self) -> tuple[Example, ...]:
        return self.part("train")

    @cached_property
    def validation(self) -> tuple[Example, ...]:
        return self.part("validation")

    @cached_property
    def held_out(self) -> tuple[Example, ...]:
        return self.part("held")

    @property
    def hash(self) -> str:
        labelled = [
            [one.case.hash, one.criterion.to_json(), one.label.verdict, list(one.label.facts), one.label.why]
            for one in self.examples
        ]
        return digest([labelled, self.shelf.hash])


def read_dataset(folder: Path) -> Dataset:
    """Raises `ConfigError` with the file and line of what is wrong."""
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is not a folder.", fix="Name one with cases/, policies/, criteria.yaml and labels.jsonl."
        )
    criteria, shelf = read_criteria(_criteria(folder)), Shelf(read_documents(_there(folder / "policies")))
    cases = {one.id: one for one in read_cases(_there(folder / "cases"))}
    labels = _there(folder / "labels.jsonl")
    examples: dict[str, Example] = {}
    for number, line in enumerate(labels.read_bytes().splitlines(), 1):
        if line.strip():
            example = _example(line, f"{labels}:{number}", cases, criteria, shelf)
            if example.id in examples:
                raise ConfigError(f"{labels}:{number}: {example.id} has a label already.", fix="Keep one of the two.")
            examples[example.id] = example
    if not examples:
        raise ConfigError(f"{labels} has no labels.", fix="Write one line for each case and criterion.")
    return Dataset(tuple(examples.values()), shelf, tenant_of(folder))


def tenant_of(folder: Path) -> str | None:
    """Whose store a dataset was made from; None where somebody made it by hand."""
    file = folder / FROM_STORE
    if not file.is_file():
        return None
    try:
        return str(orjson.loads(file.read_bytes())["tenant"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ConfigError(f"{file} does not say whose it is.", fix='Write {"tenant": "NAME"}.') from None


def _criteria(folder: Path) -> Path:
    names = ("criteria.yaml", "criteria.yml", "criteria.json", "criteria.jsonl")
    return next((folder / name for name in names if (folder / name).is_file()), None) or _there(folder / names[0])


def _there(path: Path) -> Path:
    if not path.exists():
        raise ConfigError(f"{path} is not there.", fix="A dataset has cases/, policies/, criteria.yaml, labels.jsonl.")
    return path


def _example(line: bytes, where: str, cases: Mapping[str, ReviewCase], criteria: Criteria, shelf: Shelf) -> Example:
    try:
        given: Any = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise ConfigError(f"{where} is not valid JSON: {problem}.", fix="Correct it.") from None
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} is not a label.", fix='Write {"case": …, "criterion": …, "verdict": …}.')
    case = cases.get(str(given.get("case")))
    criterion = next((one for one in criteria.items if one.id == given.get("criterion")), None)
    if case is None or criterion is None:
        what = "case" if case is None else "criterion"
        raise ConfigError(f"{where}: there is no {what} {given.get(what)!r}.", fix="Check the ids.")
    verdict = given.get("verdict")
    if verdict not in STATUSES:
        raise ConfigError(f"{where}: the verdict is {verdict!r}.", fix=f"Use {', '.join(STATUSES)}.")
    gold = tuple(_gold(one, where, shelf) for one in _read_list(given, "gold", where))
    facts, missing = (tuple(str(one) for one in _read_list(given, key, where)) for key in ("facts", "missing"))
    label = GoldLabel(verdict, gold, facts, missing, str(given.get("why") or ""), str(given.get("trap") or ""))
    return Example(case, criterion, label, criteria.document_of(criterion, shelf.names))


def _read_list(given: Mapping[str, Any], key: str, where: str) -> Sequence[Any]:
    value = given.get(key) or []
    if not isinstance(value, list):
        raise ConfigError(f"{where}: '{key}' is not a list.", fix="Write it as a list.")
    return value


def _gold(value: Any, where: str, shelf: Shelf) -> QuoteSpan:
    quote = value.get("quote", "") if isinstance(value, Mapping) else str(value)
    document = str(value.get("document", "")) if isinstance(value, Mapping) else ""
    found = cite(quote, shelf.searchable, document=document)
    if found is None:
        raise ConfigError(
            f"{where}: this is in no document: {quote[:80]!r}.", fix="Copy the sentence from the document."
        )
    return QuoteSpan(found.document, found.start, found.end, found.quote)
