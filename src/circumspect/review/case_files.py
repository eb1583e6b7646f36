"""Files -> cases, criteria and documents. What is wrong is told with file and field, and nothing is half read.

A case is a JSON object with `id` and `facts` (plain, nested as you like) or `fields` (each `{"value", "confidence",
"document", "page"}`), one a file, in a list, or one a line. Criteria are YAML or JSON: a list, or `criteria:` with
`policies:` beside it, which say which document a policy is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import orjson

from circumspect.errors import ConfigError
from circumspect.hashing import digest
from circumspect.knowledge.parsed import DocumentRefused
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.review.values import Criterion, Field, ReviewCase, flatten
from circumspect.values import Json

DOCUMENT_SUFFIXES = (".md", ".markdown", ".html", ".htm", ".xhtml", ".txt", ".text", ".pdf")
_CASE_KEYS = {"id", "policy", "title", "facts", "fields", "documents"}
_FIELD_KEYS = {"value", "confidence", "document", "page", "source"}
_CRITERION_KEYS = {"id", "text", "policy", "hints", "facts", "title"}


@dataclass(frozen=True)
class Criteria:
    """What is checked. `documents` says which file a policy is, by name."""

    items: tuple[Criterion, ...]
    documents: Mapping[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        return digest([[one.to_json() for one in self.items], dict(self.documents)])

    def of(self, case: ReviewCase, given: Sequence[str]) -> tuple[Criterion, ...]:
        """Those that are about the case: of its policy; where it names none, of the policies that are at hand."""
        if case.policy is not None:
            return tuple(one for one in self.items if one.policy in (None, case.policy))
        absent = {policy for policy, name in self.documents.items() if name not in given}
        return tuple(one for one in self.items if one.policy not in absent) or self.items

    def document_of(self, criterion: Criterion, given: Sequence[str]) -> str | None:
        """The document that a criterion is about; None where all of them are."""
        name = self.documents.get(criterion.policy or "")
        return name if name in given else None


# --- cases ----------------------------------------------------------------------------------------------------------


def read_cases(path: Path) -> Iterator[ReviewCase]:
    """The cases of a file or of every .json and .jsonl file in a folder, in the order of their names."""
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix in (".json", ".jsonl") and one.is_file())
        if not files:
            raise ConfigError(f"{path} has no cases in it.", fix="Put .json or .jsonl files there.")
    else:
        files = [path]
    seen: dict[str, str] = {}
    for file in files:
        for where, value in _values(file):
            case = read_case(value, where, default_id=file.stem)
            if case.id in seen:
                raise ConfigError(
                    f"{where}: the case '{case.id}' is in {seen[case.id]} too.", fix="Give it its own id."
                )
            seen[case.id] = where
            yield case
    if not seen:
        raise ConfigError(f"{path} has no cases in it.", fix="A case is a JSON object with an id and facts.")


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    data = _text(file)
    if file.suffix == ".jsonl":
        for number, line in enumerate(data.split("\n"), 1):
            if line.strip():
                yield f"{file}:{number}", _json(line, f"{file}:{number}")
        return
    value = _json(data, str(file))
    if isinstance(value, list):
        yield from ((f"{file}[{index}]", one) for index, one in enumerate(value))
    else:
        yield str(file), value


def read_case(value: Any, where: str, *, default_id: str | None = None) -> ReviewCase:
    given = _object(value, where, "a case", _CASE_KEYS)
    fields: dict[str, Field] = {}
    plain = given.get("facts", {})
    if not isinstance(plain, Mapping):
        raise ConfigError(f"{where}: 'facts' is not an object.", fix="Write facts by name: {'facts': {'age': 42}}.")
    fields |= {name: Field(one) for name, one in flatten(plain).items()}
    fields |= _records(given.get("fields", {}), f"{where}: fields")
    if not fields:
        raise ConfigError(f"{where}: the case has no facts.", fix="Add 'facts' or 'fields'.")
    notes = tuple(
        _note(one, f"{where}: documents[{index}]") for index, one in enumerate(_list(given, "documents", where))
    )
    id_ = given.get("id", default_id)
    if not isinstance(id_, str | int) or not str(id_).strip():
        raise ConfigError(f"{where}: 'id' is missing.", fix="Give the case an id.")
    return ReviewCase(
        str(id_), fields, _text_or_none(given, "policy", where), _text_or_none(given, "title", where) or "", notes
    )


def _records(value: Any, where: str) -> dict[str, Field]:
    if isinstance(value, list):
        named: dict[str, Any] = {}
        for index, one in enumerate(value):
            record = _object(one, f"{where}[{index}]", "a field", _FIELD_KEYS | {"name", "field"})
            name = record.get("name", record.get("field"))
            if not isinstance(name, str) or not name:
                raise ConfigError(f"{where}[{index}]: 'name' is missing.", fix="Name the field.")
            named[name] = {key: item for key, item in record.items() if key not in ("name", "field")}
        value = named
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is not an object.", fix='Write {"name": {"value": …, "confidence": …}}.')
    found: dict[str, Field] = {}
    for name, one in value.items():
        if not (isinstance(one, Mapping) and "value" in one):
            found |= {key: Field(item) for key, item in flatten(one, name).items()}
            continue
        record = _object(one, f"{where}.{name}", "a field", _FIELD_KEYS)
        confidence, page, document = _number(record, f"{where}.{name}"), record.get("page"), record.get("document")
        source = record.get("source")
        if isinstance(source, Mapping):
            page, document = source.get("page", page), source.get("document", document)
        if page is not None and (not isinstance(page, int) or isinstance(page, bool)):
            raise ConfigError(f"{where}.{name}.page is not a number.", fix="Count pages from 1.")
        document = document if isinstance(document, str) else None
        found |= {key: Field(item, confidence, document, page) for key, item in flatten(record["value"], name).items()}
    return found


def _number(record: Mapping[str, Any], where: str) -> float:
    value = record.get("confidence", 1.0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ConfigError(f"{where}.confidence is {value!r}.", fix="Give a number from 0 to 1.")
    return float(value)


def _note(value: Any, where: str) -> tuple[str, str]:
    if isinstance(value, str):
        return "", value
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return str(value.get("name", "")), value["text"]
    raise ConfigError(f"{where} has no 'text'.", fix='Write {"name": …, "text": …}.')


# --- criteria -------------------------------------------------------------------------------------------------------


def read_criteria(path: Path) -> Criteria:
    if path.suffix in (".yaml", ".yml"):
        import yaml

        try:
            value = yaml.safe_load(_text(path))
        except yaml.YAMLError as problem:
            raise ConfigError(f"{path} is not valid YAML: {problem}", fix="Correct it.") from None
        except RecursionError:
            raise ConfigError(f"{path} is nested too deeply.", fix="Write a list under 'criteria:'.") from None
    elif path.suffix == ".jsonl":
        value = [one for _, one in _values(path)]
    else:
        value = _json(_text(path), str(path))
    return criteria_of(value, str(path))


def criteria_of(value: Any, where: str) -> Criteria:
    """From parsed YAML or JSON: a list, or an object with `criteria` and perhaps `policies`."""
    policies: Any = {}
    if isinstance(value, Mapping):
        unknown = sorted(str(key) for key in value.keys() - {"criteria", "policies"})
        if unknown:
            raise ConfigError(f"{where}: '{unknown[0]}' is not known.", fix="Use 'criteria' and 'policies'.")
        policies, value = value.get("policies", {}), value.get("criteria")
    if not isinstance(value, list) or not value:
        raise ConfigError(f"{where}: there are no criteria.", fix="Write a list under 'criteria:'.")
    items = tuple(_criterion(one, f"{where}: criteria[{index}]") for index, one in enumerate(value))
    twice = next((one.id for index, one in enumerate(items) if one.id in {two.id for two in items[:index]}), None)
    if twice:
        raise ConfigError(f"{where}: the criterion '{twice}' is there twice.", fix="Give each its own id.")
    return Criteria(items, _policies(policies, where))


def _criterion(value: Any, where: str) -> Criterion:
    given = _object(value, where, "a criterion", _CRITERION_KEYS)
    for key in ("id", "text"):
        if not isinstance(given.get(key), str) or not given[key].strip():
            raise ConfigError(f"{where}: '{key}' is missing.", fix="Every criterion has an id and a text.")
    hints, facts = (tuple(str(one) for one in _list(given, key, where)) for key in ("hints", "facts"))
    return Criterion(given["id"], given["text"], _text_or_none(given, "policy", where), hints, facts)


def _policies(value: Any, where: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: 'policies' is not an object.", fix="Write a document for each policy's name.")
    found = {}
    for name, one in value.items():
        document = one.get("document") if isinstance(one, Mapping) else one
        if not isinstance(document, str):
            raise ConfigError(f"{where}: policies.{name} names no document.", fix="Add 'document: FILE'.")
        found[str(name)] = PurePath(document).name
    return found


# --- documents ------------------------------------------------------------------------------------------------------


def read_documents(path: Path) -> tuple[KnowledgeDocument, ...]:
    """A document, or every one in a folder. One that cannot be read stops the run: half a policy decides nothing."""
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix.lower() in DOCUMENT_SUFFIXES and one.is_file())
    else:
        files = [path]
    if not files:
        raise DocumentRefused(f"{path} has no documents in it.", fix="Put Markdown, HTML, text or PDF files there.")
    return tuple(read_document(_bytes(file), file.name) for file in files)


# --- shared ---------------------------------------------------------------------------------------------------------


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}.", fix="Check the path.") from None


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path} is not UTF-8 text (byte {problem.start}).", fix="Save it as UTF-8.") from None


def _json(data: str, where: str) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise ConfigError(f"{where} is not valid JSON: {problem}.", fix="Correct it.") from None


def _object(value: Any, where: str, what: str, keys: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is not {what}: an object is needed.", fix=f"It has {', '.join(sorted(keys))}.")
    unknown = sorted(str(key) for key in value.keys() - keys)
    if unknown:
        raise ConfigError(f"{where}: '{unknown[0]}' is not known.", fix=f"Use {', '.join(sorted(keys))}.")
    return value


def _list(given: Mapping[str, Any], key: str, where: str) -> Sequence[Any]:
    value = given.get(key, [])
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"{where}: '{key}' is not a list.", fix="Write it as a list.")
    return value


def _text_or_none(given: Mapping[str, Json], key: str, where: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{where}: '{key}' is not a text.", fix="Put it in quotes.")
    return value
