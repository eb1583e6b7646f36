"""A tenant file -> TenantFile, its policy's text and its secrets; or everything that is wrong with it at once.

Strict as a policy file is: an unknown key, a key given twice, an alias or a wrong type refuses the whole file. Paths in
it are relative to it. An inline policy is kept as it was written, comments included, because that text is what gets
stored, shown and compared.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import yaml
from pydantic import ValidationError

from circumspect.errors import ConfigError
from circumspect.policy.keys.findings import FileFinding, Level, Place, suggest_word
from circumspect.policy.load import check as check_policy
from circumspect.policy.load import read_yaml, surface, text_of
from circumspect.prompts import FIXED, list_prompt_names
from circumspect.server.tenants.file_findings import KeyLines, Located, explain_error, line_of
from circumspect.server.tenants.tenant_file import SecretSection, TenantFile
from circumspect.server.tenants.yaml_lines import split_yaml_lines
from circumspect.tools import client_definition, http_definition
from circumspect.values import ToolSpec

LONGEST_SECRET = 64_000


@dataclass(frozen=True, slots=True)
class PolicySource:
    """The policy's text, where it was found, and how many lines of that file come before it."""

    text: str
    file: str
    before: int = 0

    def check(
        self, specs: Mapping[str, ToolSpec] | None, seen: Collection[str] = ()
    ) -> tuple[Any, tuple[Located, ...]]:
        """The policy, if it can be read, and every finding in the place where a person will look for it."""
        policy, found = check_policy(self.text + "\n", specs=specs, seen=seen)
        moved = (
            FileFinding(one.level, one.line + self.before if one.line else 0, one.problem, one.fix) for one in found
        )
        return policy, tuple(Located(self.file, one) for one in moved)


@dataclass(frozen=True, slots=True)
class TenantFileReading:
    path: Path
    file: TenantFile | None
    policy: PolicySource | None
    documents: Mapping[Path, int]
    """The files that are there, each with the number of the pattern that found it."""
    secrets: Mapping[str, str] = field(repr=False)
    lines: KeyLines = field(repr=False)
    findings: tuple[Located, ...]

    @property
    def is_broken(self) -> bool:
        return any(one.is_error for one in self.findings)

    def at(self, place: Place, problem: str, fix: str = "", level: Level = "error") -> Located:
        """What somebody else found, at its line."""
        return Located(str(self.path), FileFinding(level, line_of(place, self.lines), problem.rstrip("."), fix))


@cache
def schema() -> dict[str, Any]:
    """The published JSON schema of the file, for editors and for people."""
    found = TenantFile.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Circumspect tenant",
        **{key: value for key, value in found.items() if key != "title"},
    }


def read(path: Path) -> TenantFileReading:
    """Everything that can be said without importing, calling or storing anything. Raises nothing."""
    try:
        text = text_of(path)
    except (OSError, ValueError) as problem:
        return _nothing(path, [FileFinding("error", 0, str(problem), "Check the path and the file.")])
    return read_text(text, path)


def read_text(text: str, path: Path) -> TenantFileReading:
    """The same for a text that stands for a file at that path."""
    name = str(path)
    if found := surface(text):
        return _nothing(path, found)
    data, lines, found = read_yaml(text)
    data, unread = _with_client_files(_with_lists(data), path)
    found += [_to_finding(one, lines) for one in unread]
    try:
        file = TenantFile.model_validate(data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        found += [explain_error(error, lines, schema()) for error in errors]
        policy, more = _policy(data.get("policy"), path, text) if isinstance(data, dict) else (None, [])
        located = [Located(name, one) for one in (*found, *(_to_finding(one, lines) for one in more))]
        located += policy.check(None)[1] if policy else ()
        return TenantFileReading(path, None, policy, {}, {}, lines, _sort_findings(located))
    policy, more = _policy(data.get("policy"), path, text)
    documents, missing = _documents(file, path)
    secrets, unread = _secrets(file, path)
    remarks = [*more, *missing, *unread, *_http(file), *_client(file), *_secret_names(file), *_prompts(file)]
    located = [Located(name, one) for one in (*found, *(_to_finding(one, lines) for one in remarks))]
    return TenantFileReading(path, file, policy, documents, secrets, lines, _sort_findings(located))


TenantRemark = tuple[Place, str, str]


def _to_finding(remark: TenantRemark, lines: KeyLines) -> FileFinding:
    place, problem, fix = remark
    return FileFinding("error", line_of(place, lines), problem, fix)


def _nothing(path: Path, found: list[FileFinding]) -> TenantFileReading:
    return TenantFileReading(path, None, None, {}, {}, {}, tuple(Located(str(path), one) for one in found))


def _sort_findings(found: list[Located]) -> tuple[Located, ...]:
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (one.file, one.finding.line, one.finding.level)))


def _with_lists(value: Any) -> Any:
    """JSON has lists; the reader of policies makes tuples."""
    if isinstance(value, tuple | list):
        return [_with_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return value


def _with_client_files(data: Any, path: Path) -> tuple[Any, list[TenantRemark]]:
    """Files that define clients' tools, put in their place. All but a file's first tool go to the end of the list, so
    that every other entry keeps its number, and with it its line."""
    tools = data.get("tools") if isinstance(data, dict) else None
    if not isinstance(tools, list):
        return data, []
    here, more, wrong = list(tools), list[Any](), list[TenantRemark]()
    for at, section in enumerate(tools):
        if isinstance(section, dict) and isinstance(section.get("client"), str):
            try:
                first, *others = _client_definitions(path.parent / section["client"])
            except ConfigError as problem:
                wrong.append((("tools", at), problem.problem.rstrip("."), problem.fix))
                here[at] = {"client": {"name": "unread"}}
            else:
                here[at] = {"client": first}
                more += [{"client": one} for one in others]
    return {**data, "tools": [*here, *more]}, wrong


def _client_definitions(file: Path) -> list[Any]:
    fix = "Name a JSON file with a list of tools, as OpenAI, Anthropic or MCP define them."
    try:
        found = orjson.loads(text_of(file))
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{file} cannot be read: {problem}", fix=fix) from None
    listed = found.get("tools") if isinstance(found, dict) else found
    if not isinstance(listed, list) or not listed:
        raise ConfigError(f"{file} defines no tools", fix=fix)
    return listed


# --- what the file refers to ----------------------------------------------------------------------------------------


def _policy(said: Any, path: Path, text: str) -> tuple[PolicySource | None, list[TenantRemark]]:
    if isinstance(said, dict):
        return _inline(path, text), []
    if not isinstance(said, str) or "\n" in said:
        return None, []
    file = path.parent / said
    try:
        return PolicySource(text_of(file), str(file)), []
    except (OSError, ValueError) as problem:
        return None, [(("policy",), str(problem), "Write the path of a policy file, relative to this file.")]


def _inline(path: Path, text: str) -> PolicySource | None:
    """The lines below `policy:` as they were written, moved to the left."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert isinstance(root, yaml.MappingNode)
    key, node = next(pair for pair in root.value if pair[0].value == "policy")
    start, end = node.start_mark, node.end_mark
    lines = split_yaml_lines(text)
    # The end of a block is where the next thing begins, which is the end of a line only for braces.
    last = [lines[end.line][: end.column]] if end.line < len(lines) else []
    if node.flow_style:
        lines[end.line : end.line + 1] = last
        lines[start.line] = " " * start.column + lines[start.line][start.column :]
        return PolicySource("".join(lines[start.line : end.line + 1]).strip() + "\n", str(path), start.line)
    first = key.end_mark.line + 1
    kept = [*lines[first : end.line], *last]
    while kept and _belongs_elsewhere(kept[-1], start.column):
        kept.pop()
    while kept and not kept[0].strip():
        kept.pop(0)
        first += 1
    moved = [line[min(start.column, len(line) - len(line.lstrip(" "))) :] for line in kept]
    return PolicySource("".join(moved).rstrip("\n") + "\n", str(path), first)


def _belongs_elsewhere(line: str, column: int) -> bool:
    """A blank line, or a comment that stands further left than the block before it."""
    bare = line.lstrip()
    return not bare or (bare.startswith("#") and len(line) - len(bare) < column)


def _documents(file: TenantFile, path: Path) -> tuple[dict[Path, int], list[TenantRemark]]:
    found: dict[Path, int] = {}
    wrong: list[TenantRemark] = []
    for at, pattern in enumerate(file.documents):
        matches = [one for one in _glob_files(path.parent, pattern) if one.is_file()]
        if not matches:
            wrong.append((("documents", at), f"there is no file '{pattern}'", "Write a path relative to this file."))
        found = dict.fromkeys(matches, at) | found
    return found, wrong


def _glob_files(folder: Path, pattern: str) -> Iterator[Path]:
    if not any(sign in pattern for sign in "*?["):
        yield folder / pattern
        return
    try:
        root = Path(pattern).anchor
        yield from sorted(Path(root).glob(str(Path(pattern).relative_to(root))) if root else folder.glob(pattern))
    except ValueError:
        return


def _secrets(file: TenantFile, path: Path) -> tuple[dict[str, str], list[TenantRemark]]:
    found: dict[str, str] = {}
    wrong: list[TenantRemark] = []
    for name, section in file.secrets.items():
        try:
            found[name] = _secret(section, path.parent)
        except ConfigError as problem:
            wrong.append((("secrets", name), problem.problem, problem.fix))
    return found, wrong


def _secret(section: SecretSection, folder: Path) -> str:
    if section.env is not None:
        value = os.environ.get(section.env, "")
        if not value:
            raise ConfigError(
                f"the environment variable {section.env} is not set", fix="Set it where you run `circumspect apply`."
            )
        return value
    file = folder / (section.file or "")
    try:
        if file.stat().st_size > LONGEST_SECRET:
            raise ConfigError(f"{file} is too long for a secret", fix="Name the right file.")
        value = file.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text, or not the name of a file"
        raise ConfigError(f"the secret cannot be read from {file}: {reason}", fix="Check the path.") from None
    if not value:
        raise ConfigError(f"{file} is empty", fix="Put the secret into it.")
    return value


def _http(file: TenantFile) -> Iterator[TenantRemark]:
    for at, section in enumerate(file.tools):
        if section.http is not None:
            try:
                http_definition.check(section.http)
            except ConfigError as problem:
                yield ("tools", at, "http"), problem.problem.rstrip("."), problem.fix


def _client(file: TenantFile) -> Iterator[TenantRemark]:
    for at, section in enumerate(file.tools):
        if section.client is not None:
            try:
                client_definition.check(section.client)
            except ConfigError as problem:
                yield ("tools", at, "client"), problem.problem.rstrip("."), problem.fix


def _prompts(file: TenantFile) -> Iterator[TenantRemark]:
    """Which versions there are, the store knows; what can be said without it is said here."""
    free = [name for name in list_prompt_names() if name not in FIXED]
    for name, id_ in file.prompts.items():
        if name not in free:
            fix = suggest_word(name, free) or f"Possible here: {', '.join(free)}."
            yield ("prompts", name), f"no prompt named '{name}' can have another version", fix
        elif id_.rpartition("@")[0] != name:
            yield (
                ("prompts", name),
                f"{id_} is a version of another prompt",
                f"Write {name}@ and the hash of a version.",
            )


def _secret_names(file: TenantFile) -> Iterator[TenantRemark]:
    """A file that lists its secrets lists all of them."""
    if "secrets" not in file.model_fields_set:
        return
    used: list[tuple[Place, str]] = []
    for at, section in enumerate(file.tools):
        used += [(("tools", at, "http", "auth"), name) for name in (section.http.secrets() if section.http else ())]
        tested = section.http.at_test() if section.http else None
        used += [(("tools", at, "http", "test", "auth"), name) for name in (tested.secrets() if tested else ())]
        used += [(("tools", at, "mcp"), name) for name in (section.mcp.secrets() if section.mcp else ())]
        used += [(("tools", at, "business"), name) for name in (section.business.secrets() if section.business else ())]
    used += [
        (("notify", "webhooks", at, "secret"), hook.secret)
        for at, hook in enumerate(file.notify.webhooks)
        if hook.secret
    ]
    used += [
        (("end_users", "keys", at, "secret"), key.secret) for at, key in enumerate(file.end_users.keys) if key.secret
    ]
    for place, name in used:
        if name not in file.secrets:
            fix = suggest_word(name, file.secrets) or f"Add it below `secrets`: {name}: {{env: {name.upper()}}}."
            yield place, f"there is no secret '{name}'", fix
