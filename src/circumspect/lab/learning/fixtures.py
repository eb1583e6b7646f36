"""Fixtures: a conversation so far, a proposed call and what a person decided about it -> does the policy still say so?

    name: a refund that a colleague turned down
    policy: policy.yaml
    tools: tools.json
    messages: [{role: user, content: refund order 12345}]
    proposal: {tool: refund, arguments: {order_id: "12345"}}
    expect: hold

A fixture is run as an audit is: the same rules, no model, no clock, the yes read from the words. `expect` is a verdict
(allow, ask, escalate, deny), several of them, or `hold`: anything but allow.

What may surprise: what a person approved is expected not to be denied, rather than to be let through. That it is asked
about is how it came to be approved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import orjson
import yaml

from circumspect.audit.auditor import Auditor
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.tool_defs import Toolbox
from circumspect.audit.transcript_files import Transcript, TranscriptProblem, read_lines
from circumspect.errors import CircumspectError, ConfigError
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.policy.who_acts import PlainVerdict
from circumspect.values import Json, TenantId

ENDINGS = (".fixture.yaml", ".fixture.yml", ".fixture.json")
VERDICTS: tuple[PlainVerdict, ...] = get_args(PlainVerdict)
HOLD = VERDICTS[1:]
_TALK = ("tools", "untrusted_tools", "proposal")
_KEYS = frozenset((*_TALK, "name", "policy", "tenant", "at", "messages", "expect", "reasons", "held", "decided"))
_LARGEST = 5_000_000


class BadFixture(CircumspectError):
    """It cannot be run; the message says why."""

    code = "bad_fixture"


@dataclass(frozen=True)
class Fixture:
    path: Path
    name: str
    transcript: Transcript
    expect: tuple[PlainVerdict, ...]
    reasons: tuple[str, ...] = ()
    """Reason codes that have to be among those of the verdict."""
    policy: Path | None = None
    tenant: str = ""
    at: datetime | None = None
    held: bool = False
    """Kept apart: look at how it fares, but do not mend a policy by it."""


@dataclass(frozen=True)
class FixtureResult:
    """What became of a fixture."""

    file: str
    name: str
    held: bool
    expect: tuple[PlainVerdict, ...] = ()
    verdict: str = ""
    reason_codes: tuple[str, ...] = ()
    problem: str = ""
    """Why it could not be run, or what is missing."""

    @property
    def has_passed(self) -> bool:
        return not self.problem and self.verdict in self.expect

    def to_json(self) -> dict[str, Json]:
        return {
            "fixture": self.file,
            "name": self.name,
            "passed": self.has_passed,
            "held": self.held,
            "expect": list(self.expect),
            "verdict": self.verdict or None,
            "reason_codes": list(self.reason_codes),
            **({"problem": self.problem} if self.problem else {}),
        }


# --- reading --------------------------------------------------------------------------------------------------------


def files_of(path: Path) -> list[Path]:
    """The fixtures of a folder and below, or the one file. Files with other names are left alone."""
    if path.is_file():
        return [path]
    found = sorted(one for one in path.rglob("*.fixture.*") if one.name.endswith(ENDINGS))
    if not found:
        raise ConfigError(
            f"There are no fixtures in {path}.",
            fix="Their names end in .fixture.yaml; make some: circumspect test --from-store --tenant NAME --write DIR.",
        )
    return found


def read_fixture(path: Path, toolbox: Toolbox | None = None) -> Fixture:
    """Raises `BadFixture` for anything that is not as it should be: half a fixture would pass for a whole one."""
    value = _value(path)
    if unknown := sorted(set(value) - _KEYS):
        raise BadFixture(f"'{unknown[0]}' is no key of a fixture", fix=f"Use {', '.join(sorted(_KEYS))}.")
    proposal, held, reasons = value.get("proposal"), value.get("held", False), value.get("reasons", ())
    if not isinstance(proposal, Mapping) or not isinstance(proposal.get("tool"), str):
        raise BadFixture("the proposed call is missing", fix="Write proposal: {tool: NAME, arguments: {…}}.")
    if not isinstance(held, bool):
        raise BadFixture("'held' must be true or false")
    if not isinstance(reasons, Sequence) or isinstance(reasons, str):
        raise BadFixture("'reasons' must be a list of reason codes")
    named = {"id": str(value.get("name") or path.name), "messages": value.get("messages", ())}
    talk = named | {key: value[key] for key in _TALK if key in value}
    [read] = read_lines([(1, _json(talk))], path.name, folder=path.parent, toolbox=toolbox or Toolbox())
    if isinstance(read, TranscriptProblem):
        raise BadFixture(read.problem)
    return Fixture(
        path,
        named["id"],
        read,
        _parse_expected(value.get("expect")),
        tuple(str(one) for one in reasons),
        _beside(path, value.get("policy")),
        str(value.get("tenant") or ""),
        _moment(value.get("at")),
        held,
    )


class _Plain(yaml.SafeLoader):
    """`yes` and `2026-04-05` are the words that people said: only true and false are truth values, and nothing is a
    date. A key that comes twice is a mistake."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        value = super().construct_mapping(node, deep)
        if len(value) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is here twice", node.start_mark)
        return value

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not read", self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)


_Plain.yaml_implicit_resolvers = {
    letter: [pair for pair in pairs if pair[0].rpartition(":")[2] not in ("bool", "timestamp")]
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Plain.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def _value(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise BadFixture("the file is too large")
        if path.suffix == ".json":
            value: Any = orjson.loads(data)
        else:
            value = yaml.load(data.decode(), _Plain)  # noqa: S506  a safe loader
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as problem:
        raise BadFixture(f"it cannot be read: {' '.join(str(problem).split())}") from None
    if not isinstance(value, dict):
        raise BadFixture("a fixture is an object with messages, proposal and expect")
    return value


def _json(value: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as problem:
        raise BadFixture(f"it holds what JSON cannot say: {problem}") from None


def _parse_expected(value: Any) -> tuple[PlainVerdict, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if names == ("hold",):
        return HOLD
    found = tuple(one for one in VERDICTS if one in names)
    if not found or len(found) != len(names):
        raise BadFixture(
            f"expect is {value!r}", fix="Expect allow, redo, ask, escalate or deny, a list of them, or hold."
        )
    return found


def _beside(path: Path, name: Any) -> Path | None:
    """A policy is looked for in the fixture's own folder and below, like the tools."""
    if name is None:
        return None
    if "\0" in str(name):
        raise BadFixture("the name of the policy has a NUL byte in it")
    found = (path.parent / str(name)).resolve()
    if not found.is_relative_to(path.parent.resolve()):
        raise BadFixture(f"the policy {name} is outside the fixture's folder")
    return found


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise BadFixture(f"'{value}' is no ISO time") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


# --- running --------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """Runs fixtures. `policy` takes the place of whatever a fixture names."""

    policy: Policy | None = None
    toolbox: Toolbox = field(default_factory=Toolbox)
    _policies: dict[Path, Policy] = field(default_factory=dict)

    def run(self, paths: Iterable[Path], root: Path) -> Iterator[FixtureResult]:
        """One after the other; what cannot be run has failed."""
        for path in paths:
            shown = str(path.relative_to(root)) if path.is_relative_to(root) else path.name
            fixture: Fixture | None = None
            try:
                fixture = read_fixture(path, self.toolbox)
                result = check_fixture(fixture, self._policy(fixture), shown)
            except CircumspectError as problem:
                findings = " ".join(getattr(problem, "findings", ()))
                told = " ".join(filter(None, (f"{problem.problem.rstrip('.')}.", problem.fix, findings)))
                name, held = (fixture.name, fixture.held) if fixture else (path.name, False)
                result = FixtureResult(shown, name, held, problem=told)
            yield result

    def _policy(self, fixture: Fixture) -> Policy:
        if self.policy is not None:
            return self.policy
        if fixture.policy is None:
            raise BadFixture("no policy is named", fix="Write policy: FILE into it, or give --policy.")
        if not fixture.policy.is_file():
            raise BadFixture(
                f"there is no policy {fixture.policy.name} beside it", fix="Put it there, or give --policy."
            )
        if fixture.policy not in self._policies:
            self._policies[fixture.policy] = load(fixture.policy)
        return self._policies[fixture.policy]


def check_fixture(fixture: Fixture, policy: Policy, shown: str) -> FixtureResult:
    """The fixture under a policy, as an audit rules on it."""
    auditor = Auditor(_for_tenant(policy, fixture.tenant), now=fixture.at or datetime.now(UTC), claims=False)
    rows = list(auditor.audit_transcript(fixture.transcript))
    unread = next((one for one in rows if isinstance(one, TranscriptProblem)), None)
    ruled = next((one for one in rows if isinstance(one, AuditedCall)), None)
    if ruled is None or unread is not None:
        problem = f"message {unread.message}: {unread.problem}" if unread else "nothing was ruled on"
        return FixtureResult(shown, fixture.name, fixture.held, fixture.expect, problem=problem)
    codes = tuple(str(code) for code in ruled.reason_codes)
    missing = [code for code in fixture.reasons if code not in codes]
    problem = f"{missing[0]} is not among the reasons" if missing else ""
    return FixtureResult(shown, fixture.name, fixture.held, fixture.expect, ruled.verdict, codes, problem)


def _for_tenant(policy: Policy, tenant: str) -> Policy:
    """The policy as it holds for one tenant, since an audit knows of none."""
    theirs = policy.tenants.get(tenant)
    if theirs is None:
        return policy
    resolved = {name: policy.of(name, TenantId(tenant)) for name in (*policy.tools, *theirs.tools)}
    # Not `model_copy`: it would take along what the policy has remembered of its tools.
    fields = {name: getattr(policy, name) for name in Policy.model_fields}
    return Policy.model_construct(**fields | {"tools": {name: one for name, one in resolved.items() if one}})


def file_name(*parts: str) -> str:
    """A name for a fixture that is the same each time and good on any disk."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(parts))[:150] + ENDINGS[0]
