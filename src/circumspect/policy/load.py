"""A policy file -> Policy, or everything that is wrong with it at once, each with its line and what to do about it.

Strict: an unknown key, a key given twice, a wrong type, an alias or a contradiction refuses the whole file. A policy
that is only half understood would be half enforced.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import ValidationError

from circumspect.errors import ConfigError, PolicyError
from circumspect.policy.keys.findings import FileFinding, Place, suggest_word
from circumspect.policy.lint import lint
from circumspect.policy.policy_file import Policy
from circumspect.values import ToolSpec

log = logging.getLogger(__name__)

PolicyGiven: TypeAlias = Policy | Path | str | Mapping[str, Any]
"""A policy as people give it: one, a file, its text, or what such a text holds."""

_LARGEST = 1_000_000
_DEEPEST = 40
_MOST_EVENTS = 100_000
_MOST_ENTRIES = 2_000
"""In one list or mapping: what is held against what grows with the product of two."""


def load(
    source: Path | str,
    *,
    specs: Mapping[str, ToolSpec] | None = None,
    seen: Collection[str] | None = None,
    name: str = "policy.yaml",
) -> Policy:
    """Read a file (a `Path`) or the policy's own text. Raises `PolicyError` with all findings.

    With `specs` the file is also held against the tools: names, parameters, declared effects. With `seen` clients may
    bring more of them along (see `lint`). Warnings are logged.
    """
    shown = str(source) if isinstance(source, Path) else name
    policy, findings = check(source, specs=specs, seen=seen)
    refuse_unsound(findings, shown, unreadable=policy is None)
    assert policy is not None
    for one in findings:
        log.warning("%s", one.describe(shown))
    return policy


def refuse_unsound(findings: Iterable[FileFinding], shown: str, *, unreadable: bool) -> None:
    """Raises `PolicyError` with all that is wrong, if anything is."""
    errors = [one for one in findings if one.level == "error"]
    if unreadable or errors:
        many = f"{len(errors)} problems" if len(errors) > 1 else "a problem"
        raise PolicyError(
            f"The policy file {shown} has {many}, so nothing of it holds.",
            fix="Correct it and load it again:",
            findings=tuple(one.describe(shown) for one in errors),
        )


def open_policy(policy: PolicyGiven | None, specs: Mapping[str, ToolSpec] | None, *, shared: bool = False) -> Policy:
    """None at all allows nothing. A file that is `shared` serves several agents: a tool that is none of these is a
    warning, unless its name is all but one of theirs."""
    others = frozenset[str]() if shared and specs is not None else None
    if policy is None:
        return Policy()
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return load(_to_text(policy), specs=specs, seen=others, name="given as a dict")
    if isinstance(policy, str) and "\n" in policy:
        return load(policy, specs=specs, seen=others, name="given as text")
    if not isinstance(policy, str | Path):
        raise ConfigError(f"A {type(policy).__name__} is no policy.", fix="Give the path of a policy file.")
    if not Path(policy).is_file():
        raise ConfigError(
            f"There is no policy file '{policy}'.",
            fix="Check the path, or write one: `circumspect docs policy` says how.",
        )
    return load(Path(policy), specs=specs, seen=others)


def _to_text(policy: Mapping[str, Any]) -> str:
    """Through the reader of files: what holds for them, down to the largest, holds for a dict."""
    try:
        return str(yaml.safe_dump(dict(policy), sort_keys=False, allow_unicode=True))
    except (yaml.YAMLError, RecursionError) as problem:
        raise ConfigError(
            f"The policy cannot be written as a file would have it: {str(problem).splitlines()[0]}",
            fix="Give plain values: texts, numbers, lists and dicts.",
        ) from None


def check(
    source: Path | str,
    *,
    specs: Mapping[str, ToolSpec] | None = None,
    seen: Collection[str] | None = None,
    learnt: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Policy | None, tuple[FileFinding, ...]]:
    """The policy, if it can be read at all, and every finding in the order of the file. Raises nothing."""
    try:
        text = text_of(source)
    except (OSError, ValueError) as problem:
        return None, (FileFinding("error", 0, str(problem), "Check the path and the file."),)
    if findings := surface(text):
        return None, _sort_findings(findings)
    data, lines, findings = read_yaml(text)
    try:
        policy = Policy.model_validate(data, strict=True)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        found = [_to_finding(error, lines) for error in errors]
        rest = _without(data, [tuple(error["loc"]) for error in errors])
        also = [one for one in lint(rest, specs=specs, seen=seen, lines=lines) if one.level == "error"] if rest else []
        return None, _sort_findings((*findings, *found, *also))
    return policy, _sort_findings((*findings, *lint(policy, specs=specs, seen=seen, learnt=learnt, lines=lines)))


def _without(data: Any, broken: list[Place]) -> Policy | None:
    """What is left without the broken sections, so that the rest is checked in the same go."""
    if not isinstance(data, dict) or any(place[:1] in ((), ("let",), ("facts",), ("timezone",)) for place in broken):
        return None
    rest = {key: dict(part) if isinstance(part, dict) else part for key, part in data.items()}
    for place in broken:
        section = rest.get(place[0])
        if isinstance(section, dict) and len(place) > 1:
            section.pop(place[1], None)
        else:
            rest.pop(place[0], None)
    try:
        return Policy.model_validate(rest, strict=True)
    except ValidationError:
        return None


@cache
def schema() -> dict[str, Any]:
    """The published JSON schema of the file, for editors and for people."""
    found = Policy.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Circumspect policy",
        **{key: value for key, value in found.items() if key != "title"},
    }


def text_of(source: Path | str) -> str:
    """A `Path` is read; a string is the text itself, whatever it looks like: it may have come over the network."""
    if isinstance(source, str):
        return source
    path = source
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"the file is larger than {_LARGEST // 1_000_000} MB")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(f"the file is not UTF-8 text (byte {problem.start})") from None


def _sort_findings(findings: Iterable[FileFinding]) -> tuple[FileFinding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: (one.line, one.level)))


# --- YAML -----------------------------------------------------------------------------------------------------------


def surface(text: str) -> list[FileFinding]:
    """What is refused before anything is built: broken YAML, aliases (they multiply), bottomless nesting."""
    if len(text) > _LARGEST:
        return [FileFinding("error", 0, "the text is larger than 1 MB", "Split it up.")]
    found: list[FileFinding] = []
    entries = [0]
    try:
        for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.NodeEvent):
                entries[-1] += 1
            if isinstance(event, yaml.CollectionStartEvent):
                entries.append(-_MOST_ENTRIES if isinstance(event, yaml.MappingStartEvent) else 0)
            elif isinstance(event, yaml.CollectionEndEvent):
                entries.pop()
            if len(entries) > _DEEPEST or count > _MOST_EVENTS:
                return [*found, FileFinding("error", line, "it is nested too deeply, or too long", "Make it simpler.")]
            if entries[-1] > _MOST_ENTRIES:
                problem = f"there are more than {_MOST_ENTRIES:,} entries in one list or mapping"
                return [*found, FileFinding("error", line, problem, "Split the file up, or name tools by a pattern.")]
            if isinstance(event, yaml.AliasEvent):
                found.append(
                    FileFinding("error", line, f"*{event.anchor} repeats something", "Write it out, or use `let`.")
                )
            elif getattr(event, "tag", None) not in (None, "!"):
                found.append(
                    FileFinding("error", line, f"the tag {event.tag}", "Leave it out: plain values are enough.")
                )
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        said = " ".join(str(getattr(problem, "problem", None) or "a character that YAML does not allow").split())
        found.append(
            FileFinding(
                "error",
                mark.line + 1 if mark else 0,
                f"this is not YAML: {said}",
                "Check the indentation, and put text with [ ] { } : # or , in quotes.",
            )
        )
    return found


def read_yaml(text: str) -> tuple[Any, dict[Place, int], list[FileFinding]]:
    """The values, the line of each, and keys that are given twice. Lists come as tuples."""
    loader = yaml.CSafeLoader(text)
    lines: dict[Place, int] = {}
    found: list[FileFinding] = []
    try:
        node = loader.get_single_node()
        return (_value(node, (), loader, lines, found) if node else {}), lines, found
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        said = " ".join(str(getattr(problem, "problem", problem)).split())
        return (
            {},
            lines,
            [FileFinding("error", mark.line + 1 if mark else 0, f"this is not one YAML document: {said}", "")],
        )
    finally:
        loader.dispose()


def _value(node: yaml.Node, place: Place, loader: Any, lines: dict[Place, int], found: list[FileFinding]) -> Any:
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return tuple(_value(item, (*place, at), loader, lines, found) for at, item in enumerate(node.value))
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                found.append(FileFinding("error", line, "a key must be a word", "Write `key: value`."))
                continue
            if key.value in values:
                first = lines[(*place, key.value)]
                found.append(
                    FileFinding(
                        "error", line, f"'{key.value}' is here twice (also in line {first})", "Keep one of them."
                    )
                )
                continue
            lines[(*place, key.value)] = line
            values[key.value] = _value(item, (*place, key.value), loader, lines, found)
        return values
    if node.tag.endswith(":timestamp"):
        return node.value
    try:
        return loader.construct_object(node)
    except ValueError:
        problem = f"'{node.value[:20]}…' is no {node.tag.rpartition(':')[2]} that can be read"
        found.append(
            FileFinding("error", node.start_mark.line + 1, problem, "Write a smaller one, or put it in quotes.")
        )
        return None


# --- what the model refuses -----------------------------------------------------------------------------------------


def _to_finding(error: Any, lines: Mapping[Place, int]) -> FileFinding:
    place: Place = tuple(error["loc"])
    line = next((lines[place[:size]] for size in range(len(place), -1, -1) if place[:size] in lines), 0)
    key = place[-1] if place else "the file"
    section = _section(place[:-1])
    allowed = tuple(section.get("properties", {}))
    described = section.get("properties", {}).get(key, {}).get("description", "")
    match error["type"]:
        case "extra_forbidden":
            return FileFinding(
                "error", line, f"unknown key '{key}'", suggest_word(str(key), allowed) or _choices(allowed)
            )
        case "missing":
            return FileFinding("error", line, f"'{key}' is missing", described)
        case "literal_error":
            choices = re.findall(r"'([^']*)'|(?<![\w'])(\d+)", error["ctx"]["expected"])
            words = tuple(text or number for text, number in choices)
            problem = f"'{key}' cannot be {error['input']!r}"
            if str(error["input"]) in words:
                return FileFinding("error", line, f"'{key}' is a number, not words", "Write it without quotes.")
            return FileFinding("error", line, problem, suggest_word(str(error["input"]), words) or _choices(words))
        case "string_pattern_mismatch":
            return FileFinding("error", line, f"'{key}' cannot be {error['input']!r}", described)
        case "bool_type":
            return FileFinding("error", line, f"'{key}' must be true or false", "Write true or false, without quotes.")
        case "dict_type" | "model_type" | "mapping_type" | "model_attributes_type":
            return FileFinding(
                "error", line, f"'{key}' must have settings below it", described or "Write `key: value` lines."
            )
        case "tuple_type":
            return FileFinding("error", line, f"'{key}' must be a list", described or "Start each item with a dash.")
        case _:
            problem = f"'{key}': {error['msg'][:1].lower()}{error['msg'][1:]}"
            return FileFinding("error", line, problem, described or "Read: circumspect docs policy")


def _choices(words: Iterable[str]) -> str:
    return f"Possible here: {', '.join(words)}."


def _section(place: Place) -> dict[str, Any]:
    """The part of the schema that describes what is at this place."""
    whole = schema()
    found: dict[str, Any] = whole
    for step in (*place, None):
        found = next((one for one in _alternatives(found, whole) if one.get("type") in ("object", "array")), {})
        if step is None:
            return found
        if isinstance(step, int):
            found = found.get("items", {})
        else:
            found = found.get("properties", {}).get(step) or found.get("additionalProperties") or {}
        if not isinstance(found, dict):
            return {}
    return found


def _alternatives(part: dict[str, Any], whole: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if "$ref" in part:
        yield from _alternatives(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    elif "anyOf" in part:
        for one in part["anyOf"]:
            yield from _alternatives(one, whole)
    else:
        yield part
