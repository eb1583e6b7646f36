"""SCIM 2.0 (RFC 7643, 7644) as identity providers speak it: their JSON in, what changes out; operators in, JSON out.

Roles are groups: there are three, named as the roles are, and they are neither made nor deleted. The one choice that
may surprise: `"False"` is false. Entra ID sends it so, and an account that stays open for a word is the worse mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from circumspect.server.problems import HttpProblem
from circumspect.server.stores.access import NO_ROLE, ROLES, HeldRole, OperatorRole
from circumspect.server.stores.provisioning import ProvisionedOperator
from circumspect.stores.codec import moment

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
_API = "urn:ietf:params:scim:api:messages:2.0"
_CONFIG = "urn:ietf:params:scim:schemas:core:2.0"
KEPT = ("externalId", "displayName", "name", "emails")
"""What is kept of what a provider says of a person, and said back."""
MOST_MEMBERS = 1000
_EQUALS = re.compile(r'\s*(\w+)\s+eq\s+"((?:[^"\\]|\\.){0,400})"\s*', re.I)
_MOST_CLAUSES = 3
_MAIL = re.compile(r'emails\[type eq "(\w{1,40})"\]\.value', re.I)
_MEMBER = re.compile(r'members\[value eq "([A-Za-z0-9_.-]{1,128})"\]', re.I)
_NAME = 200


def refuse(status: int, kind: str, problem: str, fix: str = "") -> HttpProblem:
    """`kind` is SCIM's own word (`scimType`)."""
    return HttpProblem(status, kind, problem, fix=fix or "Send what RFC 7644 says.")


def with_scim_error(problem: Mapping[str, Any], status: int) -> Mapping[str, Any]:
    known = ("invalidFilter", "uniqueness", "mutability", "invalidSyntax", "invalidPath", "noTarget", "invalidValue")
    kind = problem.get("code")
    said = {"schemas": [f"{_API}:Error"], "status": str(status), "detail": f"{problem['problem']} {problem['fix']}"}
    return {**said, **({"scimType": kind} if kind in known else {})}


ERROR_SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["schemas", "status", "detail"],
    "properties": {
        "schemas": {"type": "array", "items": {"type": "string"}},
        "status": {"type": "string"},
        "scimType": {"type": "string"},
        "detail": {"type": "string"},
    },
}
"""Of whatever is refused (RFC 7644, 3.12): clients that know their schemas take nothing beside it."""


# --- what is said ---------------------------------------------------------------------------------------------------


def show_user(one: ProvisionedOperator) -> dict[str, Any]:
    return {
        "schemas": [USER],
        "id": one.id,
        "userName": one.name,
        "active": one.active,
        "roles": [{"value": one.role, "primary": True}] if one.role != NO_ROLE else [],
        "groups": [{"value": one.role, "display": one.role}] if one.role != NO_ROLE else [],
        **{name: one.profile[name] for name in KEPT if name in one.profile},
        "meta": {
            "resourceType": "User",
            "created": moment(one.created_at).isoformat(),
            "location": f"/scim/v2/Users/{one.id}",
        },
    }


def show_group(role: OperatorRole, known: Sequence[ProvisionedOperator]) -> dict[str, Any]:
    return {
        "schemas": [GROUP],
        "id": role,
        "displayName": role,
        "members": [{"value": one.id, "display": one.name} for one in known if one.role == role],
        "meta": {"resourceType": "Group", "location": f"/scim/v2/Groups/{role}"},
    }


def pick(resource: Mapping[str, Any], wanted: str, left_out: str) -> dict[str, Any]:
    """What of it a client asks for (`attributes`), or does not (`excludedAttributes`); its id comes with everything. A
    part (`name.givenName`) is asked for with the whole, and is not left out alone."""
    asked, excluded = _read_names(wanted), _read_names(left_out)
    asked = {one.partition(".")[0] for one in asked}
    always = ("schemas", "id")
    return {
        name: value
        for name, value in resource.items()
        if name in always or (name.lower() in asked if asked else name.lower() not in excluded)
    }


def _read_names(given: str) -> set[str]:
    names = (one.strip().lower() for one in given.split(","))
    return {one.removeprefix(f"{USER}:".lower()).removeprefix(f"{GROUP}:".lower()) for one in names if one}


def show_page(found: Sequence[dict[str, Any]], start: int, count: int) -> dict[str, Any]:
    start = max(start, 1)
    page = found[start - 1 : start - 1 + max(count, 0)]
    return {
        "schemas": [f"{_API}:ListResponse"],
        "totalResults": len(found),
        "startIndex": start,
        "itemsPerPage": len(page),
        "Resources": list(page),
    }


def matches(filter_: str | None, resource: Mapping[str, Any]) -> bool:
    """`userName eq "…"` and its like for the attributes that providers look by, several with `and`; names in any case.
    Entra ID asks for `id eq "…" and members eq "…"` to see whether somebody is in a group."""
    return filter_ is None or all(_equals(resource, *one) for one in _read_filter(filter_))


def _read_filter(filter_: str) -> list[tuple[str, str]]:
    known = {"username": "userName", "externalid": "externalId", "displayname": "displayName", "id": "id",
             "members": "members"}  # fmt: skip
    clauses: list[tuple[str, str]] = []
    place = 0
    while len(clauses) < _MOST_CLAUSES and (found := _EQUALS.match(filter_, place)) and found[1].lower() in known:
        clauses.append((known[found[1].lower()], re.sub(r"\\(.)", r"\1", found[2])))
        place = found.end()
        if place == len(filter_):
            return clauses
        if filter_[place : place + 4].lower() != "and ":
            break
        place += 4
    raise refuse(400, "invalidFilter", "This filter is not supported.", 'Use `userName eq "…"`.')


def _equals(resource: Mapping[str, Any], name: str, value: str) -> bool:
    if name == "members":
        return any(one["value"] == value for one in resource.get(name, ()))
    own = str(resource.get(name, ""))
    return own == value if name in ("id", "externalId") else own.casefold() == value.casefold()


CONFIG: dict[str, Any] = {
    "schemas": [f"{_CONFIG}:ServiceProviderConfig"],
    "patch": {"supported": True},
    "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
    "filter": {"supported": True, "maxResults": 200},
    "changePassword": {"supported": False},
    "sort": {"supported": False},
    "etag": {"supported": False},
    "authenticationSchemes": [
        {"type": "oauthbearertoken", "name": "API key", "description": "A key with the scope provision."}
    ],
}
RESOURCE_TYPES: Sequence[dict[str, Any]] = [
    {
        "schemas": [f"{_CONFIG}:ResourceType"],
        "id": name,
        "name": name,
        "endpoint": f"/{name}s",
        "schema": schema,
        "meta": {"resourceType": "ResourceType", "location": f"/scim/v2/ResourceTypes/{name}"},
    }
    for name, schema in (("User", USER), ("Group", GROUP))
]


def _describe(
    name: str,
    kind: str = "string",
    *parts: dict[str, Any],
    many: bool = False,
    fixed: bool = False,
    exact: bool = False,
    unique: bool = False,
) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "multiValued": many,
        "required": name == "userName",
        "caseExact": exact,
        "mutability": "readOnly" if fixed else "readWrite",
        "returned": "default",
        "uniqueness": "server" if unique else "none",
        **({"subAttributes": list(parts)} if parts else {}),
    }


def _describe_schema(id_: str, name: str, *attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "schemas": [f"{_CONFIG}:Schema"],
        "id": id_,
        "name": name,
        "attributes": list(attributes),
        "meta": {"resourceType": "Schema", "location": f"/scim/v2/Schemas/{id_}"},
    }


SCHEMAS: Sequence[dict[str, Any]] = [
    _describe_schema(
        USER, "User",
        _describe("userName", unique=True), _describe("active", "boolean"), _describe("displayName"),
        _describe("name", "complex", *(_describe(one) for one in ("formatted", "givenName", "familyName"))),
        _describe("emails", "complex", *map(_describe, ("value", "type")), _describe("primary", "boolean"), many=True),
        _describe(
            "roles", "complex", _describe("value") | {"canonicalValues": list(ROLES)},
            _describe("primary", "boolean", fixed=True), many=True,
        ),
        _describe(
            "groups", "complex", _describe("value", fixed=True), _describe("display", fixed=True), many=True, fixed=True
        ),
    ),
    _describe_schema(
        GROUP, "Group",
        _describe("displayName", fixed=True, unique=True),
        _describe("members", "complex", _describe("value", exact=True), _describe("display", fixed=True), many=True),
    ),
]  # fmt: skip


# --- what is wanted -------------------------------------------------------------------------------------------------


def read_user(given: Mapping[str, Any], base: ProvisionedOperator) -> ProvisionedOperator:
    """The operator as a whole resource describes them; what it leaves out stays as in `base`, except the profile."""
    profile = {name: value for name in KEPT if (value := _keep(name, given.get(name))) is not None}
    changed = replace(base, profile=profile)
    for name in ("userName", "active", "roles"):
        if given.get(name) is not None:
            changed = _set(changed, name, given[name])
    return changed


def patch_user(operations: Sequence[Mapping[str, Any]], base: ProvisionedOperator) -> ProvisionedOperator:
    for one in operations:
        verb, path, value = str(one["op"]).lower(), one.get("path"), one.get("value")
        if verb not in ("add", "replace", "remove"):
            raise refuse(400, "invalidSyntax", "An operation is add, replace or remove.")
        if path is None:
            if verb == "remove" or not isinstance(value, Mapping):
                raise refuse(400, "noTarget", "Without a path, an operation has an object as its value.")
            for name, item in value.items():
                base = _set(base, str(name), item)
        else:
            base = _set(base, str(path), None if verb == "remove" else value)
    return base


def _set(base: ProvisionedOperator, path: str, value: Any) -> ProvisionedOperator:
    name = re.split(r"[.\[]", path.removeprefix(f"{USER}:"), maxsplit=1)[0].lower()
    match name:
        case "username":
            return replace(base, name=_read_name(value))
        case "active":
            return replace(base, active=_read_flag(value))
        case "roles":
            return replace(base, role=_read_role(value))
        case "externalid" | "displayname" | "emails" | "name":
            known = next(one for one in KEPT if one.lower() == name)
            whole = path.lower() == name or path.lower() == f"{USER}:{name}".lower()
            kept = {**base.profile, known: _keep(known, value if whole else _put_part(base.profile, path, value))}
            return replace(base, profile={key: item for key, item in kept.items() if item is not None})
        case "id" | "meta" | "groups" | "password":
            if name == "id":
                return base
            raise refuse(400, "mutability", f"`{name}` is not set here.", "Roles are groups; people sign in elsewhere.")
    return base  # of what we do not keep, nothing is said


def _put_part(profile: Mapping[str, Any], path: str, value: Any) -> Any:
    """A name or the e-mail addresses with one part changed: `name.familyName`, `emails[type eq "work"].value`."""
    path = path.removeprefix(f"{USER}:")
    if path.lower().startswith("name."):
        return {**profile.get("name", {}), path[5:]: value}
    mails, found = profile.get("emails", []), _MAIL.fullmatch(path)
    if found is None:
        return mails
    others = [one for one in mails if not (isinstance(one, Mapping) and one.get("type") == found[1])]
    return [*others, {"type": found[1], "primary": not others, "value": value}] if value is not None else others


def _read_name(value: Any) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or len(name) > _NAME or not name.isprintable():
        raise refuse(400, "invalidValue", "`userName` has up to 200 characters that can be printed.")
    return name


def _read_flag(value: Any) -> bool:
    if isinstance(value, list) and len(value) == 1:
        value = value[0].get("value") if isinstance(value[0], Mapping) else value[0]
    match value:
        case bool():
            return value
        case str() if value.lower() in ("true", "false"):
            return value.lower() == "true"
    raise refuse(400, "invalidValue", "`active` is true or false.")


def _read_role(value: Any) -> HeldRole:
    if value is None or value == []:
        return NO_ROLE
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    return read_role(one.get("value") if isinstance(one, Mapping) else one)


def read_role(name: Any) -> OperatorRole:
    for role in ROLES:
        if isinstance(name, str) and name.lower() == role:
            return role
    raise refuse(400, "invalidValue", "There is no such role.", f"Roles are {', '.join(ROLES)}.")


def _keep(name: str, value: Any) -> Any:
    """As it was said, if it is of the right kind and no more than a person has."""
    kinds: dict[str, Any] = {"externalId": str, "displayName": str, "name": Mapping, "emails": list}
    return value if isinstance(value, kinds[name]) and len(str(value)) <= 4000 else None


def read_members(operations: Sequence[Mapping[str, Any]], now: frozenset[str]) -> frozenset[str]:
    """Who belongs to a group after these operations."""
    for one in operations:
        verb, path, value = str(one["op"]).lower(), str(one.get("path") or ""), one.get("value")
        named = _MEMBER.fullmatch(path)
        if named and verb == "remove":
            now -= {named[1]}
            continue
        if isinstance(value, Mapping) and not path:
            if "members" not in value:
                continue  # `{"id": …, "displayName": …}`, as Okta sends it
            value, path = value["members"], "members"
        if path.lower() == "externalid":
            continue  # a provider's own name for the group, which is ours
        if path.lower() != "members":
            raise refuse(400, "invalidPath", "Of a group, only its members change.")
        now = _apply(verb, now, None if value is None else list_members(value))
    return now


def _apply(verb: str, now: frozenset[str], given: frozenset[str] | None) -> frozenset[str]:
    match verb:
        case "add":
            return now | (given or frozenset())
        case "replace":
            return given or frozenset()
        case "remove":
            return frozenset() if given is None else now - given
    raise refuse(400, "invalidSyntax", "An operation is add, replace or remove.")


def list_members(value: Any) -> frozenset[str]:
    several = value if isinstance(value, list) else [value]
    ids: list[Any] = [one.get("value") for one in several if isinstance(one, Mapping)]
    if len(ids) != len(several) or len(ids) > MOST_MEMBERS or not all(isinstance(one, str) for one in ids):
        raise refuse(400, "invalidValue", "Members are objects with the id of a user as `value`.")
    return frozenset(ids)
