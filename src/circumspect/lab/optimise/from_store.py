"""Verdicts that people corrected or confirmed, in the store -> examples, and a folder that `read_dataset` reads.

Every evaluation came with its own criteria and documents; a dataset has one set of each. Two criteria or documents that
share a name and are not the same both stay, one under a longer name. A criterion of an evaluation with one document is
about that document alone; with several, about all documents of the dataset.

What is left out is counted by reason: words on an older text of a case (two texts of one case might end up on both
sides of the split), on a stored document that has changed since, and on one of several documents that came in more than
one version, since nothing would say which of them counts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from circumspect import private_files
from circumspect.errors import CircumspectError, ConfigError
from circumspect.hashing import digest
from circumspect.knowledge.parse_document import HTML, MARKDOWN, PDF, PLAIN
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.lab.optimise.dataset import FROM_STORE, DatasetPart, part_of
from circumspect.lab.optimise.values import Example, GoldLabel
from circumspect.review.case_files import criteria_of, read_case
from circumspect.review.values import STATUSES, Criterion
from circumspect.wording import compact

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.stores.corrections import Correction

PARTS: tuple[DatasetPart, ...] = ("train", "validation", "held")
OLDER_CASE = "about an older text of the case"
REPLACED = "another one on the same criterion of the same case is newer"
CHANGED = "the document is gone or has changed since"
VERSIONS = "about several documents, of which there are versions"
UNREADABLE = "the evaluation cannot be read any more"

_SUFFIXES = {
    MARKDOWN: (".md", ".markdown"),
    HTML: (".html", ".htm", ".xhtml"),
    PLAIN: (".txt", ".text"),
    PDF: (".pdf",),
}


@dataclass(frozen=True)
class DocumentFile:
    """A document and the file that it is read from."""

    document: KnowledgeDocument
    data: bytes
    suffix: str

    @property
    def name(self) -> str:
        return self.document.id

    @cached_property
    def hash(self) -> str:
        return digest([self.document.hash, self.suffix])


@dataclass(frozen=True)
class Judged:
    """A verdict that somebody judged, with all that a review of it needs."""

    example: Example
    request_case: Mapping[str, Any]
    """As it was sent."""
    sources: tuple[DocumentFile, ...]
    confirms: bool


@dataclass(frozen=True)
class JudgedVerdicts:
    tenant: str
    judged: tuple[Judged, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many, by reason."""

    @property
    def widened_count(self) -> int:
        """How many are read against documents that their evaluation did not have."""
        hashes = {source.hash for one in self.judged for source in one.sources}
        return sum(1 < len(one.sources) < len(hashes) for one in self.judged)

    def to_json(self) -> dict[str, Any]:
        cases = {one.example.case.id for one in self.judged}
        return {
            "labels": len(self.judged),
            "confirmed": sum(one.confirms for one in self.judged),
            "cases": {part: sum(part_of(case) == part for case in cases) for part in PARTS},
            "read_against_all_documents": self.widened_count,
            "left_out": dict(self.left_out),
        }


# --- from the store -------------------------------------------------------------------------------------------------


def read_corrections(
    connection: sa.Connection, some: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str, str], Example]:
    """What people said about some evaluations (tenant and id), by tenant, evaluation and criterion. Nothing where the
    database is a file that has reviews only."""
    import sqlalchemy as sa

    from circumspect.stores import corrections, reviews
    from circumspect.stores.experiment_tables import labels

    if not some or not sa.inspect(connection).has_table(labels.name):
        return {}
    found: dict[tuple[str, str, str], Example] = {}
    for key, one in corrections.of_all(connection, some).items():
        evaluation = reviews.get(connection, frozenset({one.tenant}), one.evaluation)
        example = _example(evaluation.request, one) if evaluation else None
        if example is not None:
            found[key] = example
    return found


def gather(connection: sa.Connection, tenant: str, since: float | None = None) -> JudgedVerdicts:
    """All that people of a tenant said about verdicts since then."""
    from circumspect.stores import corrections

    reader, left_out = _Reader(connection, tenant), Counter[str]()
    newest: dict[tuple[str, str], Judged] = {}
    texts: dict[str, str] = {}
    for one in reversed(corrections.since(connection, tenant, since)):
        judged = reader.read(one)
        if isinstance(judged, str):
            left_out[judged] += 1
            continue
        case = judged.example.case
        if texts.setdefault(case.id, case.hash) != case.hash:
            left_out[OLDER_CASE] += 1
        elif newest.setdefault((case.id, _meaning(judged)), judged) is not judged:
            left_out[REPLACED] += 1
    kept = tuple(reversed(newest.values()))
    versions: dict[str, set[str]] = {}
    for source in (source for judged in kept for source in judged.sources):
        versions.setdefault(source.name, set()).add(source.hash)
    clear = tuple(
        judged
        for judged in kept
        if len(judged.sources) == 1 or all(len(versions[source.name]) == 1 for source in judged.sources)
    )
    if len(clear) < len(kept):
        left_out[VERSIONS] += len(kept) - len(clear)
    return JudgedVerdicts(tenant, clear, dict(left_out))


class _Reader:
    """Reads each document once."""

    def __init__(self, connection: sa.Connection, tenant: str) -> None:
        self._connection, self._tenant = connection, tenant
        self._documents: dict[str, DocumentFile] = {}

    def read(self, one: Correction) -> Judged | str:
        """Or why not."""
        from circumspect.stores import reviews

        evaluation = reviews.get(self._connection, frozenset({self._tenant}), one.evaluation)
        example = _example(evaluation.request, one) if evaluation else None
        if evaluation is None or example is None:
            return UNREADABLE
        request: Mapping[str, Any] = evaluation.request
        rows = reviews.results_of(self._connection, self._tenant, evaluation.id)
        result: Mapping[str, Any] = next((row for _, row in rows if row["criterion"] == one.criterion), {})
        try:
            sources = tuple(self._source(given, index) for index, given in enumerate(request["documents"]))
        except CircumspectError:
            return CHANGED
        texts = {source.name: source.document.text for source in sources}
        for quote in result.get("citations", ()):
            if texts.get(quote["document"], "")[quote["start"] : quote["end"]] != quote["quote"]:
                return CHANGED
        return Judged(example, request["case"], sources, one.confirms)

    def _source(self, given: Mapping[str, Any], index: int) -> DocumentFile:
        from circumspect.review.service import bytes_of
        from circumspect.stores import knowledge

        if (name := given.get("stored")) and (key := f"stored {name}") not in self._documents:
            document = knowledge.get(self._connection, self._tenant, name)
            if document is None:
                raise ConfigError(f"There is no stored document '{name}'.", fix="Put it there again.")
            # Of a stored document there is its text. Of Markdown that is the file; of the others, what was read of it.
            suffix = ".md" if document.media_type == MARKDOWN else ".txt"
            self._documents[key] = DocumentFile(document, document.text.encode(), suffix)
        if name:
            return self._documents[f"stored {name}"]
        data, media_type = bytes_of(given, f"documents[{index}]"), given.get("media_type")
        key = digest([given["name"], media_type, hashlib.sha256(data).hexdigest()])
        if key not in self._documents:
            document = read_document(data, given["name"], media_type=media_type)
            known = _SUFFIXES[document.media_type]
            own = PurePath(given["name"]).suffix.lower()
            self._documents[key] = DocumentFile(document, data, own if own in known else known[0])
        return self._documents[key]


def _example(request: Mapping[str, Any], one: Correction) -> Example | None:
    """Without its document; None where what was sent cannot be read any more."""
    status = next((status for status in STATUSES if status == one.status), None)
    try:
        case, criteria = read_case(request["case"], "case"), criteria_of(request["criteria"], "criteria")
    except (CircumspectError, KeyError):
        return None
    criterion = next((item for item in criteria.items if item.id == one.criterion), None)
    return None if criterion is None or status is None else Example(case, criterion, GoldLabel(status, why=one.why))


def _meaning(judged: Judged) -> str:
    """The same for the same criterion against the same documents."""
    return digest([judged.example.criterion.to_json(), sorted(source.hash for source in judged.sources)])


# --- to a folder ----------------------------------------------------------------------------------------------------


def write(gathered: JudgedVerdicts, folder: Path) -> None:
    """As `read_dataset` reads it, for its owner only. Into a new folder or an empty one: what was deleted meanwhile
    must not stay."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already, and not empty.", fix="Name a new folder.")
    sources: dict[str, DocumentFile] = {}
    for source in (source for one in gathered.judged for source in one.sources):
        sources.setdefault(source.hash, source)
    files = _assign_names({hash_: _file(source) for hash_, source in sources.items()}, _beside)
    criteria = [_about(one, files) for one in gathered.judged]
    asked = {digest(one.to_json()): one for one in criteria}
    names = _assign_names({hash_: one.id for hash_, one in asked.items()}, _longer)

    private_files.make_folder(folder)
    private_files.write(folder / FROM_STORE, _lines([{"tenant": gathered.tenant}]))
    for part in ("cases", "policies"):
        private_files.make_folder(folder / part)
    for hash_, source in sources.items():
        private_files.write(folder / "policies" / files[hash_], source.data)
    cases = {one.example.case.id: one.request_case for one in gathered.judged}
    private_files.write(folder / "cases" / "cases.jsonl", _lines(cases.values()))
    policies = {name: {"document": name} for name in files.values()}
    items = [{**one.to_json(), "id": names[hash_]} for hash_, one in asked.items()]
    private_files.write(folder / "criteria.json", _lines([{"policies": policies, "criteria": items}]))
    labels = (
        _label(judged.example, names[digest(criterion.to_json())])
        for judged, criterion in zip(gathered.judged, criteria, strict=True)
    )
    private_files.write(folder / "labels.jsonl", _lines(labels))


def _about(judged: Judged, files: Mapping[str, str]) -> Criterion:
    """The criterion, about its evaluation's document where there was one only."""
    alone = files[judged.sources[0].hash] if len(judged.sources) == 1 else None
    return replace(judged.example.criterion, policy=alone)


def _label(example: Example, criterion: str) -> dict[str, str]:
    label = {"case": example.case.id, "criterion": criterion, "verdict": example.label.verdict}
    return label | ({"why": example.label.why} if example.label.why else {})


def _lines(values: Iterable[object]) -> bytes:
    return "".join(f"{compact(value)}\n" for value in values).encode()


def _file(source: DocumentFile) -> str:
    stem = re.sub(r"[^\w.-]+", "-", PurePath(source.name).stem).strip("-.")[:50]
    return f"{stem or 'document'}{source.suffix}"


def _assign_names(wanted: Mapping[str, str], longer: Callable[[str, str], str]) -> Mapping[str, str]:
    """By hash: the name that each wants, or a longer one where another has it. Some file systems know no case."""
    holders: dict[str, str] = {}
    return {
        hash_: name if holders.setdefault(name.casefold(), hash_) == hash_ else longer(name, hash_[:8])
        for hash_, name in wanted.items()
    }


def _longer(name: str, hash_: str) -> str:
    return f"{name}@{hash_}"


def _beside(name: str, hash_: str) -> str:
    path = PurePath(name)
    return f"{path.stem}-{hash_}{path.suffix}"
