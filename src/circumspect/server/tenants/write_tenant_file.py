"""A stored tenant -> a tenant file that says the same, for people and for `circumspect apply`.

Secrets are not in it, only their names in a comment: a file without `secrets` leaves the stored ones alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import yaml

from circumspect.server.stores.policies import PolicyVersion
from circumspect.server.stores.tenants import TenantRow
from circumspect.server.tenants.yaml_lines import split_yaml_lines


class _Dumper(yaml.SafeDumper):
    """Text of several lines is written as such."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # A block cannot carry every text: YAML forbids blanks at the end of its lines.
    style = "|" if "\n" in text and not any(line != line.rstrip() for line in text.split("\n")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_document(row: TenantRow) -> dict[str, Any]:
    """What the file says, but for the policy, which is kept apart."""
    tenant, business = row.tenant, row.tenant.business
    said: dict[str, Any] = {
        "version": 1,
        "id": tenant.id,
        "language": tenant.language,
        "plan": {"name": tenant.plan.name, "mode": tenant.plan.mode, "multiplier": tenant.plan.multiplier},
    }
    if tenant.plan.quota is not None:
        said["plan"]["quota"] = tenant.plan.quota
    if tenant.plan.message_price:
        said["plan"]["message_price"] = tenant.plan.message_price
    if tenant.adaptive_share != 1.0:
        said["adaptive_share"] = tenant.adaptive_share
    if tenant.tools is not None:
        said["enabled_tools"] = sorted(tenant.tools)
    plain = {name: getattr(business, name) for name in ("name", "description", "hours", "phone", "email", "about")}
    said["business"] = {
        **{name: value for name, value in (plain | {"contact": business.contact}).items() if value},
        **({"policies": dict(business.policies)} if business.policies else {}),
        **({"faqs": [{"q": one.question, "a": one.answer} for one in business.faqs]} if business.faqs else {}),
        **({"instructions": business.instructions} if business.instructions else {}),
    }
    return said | {key: value for key, value in (row.settings or {}).items() if key not in said}


def write_document(said: Mapping[str, Any]) -> str:
    return yaml.dump(dict(said), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)


def as_file(row: TenantRow, policy: PolicyVersion | None = None, secrets: Collection[str] = ()) -> str:
    text = write_document(as_document(row))
    if secrets:
        text += f"# Secrets that are stored: {', '.join(sorted(secrets))}\n"
    if policy is not None:
        text += f"# Version {policy.version} of {policy.created_at:%Y-%m-%d %H:%M} UTC, by {policy.created_by}\n"
        text += "policy:\n" + "".join(_indent(policy.text)).rstrip("\n") + "\n"
    return text


def _indent(text: str) -> Iterator[str]:
    """Without the mark that begins a document: it would begin another one here."""
    lines = (line for line in split_yaml_lines(text) if line.rstrip() != "---")
    yield from (f"  {line}" if line.strip() else line for line in lines)
